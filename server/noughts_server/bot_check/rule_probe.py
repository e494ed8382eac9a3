"""Test whether an engine keeps the rule of a variant: positions in which a move wins only by the rule of free Gomoku.

The opponent has a four that must be stopped. An engine that plays the other move considers it a win.
"""

from typing import NamedTuple

from noughts_bots.reference.specs import BotSpec
from noughts_bots.sdk.bot import Resign
from noughts_bots.sdk.errors import BotError
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.launcher import Launcher
from noughts_referee.rules import Position, Variant, parse_variant, read_cell
from noughts_server.bot_check.child_session import child_session, wrong_move

KEEPS, IGNORES, LACKS, UNCLEAR = "keeps it", "ignores it", "does not know it", "cannot be told"


class _Probe(NamedTuple):
    """A position with X to move."""

    first: str
    """X's stones, as cells in notation."""
    second: str
    """O's stones."""
    tempting: str
    """A move that makes more than five in a row, or five that are blocked at both ends."""
    stop: str
    """The move that stops O's four."""


_OVERLINE = _Probe("d8 e8 f8 h8 i8 c4", "d4 e4 f4 g4 a15 o15", "g8", "h4")
_BLOCKED_FIVE = _Probe("d8 e8 f8 h8 c4 m12", "c8 i8 d4 e4 f4 g4", "g8", "h4")
PROBES = {"gomoku:exact": _OVERLINE, "renju": _OVERLINE, "caro": _BLOCKED_FIVE, "caro:exact": _BLOCKED_FIVE}


async def probe_rules(spec: BotSpec, launcher: Launcher, times: ChildSettings, move_seconds: float) -> dict[str, str]:
    """Return for each variant with a rule whether an engine KEEPS, IGNORES or LACKS it, UNCLEAR, or its error."""
    results = {}
    for name, probe in PROBES.items():
        variant = parse_variant(name)
        first, second = (_cells(variant, stones) for stones in probe[:2])
        position = Position.after(variant, [cell for pair in zip(first, second, strict=True) for cell in pair])
        async with child_session(spec, launcher, times, move_seconds=move_seconds) as session:
            try:
                await session.greet()
                cell = (await session.reply(position)).cell
            except Resign:
                results[name] = UNCLEAR
            except BotError as fault:
                results[name] = LACKS if session.lacks_rule else f"{UNCLEAR} ({fault.got})"
            else:
                results[name] = _result(probe, position, cell)
    return results


def _cells(variant: Variant, names: str) -> list[int]:
    cells = [read_cell(variant, name) for name in names.split()]
    return [cell for cell in cells if cell is not None]


def _result(probe: _Probe, position: Position, cell: int) -> str:
    """Return what an engine's move says about its rule."""
    variant = position.variant
    # An engine that plays another move that is forbidden in renju ignores the rule, too.
    if cell == read_cell(variant, probe.tempting) or position.forbidden(cell):
        return IGNORES
    if cell not in position.free:
        return f"{UNCLEAR} (a bot that {wrong_move(position, cell)})"
    return KEEPS if cell == read_cell(variant, probe.stop) else UNCLEAR
