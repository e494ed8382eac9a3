"""SPSA against its formulas, and against simulated bots whose best values are known."""

from __future__ import annotations

import random

import pytest

from noughts_server.statistics.optima import optima, tuned_values
from noughts_server.statistics.spsa import Course, Parameter, PlayedIteration, Tuning

ATTACK = Parameter(name="attack", start=13.0, low=0.0, high=40.0, step=1.0, rate=0.02, whole=False)
DEFENCE = Parameter(name="defence", start=2.0, low=-20.0, high=20.0, step=1.0, rate=0.02, whole=False)
OPTIMA = {"attack": 10.0, "defence": 5.0}
ELO_PER_SQUARE = 3.0
"""The Elo that a distance of 1 from an optimum costs."""
DRAW_RATE = 0.3
"""The share of draws between equal bots."""


def elo(values: dict[str, float]) -> float:
    """Return the strength of a bot with these values, which is 0 at the optima."""
    return -ELO_PER_SQUARE * sum((values[name] - optimum) ** 2 for name, optimum in OPTIMA.items())


def simulated(course: Course, rng: random.Random, games: int) -> PlayedIteration:
    """Return the result of games between the two sets of the next iteration."""
    pair = course.next_pair()
    score = 1 / (1 + 10 ** ((elo(pair.minus) - elo(pair.plus)) / 400))
    # Equal bots draw at DRAW_RATE. The larger the difference, the fewer games are draws.
    draw_rate = DRAW_RATE * 4 * score * (1 - score)
    # A random number below the share of wins is a win, and one above the shares of wins and draws is a loss.
    numbers = [rng.random() for _ in range(games)]
    wins = sum(number < score - draw_rate / 2 for number in numbers)
    losses = sum(number > score + draw_rate / 2 for number in numbers)
    return PlayedIteration(wins=wins, draws=games - wins - losses, losses=losses)


def tuned_course(seed: int, *, iterations: int = 500, games: int = 16) -> Course:
    course = Course(Tuning(parameters=(ATTACK, DEFENCE), iterations=iterations, seed=seed))
    rng = random.Random(seed)
    while not course.finished:
        course.add(simulated(course, rng, games))
    return course


def covered(course: Course) -> list[bool]:
    """Return for each parameter whether its interval exists and contains the optimum."""
    return [
        optimum is not None and optimum.low <= OPTIMA[parameter.name] <= optimum.high
        for parameter, optimum in zip(course.tuning.parameters, optima(course), strict=True)
    ]


def test_the_last_iteration_has_the_step_and_the_rate_of_the_parameter() -> None:
    tuning = Tuning(parameters=(ATTACK,), iterations=1_000, seed=1)
    assert tuning.perturbation(ATTACK, 1_000) == pytest.approx(ATTACK.step)
    assert tuning.gain(ATTACK, 1_000) == pytest.approx(ATTACK.rate * ATTACK.step)
    # c(1) = step * N ** GAMMA
    first_perturbation = 1.0 * 1_000**0.101
    assert tuning.perturbation(ATTACK, 1) == pytest.approx(first_perturbation)
    # a(1) = rate * step ** 2 * ((A + N) / (A + 1)) ** ALPHA with A = 100; the gain is a(1) / c(1)
    assert tuning.gain(ATTACK, 1) == pytest.approx(0.02 * 1.0 * (1_100 / 101) ** 0.602 / first_perturbation)


def test_values_move_towards_the_set_that_won() -> None:
    course = Course(Tuning(parameters=(ATTACK, DEFENCE), iterations=10, seed=3))
    directions = course.next_pair().directions
    course.add(PlayedIteration(wins=10, draws=2, losses=4))
    gains = [course.tuning.gain(parameter, 1) for parameter in (ATTACK, DEFENCE)]
    wins_minus_losses = 6
    expected = [
        parameter.start + gain * wins_minus_losses * direction
        for parameter, gain, direction in zip((ATTACK, DEFENCE), gains, directions, strict=True)
    ]
    assert course.values[-1] == pytest.approx(expected)


def test_level_iterations_move_nothing() -> None:
    course = Course(Tuning(parameters=(ATTACK,), iterations=10, seed=3))
    course.add(PlayedIteration(wins=5, draws=6, losses=5))
    assert course.values[-1] == (ATTACK.start,)


def test_values_and_sets_stay_in_the_range() -> None:
    narrow = Parameter(name="narrow", start=0.9, low=0.0, high=1.0, step=0.5, rate=1.0, whole=False)
    course = Course(Tuning(parameters=(narrow,), iterations=50, seed=1))
    while not course.finished:
        pair = course.next_pair()
        assert min(pair.plus["narrow"], pair.minus["narrow"]) >= 0
        assert max(pair.plus["narrow"], pair.minus["narrow"]) <= 1
        course.add(PlayedIteration(wins=16, draws=0, losses=0))
        assert 0 <= course.values[-1][0] <= 1


def test_whole_parameters_are_rounded_up_as_often_as_their_fraction() -> None:
    whole = Parameter(name="depth", start=4.25, low=0.0, high=10.0, step=1.0, rate=0.02, whole=True)
    tuning = Tuning(parameters=(whole,), iterations=4_000, seed=5)
    played = [tuning.pair_of_sets(iteration, (4.25,)) for iteration in range(1, 4_001)]
    assert all(number == int(number) for pair in played for number in (pair.plus["depth"], pair.minus["depth"]))
    mean = sum(pair.plus["depth"] + pair.minus["depth"] for pair in played) / (2 * len(played))
    assert mean == pytest.approx(4.25, abs=0.05)


def test_whole_parameters_with_a_small_step_still_differ() -> None:
    whole = Parameter(name="depth", start=4.0, low=0.0, high=10.0, step=0.01, rate=0.02, whole=True)
    tuning = Tuning(parameters=(whole,), iterations=100, seed=5)
    pairs = [tuning.pair_of_sets(iteration, (4.0,)) for iteration in range(1, 101)]
    assert all(abs(pair.plus["depth"] - pair.minus["depth"]) == 1 for pair in pairs)


def test_the_seed_determines_directions_and_games() -> None:
    first, same, other = (Tuning(parameters=(ATTACK, DEFENCE), iterations=100, seed=seed) for seed in (1, 1, 2))
    values = (ATTACK.start, DEFENCE.start)
    pairs = [[tuning.pair_of_sets(number, values) for number in range(1, 101)] for tuning in (first, same, other)]
    assert pairs[0] == pairs[1] != pairs[2]
    assert len({first.seed_of_games(number) for number in range(1, 101)}) == 100


def test_intervals_contain_the_planted_optima() -> None:
    courses = [tuned_course(seed, iterations=1_000) for seed in range(20)]
    for index in range(2):
        assert sum(covered(course)[index] for course in courses) >= 19
    errors = [abs(tuned_values(course)[name] - optimum) for course in courses for name, optimum in OPTIMA.items()]
    # The starts are 3 away from the optima.
    assert sum(errors) / len(errors) < 0.3


@pytest.mark.at_length
def test_intervals_contain_the_optima_in_95_of_100_tunings() -> None:
    courses = [tuned_course(seed) for seed in range(400)]
    estimates = [optimum for course in courses for optimum in optima(course)]
    intervals = sum(optimum is not None for optimum in estimates)
    assert intervals > 0.97 * len(estimates)
    # 95 % less two standard deviations, which are 1.5 % with 800 intervals.
    assert sum(sum(covered(course)) for course in courses) > 0.935 * intervals


def test_without_an_effect_there_is_no_optimum() -> None:
    course = Course(Tuning(parameters=(ATTACK,), iterations=200, seed=1))
    rng = random.Random(1)
    while not course.finished:
        wins = sum(rng.random() < 0.5 for _ in range(16))
        course.add(PlayedIteration(wins=wins, draws=0, losses=16 - wins))
    assert optima(course) == [None]
    assert tuned_values(course) == {"attack": course.values[-1][0]}


def test_few_iterations_give_no_optimum() -> None:
    course = tuned_course(1, iterations=5)
    assert optima(course) == [None, None]
