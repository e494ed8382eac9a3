"""A bot in another language, written from the protocol and writing-a-bot pages, plays at a real server."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from noughts_bots.reference.specs import parse_spec
from noughts_proto.v1 import games_pb2, types_pb2
from noughts_referee.clock import parse_time_control
from noughts_referee.rules import Draws, parse_variant
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.launching.launcher import SandboxMode
from noughts_server.local.plan import LocalPlan, LocalStop
from noughts_server.local.run import play_locally
from tests.support.league_server import LeagueServer, league_server_at
from tests.support.node import NODE
from tests.support.root import ROOT

from .node import NodeBot, install_bot, node_bot

BLAMELESS = {types_pb2.TERMINATION_LINE, types_pb2.TERMINATION_BOARD_FULL}


@pytest.fixture(scope="module")
def bot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as its author has it after `npm ci`."""
    return install_bot(tmp_path_factory.mktemp("node"))


@asynccontextmanager
async def playing(bot: Path, league_server: LeagueServer, address: str = "") -> AsyncIterator[NodeBot]:
    """Run the bot; the block begins when it has logged in."""
    async with node_bot(bot, address or league_server.address, league_server.token) as running:
        await running.until("playing as bots/node/versions/1")
        yield running


class Relay:
    """A port whose connections are carried to the server, and which a test can break."""

    def __init__(self, server: str) -> None:
        self.address = ""
        self._server = server
        self._open: set[asyncio.StreamWriter] = set()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry the bytes of one connection in both directions until either end closes it."""
        host, _, port = self._server.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        ends = {writer, far_writer}
        self._open |= ends
        try:
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            self._open -= ends
            for end in ends:
                end.close()

    def cut(self) -> None:
        """Abort every connection, as a failing network does; later connections are carried."""
        for writer in self._open:
            writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def relay_to(server: str) -> AsyncIterator[Relay]:
    relay = Relay(server)
    listening = await asyncio.start_server(relay.carry, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    relay.address = f"{host}:{port}"
    try:
        yield relay
    finally:
        relay.cut()
        listening.close()
        await listening.wait_closed()


def points(games: list[games_pb2.Game]) -> float:
    """Return the bot's score: a win is one point, a draw half a point."""
    worth = {types_pb2.RESULT_FIRST_WINS: 1.0, types_pb2.RESULT_DRAW: 0.5, types_pb2.RESULT_SECOND_WINS: 0.0}
    return sum(worth[game.result] if game.first == "node" else 1 - worth[game.result] for game in games)


@pytest.mark.parametrize(
    "variant, opponent, least",
    [
        ("tictactoe", "random", 45),
        ("tictactoe", "minimax", 0),
        ("mnk:5,5,4", "random", 45),
        ("mnk:5,5,4", "nextstep:depth=2", 0),
    ],
)
async def test_bot_plays_every_game_without_a_fault(
    bot: Path, league_server: LeagueServer, variant: str, opponent: str, least: float
) -> None:
    async with league_server.opponent(opponent), playing(bot, league_server):
        await league_server.start("cup", "node", opponent, variant=variant, games_per_pair=60, seed=3)
        games = await league_server.games("cup")
    assert len(games) == 60
    assert {game.termination for game in games} <= BLAMELESS
    assert points(games) >= least


@pytest.mark.parametrize("variant", ["tictactoe", "mnk:5,5,4"])
async def test_bot_keeps_its_time_at_half_a_second_a_move(bot: Path, league_server: LeagueServer, variant: str) -> None:
    limit = types_pb2.TimeControl(move_us=500_000)
    async with league_server.opponent("random"), playing(bot, league_server):
        await league_server.start("cup", "node", "random", variant=variant, time=limit, games_per_pair=20, seed=3)
        games = await league_server.games("cup")
    assert len(games) == 20
    assert {game.termination for game in games} <= BLAMELESS


async def test_bot_prints_the_fault_by_which_it_lost_a_game(
    bot: Path, league_server: LeagueServer, tmp_path: Path
) -> None:
    faulty = tmp_path / "faulty"
    shutil.copytree(bot, faulty, symlinks=True)
    (faulty / "player.js").write_text(
        f"export {{ parseVariant }} from {json.dumps(str(bot / 'player.js'))};\n"
        "export const choose = (variant, moves) => (moves.length ? moves[0] : 0);\n"
    )
    async with league_server.opponent("first-free"), playing(faulty, league_server) as node:
        await league_server.start("cup", "node", "first-free", games_per_pair=1, seed=3)
        await league_server.games("cup")
        await node.until("TERMINATION_ILLEGAL_MOVE, this bot placed a stone on a3 (cell 0), which is occupied")


async def test_games_continue_after_the_connection_is_cut(bot: Path, league_server: LeagueServer) -> None:
    conditions: dict[str, Any] = {"variant": "mnk:5,5,4", "games_per_pair": 800, "concurrency": 32, "seed": 7}
    async with (
        league_server.opponent("random"),
        relay_to(league_server.address) as relay,
        playing(bot, league_server, relay.address) as node,
    ):
        await league_server.start("cut", "node", "random", **conditions)
        await league_server.until("cut", lambda tournament: tournament.games_done > 0)
        relay.cut()
        await node.until("connection lost, connecting again")
        games_done = (await league_server.until("cut", lambda tournament: True)).games_done
        assert games_done < 800, "the tournament ended before the cut: play more games"
        await node.until("playing as")
        cut = await league_server.games("cut")
        await league_server.start("whole", "node", "random", **conditions)
        whole = await league_server.games("whole")
    assert len(cut) == 800
    assert {game.termination for game in cut} <= BLAMELESS
    # Random numbers follow from seed and ply, so a question that is sent again gets the same answer.
    assert [list(game.moves) for game in cut] == [list(game.moves) for game in whole]


async def test_the_node_bot_reconnects_to_a_restarted_server(bot: Path, tmp_path: Path) -> None:
    async with AsyncExitStack() as bots:
        async with league_server_at(tmp_path) as first:
            node = await bots.enter_async_context(playing(bot, first))
            async with first.opponent("random"):
                await first.start(
                    "cup", "node", "random", variant="mnk:5,5,4", games_per_pair=800, concurrency=32, seed=7
                )
                games_done = (await first.until("cup", lambda tournament: tournament.games_done > 0)).games_done
                assert games_done < 800, "the tournament ended before the server: play more games"
        await node.until("connection lost")
        async with league_server_at(tmp_path, listen=first.address, token=first.token) as second:
            await node.until("playing as")
            async with second.opponent("random"):
                games = await second.games("cup")
    assert len(games) == 800
    assert {game.termination for game in games} <= BLAMELESS


async def test_the_idle_node_bot_echoes_heartbeats_and_stays_online(bot: Path, tmp_path: Path) -> None:
    async with league_server_at(tmp_path, heartbeat=0.5) as league_server, playing(bot, league_server) as node:
        await league_server.until_messages_received(4)
        node.process.kill()
        await node.exit_code()
    assert node.output.count("playing as") == 1
    assert "connection lost" not in node.output


async def test_a_wrong_token_ends_the_node_bot_with_the_servers_error(bot: Path, league_server: LeagueServer) -> None:
    async with node_bot(bot, league_server.address, "nou_wrong") as node:
        assert await node.exit_code() == 1
    assert "the server refused the bot: UNAUTHENTICATED" in node.output
    assert "playing as" not in node.output


async def test_without_a_token_the_node_bot_names_the_command(bot: Path, league_server: LeagueServer) -> None:
    async with node_bot(bot, league_server.address, "") as node:
        assert await node.exit_code() == 2
    assert "noughts token create" in node.output


async def test_an_unknown_option_of_the_node_bot_prints_its_usage(bot: Path, league_server: LeagueServer) -> None:
    async with node_bot(bot, league_server.address, league_server.token, "--sever", "x") as node:
        assert await node.exit_code() == 2
    assert "'--sever'" in node.output
    assert "usage: " in node.output


async def test_the_older_of_two_node_bots_with_one_name_stops(bot: Path, league_server: LeagueServer) -> None:
    async with playing(bot, league_server) as older, playing(bot, league_server) as newer:
        assert await older.exit_code() == 1
        assert newer.process.returncode is None
    assert "ABORTED: bots/node logged in again elsewhere" in older.output


def test_the_node_bot_has_the_servers_boards_and_random_numbers(bot: Path) -> None:
    variants = ["tictactoe", "mnk:5,5,4", "mnk:7,6,4", "mnk:6,3,3", "mnk:2,5,1", "mnk:30,30,5"]
    draws = [(seed, ply, bound) for seed in (0, 7, 2**63, 2**64 - 1) for ply in (0, 1, 8, 899) for bound in (1, 9, 900)]
    program = f"""
        import {{ parseVariant, randomBelow }} from {json.dumps(str(bot / "player.js"))};
        const lines = (name) => parseVariant(name).linesThrough;
        const drawn = ([seed, ply, bound]) => randomBelow(BigInt(seed), ply, bound);
        const draws = {json.dumps([(str(seed), ply, bound) for seed, ply, bound in draws])};
        console.log(JSON.stringify([{json.dumps(variants)}.map(lines), draws.map(drawn)]));
    """
    process = subprocess.run(
        [NODE, "--input-type=module", "--eval", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert process.returncode == 0, process.stderr
    boards, drawn = json.loads(process.stdout)
    for name, through in zip(variants, boards, strict=True):
        variant = parse_variant(name)
        node_lines = [{sum(1 << cell for cell in line) for line in lines} for lines in through]
        assert node_lines == [set(lines) for lines in variant.lines_through], name
    assert drawn == [Draws(seed, ply).below(bound) for seed, ply, bound in draws]


async def test_the_node_bot_connects_to_a_referee_that_starts_it(bot: Path) -> None:
    plan = LocalPlan(
        specs=tuple(
            map(parse_spec, (f"Node=exec{{dial=true}}:{NODE} {bot}/bot.js --proto {ROOT}/proto", "first-free"))
        ),
        settings=TournamentSettings(
            variant="tictactoe",
            time=parse_time_control("none"),
            games_per_pair=4,
            concurrency=4,
            seed=5,
        ),
        sandbox_mode=SandboxMode.OFF,  # Node reserves more addresses than the sandbox allows
    )
    outcome = await play_locally(plan, on_progress=lambda progress: None, stop=LocalStop())
    assert (outcome.games, outcome.faults) == (4, ())
    assert {"line", "board_full"} >= set(outcome.terminations)
