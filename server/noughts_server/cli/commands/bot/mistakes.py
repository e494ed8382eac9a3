"""`noughts bot mistakes`: the positions in which a bot made the value of its games worse."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_proto.v1 import games_pb2 as pb
from noughts_referee.rules import cell_name, cell_names
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.options.game_filter import GameFilter
from noughts_server.cli.options.names import BotArgument, read_bot_without_version
from noughts_server.cli.options.output import ListOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.position_files import write_positions
from noughts_server.client.client import Client
from noughts_server.core.resource_names import short
from noughts_server.records.mistakes import Mistake, mistakes_in
from noughts_server.records.recorded_game import RecordError
from noughts_server.records.server_games import recorded_game

_PYTEST = '''"""Replays the positions in {file}: the bot must not repeat its mistakes. Run it with pytest."""

import json
import subprocess
from pathlib import Path

import pytest

BOT = {bot!r}
LINES = Path(__file__).with_name({file!r}).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", LINES, ids=[json.loads(line)["game"] for line in LINES])
def test_bot_does_not_repeat_a_mistake(line: str, tmp_path: Path) -> None:
    positions = tmp_path / "position.jsonl"
    positions.write_text(line + "\\n", encoding="utf-8")
    command = ["noughts", "bot", "check", BOT, "--positions", str(positions)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
'''


@command(
    example="""
$ noughts bot mistakes mybot --limit 5
...
"""
)
def mistakes(
    name: BotArgument,
    file: Annotated[
        Path | None,
        Option("-o", "--output", metavar="FILE", help="File of positions to write", rich_help_panel="Output"),
    ] = None,
    test_file: Annotated[
        Path | None,
        Option("--pytest", metavar="FILE", help="Also write tests that replay the file", rich_help_panel="Output"),
    ] = None,
    spec: Annotated[
        str, Option("--spec", metavar="SPEC", help="Bot that these tests ask", rich_help_panel="Output")
    ] = "py:bot.py",
    *,
    game_filter: GameFilter,
    server: ServerOptions,
    output: ListOptions,
) -> None:
    """List the positions in which a bot made the value of its games worse, newest tournament first.

    The value is who wins if both sides play best, as in `noughts game explain`. `--limit` counts games. With -o the
    positions are written to a file, one JSON document per line, and `noughts bot check SPEC --positions FILE` shows
    whether a new version plays them better.
    """
    if test_file is not None and file is None:
        raise UsageProblem("--pytest: got no -o FILE with the positions", "Add -o positions.jsonl")
    request = pb.ListGamesRequest(parent=read_bot_without_version(name))
    game_filter.apply(request)
    with server.connected() as client:
        mistakes = _mistakes(client, request, output)
        if file is None:
            output.show_each((mistake.document() for mistake in mistakes), lambda: _print_table(mistakes, name))
            return
        count = write_positions(file, (mistake.document() for mistake in mistakes))
    if test_file is not None:
        with problems_with(f"--pytest {test_file}", OSError, raises=Problem):
            test_file.write_text(_PYTEST.format(file=file.name, bot=spec), encoding="utf-8")
    text = f"{file}: {printing.count(count, 'position')}. noughts bot check SPEC --positions {file} replays them."
    output.show({"file": str(file), "positions": count}, text)


def _mistakes(client: Client, request: pb.ListGamesRequest, output: ListOptions) -> Iterator[Mistake]:
    """Yield the mistakes of the bot in the games of the request."""
    with counting("Games") as show:
        rows = output.limited(partial(client.list_items, client.games.ListGames, request, lambda page: page.games))
        for number, game in enumerate(rows, start=1):
            if not game.HasField("end_time"):
                continue
            bots = (game.first_bot, game.second_bot)
            sides = {side for side in (0, 1) if bots[side].startswith(f"{request.parent}/")}
            try:
                yield from mistakes_in(recorded_game(game), sides, short(game.name))
            except RecordError as error:
                printing.warn(f"{short(game.name)}: {error}.")
            show(number, None)


def _print_table(mistakes: Iterator[Mistake], name: str) -> None:
    rows = []
    for mistake in mistakes:
        assert mistake.move is not None
        variant = mistake.position.variant
        value = f"{mistake.before} to {mistake.after}"
        move, better = cell_name(variant, mistake.move), cell_names(variant, mistake.best)
        rows.append((mistake.game, mistake.ply, move, value, better))
    printing.print_rows(("game", ">ply", "move", "value", "better"), rows, f"No mistakes of {name} are known.")
