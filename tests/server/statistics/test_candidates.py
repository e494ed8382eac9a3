"""Several candidates against one base: who plays next, who is dropped, and when the test ends."""

from __future__ import annotations

import random

import pytest

from noughts_server.statistics.candidates import Candidates
from noughts_server.statistics.match_games import MatchGame
from noughts_server.statistics.sprt import Decision, Sprt, SprtError


def games(points: str) -> dict[int, MatchGame]:
    """Games by slot: + won, = drawn, - lost by the candidate."""
    return {slot: MatchGame({"+": 1.0, "=": 0.5, "-": 0.0}[point]) for slot, point in enumerate(points, 1)}


def sampled(weights: tuple[int, int, int], *, seed: int) -> dict[int, MatchGame]:
    return games("".join(random.Random(seed).choices("+=-", weights, k=800)))


def played(candidates: Candidates) -> list[int]:
    return [match.known for match in candidates.matches]


def test_the_leader_plays_the_next_pair() -> None:
    candidates = Candidates(Sprt(0, 50), 3)
    assert candidates.order == [0, 1, 2]
    candidates.add(0, games("+-"))
    assert candidates.order == [1, 2, 0]
    candidates.add(2, games("++"))
    assert candidates.order == [1, 2, 0], "2 has not counted yet, because 1 comes before it"
    assert played(candidates) == [2, 0, 0]
    candidates.add(1, games("--"))
    assert candidates.order == [2, 0, 1]
    assert played(candidates) == [2, 2, 2]


def test_the_first_accepted_candidate_ends_the_test() -> None:
    candidates = Candidates(Sprt(0, 50), 3)
    for number, points in enumerate(("-+" * 200, "++" * 200, "==" * 200)):
        candidates.add(number, games(points))
    assert candidates.accepted == 1
    assert candidates.order == []
    before = played(candidates)
    candidates.add(1, games("--" * 400))
    assert played(candidates) == before
    assert before == [2, before[1], 0], "1 leads from its first pair on"


def test_candidates_whose_test_accepts_h0_are_dropped() -> None:
    candidates = Candidates(Sprt(0, 50), 2)
    candidates.add(0, games("--" * 200))
    assert candidates.order == [1, 0]
    candidates.add(1, games("=-" * 200))
    assert candidates.order == []
    assert candidates.accepted is None
    assert [match.state.decision for match in candidates.matches if match.state] == [Decision.H0, Decision.H0]


def test_a_candidate_that_only_repeats_its_games_is_left_out() -> None:
    candidates = Candidates(Sprt(0, 50), 2)
    candidates.add(0, {slot: MatchGame(slot % 2, "", str(slot % 2)) for slot in range(1, 400)})
    candidates.add(1, games("==" * 2))
    assert candidates.matches[0].exhausted
    assert candidates.order == [1]


def test_the_result_does_not_depend_on_the_order_in_which_games_end() -> None:
    samples = [sampled(weights, seed=seed) for seed, weights in enumerate([(4, 2, 4), (5, 2, 3), (5, 2, 4), (3, 2, 5)])]
    results = set()
    for seed in range(3):
        candidates, order = Candidates(Sprt(0, 60), 4), random.Random(seed)
        arriving = [(number, slot) for number in range(4) for slot in samples[number]]
        arriving.sort(key=lambda game: game[1] + order.random() * 100 * seed)
        for number, slot in arriving:
            candidates.add(number, {slot: samples[number][slot]})
        results.add((candidates.accepted, tuple(played(candidates))))
    assert len(results) == 1
    assert results.pop()[0] in (1, 2)


def test_the_candidates_share_alpha() -> None:
    candidates = Candidates(Sprt(0, 50, alpha=0.05), 5)
    assert {match.sprt for match in candidates.matches} == {Sprt(0, 50, alpha=0.01)}


@pytest.mark.parametrize("number, got", [(0, "0 candidates"), (1_000, "alpha=5e-10")])
def test_impossible_numbers_of_candidates_are_refused(number: int, got: str) -> None:
    with pytest.raises(SprtError) as caught:
        Candidates(Sprt(0, 50, alpha=5e-7), number)
    assert caught.value.got == got
