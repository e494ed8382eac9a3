"""The levels of the bot `level`, from their calibration."""

from __future__ import annotations

from noughts_bots.reference.levels.table import Level, levels
from tools.generated_pages.markdown import table

_HEAD = ("level", "depth", "error", "rating", "step", "games")


def tables_of_levels(argument: str) -> str:
    """Return a table for each game."""
    return "\n\n".join(
        f"### {variant}\n\n{table(_HEAD, map(_row, rows.values()))}" for variant, rows in levels().items()
    )


def _row(level: Level) -> tuple[str, ...]:
    step = "" if level.error95 is None else f"{level.step:.0f} ± {level.error95:.0f}"
    return (
        f"`level:elo={level.elo}`",
        str(level.strength.depth),
        f"{level.strength.error:,}",
        f"{level.rating:,}",
        step,
        f"{level.games:,}" if level.games else "",
    )
