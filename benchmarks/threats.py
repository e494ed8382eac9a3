"""Measure the strength of `threats` against `fives` on Gomoku and `minimax` on small boards, with real clocks.

    python benchmarks/threats.py [--games 200] [--time 0.2/move] [--small 1/move] [--only gomoku] [--format json]

A real server on the loopback interface keeps the clocks, one game at a time; each bot is a separate process. On
Gomoku, the bots play 50 openings of three stones, each twice with either side in a row. On the small boards, they play
every first stone once with either side. The bots play opening stones immediately, and the times do not include them.
Prints a table for people, or JSON.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from noughts_bots import Bot, GameEnd, GameInfo, Move, Position, Variant, parse_variant
from noughts_bots.connection.event_loop import run_loop
from noughts_bots.connection.process import tune_collector
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_proto.transport import SERVER_VARIABLE, TICKET_VARIABLE
from noughts_referee.clock import parse_time_control
from noughts_server.cli.options.logs import LogLevel, configure_logs
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.tournament import LocalTournament
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.games.exports import ExportedGame, export
from noughts_server.store.tournaments.tournaments import get_tournament

_OPENINGS = 50
_FROM_MIDDLE = 4
"""Largest distance of the first stone from the middle, in cells."""
_TOLERANCE_MS = 10.0
"""A move within this time after the limit counts as in time."""
_MARGIN_US = 50_000
_SUBJECT = "threats"

OpeningChoice = tuple[int, ...]


def openings(variant: Variant) -> list[OpeningChoice]:
    """Return the openings of a variant, which are always the same.

    Large boards: 50 first stones near the middle, the second and the third at most two cells away from the first.
    Small boards: every first stone.
    """
    if variant.cells <= 36:
        return [(cell,) for cell in range(variant.cells)]
    rng = Random(variant.name)
    middle_column, middle_row = variant.columns // 2, variant.rows // 2

    def near(column: int, row: int, most: int) -> list[int]:
        columns = range(max(0, column - most), min(variant.columns, column + most + 1))
        rows = range(max(0, row - most), min(variant.rows, row + most + 1))
        return [y * variant.columns + x for y in rows for x in columns if (x, y) != (column, row)]

    firsts = rng.sample(near(middle_column, middle_row, _FROM_MIDDLE), _OPENINGS)
    chosen: list[OpeningChoice] = []
    for cell in firsts:
        row, column = divmod(cell, variant.columns)
        second, third = rng.sample(near(column, row, 2), 2)
        chosen.append((cell, second, third))
    return chosen


class OpeningBot(Bot):
    """A bot that plays the opening of a game, then the moves of another bot. One game at a time."""

    max_games = 1

    def __init__(self, bot: Bot, variant: Variant) -> None:
        self._bot = bot
        self._openings = openings(variant)
        self._opening: OpeningChoice = ()

    def start(self, game: GameInfo) -> None:
        number = int(game.name.rpartition("/")[2])
        self._opening = self._openings[_opening_number(number, len(self._openings))]
        self._bot.start(game)

    def end(self, game: GameInfo, end: GameEnd) -> None:
        self._bot.end(game, end)

    def choose(self, position: Position) -> int | Move | Awaitable[int | Move]:
        if position.ply < len(self._opening):
            return self._opening[position.ply]
        return self._bot.choose(position)


def _opening_number(game: int, count: int) -> int:
    """Return the index of a game's opening. Games are numbered from 1; each opening is played twice in a row."""
    return (game - 1) // 2 % count


# A bot's process.


def _play_as_bot(spec: str, variant: str) -> None:
    bot = OpeningBot(make_bot(parse_spec(spec)), parse_variant(variant))
    login = Login(os.environ[SERVER_VARIABLE], os.environ.pop(TICKET_VARIABLE), reconnect=False)
    tune_collector()
    run_loop(play(bot, login))


@asynccontextmanager
async def _bot_process(spec: str, variant: Variant, address: str, ticket: str) -> AsyncIterator[None]:
    environment = {**os.environ, SERVER_VARIABLE: address, TICKET_VARIABLE: ticket, "GRPC_ENABLE_FORK_SUPPORT": "0"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--play", spec, "--variant", variant.name, env=environment
    )
    try:
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


# Matches.


class Match(NamedTuple):
    """A match to play. The opponent is a spec."""

    name: str
    variant: str
    opponent: str
    time: str
    games: int


async def _games(match: Match, subject: str) -> list[ExportedGame]:
    with tempfile.TemporaryDirectory(prefix="noughts-", ignore_cleanup_errors=True) as folder:
        settings = ServerSettings(
            listen="127.0.0.1:0", database=f"sqlite:///{Path(folder) / 'noughts.sqlite'}", margin_us=_MARGIN_US
        )
        async with running_server(settings) as server:
            return await _play(server, match, subject)


async def _play(server: Server, match: Match, subject: str) -> list[ExportedGame]:
    variant = parse_variant(match.variant)
    specs = {_SUBJECT: subject, match.opponent: match.opponent}
    settings = TournamentSettings(
        variant=variant.name,
        time=parse_time_control(match.time),
        games_per_pair=match.games,
        concurrency=1,
        seed=1,
        title=match.name,
    )
    tournament = LocalTournament(server, settings, dict.fromkeys(specs, "1"))
    await tournament.create()
    async with AsyncExitStack() as stack:
        for label, spec in specs.items():
            await stack.enter_async_context(_bot_process(spec, variant, server.address, tournament.ticket(label)))
        async with asyncio.timeout(30):
            await tournament.all_online(lambda: None)
        printed_games = -1

        def show(progress: Any, _: Any) -> None:
            nonlocal printed_games
            if sys.stderr.isatty() and progress.games_done != printed_games:
                printed_games = progress.games_done
                print(f"\r{match.name}: {printed_games} of {match.games} games", end="", file=sys.stderr, flush=True)

        await tournament.play(show)
    if printed_games >= 0:
        print("\r\033[K", end="", file=sys.stderr)
    await server.recorder.flush()

    def read(connection: Any) -> list[ExportedGame]:
        return list(export(connection, get_tournament(connection, tournament.slug).id))

    return await server.store.read(read)


def _report(match: Match, games: list[ExportedGame]) -> dict[str, Any]:
    """Return results and times from the point of view of `threats`."""
    limit_ms = parse_time_control(match.time).move_us / 1000
    opening_plies = len(openings(parse_variant(match.variant))[0])
    results = {"first": Counter[str](), "second": Counter[str]()}
    endings: Counter[str] = Counter()
    times: list[float] = []
    for game in games:
        side = 0 if game.first == _SUBJECT else 1
        if game.result not in ("1-0", "0-1"):
            kind, winner = "draws", ""
        elif game.result == ("1-0", "0-1")[side]:
            kind, winner = "wins", f"{_SUBJECT} wins: "
        else:
            kind, winner = "losses", f"{match.opponent} wins: "
        results["second" if side else "first"][kind] += 1
        endings[winner + game.termination] += 1
        times += [us / 1000 for ply, us in enumerate(game.times_us) if ply >= opening_plies and ply % 2 == side]
    times.sort()
    kinds = ("wins", "draws", "losses")
    return {
        "match": match.name, "variant": match.variant, "opponent": match.opponent, "time": match.time,
        "games": len(games),
        **{kind: sum(counts[kind] for counts in results.values()) for kind in kinds},
        "as_first": {kind: results["first"][kind] for kind in kinds},
        "as_second": {kind: results["second"][kind] for kind in kinds},
        "endings": dict(endings.most_common()),
        "losses_on_time": endings[f"{match.opponent} wins: timeout"],
        "moves": len(times), "limit_ms": limit_ms,
        "p50_ms": _quantile(times, 0.5), "p99_ms": _quantile(times, 0.99), "max_ms": times[-1] if times else None,
        "within": sum(time <= limit_ms + _TOLERANCE_MS for time in times) / max(1, len(times)),
    }  # fmt: skip


def _quantile(times: list[float], share: float) -> float | None:
    return times[min(len(times) - 1, int(share * len(times)))] if times else None


def _print_report(report: dict[str, Any]) -> None:
    print(f"{report['match']}: {_SUBJECT} - {report['opponent']}, {report['variant']}, {report['time']}")
    for label, counts in (("all", report), ("as first", report["as_first"]), ("as second", report["as_second"])):
        print(f"  {label:<10} {counts['wins']:>4} wins {counts['draws']:>4} draws {counts['losses']:>4} losses")
    print("  endings    " + ", ".join(f"{name} {count}" for name, count in report["endings"].items()))
    print(
        f"  times      {report['moves']} moves: median {report['p50_ms']:.1f} ms, 99 % to {report['p99_ms']:.1f} ms, "
        f"longest {report['max_ms']:.1f} ms; limit {report['limit_ms']:.0f} ms"
    )
    print(f"  {report['within']:.2%} of the moves within {_TOLERANCE_MS:.0f} ms of the limit, "
          f"{report['losses_on_time']} losses on time", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=4 * _OPENINGS, help="on Gomoku; 4 times 50 by default")
    parser.add_argument("--time", default="0.2/move", help="on Gomoku")
    parser.add_argument("--small", default="1/move", help="time on the small boards")
    parser.add_argument("--only", choices=("gomoku", "tictactoe", "four"), help="one match instead of all three")
    parser.add_argument("--spec", default=_SUBJECT, help="spec of threats, e.g. threats:nodes=1000")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json: one document at the end")
    parser.add_argument("--play", help=argparse.SUPPRESS)
    parser.add_argument("--variant", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play:
        _play_as_bot(options.play, options.variant)
        return
    configure_logs(LogLevel.WARNING)
    matches = [
        Match("gomoku", "gomoku", "fives", options.time, options.games),
        Match("tictactoe", "tictactoe", "minimax", options.small, 18),
        Match("four", "mnk:4,4,4", "minimax", options.small, 32),
    ]
    reports = []
    for match in matches:
        if options.only in (None, match.name):
            reports.append(_report(match, run_loop(_games(match, options.spec))))
            if options.format == "text":
                _print_report(reports[-1])
    if options.format == "json":
        print(json.dumps(reports))


if __name__ == "__main__":
    main()
