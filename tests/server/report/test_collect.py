"""The data that a report collects while it reads games: a sample of games, and the score of a match over time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from noughts_server.report.collect import MOST_FAULTS, MatchCourse, Sample, collect
from noughts_server.tables.recorded_game import RecordedGame
from tests.support.settings import examples

RESULTS = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}


def game(
    first: str = "A", second: str = "B", result: str = "1-0", termination: str = "line", place: int = 0
) -> RecordedGame:
    """Return a game of tic-tac-toe. Games with different places have different moves."""
    return RecordedGame("tictactoe", first, second, result, (4, place), termination)


def sides(place: int) -> tuple[str, str]:
    """Return the first and the second bot of the game at this place: A moves first in every other game."""
    return ("A", "B") if place % 2 == 0 else ("B", "A")


@given(st.integers(0, 700), st.integers(1, 40), st.sets(st.integers(1, 700), max_size=60))
@examples(150)
def test_sample_has_every_nth_game_and_the_first_faults(total: int, limit: int, faulty: set[int]) -> None:
    sample = Sample(limit)
    for number in range(1, total + 1):
        sample.add(number, game(termination="timeout" if number in faulty else "line"))
    numbers = [game.number for game in sample.games()]
    faults = sorted(number for number in faulty if number <= total)[:MOST_FAULTS]
    every_nth = list(range(1, total + 1, sample.stride))
    assert numbers == sorted({*every_nth, *faults})
    assert len(every_nth) <= limit
    assert sample.stride == 1 or total > limit


@given(st.lists(st.sampled_from(sorted(RESULTS)), max_size=120))
@examples(100)
def test_a_match_counts_pairs_by_the_points_of_both_games(results: list[str]) -> None:
    course = MatchCourse("A")
    points: list[float] = []
    for place, result in enumerate(results):
        first, second = sides(place)
        course.add(game(first, second, result, place=place))
        points.append(RESULTS[result] if first == "A" else 1 - RESULTS[result])
    pairs = [one + other for one, other in zip(points[::2], points[1::2], strict=False)]
    statistics = course.statistics()
    assert statistics.pentanomial == tuple(pairs.count(half_points / 2) for half_points in range(5))
    unpaired = points[len(pairs) * 2 :]
    assert statistics.single == tuple(unpaired.count(value) for value in (1.0, 0.5, 0.0))
    assert course.paired == (len(results) > 1)
    steps = course.steps() if course.paired else []
    assert [step.games for step in steps] == list(range(2, len(results) + 1, 2))
    assert not steps or steps[-1].counts == statistics.pentanomial


def test_games_that_are_not_in_pairs_are_counted_singly() -> None:
    course = MatchCourse("A")
    for result in ("1-0", "0-1", "1/2-1/2", "1-0"):
        course.add(game("A", "B", result))
    assert not course.paired
    assert (course.statistics().single, course.statistics().pentanomial) == ((2, 1, 1), (0, 0, 0, 0, 0))
    assert [step.counts for step in course.steps()] == [(0, 0, 1), (1, 0, 1), (1, 1, 1), (1, 1, 2)]


def test_the_course_of_a_long_match_is_short_and_ends_with_the_last_game() -> None:
    course = MatchCourse("A")
    for place in range(20_001):
        course.add(game(*sides(place), "1-0", "line", place))
    steps = course.steps()
    assert len(steps) <= 514
    assert steps[-1].games == 20_000


def test_only_games_of_two_bots_are_a_match() -> None:
    assert collect("", [game()], most_games=0).course is not None
    assert collect("", [game(), game("A", "C")], most_games=0).course is None


def test_repetitions_of_a_pair_count_once() -> None:
    course = MatchCourse("A")
    for place in range(10):
        course.add(game(*sides(place)))
    statistics = course.statistics()
    assert (statistics.pentanomial, statistics.repeats, statistics.games) == ((0, 0, 1, 0, 0), 8, 10)


def test_games_lost_by_a_withdrawal_are_no_evidence_of_strength() -> None:
    course = MatchCourse("A")
    played = [game(*sides(place), "1/2-1/2", place=place) for place in range(4)]
    withdrawals = [
        replace(
            game(*sides(place), "10"[place % 2] + "-" + "01"[place % 2], "adjudicated"),
            moves=moves,
            fault="was withdrawn",
        )
        for place, moves in ((4, (4,)), (5, ()), (6, ()), (7, ()))
    ]
    for each in (*played, *withdrawals):
        course.add(each)
    assert course.paired
    statistics = course.statistics()
    assert (statistics.pentanomial, statistics.single, statistics.games) == ((0, 0, 2, 0, 0), (0, 0, 0), 4)
    assert course.steps()[-1].counts == (0, 0, 2, 0, 0)


def test_single_games_lost_by_a_withdrawal_do_not_count() -> None:
    course = MatchCourse("A")
    for each in (
        game(),
        game("A", "B", "0-1"),
        replace(game(termination="adjudicated"), moves=(), fault="was withdrawn"),
    ):
        course.add(each)
    assert course.statistics().single == (1, 0, 1)


def test_games_that_a_rule_adjudicated_count_also_without_moves() -> None:
    course = MatchCourse("A")
    for place in range(4):
        course.add(replace(game(*sides(place), "1/2-1/2", "adjudicated"), moves=()))
    assert course.statistics().pentanomial == (0, 0, 2, 0, 0)
