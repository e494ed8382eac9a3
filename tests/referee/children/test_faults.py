"""Child players that misbehave, beyond the table of `matrix.py`: disabled bots, notes, and games of other bots."""

from pathlib import Path

import pytest

from noughts_referee.children.running_child import ChildSettings
from tests.support.children.field import QUICK, Field, losses, terminations

PATIENT = ChildSettings(start=60.0, silence=60.0, stop=10.0)
"""For bots that end by themselves: on a busy machine, their exit codes can come late."""


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return Field(tmp_path)


async def test_a_bot_that_never_starts_is_disabled_after_three_attempts(field: Field) -> None:
    times = ChildSettings(start=0.4, stop=0.2)
    outcome = await field.play(field.player("never starts"), "first-free", games=300, concurrency=8, children=times)
    (fault,) = outcome.faults
    assert fault.reason == "did not say Hello within 0.4 s (see --start-timeout)"
    assert (fault.disabled, fault.times, fault.games) == (True, 3, 300)
    assert terminations(outcome) == {"crashed": 300}
    assert losses(field.games, "bad") == 300
    assert field.survivors() == []


async def test_of_two_disabled_players_the_same_one_always_loses(field: Field) -> None:
    outcome = await field.play(
        field.player("dies at once"), field.player("dies at once", "worse"), games=20, children=PATIENT
    )
    assert terminations(outcome) == {"crashed": 20}
    assert losses(field.games, "bad") == 20
    assert [fault.disabled for fault in outcome.faults] == [True, True]
    assert outcome.faults[0].stderr == "no licence found\n"


async def test_a_crash_loses_the_running_games_and_no_later_ones(field: Field) -> None:
    # Four games run at once: the first crash also loses the other three.
    outcome = await field.play(field.player("crash"), "first-free", games=8, concurrency=4, children=PATIENT)
    (fault,) = outcome.faults
    assert terminations(outcome) == {"crashed": 8}
    assert fault.games == 8
    assert 2 <= fault.times < 8
    # The tournament can end before another process starts.
    assert len(field.lives()) - fault.times in (0, 1)


async def test_a_bot_that_ends_in_many_ways_has_at_most_21_faults(field: Field) -> None:
    outcome = await field.play(field.player("another code each time"), "first-free", games=22, children=PATIENT)
    *own, others = outcome.faults
    assert [fault.reason for fault in own] == [f"ended with exit code {life}" for life in range(1, 21)]
    assert (others.reason, others.times, others.games) == ("failed in other ways", 2, 2)
    assert (await field.notes_of_games())[-1]["bad"] == "it ended with exit code 22"


async def test_a_bot_that_returns_for_another_variant_loses_its_games(field: Field) -> None:
    outcome = await field.play(field.player("other variants later"), "first-free", "random", games=4, children=PATIENT)
    assert outcome.games == outcome.games_total == 12
    assert terminations(outcome)["crashed"] == losses(field.games, "bad") == 8
    reason = "sent an invalid hello: got a bot that plays gomoku, expected one that plays tictactoe"
    assert [(fault.reason, fault.times, fault.disabled) for fault in outcome.faults[1:]] == [(reason, 3, True)]


async def test_the_end_of_a_bots_stderr_is_kept_with_the_game(field: Field) -> None:
    outcome = await field.play(field.player("much to say"), "first-free", games=2, children=PATIENT)
    (fault,) = outcome.faults
    assert len(fault.stderr) == 64 * 1024
    assert fault.stderr.endswith("blah \nlast words\n")
    notes = await field.notes_of_games()
    assert [list(note) for note in notes] == [["bad"], ["bad"]]
    for note in notes:
        assert note["bad"].startswith("it ended with exit code 1\n")
        assert note["bad"].endswith("last words\n")
        assert len(note["bad"]) <= 64 * 1024


@pytest.mark.at_length
@pytest.mark.parametrize("habits", [("crash",), ("hang", "50 MB")], ids=["one", "half"])
async def test_games_of_honest_bots_are_the_same_without_the_faults(tmp_path: Path, habits: tuple[str, ...]) -> None:
    honest = ["random", "Third=pascal:level=0"]
    labels = [f"bad{number}" for number in range(len(habits))]
    games_by_run = []
    for name, run_habits in (("with", habits), ("without", ("honest",) * len(habits))):
        (tmp_path / name).mkdir()
        field = Field(tmp_path / name)
        bad = [field.player(habit, label) for habit, label in zip(run_habits, labels, strict=True)]
        good = field.player("honest", "good")
        outcome = await field.play(*bad, *honest, good, games=4, time="1/move", concurrency=3)
        assert outcome.games == outcome.games_total
        assert field.survivors() == []
        games_by_run.append([game for game in field.games if not {game.first, game.second} & set(labels)])
    assert len(games_by_run[0]) == 12
    assert repr(games_by_run[0]).encode() == repr(games_by_run[1]).encode()
    assert QUICK.heartbeat < 1


async def test_same_games_at_any_concurrency(field: Field) -> None:
    specs = (field.player("honest", "one"), "random", field.player("honest", "two"))
    await field.play(*specs, games=20, children=PATIENT)
    sequential_games = field.games
    await field.play(*specs, games=20, concurrency=32, children=PATIENT)
    assert field.games == sequential_games
