"""Engines that lose words of a line that comes directly after their move: they lose no game and cause no waiting.

`tests/support/children/deaf_engine.py` is such an engine; `NOUGHTS_DEAF_GAMES=200` plays as many games as a long run.
"""

import os
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from noughts_referee.children.running_child import ChildSettings
from noughts_server.launching.launcher import SandboxMode
from tests.support.children.field import PROGRAMS, Field

GAMES = int(os.environ.get("NOUGHTS_DEAF_GAMES", "6"))
# On a busy machine, a move of any engine sometimes takes 0.2 s.
TIME = "0.2/move" if "NOUGHTS_DEAF_GAMES" in os.environ else "3/move"
TIMES = ChildSettings(start=10.0, silence=5.0, stop=0.2)
ON_THE_BOARD = {"line", "board_full"}


def engine(program: str, habits: str = "", options: str = "") -> str:
    command = shlex.join([sys.executable, str(PROGRAMS / f"{program}_engine.py"), *habits.split()])
    return f"{program}=gomocup{options}:{command}"


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return Field(tmp_path, SandboxMode.OFF)


def lines_of(log: Path) -> list[tuple[Any, ...]]:
    """Return all lines of all logs in order of time: (seconds, bot, direction, text)."""
    fields = (line.split(maxsplit=3) for path in log.iterdir() for line in path.read_text().splitlines())
    return sorted(
        ((float(seconds), bot, direction, *text) for seconds, bot, direction, *text in fields), key=lambda line: line[0]
    )


def longest_wait(log: Path) -> float:
    times: list[float] = [line[0] for line in lines_of(log)]
    return max(after - before for before, after in pairwise(times))


@pytest.mark.parametrize("concurrency", [1, 2, 8])
@pytest.mark.parametrize("habits", ["", "first"])
async def test_a_deaf_engine_loses_no_game(field: Field, tmp_path: Path, habits: str, concurrency: int) -> None:
    log = tmp_path / "said"
    outcome = await field.play(
        engine("deaf", f"slow {habits}"), engine("odd"), games=GAMES, concurrency=concurrency, processes=concurrency,
        variant="mnk:7,7,5", time=TIME, children=TIMES, log=log,
    )  # fmt: skip
    assert {game.termination for game in field.games} <= ON_THE_BOARD, outcome.faults
    assert len(field.games) == GAMES
    assert not outcome.faults
    # Without a repeated question, the engine would wait until its time is over.
    assert longest_wait(log) < 3.0
    assert any(
        note.startswith("deaf lost words of commands that came directly after its move") for note in field.run_notes
    )


async def test_a_missed_question_is_repeated_with_the_whole_board(field: Field, tmp_path: Path) -> None:
    log = tmp_path / "said"
    await field.play(engine("deaf", "slow"), engine("odd"), games=2, variant="mnk:7,7,5", time="5/move", log=log)
    messages = [(direction, *text) for _, label, direction, *text in lines_of(log) if label == "deaf"]
    repeat_index = next(index for index, (direction, *_) in enumerate(messages) if direction == "#")
    question = next(text for direction, text in reversed(messages[:repeat_index]) if direction == "<")
    assert messages[repeat_index - 1] == (">", f"ERROR Unknown command: {question.removeprefix('TURN ')}")
    assert messages[repeat_index] == ("#", "asked again, after 2 ms from now on")
    repeated = [text for _, text in messages[repeat_index + 1 : messages.index(("<", "DONE"), repeat_index) + 1]]
    assert repeated[:2] == ["INFO time_left 2147483647", "BOARD"]
    assert repeated[-2:] == [f"{question.removeprefix('TURN ')},2", "DONE"]


@pytest.mark.parametrize("habits, repeats, clock", [("busy=1", 1, "5/move"), ("busy=3", 3, "60+0")])
async def test_a_question_is_repeated_up_to_three_times(
    field: Field, tmp_path: Path, habits: str, repeats: int, clock: str
) -> None:
    log = tmp_path / "said"
    outcome = await field.play(engine("deaf", habits), engine("odd"), games=2, variant="mnk:7,7,5", time=clock, log=log)
    assert {game.termination for game in field.games} <= ON_THE_BOARD, outcome.faults
    lines = [line for line in lines_of(log) if line[1] == "deaf"]
    questions = sum(direction == "<" and text[0].startswith("INFO time_left") for _, _, direction, *text in lines)
    moves = sum(direction == ">" and text[0][0].isdigit() for _, _, direction, *text in lines)
    # Each second question is repeated; one more `time_left` comes with the settings of the game.
    assert questions - 2 * repeats * moves // 2 == moves + 1


async def test_after_a_fourth_refusal_the_clock_runs_on(field: Field, tmp_path: Path) -> None:
    outcome = await field.play(engine("deaf", "busy=9"), engine("odd"), games=1, variant="mnk:7,7,5", time="2/move")
    assert {game.termination for game in field.games} == {"timeout"}
    assert [fault.bot for fault in outcome.faults if fault.games] == ["deaf"]


@pytest.mark.parametrize("habits, options", [("anyway", ""), ("anyway=0.02", "{restart=on}")])
async def test_an_engine_that_answers_despite_its_error_is_asked_once(
    field: Field, tmp_path: Path, habits: str, options: str
) -> None:
    log = tmp_path / "said"
    outcome = await field.play(
        engine("deaf", habits, options), engine("odd"), games=6, concurrency=2, processes=2, variant="mnk:7,7,5",
        time=TIME, children=TIMES, log=log,
    )  # fmt: skip
    assert {game.termination for game in field.games} <= ON_THE_BOARD, outcome.faults
    # At most once in each of the two seats; if one seat plays all games, once.
    assert sum(line[2] == "#" for line in lines_of(log)) in (1, 2)


async def test_the_pause_is_not_charged_to_any_clock(field: Field, tmp_path: Path) -> None:
    await field.play(
        engine("deaf", options="{settle=400ms}"), engine("odd"), games=1, variant="mnk:7,7,5", time="1/move",
        children=TIMES, keep_times=True,
    )  # fmt: skip
    times_us = sorted(us for game in field.games for us in game.times_us[game.first != "deaf" :: 2])
    assert times_us[len(times_us) // 2] < 400_000
    assert not any("lost words" in note for note in field.run_notes)


async def test_a_game_lost_on_time_is_followed_by_the_next_at_once(field: Field, tmp_path: Path) -> None:
    log = tmp_path / "said"
    await field.play(
        engine("odd", "silent at=2"), "random", games=3, variant="mnk:7,7,5", time="0.2/move", children=TIMES, log=log
    )
    assert [game.termination for game in field.games] == ["timeout"] * 3
    assert longest_wait(log) < TIMES.silence


async def test_with_a_chosen_pause_a_slow_engine_is_not_reported_as_deaf(field: Field) -> None:
    slow = engine("odd", "silent at=2", "{settle=5ms}")
    await field.play(slow, "random", games=2, variant="mnk:7,7,5", time="0.2/move", children=TIMES)
    assert [game.termination for game in field.games] == ["timeout"] * 2
    assert not any("lost words" in note for note in field.run_notes)
