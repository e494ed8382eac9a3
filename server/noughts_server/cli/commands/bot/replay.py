"""`noughts bot check --positions` and `--puzzles`: a bot answers positions that name the best moves or a mistake."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from noughts_bots.reference.ask import answer
from noughts_bots.reference.specs import BotSpec
from noughts_bots.sdk.bot import Bot, Resign
from noughts_referee.rules import Position, PositionError, VariantError, cell_name, cell_names
from noughts_server.cli import printing
from noughts_server.cli.commands.bot.child_bot import bot_to_ask
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import FAILED, Problem, problems_with
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.position_lines import read_object
from noughts_server.launching.launcher import SandboxMode
from noughts_server.records.mistakes import Mistake, read_mistake


def replay(
    spec: BotSpec,
    file: Path,
    option: str,
    seed: int,
    sandbox_mode: SandboxMode,
    start_seconds: float,
    output: OutputOptions,
) -> None:
    """Ask the bot for a move in each position, and print those that it fails.

    It fails if it plays none of the best moves, repeats the mistake, or resigns. `option` is what the user typed, for
    errors about the file.
    """
    numbered = list(_read(file, option))
    if not numbered:
        raise Problem(f"{option}: got no position, expected a JSON document per line")
    failed: list[dict[str, Any]] = []
    lines = []
    done = 0
    with counting("Positions") as show:
        for variant, group in groupby(numbered, key=lambda entry: entry[1].position.variant):
            with bot_to_ask(spec, variant, sandbox_mode, start_seconds) as (bot, _):
                for number, mistake in group:
                    done += 1
                    position = mistake.position.copy()
                    position.seed = seed
                    move = _move(bot, position)
                    show(done, len(numbered))
                    if move is None or mistake.is_repeated_by(move):
                        failed.append({"line": number, **mistake.document(), "played": move})
                        reply = "resigned" if move is None else f"played {cell_name(variant, move)}"
                        lines.append(f"line {number}: {mistake.position}: {reply}, {_expected(mistake)}")
    total = len(numbered)
    document = {"spec": str(spec), "positions": total, "passed": total - len(failed), "failed": failed}
    lines.append(f"{total - len(failed)} of {printing.count(total, 'position')} passed.")
    output.show(document, "\n".join(lines))
    if failed:
        raise SystemExit(FAILED)


def _move(bot: Bot, position: Position) -> int | None:
    """Return the bot's move; None if it resigns."""
    try:
        return answer(bot, position).move
    except Resign:
        return None


def _expected(mistake: Mistake) -> str:
    variant = mistake.position.variant
    if mistake.best:
        return f"expected {cell_names(variant, mistake.best)}"
    assert mistake.move is not None
    return f"expected another move than {cell_name(variant, mistake.move)}"


def _read(file: Path, option: str) -> Iterator[tuple[int, Mistake]]:
    """Yield the positions of a file with the numbers of their lines. Raises Problem."""
    with problems_with(option, OSError, raises=Problem):
        text = file.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            with problems_with(f"{file}, line {number}", PositionError, VariantError, ValueError, raises=Problem):
                mistake = read_mistake(read_object(line))
            yield number, mistake
