"""A whole tournament over sockets: an operator, three authors with bots in two languages, an organiser, a watcher."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import grpc.aio
import pytest

from noughts_proto.feed_view import View
from noughts_proto.transport import CLIENT_OPTIONS
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import feed_pb2_grpc
from tests.support.processes import (
    PROGRAM,
    environment,
    eventually,
    exit_code_and_errors,
    first_line,
    json_of_process,
    run_noughts,
    started,
)

from .node import NodeBot, install_bot, node_bot

if TYPE_CHECKING:
    from noughts_proto.v1.feed_pb2_grpc import FeedServiceAsyncStub

PATIENCE = 120.0
# Nobody wins this in a few moves, and one bot waits in the middle: a watcher can be late and see the rest.
VARIANT, GAMES = "mnk:5,5,5", 6
SLOW_BOT = """
import asyncio
import sys
from pathlib import Path

from noughts_bots import Bot, run


class Careful(Bot):
    max_games = 4

    async def choose(self, position):
        while position.ply > 3 and not Path(sys.argv[1]).exists():
            await asyncio.sleep(0.05)
        return position.rng().choice(position.free)


run(Careful(), name="careful")
"""

pytestmark = pytest.mark.timeout(300)


@asynccontextmanager
async def program(*command: str, **variables: str) -> AsyncIterator[NodeBot]:
    """Run a process whose output a test can wait for."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment(**variables),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield NodeBot(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def find_running_game(feed: "FeedServiceAsyncStub", tournament: str) -> str:
    """Return the name of a running game of the slow bot that has at least three plies."""
    view = View()
    async with asyncio.timeout(PATIENCE):
        async for message in feed.Watch(pb.WatchRequest(name=tournament)):
            view.take(message)
            for game in view.games.values():
                slow = "careful" in (game.first, game.second)
                if slow and game.state == pb.GAME_STATE_RUNNING and len(game.moves) >= 3:
                    return game.name
    raise AssertionError("the tournament ended before any game had three plies")


async def watch_late(feed: "FeedServiceAsyncStub", game: str, go: Path) -> tuple[int, list[int], pb.WatchedEnd]:
    """Watch a game that is running; return its number of plies so far, all its moves, and its end.

    The slow bot continues as soon as the watcher has the first snapshot.
    """
    moves: list[int] = []
    first_plies = 0
    end = pb.WatchedEnd()
    expected: int | None = None
    async with asyncio.timeout(PATIENCE):
        async for message in feed.Watch(pb.WatchRequest(name=game)):
            if message.HasField("snapshot"):
                (known,) = message.snapshot.games
                moves, first_plies, expected = list(known.moves), len(known.moves), message.sequence
                await asyncio.to_thread(go.touch)
                continue
            assert not message.HasField("resync")
            assert expected is not None
            expected += 1
            assert message.sequence == expected
            for ply in message.increments.plies:
                assert ply.ply == len(moves)
                moves.append(ply.cell)
            if message.increments.ends:
                end = message.increments.ends[-1]
    return first_plies, moves, end


def count_games(pairs: list[dict[str, int]]) -> int:
    """Return the number of games in these rows of results."""
    return sum(row["wins"] + row["draws"] + row["losses"] for row in pairs)


async def test_operator_authors_organiser_and_watcher_complete_a_tournament(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'story.sqlite'}"
    quiet = environment()
    slow, go = tmp_path / "careful.py", tmp_path / "go"
    slow.write_text(SLOW_BOT)
    node = install_bot(tmp_path)

    # The operator makes tokens.
    tokens = {
        owner: json_of_process(f"token create --owner {owner} --db {database} --scope {scope}", quiet)
        for owner, scope in (("ada", "play"), ("bob", "play:node"), ("carol", "play"), ("olga", "organise"))
    }
    secrets = {owner: made["token"] for owner, made in tokens.items()}

    with started(
        ["serve", "--rate-own-games", "--no-web", "--listen", "127.0.0.1:0", "--db", database, "--format", "json"],
        quiet,
    ) as server:
        address = json.loads(first_line(server))["grpc"]

        def at_server(line: str, owner: str = "") -> object:
            variables = {"NOUGHTS_SERVER": address, **({"NOUGHTS_TOKEN": secrets[owner]} if owner else {})}
            return json_of_process(line, environment(**variables))

        variables = {"NOUGHTS_SERVER": address}
        async with (
            program(sys.executable, str(slow), str(go), NOUGHTS_TOKEN=secrets["ada"], **variables) as python,
            node_bot(node, address, secrets["bob"]) as javascript,
            program(
                *PROGRAM, "bot", "run", "random", "--name", "dice", NOUGHTS_TOKEN=secrets["carol"], **variables
            ) as reference,
            grpc.aio.insecure_channel(address, options=CLIENT_OPTIONS) as channel,
        ):
            # Three authors' bots come online and join.
            await python.until("bots/careful/versions/1")
            await javascript.until("bots/node")
            await reference.until("bots/dice/versions/1")
            at_server(f"tournament create league --variant {VARIANT} --games {GAMES} --concurrency 6 --seed 9", "olga")
            for owner, bot in (("ada", "careful"), ("bob", "node"), ("carol", "dice")):
                at_server(f"tournament join league --bot {bot}", owner)
            at_server("tournament start league", "olga")

            # A watcher comes late to a game and sees every ply of it in order.
            feed: FeedServiceAsyncStub = feed_pb2_grpc.FeedServiceStub(channel)
            game = await find_running_game(feed, "tournaments/league")
            first_plies, moves, end = await watch_late(feed, game, go)
            assert first_plies >= 3
            stored = at_server(f"game show {game}")
            assert isinstance(stored, dict)
            assert moves == stored["moves"]
            assert len(moves) > first_plies
            assert (end.game, end.result) == (game, {"1-0": 1, "1/2-1/2": 2, "0-1": 3}[stored["result"]])

            # The leaderboard and the history answer.
            league = await asyncio.to_thread(
                eventually, lambda: json_of_process("tournament show league", environment(**variables)),
                lambda document: document["state"] == "finished", PATIENCE,
            )  # fmt: skip
            assert league["games"] == 3 * GAMES
            board = at_server(f"leaderboard --variant {VARIANT}")
            assert isinstance(board, dict)
            assert {row["name"] for row in board["rows"]} == {"careful", "node", "dice"}
            assert all(row["provisional"] and row["games"] == 2 * GAMES for row in board["rows"])
            history = at_server(f"bot history node --variant {VARIANT}")
            assert isinstance(history, dict)
            assert [point["games"] for point in history["points"]] == list(range(1, 2 * GAMES + 1))
            assert history["points"][-1]["rating"] == pytest.approx(
                next(row["rating"] for row in board["rows"] if row["name"] == "node"), abs=0.1
            )
            duel = at_server("head-to-head node dice")
            assert isinstance(duel, dict)
            assert count_games([duel["total"]["first"], duel["total"]["second"]]) == GAMES

            # A token is revoked: the stream closes, and its bot says why and stops.
            run_noughts(["token", "revoke", str(tokens["bob"]["id"]), "--db", database], quiet)
            assert await javascript.exit_code() != 0
            assert "TOKEN_REVOKED" in javascript.output or "revoked" in javascript.output
            online = at_server("bot list --online")
            assert isinstance(online, dict)
            assert "node" not in json.dumps(online)
            assert "careful" in json.dumps(online)
            result = run_noughts(
                ["bot", "run", "random", "--name", "node"],
                environment(NOUGHTS_TOKEN=secrets["bob"], **variables),
                code=1,
            )
            assert "revoked" in result.stderr
        server.terminate()
        code, log = exit_code_and_errors(server)
    assert code == 0
    assert not [secret for secret in secrets.values() if secret in log]
    assert "league" in log
