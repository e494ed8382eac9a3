"""Engines that speak the Go Text Protocol: `gtp:COMMAND`."""

import shlex
import sys
from itertools import product
from pathlib import Path

import pytest

from noughts_bots.hosts.gtp import GtpBot, cell_of, move_of, vertex_of
from noughts_bots.sdk.bot import Move, Resign
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import Position, parse_variant
from tests.support.children.field import PROGRAMS
from tests.support.hosting import HostProcess, load_error

GOMOKU = parse_variant("gomoku")


def command(habit: str = "honest") -> str:
    return shlex.join([sys.executable, str(PROGRAMS / "gtp_engine.py"), habit])


def test_points_are_letters_without_i_and_rows_from_the_bottom() -> None:
    assert [vertex_of(cell, GOMOKU) for cell in (0, 8, 112, 224)] == ["A15", "J15", "H8", "P1"]
    assert [cell_of(vertex_of(cell, GOMOKU).lower(), GOMOKU) for cell in range(225)] == list(range(225))
    assert cell_of(" h8  (score 12)", GOMOKU) == 112
    for wrong in ("h" + "9" * 5_000, "", "pass", "I5", "A0", "A16", "Q1", "A", "7", "A1x"):
        with pytest.raises(Resign, match="expected a point such as H8"):
            cell_of(wrong, GOMOKU)


@pytest.mark.parametrize("habit", ["numbers", "plain", "swallows"])
def test_an_analysis_gives_score_visits_and_line(habit: str) -> None:
    bot = GtpBot([sys.executable, str(PROGRAMS / "gtp_engine.py"), habit], analyses=True)
    try:
        first = bot.choose(Position.after(GOMOKU, ()))
        assert first == Move(210, 98, nodes=812, pv=[210, 211, 212])
        assert bot.choose(Position.after(GOMOKU, (210, 0))) == Move(211, 98, nodes=812, pv=[211, 212, 213])
    finally:
        bot.close()


@pytest.mark.parametrize(
    "info",
    [
        "",
        "info",
        "info move",
        "info move I5 visits 3",
        "info move G8 visits 3",
        "info move H8",
        "info move H8 visits x winrate nan",
    ],
)
def test_an_analysis_that_says_nothing_about_the_move_adds_nothing(info: str) -> None:
    assert move_of(112, info, GOMOKU)._replace(pv=()) == Move(112)


def test_games_of_several_boards_are_played_in_turns_by_one_engine() -> None:
    with HostProcess("gtp", command()) as child:
        assert "gomoku" in child.hello().variants
        # The engine takes the bottom row from the left: A1 is the first cell of the last row.
        assert child.ask("gomoku", {1: (), 2: (210,)}, seeds={1: 1, 2: 2}, side=0) == {1: 210, 2: 211}
        assert child.ask("mnk:9,9,5", {3: (72, 73)}, seeds={3: 1}) == {3: 74}
        assert child.turn({1: (210, 211), 2: (210, 211, 212)}) == {1: 212, 2: 213}
        assert child.close() == 0
        assert "thinking" in child.stderr_text()


HABITS = ("noise", "late-noise", "blanks", "cr", "twice", "unended", "next-line", "silent", "banner+silent")
ALL_HABITS = "noise+blanks+cr+late-noise+twice"


@pytest.mark.parametrize(
    "numbers, habit",
    [
        *(("", habit) for habit in (*HABITS, ALL_HABITS)),
        *((numbers, ALL_HABITS) for numbers in ("numbers+", "swallows+")),
        *(pytest.param(*pair, marks=pytest.mark.at_length) for pair in product(("numbers+", "swallows+"), HABITS)),
    ],
)
def test_additional_output_of_an_engine_loses_no_game(numbers: str, habit: str) -> None:
    with HostProcess("gtp", command(numbers + habit)) as child:
        child.hello()
        assert child.ask("gomoku", {1: (), 2: (210,)}, seeds={1: 1, 2: 2}, side=0) == {1: 210, 2: 211}
        assert child.turn({1: (210, 211), 2: (210, 211, 212)}) == {1: 212, 2: 213}
        assert child.close() == 0
        assert ("loading weights" in child.stderr_text()) == ("noise" in habit.split("+"))


@pytest.mark.parametrize("habit", ["refuses", "garbles", "numbers+refuses+noise", "numbers+garbles+twice"])
def test_an_engine_error_loses_only_its_own_game(habit: str) -> None:
    with HostProcess("gtp", command(habit)) as child:
        child.hello()
        assert child.ask("gomoku", {1: (), 2: ()}, seeds={1: 1, 2: 2}) == {1: 210, 2: None}
        assert child.turn({1: (210, 211)}) == {1: 212}
        assert child.ask("gomoku", {3: ()}, seeds={3: 3}) == {3: None}
        assert child.turn({1: (210, 211, 212, 213)}) == {1: 214}


def test_boards_that_gtp_does_not_support_are_resigned() -> None:
    with HostProcess("gtp", command()) as child:
        child.hello()
        assert child.ask("mnk:7,6,4", {1: ()}, seeds={1: 1}) == {1: None}
        assert child.ask("mnk:30,30,5", {2: ()}, seeds={2: 1}) == {2: None}


def test_an_engine_without_time_commands_plays_with_a_clock() -> None:
    with HostProcess("gtp", command()) as child:
        child.hello()
        frame = pb.PlayResponse()
        frame.starts.add(
            tournament="tournaments/t", variant="gomoku", game=[1], number=[1], side=[1], seed=[5], opponent=[0],
            opponents=["x"], move_count=[0], time={"bank_us": 60_000_000},
        )  # fmt: skip
        frame.turns.own_clock_us.append(60_000_000)
        frame.turns.opponent_clock_us.append(60_000_000)
        assert child.turn({1: ()}, frame) == {1: 210}


@pytest.mark.parametrize("habit, reason", [("pass", "the engine answered 'pass'"), ("resign", "")])
def test_an_engine_that_passes_or_resigns_loses(habit: str, reason: str) -> None:
    with HostProcess("gtp", command(habit)) as child:
        child.hello()
        frame = pb.PlayResponse()
        frame.starts.add(
            tournament="tournaments/t", variant="gomoku", game=[1], number=[1], side=[1], seed=[5], opponent=[0],
            opponents=["x"], move_count=[0],
        )  # fmt: skip
        frame.turns.game.append(1)
        frame.turns.ply.append(0)
        frame.turns.cell.append(0)
        child.send(frame)
        moves = child.moves()
        assert list(moves.resigned) == [0]
        assert reason in moves.reason[0]


def test_the_host_ends_with_its_engine() -> None:
    with HostProcess("gtp", command("crash")) as child:
        child.hello()
        assert child.ask("gomoku", {1: ()}, seeds={1: 1}) == {1: 210}
        child.send(_second_question())
        while (frame := child.receive()) is not None:
            assert not frame.moves.game
        assert child.wait_for_exit() == 3
        assert child.stderr_text().endswith("the engine has ended with exit code 3\n")


def _second_question() -> pb.PlayResponse:
    frame = pb.PlayResponse()
    frame.turns.game.append(1)
    frame.turns.ply.append(2)
    frame.turns.cell.append(0)
    return frame


def test_a_gtp_engine_that_cannot_start_is_refused(tmp_path: Path) -> None:
    assert "expected a program that can be run" in load_error("gtp", str(tmp_path / "nothing"))
    assert "check its quotes" in load_error("gtp", "'unclosed")
