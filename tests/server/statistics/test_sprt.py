"""The SPRT: its LLR equals that of an independent solver, and simulated tests keep the promised error rates."""

from __future__ import annotations

import math
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_server.statistics.sprt import Decision, Sprt, SprtError, SprtModel
from noughts_server.statistics.sprt_plan import TrueStrength, plan
from tests.support.root import ROOT
from tests.support.settings import every_nth, examples

_SPEC = spec_from_file_location("sprt_benchmark", ROOT / "benchmarks" / "sprt.py")
assert _SPEC is not None
assert _SPEC.loader is not None
simulator = module_from_spec(_SPEC)
_SPEC.loader.exec_module(simulator)

ONLY_WINS = (0, 0, 27)
COUNTS = [
    (90, 300, 120),
    (700, 600, 700),
    (3, 0, 10),
    (0, 40, 5),
    (10_000, 30_000, 11_000),
    (5, 100, 500, 200, 195),
    (0, 0, 30, 10, 0),
    (0, 3, 500, 4, 0),
    (12, 0, 0, 0, 30),
    (1, 20, 50, 33, 4),
]
Floats = npt.NDArray[np.float64]

HYPOTHESES = [(0.0, 5.0), (0.0, 10.0), (-3.0, 1.0), (-20.0, 30.0)]
CASES = [(ONLY_WINS, SprtModel.LOGISTIC), *((counts, model) for counts in COUNTS for model in SprtModel)]
COUNTS_OF_ANY_SIZE = st.sampled_from([0, 1, 7, 100, 10**9])
ELOS = st.integers(-10_000, 10_000).map(lambda tenths: tenths / 10)
"""Elo differences from -1,000 to 1,000 in steps of 0.1."""


def most_likely(counts: tuple[int, ...], elo: float, model: SprtModel) -> float:
    """Return the largest log-likelihood under one hypothesis, found by a general minimiser.

    The normalized hypothesis has one more free number, the standard deviation, which an outer search finds.
    """
    from scipy.optimize import minimize_scalar

    # Like the SPRT, count an outcome that never occurred as 0.001.
    cells = np.where(np.array(counts) == 0, 0.001, counts)
    values = np.linspace(0, 1, len(counts))
    if model is SprtModel.LOGISTIC:
        return with_moments(cells, [values], [1 / (1 + 10 ** (-elo / 400))])
    # Normalized Elo is the distance of the mean from 0.5 in standard deviations, times a constant.
    distance_in_deviations = elo * math.log(10) / 800 * math.sqrt((len(counts) - 1) / 2)

    def negative_likelihood(deviation: float) -> float:
        mean = 0.5 + distance_in_deviations * deviation
        return -with_moments(cells, [values, values**2], [mean, deviation**2 + mean**2])

    # Scores are from 0 to 1, so no standard deviation is above 0.5. The bounds below reach one grid step further.
    grid = np.linspace(0.01, 0.4999, 16)
    best_deviation = grid[int(np.argmin([negative_likelihood(deviation) for deviation in grid]))]
    minimum = minimize_scalar(
        negative_likelihood,
        bounds=(max(best_deviation - 0.033, 1e-3), min(best_deviation + 0.033, 0.5)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -float(minimum.fun)


def with_moments(cells: Floats, powers: list[object], moments: list[float]) -> float:
    """Return the largest log-likelihood of distributions with these moments.

    It is the minimum of the dual, a convex function of the Lagrange multipliers.
    """
    total = cells.sum()
    shift = np.array([np.asarray(power) - moment for power, moment in zip(powers, moments, strict=True)])

    def dual(multipliers: Floats) -> float:
        inner = 1 + multipliers @ shift
        return math.inf if np.any(inner <= 0) else float(-(cells / total) @ np.log(inner))

    def slope(multipliers: Floats) -> Floats:
        return np.asarray(-shift @ (cells / total / (1 + multipliers @ shift)))

    # Newton's method with step halving. The dual is smooth and convex where it is finite.
    multipliers_now = np.zeros(len(shift))
    for _ in range(500):
        weight = cells / total / (1 + multipliers_now @ shift) ** 2
        step = np.linalg.lstsq((shift * weight) @ shift.T, -slope(multipliers_now), rcond=None)[0]
        scale = 1.0
        # `not <=` also halves the step if the dual is not a number.
        while scale > 1e-14 and not dual(multipliers_now + scale * step) <= dual(multipliers_now):
            scale /= 2
        multipliers_now = multipliers_now + scale * step
        if np.max(np.abs(scale * step)) < 1e-13:
            break
    if np.max(np.abs(slope(multipliers_now))) > 1e-7:
        return -1e15  # no distribution has these means
    return float(cells @ (np.log(cells / total) - np.log(1 + multipliers_now @ shift)))


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.parametrize(
    "counts, model",
    CASES,
    ids=str,
)
def test_llr_equals_that_of_a_general_minimiser(counts: tuple[int, ...], model: SprtModel) -> None:
    # Each case tries one or two hypotheses, beginning at its own place, so that all together try all of them.
    for elo0, elo1 in every_nth(HYPOTHESES, 3, CASES.index((counts, model))):
        expected = most_likely(counts, elo1, model) - most_likely(counts, elo0, model)
        assert Sprt(elo0, elo1, model=model).llr(counts) == pytest.approx(expected, abs=1e-3), (elo0, elo1)


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.parametrize(
    "counts, hypotheses",
    [
        ((90, 300, 120), [(0, 240), (-300, 500)]),
        ((0, 3, 500, 4, 0), [(0, 100)]),  # the likelihood has more than one maximum
        ((12, 0, 0, 0, 30), [(0, 240), (-300, 500)]),
        ((1, 20, 50, 33, 4), [(0, 240), (-300, 500)]),
    ],
    ids=str,
)
def test_normalized_llr_of_far_hypotheses_equals_that_of_a_minimiser(
    counts: tuple[int, ...], hypotheses: list[tuple[float, float]]
) -> None:
    for elo0, elo1 in hypotheses:
        expected = most_likely(counts, elo1, SprtModel.NORMALIZED) - most_likely(counts, elo0, SprtModel.NORMALIZED)
        assert Sprt(elo0, elo1, model=SprtModel.NORMALIZED).llr(counts) == pytest.approx(expected, abs=1e-3), elo1


@pytest.mark.long
@examples(60)
@given(
    st.one_of(st.tuples(*[COUNTS_OF_ANY_SIZE] * 3), st.tuples(*[COUNTS_OF_ANY_SIZE] * 5)),
    st.lists(ELOS, min_size=2, max_size=2, unique=True).map(sorted),
)
def test_normalized_llr_of_any_counts_is_mirrored_with_the_players(counts: tuple[int, ...], elos: list[float]) -> None:
    elo0, elo1 = elos
    llr = Sprt(elo0, elo1, model=SprtModel.NORMALIZED).llr(counts)
    mirrored = Sprt(-elo1, -elo0, model=SprtModel.NORMALIZED).llr(counts[::-1])
    assert llr == pytest.approx(-mirrored, rel=1e-5, abs=1e-5)


def test_llr_equals_that_of_scipy_on_the_probabilities_themselves() -> None:
    """A second independent solver, without duality: SLSQP on five probabilities with their constraints."""
    from scipy.optimize import minimize

    counts = np.array([5, 100, 500, 200, 195])
    values = np.linspace(0, 1, 5)

    def largest_likelihood(score: float) -> float:
        minimum: Any = minimize(  # type: ignore[call-overload]  # its stubs know no tuples as bounds
            lambda shares: float(-counts @ np.log(shares)),
            [0.2] * 5,
            bounds=[(1e-9, 1)] * 5,
            constraints=[
                {"type": "eq", "fun": lambda shares: shares.sum() - 1},
                {"type": "eq", "fun": lambda shares: shares @ values - score},
            ],
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        return -float(minimum.fun)

    expected = largest_likelihood(1 / (1 + 10 ** (-10 / 400))) - largest_likelihood(0.5)
    assert Sprt(0, 10).llr(counts.tolist()) == pytest.approx(expected, abs=1e-3)


def test_a_match_without_losses_is_decided() -> None:
    """A bot that wins all games must not play for ever: each win adds ln(2 s1) to the LLR."""
    test = Sprt(0, 50)
    assert test.judge((0, 0, 27)).decision is Decision.H1
    assert test.judge((0, 0, 27)).llr == pytest.approx(27 * math.log(2 / (1 + 10 ** (-50 / 400))), abs=0.01)
    assert test.judge((27, 0, 0)).decision is Decision.H0
    assert Sprt(0, 10).judge((0, 0, 27)).llr == pytest.approx(27 * math.log(2 / (1 + 10 ** (-10 / 400))), abs=0.01)
    assert Sprt(0, 10).judge((0, 0, 104)).decision is Decision.H1
    # In the normalized model only wins and losses remain: (w - 1/2) / sqrt(w (1 - w)) = t gives the chance w to win.
    deviations = 10 * math.log(10) / 800
    chance = 0.5 + deviations / 2 / math.sqrt(1 + deviations**2)
    expected = 27 * math.log(2 * chance)
    assert Sprt(0, 10, model=SprtModel.NORMALIZED).llr(ONLY_WINS) == pytest.approx(expected, abs=1e-3)
    assert Sprt(0, 50, model=SprtModel.NORMALIZED).judge((0, 0, 0, 0, 40)).decision is Decision.H1


def test_pairs_decide_where_games_do_not() -> None:
    """First movers win nearly always, so single games show little, but pairs show which bot is better."""
    pairs = (0, 30, 880, 90, 0)
    assert Sprt(0, 10).judge(pairs).decision is Decision.H1
    # The same games counted one by one: 910 losses, 120 draws and 970 wins.
    assert Sprt(0, 10).judge((910, 120, 970)).decision is Decision.CONTINUE


def test_no_games_decide_nothing() -> None:
    state = Sprt(0, 5).judge((0, 0, 0))
    assert (state.llr, state.decision) == (0, Decision.CONTINUE)
    assert state.lower == pytest.approx(math.log(0.05 / 0.95))
    assert state.upper == pytest.approx(math.log(0.95 / 0.05))


def test_bounds_follow_from_both_errors() -> None:
    test = Sprt(0, 5, alpha=0.01, beta=0.1)
    assert (test.lower, test.upper) == pytest.approx((math.log(0.1 / 0.99), math.log(0.9 / 0.01)))


@pytest.mark.parametrize(
    "parameters, got",
    [
        ({"elo0": 5, "elo1": 5}, "elo0=5 and elo1=5"),
        ({"elo0": 0, "elo1": math.nan}, "elo1=nan"),
        ({"elo0": -math.inf, "elo1": 0}, "elo0=-inf"),
        ({"elo0": 0, "elo1": 5, "alpha": 0}, "alpha=0"),
        ({"elo0": 0, "elo1": 5, "beta": 0.7}, "beta=0.7"),
    ],
)
def test_impossible_tests_are_refused(parameters: dict[str, float], got: str) -> None:
    with pytest.raises(SprtError) as caught:
        Sprt(**parameters)  # type: ignore[arg-type]  # only numbers
    assert caught.value.got == got


@pytest.mark.long
def test_sequential_tests_keep_their_error_rates_and_lengths() -> None:
    """A thousand each; `benchmarks/sprt.py` plays ten thousand with a smaller difference."""
    test = Sprt(0, 40)
    for elo, right in ((0.0, Decision.H0), (40.0, Decision.H1)):
        truth = TrueStrength(elo, draw_rate=0.3, advantage=80)
        accepted, games, _ = simulator.played_out(test, truth, tests=1_000, seed=1)
        wrong = accepted if right is Decision.H0 else 1 - accepted
        # Three standard errors above 5 %.
        assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1_000)
        planned = plan(test, truth)
        assert planned.expected_games == pytest.approx(games, rel=0.1)
        assert planned.games95 > planned.expected_games


@pytest.mark.parametrize("elo, accepting_is_wrong", [(0.0, True), (40.0, False)])
def test_match_evaluation_keeps_the_promised_error_rates(elo: float, accepting_is_wrong: bool) -> None:
    """Through the server's own evaluation, with a fixed seed; `benchmarks/sprt.py` plays ten thousand tests."""
    truth = TrueStrength(elo, draw_rate=0.3, advantage=80)
    ended = simulator.run_on_server(Sprt(0, 40), truth, tests=40, seed=[1, 0])
    wrong = sum(accepted == accepting_is_wrong for accepted, _ in ended) / 40
    # Three standard errors above 5 %.
    assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 40)


def test_candidates_together_need_few_games_at_the_same_error_rates() -> None:
    """Simulate with a fixed seed. The simulator compares the first tests with the server's evaluation."""
    elos = np.tile(np.array([60.0, 60, 0, 0, -60]), (20, 1))
    apart, _, joint = simulator.compare_ways(Sprt(0, 60), elos, draw_rate=0.3, advantage=80, seed=1)
    assert joint.games < apart.games / 2
    # Three standard errors above 5 %.
    assert joint.false <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 20)
    assert joint.missed <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 20)


@pytest.mark.parametrize("model", list(SprtModel))
def test_plan_at_the_bounds_passes_with_the_promised_probabilities(model: SprtModel) -> None:
    test = Sprt(0, 5, alpha=0.05, beta=0.1, model=model)
    assert plan(test, TrueStrength(0, 0.3, 60)).pass_probability == pytest.approx(0.05, abs=0.002)
    assert plan(test, TrueStrength(5, 0.3, 60)).pass_probability == pytest.approx(0.9, abs=0.002)


def test_draws_and_a_first_mover_that_wins_shorten_a_test_of_pairs() -> None:
    test = Sprt(0, 5)
    usual = plan(test, TrueStrength(5, 0.2))
    assert plan(test, TrueStrength(5, 0.6)).expected_games < usual.expected_games
    assert plan(test, TrueStrength(5, 0.2, 200)).expected_games < usual.expected_games


@pytest.mark.parametrize(
    "test, truth",
    [
        (Sprt(0, 5), TrueStrength(-50, draw_rate=0.8)),
        (Sprt(0, 300), TrueStrength(600, draw_rate=0)),
        (Sprt(0, 60), TrueStrength(200, draw_rate=0.3)),
    ],
    ids=str,
)
def test_plan_for_far_truths_agrees_with_played_tests(test: Sprt, truth: TrueStrength) -> None:
    simulated, planned = simulator.played_out(test, truth, tests=200, seed=1), plan(test, truth)
    assert planned.pass_probability == pytest.approx(simulated.accepted, abs=0.01)
    assert planned.expected_games == pytest.approx(simulated.games, rel=0.1)
    assert planned.games95 == pytest.approx(simulated.games95, rel=0.15)


@pytest.mark.long
@examples(100)
@given(
    st.sampled_from([0.05, 0.49, 1e-9]),
    st.sampled_from([0.05, 0.49, 1e-9]),
    st.sampled_from(list(SprtModel)),
    st.floats(1, 1000),
    st.floats(-1000, 1000),
    st.sampled_from([0, 0.2, 0.5, 0.8]),
)
def test_plan_of_any_strength_is_at_least_a_pair(
    alpha: float, beta: float, model: SprtModel, elo1: float, elo: float, draw_rate: float
) -> None:
    try:
        planned = plan(Sprt(0, elo1, alpha, beta, model), TrueStrength(elo, draw_rate))
    except SprtError:
        return  # this draw rate is impossible with such a difference
    assert 2 <= planned.expected_games <= 1.01 * planned.games95 < math.inf
    assert 0 <= planned.pass_probability <= 1


@pytest.mark.parametrize(
    "truth, got", [({"elo": 400, "draw_rate": 0.5}, "an Elo of 400"), ({"elo": 0, "draw_rate": 1}, "a draw rate of 1")]
)
def test_impossible_strengths_are_refused(truth: dict[str, float], got: str) -> None:
    with pytest.raises(SprtError) as caught:
        plan(Sprt(0, 5), TrueStrength(**truth))
    assert caught.value.got == got
