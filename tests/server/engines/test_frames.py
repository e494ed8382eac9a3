"""Engines behind the frames of the bot protocol: single questions, checks, and games at a remote server."""

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from noughts_bots import Resign
from noughts_bots.connection.session import Login
from noughts_bots.reference.specs import BotSpec
from noughts_bots.sdk.errors import BotFault, BotSpecError
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.children.launcher import ChildCommand, Started
from noughts_referee.children.running_child import ChildSettings
from noughts_referee.rules import VOID, Position, Termination, parse_variant
from noughts_server.bot_check.child_session import ChildSession, child_session
from noughts_server.bot_check.conformance import ConformancePlan, check
from noughts_server.bot_check.rule_probe import probe_rules
from noughts_server.launching.command import engine_command
from noughts_server.launching.launcher import SandboxMode, launching
from noughts_server.launching.players import start_process
from noughts_server.launching.relay import RelayEvent, RelayPlan, relay
from tests.support.children.field import PROGRAMS
from tests.support.league_server import league_server_at
from tests.support.patience import PATIENCE

TIMES = ChildSettings(start=10.0, stop=0.2, restart=10.0)


def odd_engine(habits: str = "", **options: str) -> BotSpec:
    command = shlex.join([sys.executable, str(PROGRAMS / "odd_engine.py"), *habits.split()])
    return BotSpec(None, "gomocup", command, options)


@asynccontextmanager
async def engine_session(habits: str = "") -> AsyncIterator[ChildSession]:
    async with (
        launching(SandboxMode.OFF, lambda note: None) as launcher,
        child_session(odd_engine(habits), launcher, TIMES, move_seconds=3.0) as session,
    ):
        await session.greet()
        yield session


async def test_moves_of_a_game_are_turns_and_a_repeated_question_is_a_board(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with engine_session(f"log={log}") as session:
        variant = parse_variant("gomoku")
        game = session.begin(variant, 0, 1, [0, 16])
        assert (await session.ask(game, [0, 16])).cell == 1
        assert (await session.ask(game, [0, 16, 1, 17])).cell == 2
        assert (await session.ask(game, [0, 16])).cell == 1
        await session.end(game, VOID, [0, 16, 1])
        assert (await session.answer(Position.after(variant, [7]))).cell == 0
    commands = log.read_text().splitlines()
    board = ["BOARD", "0,0,1", "1,1,2", "DONE"]
    commands_of_games = commands[commands.index("ABOUT") + 1 :]
    assert commands_of_games.count("INFO time_left 2147483647") == 4
    assert [line for line in commands_of_games if not line.startswith("INFO")] == [
        *board, "TURN 2,1", *board, "RESTART", "TURN 7,0", "END",
    ]  # fmt: skip


async def test_an_engine_without_the_variant_resigns(tmp_path: Path) -> None:
    async with engine_session() as session:
        variant = parse_variant("tictactoe")
        game = session.begin(variant, 0, 1, [])
        with pytest.raises(Resign):
            await session.ask(game, [])


@pytest.mark.parametrize(
    "habits, got",
    [
        ("crash at=1", "a process that was ended by signal 6 (SIGABRT)"),
        ("refuse-start", "a process that refuses the game: it answers START 15 with 'ERROR message"),
        ("silent at=1", "no answer in time"),
        ("instead=my_move_is_h8 at=1", "no answer in time"),
    ],
)
async def test_faults_of_an_engine_are_reported(habits: str, got: str) -> None:
    async with engine_session(habits) as session:
        game = session.begin(parse_variant("gomoku"), 0, 1, [])
        with pytest.raises(BotFault) as fault:
            await session.ask(game, [])
        assert got in str(fault.value)


class _DyingLauncher:
    """A launcher whose zygote ends before it has started a child."""

    async def start(self, command: ChildCommand) -> Started:
        raise ChildProcessError("the zygote has ended")

    async def close(self) -> None:
        """Do nothing."""


async def test_an_engine_that_we_cannot_start_ends_its_frames_with_our_error() -> None:
    child = await start_process(odd_engine(), _DyingLauncher(), TIMES)
    await child.hello()
    starts = pb.Starts(
        variant="gomoku", game=[1], number=[1], side=[types_pb2.SIDE_FIRST], seed=[1], opponent=[0], move_count=[0]
    )
    await child.frames.write(pb.PlayResponse(starts=[starts]))
    async with asyncio.timeout(PATIENCE):
        assert await child.frames.read() is None
    with pytest.RaisesGroup(pytest.RaisesExc(ChildProcessError, match="the zygote has ended")):
        await child.stop()


async def test_an_engine_plays_several_games_at_a_server_elsewhere(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    events: list[RelayEvent] = []
    async with league_server_at(tmp_path) as league_server:
        plan = RelayPlan(odd_engine(f"pid={pids} think=0.02"), sandbox_mode=SandboxMode.OFF, times=TIMES, processes=2)
        login = Login(league_server.address, league_server.token, name="mine", version="1")
        async with asyncio.TaskGroup() as tasks, league_server.opponent("first-free"):
            playing = tasks.create_task(relay(plan, login, events.append, lambda data: None))
            await league_server.until_online("mine")
            await league_server.start(
                "cup", "mine", "first-free", games_per_pair=6, concurrency=2, seed=5, variant="mnk:7,7,5"
            )
            games = await league_server.games("cup")
            playing.cancel()
    assert [Termination(game.termination) for game in games] == [Termination.LINE] * 6
    assert len(pids.read_text().split()) == 2


@pytest.mark.parametrize(
    "options, message",
    [
        ({"restart": "maybe"}, "option restart: got maybe, expected on, off or auto"),
        ({"speed": "9"}, "got option speed, expected one of restart, swap2, board"),
        ({"threads": "0"}, "option threads: got 0, expected a whole number from 1"),
        ({"memory": "lots"}, "option memory: got lots, expected a size such as 350 (MiB) or 2g"),
        ({"info.a b": "1"}, "got 'a b', expected letters, digits, - and _"),
        ({"cwd": "/"}, "option cwd: got /, expected engine or scratch"),
    ],
)
def test_wrong_options_are_errors_before_the_engine_starts(options: dict[str, str], message: str) -> None:
    with pytest.raises(BotSpecError) as error:
        engine_command(odd_engine(**options))
    assert message in str(error.value)


def test_a_command_is_a_line_of_a_shell() -> None:
    with pytest.raises(BotSpecError, match="no closing quotation"):
        engine_command(BotSpec(None, "gomocup", "engine 'x", {}))


async def test_a_check_reports_habits_and_rules_of_an_engine() -> None:
    habits = "wordy complain nameless deaf-once ignore-rule"
    plan = ConformancePlan(parse_variant("mnk:7,7,5"), games=2, seed=1, move_seconds=5.0, times=TIMES)
    async with launching(SandboxMode.OFF, lambda note: None) as launcher:
        report = await check(odd_engine(habits), plan, launcher)
        own_engine = BotSpec(
            None, "gomocup", f"{sys.executable} -m noughts_server.cli bot gomocup threats:nodes=2000", {}
        )
        own_rules = await probe_rules(own_engine, launcher, ChildSettings(start=30.0), 30.0)
    assert not report.faults
    assert list(report.manners) == [
        "says more than OK",
        "complains about infos, or about ABOUT",
        "does not answer ABOUT",
        "says ERROR or UNKNOWN before a move",
        "refuses RESTART, or misses it",
    ]
    assert report.rules == dict.fromkeys(("gomoku:exact", "renju", "caro", "caro:exact"), "ignores it")
    assert own_rules == dict.fromkeys(("gomoku:exact", "renju", "caro", "caro:exact"), "keeps it")


async def test_a_check_reports_rules_that_an_engine_does_not_know() -> None:
    async with launching(SandboxMode.OFF, lambda note: None) as launcher:
        rules = await probe_rules(odd_engine("rule=ERROR_unknown_rule"), launcher, TIMES, 5.0)
    assert rules == dict.fromkeys(("gomoku:exact", "renju", "caro", "caro:exact"), "does not know it")
