"""`noughts bot check` and `bot ask` of bots in children: games against random moves, and the report of each fault."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from noughts_bots.reference.ask import answer
from noughts_bots.reference.random_ import Random
from noughts_bots.reference.specs import BotSpec, parse_spec
from noughts_bots.sdk.errors import BotFault, BotSpecError
from noughts_referee.children.running_child import ChildSettings
from noughts_referee.rules import Position, PositionError, parse_variant
from noughts_server.bot_check.child_session import ChildSession, child_session, moves_to
from noughts_server.bot_check.conformance import ConformancePlan, ConformanceReport, check
from noughts_server.launching.launcher import SandboxMode, launching
from tests.support.hosting import C_EXAMPLES, compile_library

TIMES = ChildSettings(start=20)
TICTACTOE = parse_variant("tictactoe")


def write_bot(folder: Path, choose: str, before: str = "") -> BotSpec:
    """Write a bot in Python whose `choose` has this line as its body; return its spec."""
    lines = (before, "import os, random, sys", "from noughts_bots import Bot, Resign", "class Made(Bot):")
    (folder / "made.py").write_text("\n".join((*lines, f"    def choose(self, position):\n        {choose}\n")))
    return parse_spec(f"py:{folder}/made.py:Made")


async def check_games(
    spec: BotSpec, games: int = 6, variant: str = "tictactoe", seconds: float = 20
) -> ConformanceReport:
    plan = ConformancePlan(parse_variant(variant), games, seed=3, move_seconds=seconds, times=TIMES)
    async with launching(SandboxMode.USUAL, lambda note: None) as launcher:
        return await check(spec, plan, launcher)


@asynccontextmanager
async def greeted_session(spec: BotSpec) -> AsyncIterator[ChildSession]:
    async with (
        launching(SandboxMode.USUAL, lambda note: None) as launcher,
        child_session(spec, launcher, TIMES, move_seconds=20) as session,
    ):
        await session.greet()
        yield session


@pytest.mark.parametrize("variant", ["tictactoe", "connect4", "tictactoe3d"])
async def test_a_good_library_has_no_fault_and_repeats_its_games(tmp_path: Path, variant: str) -> None:
    library = compile_library(C_EXAMPLES / "reach.c", tmp_path, name="reach")
    report = await check_games(parse_spec(f"dll{{choice=random}}:{library}"), 20, variant)
    assert report.faults == []
    assert report.repeats
    assert (report.name, len(report.games)) == ("reach", 20)
    assert report.wins > report.losses
    assert report.wins + report.draws + report.losses == 20
    assert len({len(game) for game in report.games}) > 1


async def test_bot_with_random_numbers_of_its_own_does_not_repeat_its_games(tmp_path: Path) -> None:
    report = await check_games(write_bot(tmp_path, "return random.choice(position.free)"), 30)
    assert (report.faults, report.repeats) == ([], False)
    assert (await check_games(write_bot(tmp_path, "return position.rng().choice(position.free)"), 30)).repeats


@pytest.mark.parametrize(
    "choose, fault",
    [
        ("return 4", "an illegal move in 6 of 6 games, first in game 1 at ply 2: it placed a stone on b2 (cell 4), "),
        (
            "return 99",
            "a stone off the board, which has cells 0 to 8, after the moves []; expected one of the free cells a3",
        ),
        ("raise Resign", "it resigns every game"),
        ("raise ValueError('why')", "it resigned with ValueError: why in 6 of 6 games, first in game 1 at ply 0"),
        ("os._exit(7)", "got a process that ended with exit code 7, expected a move"),
        ("os.abort()", "got a process that was ended by signal 6 (SIGABRT), expected a move"),
    ],
)
async def test_each_fault_is_reported(tmp_path: Path, choose: str, fault: str) -> None:
    report = await check_games(write_bot(tmp_path, choose))
    assert fault in "\n".join(report.faults)


async def test_check_in_a_variant_that_the_bot_does_not_play_is_a_fault(tmp_path: Path) -> None:
    spec = write_bot(tmp_path, "return position.free[0]")
    file = tmp_path / "made.py"
    file.write_text(file.read_text() + "    variants = ('tictactoe', 'mnk:7,6,4')\n")
    assert (await check_games(spec)).faults == (await check_games(spec, variant="mnk:7,6,4")).faults == []
    (fault,) = (await check_games(spec, variant="connect4")).faults
    assert fault == "got variant connect4, expected one of tictactoe, mnk:7,6,4"


async def test_last_output_of_a_faulty_bot_is_kept(tmp_path: Path) -> None:
    report = await check_games(write_bot(tmp_path, "raise ValueError('why')", before="print('x' * 100_000, 'here')"))
    assert "ValueError: why" in report.output
    assert len(report.output) <= 64 * 1024


async def test_error_of_a_bot_that_cannot_be_imported_names_its_exception(tmp_path: Path) -> None:
    with pytest.raises(BotSpecError, match="got RuntimeError: not today, expected a module that can be imported"):
        await check_games(write_bot(tmp_path, "return 0", before="raise RuntimeError('not today')"))


async def test_process_of_a_bot_that_never_answers_is_ended(tmp_path: Path) -> None:
    endless_loop = "print(os.getpid()); any(iter(int, 1))"
    report = await check_games(write_bot(tmp_path, endless_loop), seconds=0.3)
    assert report.faults == ["got no answer in time, expected a move"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(report.output), 0)


@pytest.mark.parametrize(
    "command, fault",
    [
        ("true", "got a process that ended with exit code 0, expected a hello"),
        ("printf 'hello, world'", "expected at most 2097152; as text that is 'hell', but only frames belong there"),
        ("printf '\\001\\000\\000\\000\\377'", "got a process that sent 1 bytes that are not a PlayRequest"),
        ("printf '\\000\\000\\000\\000'", "got a process that sent the wrong first frame"),
        ("./no-such-program", "got a process that ended with exit code 126, expected a hello"),
    ],
)
async def test_program_that_does_not_send_frames_is_a_fault(command: str, fault: str) -> None:
    assert fault in (await check_games(BotSpec(None, "exec", command))).faults[0]


@pytest.mark.parametrize("text", [".........", "X...O...X O", "XO.......", "XX.OO.... X"])
async def test_a_child_answers_positions_as_the_bot_itself_does(text: str) -> None:
    async with greeted_session(parse_spec("py:noughts_bots.reference.random_:Random")) as child:
        for seed in range(5):
            move = await child.answer(Position.parse(TICTACTOE, text, seed=seed))
            assert move.cell == answer(Random(), Position.parse(TICTACTOE, text, seed=seed)).move


async def test_a_child_that_answers_with_an_occupied_cell_is_at_fault(tmp_path: Path) -> None:
    async with greeted_session(write_bot(tmp_path, "return 0")) as child:
        with pytest.raises(BotFault, match=r"got a bot that placed a stone on a3 \(cell 0\), which is occupied, in X"):
            await child.answer(Position.parse(TICTACTOE, "X........ O"))


def test_moves_that_lead_to_a_position_alternate_and_are_all_legal() -> None:
    connect4 = parse_variant("connect4")
    played = Position.after(connect4, (38, 31, 24, 35, 17, 28, 39, 21, 32))
    set_up = Position.parse(connect4, str(played))
    rebuilt = Position(connect4)
    for cell in moves_to(set_up):
        assert cell in rebuilt.free
        rebuilt.play(cell)
    assert str(rebuilt) == str(played)
    for text in ("X........ X", "XX....... O", "O........ X"):
        with pytest.raises(PositionError, match="alternating moves"):
            moves_to(Position.parse(TICTACTOE, text))
