"""The schedule of several candidates against one base, dropped candidates, and the end of the test."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from noughts_server.statistics.candidates import Candidates, CandidateState, pairs_ahead
from noughts_server.statistics.match_games import MatchGame
from noughts_server.statistics.sprt import Decision, Sprt, SprtError

TEST = Sprt(0, 100)
PAIRS_AHEAD = 8


def make_candidates(number: int, sprt: Sprt = TEST, most_pairs: int = 1_000) -> Candidates:
    return Candidates(sprt, number, most_pairs)


def play_in_order(candidates: Candidates, points: Mapping[int, str], slots: int = 10_000) -> None:
    """Play the schedule up to `slots` games; `points` are the two results of every pair of a candidate, e.g. `+-`."""
    for slot in range(candidates.known + 1, slots + 1):
        if candidates.over or slot > 2 * len(candidates.schedule):
            return
        own = points[candidates.schedule[(slot - 1) // 2]]
        candidates.add({slot: MatchGame({"+": 1.0, "=": 0.5, "-": 0.0}[own[(slot - 1) % 2]])})


def pairs_played(candidates: Candidates) -> list[int]:
    return [match.known // 2 for match in candidates.matches]


def states_of(candidates: Candidates) -> list[str]:
    return [candidates.state(number) for number in range(len(candidates.matches))]


def test_all_candidates_play_first_and_then_the_leader() -> None:
    candidates = make_candidates(4)
    assert candidates.schedule == [0, 1, 2, 3, 0, 1, 2, 3]
    play_in_order(candidates, {0: "--", 1: "+-", 2: "++", 3: "--"}, 8)
    assert candidates.schedule[PAIRS_AHEAD:] == [2, 2, 2, 2]
    assert states_of(candidates) == ["plays", "plays", "plays", "plays"]
    play_in_order(candidates, {0: "--", 1: "+-", 2: "++", 3: "--"}, 16)
    assert candidates.schedule[PAIRS_AHEAD:] == [2] * 8
    assert states_of(candidates) == ["waits", "waits", "plays", "waits"]


def test_the_first_accepted_candidate_ends_the_test() -> None:
    candidates = make_candidates(3)
    play_in_order(candidates, {0: "-+", 1: "++", 2: "=="})
    assert (candidates.accepted, candidates.over) == (1, True)
    assert states_of(candidates) == ["stopped", "accepted", "stopped"]
    before = pairs_played(candidates)
    assert sum(before) == candidates.known // 2
    assert before[1] > before[0]
    candidates.add({slot: MatchGame(0.0) for slot in range(1, 400)})
    assert pairs_played(candidates) == before


def test_dropped_candidates_get_no_more_pairs() -> None:
    candidates = make_candidates(2)
    play_in_order(candidates, {0: "=-", 1: "--"})
    assert states_of(candidates) == ["dropped", "dropped"]
    assert [match.state.decision for match in candidates.matches if match.state] == [Decision.H0, Decision.H0]
    assert candidates.accepted is None
    assert candidates.over
    assert len(candidates.schedule) <= sum(pairs_played(candidates)) + 2 * PAIRS_AHEAD
    assert min(pairs_played(candidates)) > 0


def test_a_candidate_that_only_repeats_its_games_is_out() -> None:
    candidates = make_candidates(2)
    while candidates.state(0) is not CandidateState.STOPPED:
        slot = candidates.known + 1
        same_games = [MatchGame(game % 2, "", game) for game in (0, 1)]
        different_games = [MatchGame(1.0), MatchGame(0.0)]
        one, two = different_games if candidates.schedule[candidates.known // 2] else same_games
        candidates.add({slot: one, slot + 1: two})
    assert candidates.matches[0].exhausted
    assert not candidates.over
    assert set(candidates.schedule[candidates.known // 2 + PAIRS_AHEAD :]) <= {1}


def test_each_candidate_has_a_largest_number_of_pairs() -> None:
    candidates = make_candidates(2, most_pairs=6)
    play_in_order(candidates, {0: "+-", 1: "=="})
    assert sorted(candidates.schedule) == [0] * 6 + [1] * 6
    assert candidates.known == 24
    assert not candidates.over
    assert states_of(candidates) == ["stopped", "stopped"]


@pytest.mark.parametrize("seed", range(5))
def test_the_schedule_does_not_depend_on_the_order_in_which_games_end(seed: int) -> None:
    """The test also builds the counters again from the stored pairs in between, as after a restart."""
    random_source, weights = random.Random(seed), [(4, 2, 4), (5, 2, 3), (4, 2, 5)]

    def result(candidate: int, slot: int) -> MatchGame:
        return MatchGame(random.Random(slot * 7 + candidate).choices([1.0, 0.5, 0.0], weights[candidate])[0])

    expected = make_candidates(3)
    while not expected.over:
        slot = expected.known + 1
        expected.add({game: result(expected.schedule[(game - 1) // 2], game) for game in (slot, slot + 1)})
    candidates, games = make_candidates(3), dict[int, MatchGame]()
    while not candidates.over:
        slots = range(candidates.known + 1, 2 * len(candidates.schedule) + 1)
        slot = random_source.choice([open_slot for open_slot in slots if open_slot not in games])
        games[slot] = result(candidates.schedule[(slot - 1) // 2], slot)
        if slot % 50 == 0:
            candidates = Candidates(TEST, 3, 1_000, candidates.schedule)
            candidates.add(games)
        else:
            candidates.add({slot: games[slot]})
    assert candidates.accepted == expected.accepted
    assert candidates.schedule[: candidates.known // 2] == expected.schedule[: expected.known // 2]
    assert pairs_played(candidates) == pairs_played(expected)


def test_pairs_are_numbered_by_candidate() -> None:
    candidates = Candidates(TEST, 2, 1_000, [0, 1, 1, 0, 1, 1, 1, 0])
    assert list(candidates.pairs_from(4)) == [(1, 2), (1, 3), (1, 4), (0, 2)]


def test_longer_tests_are_scheduled_further_ahead() -> None:
    assert [pairs_ahead(Sprt(0, elo)) for elo in (100, 40, 10, 1)] == [8, 8, 108, 256]


def test_the_candidates_share_alpha() -> None:
    assert {match.sprt for match in make_candidates(5).matches} == {Sprt(0, 100, alpha=0.01)}


@pytest.mark.parametrize("number, got", [(0, "0 candidates"), (1_000, "alpha=5e-07")])
def test_impossible_numbers_of_candidates_are_refused(number: int, got: str) -> None:
    with pytest.raises(SprtError) as caught:
        make_candidates(number, Sprt(0, 50, alpha=5e-7))
    assert caught.value.got == got
