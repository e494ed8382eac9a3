"""Pairings and results of knockouts."""

from collections import Counter
from itertools import chain, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noughts_server.competition.bracket import BracketRound, Decision
from noughts_server.competition.formats import KNOCKOUT
from noughts_server.competition.formats.knockout import EXTRA_PAIRS, bracket, seed_places
from noughts_server.competition.pairing_batch import Field, Pairing, PairingBatch, PlayedPairing, UnfinishedPairing
from tests.support.waves import Chance, waves_of

ENTRIES = st.integers(2, 70)
SEEDS = st.integers(0, 2**64 - 1)
CHANCES = st.builds(Chance, SEEDS, st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 0.3, 1.0]))
FIELDS = st.builds(Field, entries=ENTRIES, games=st.sampled_from([2, 4, 10]), stop_when_decided=st.booleans())


def play_out(begin: Field, chance: Chance) -> Field:
    """Play a knockout to its end with random results, and return its field at the end."""
    *_, (end, last) = waves_of(KNOCKOUT.next_wave, begin, chance)
    assert last is None
    return end


def matches(tree: tuple[BracketRound, ...]) -> list[frozenset[int | None]]:
    """Return the pairs of entries of all matches except byes."""
    return [
        frozenset((match.first, match.second))
        for match in chain.from_iterable(tree)
        if match.decision is not Decision.BYE
    ]


@pytest.mark.long
@settings(deadline=None)
@given(FIELDS, CHANCES)
def test_knockout_of_n_entries_has_n_minus_one_decided_matches(field: Field, chance: Chance) -> None:
    tree = bracket(play_out(field, chance))
    assert len(matches(tree)) == field.entries - 1
    decided = [match for match in chain.from_iterable(tree) if match.decision is not Decision.BYE]
    losers = [match.first if match.winner == match.second else match.second for match in decided]
    assert {*losers, tree[-1][0].winner} == set(range(field.entries))


@settings(deadline=None)
@given(FIELDS, SEEDS)
def test_matches_are_played_by_those_who_won_the_round_before(field: Field, seed: int) -> None:
    end = play_out(field, Chance(seed, withdrawals=0.5))
    tree = bracket(end)
    assert {frozenset(pairing[1:3]) for pairing in end.played} <= set(matches(tree))
    for before, after in pairwise(tree):
        assert [match.winner for match in before] == [entry for match in after for entry in (match.first, match.second)]


@settings(deadline=None)
@given(st.integers(1, 9))
def test_best_seeds_meet_as_late_as_possible(rounds: int) -> None:
    places = seed_places(rounds)
    assert sorted(places) == list(range(2**rounds))
    for rounds_left in range(rounds):
        # Before the last `rounds_left` rounds, each part of the bracket has exactly one of the best seeds.
        size = 2 ** (rounds - rounds_left)
        parts = [places[begin : begin + size] for begin in range(0, len(places), size)]
        assert all(sum(seed < 2**rounds_left for seed in part) == 1 for part in parts)


@settings(deadline=None)
@given(st.integers(2, 70))
def test_the_two_best_seeds_meet_only_in_the_final(entries: int) -> None:
    field = Field(entries)
    while (wave := KNOCKOUT.next_wave(field)) is not None:
        results = []
        for first, second in wave.pairings:
            points = 2.0 if first < second else 0.0
            results.append(PlayedPairing(wave.round, first, second, points, 2 - points, 2))
        field = Field(entries, played=(*field.played, *results))
    tree = bracket(field)
    final = tree[-1][0]
    assert {final.first, final.second} == {0, 1}
    assert tree[-1][0].winner == 0
    for back, least in enumerate((2, 4, 8)):
        if entries >= least and back < len(tree):
            survivors = {entry for match in tree[-1 - back] for entry in (match.first, match.second)}
            assert survivors == set(range(least))


@settings(deadline=None)
@given(st.integers(2, 70))
def test_only_the_best_seeds_have_byes_and_only_in_the_first_round(entries: int) -> None:
    begin = Field(entries)
    waves = [wave for _, wave in waves_of(KNOCKOUT.next_wave, begin, Chance(entries)) if wave]
    size = 2 ** (entries - 1).bit_length()
    assert waves[0].byes == tuple(range(size - entries))
    assert not any(wave.byes for wave in waves[1:])


def test_bracket_of_eight_is_the_usual_one() -> None:
    assert KNOCKOUT.next_wave(Field(8)) == PairingBatch(
        1, (Pairing(0, 7), Pairing(3, 4), Pairing(2, 5), Pairing(1, 6)), 2
    )


def test_a_drawn_match_continues_by_pairs_and_the_better_seed_wins() -> None:
    field, waves = Field(2, games=4), []
    while (wave := KNOCKOUT.next_wave(field)) is not None:
        waves.append(wave)
        drawn = PlayedPairing(1, *wave.pairings[0], wave.games / 2, wave.games / 2, wave.games)
        field = Field(2, games=4, played=(*field.played, drawn))
    assert [wave.games for wave in waves] == [4, *[2] * EXTRA_PAIRS]
    assert [wave.pairings[0].first for wave in waves[1:]] == [0, 1, 0, 1]
    assert bracket(field)[-1][0].winner == 0
    assert bracket(field)[0][0].decision is Decision.SEED


def test_extra_pair_that_is_won_decides() -> None:
    field = Field(2, played=[PlayedPairing(1, 0, 1, 1, 1, 2), PlayedPairing(1, 1, 0, 1.5, 0.5, 2)])
    final = bracket(field)[0][0]
    assert (final.winner, final.decision, final.first_points, final.second_points, final.games) == (
        1,
        Decision.EXTRA_PAIR,
        1.5,
        2.5,
        4,
    )
    assert KNOCKOUT.next_wave(field) is None


def test_fewer_forfeits_come_before_the_better_seed() -> None:
    drawn = [PlayedPairing(1, 0, 1, 1, 1, 2) for _ in range(EXTRA_PAIRS)]
    field = Field(2, played=[PlayedPairing(1, 0, 1, 1, 1, 2, first_forfeits=1), *drawn])
    final = bracket(field)[0][0]
    assert (final.winner, final.decision) == (1, Decision.FORFEITS)


@settings(deadline=None)
@given(st.sampled_from([4, 6, 10, 20]), SEEDS)
def test_a_decided_match_has_exactly_the_pairs_it_needs(games: int, seed: int) -> None:
    end = play_out(Field(2, games=games, stop_when_decided=True), Chance(seed))
    assert {pairing.games for pairing in end.played} == {2}
    lead = [0.0]
    for pairing in end.played:
        points = pairing.first_points - pairing.second_points
        lead.append(lead[-1] + (points if pairing.first == 0 else -points))
    games_left = [games - 2 * pairs for pairs in range(len(lead))]
    *earlier, (last_lead, last_left) = [(abs(one), other) for one, other in zip(lead, games_left, strict=True)]
    assert not any(lead > games_left >= 0 and lead for lead, games_left in earlier)
    assert last_lead > max(last_left, 0) or last_left == -2 * EXTRA_PAIRS


def test_withdrawn_side_loses_the_match_that_it_has_not_won() -> None:
    won_match, drawn_match = PlayedPairing(1, 0, 3, 2, 0, 2), PlayedPairing(1, 2, 1, 2, 2, 4)
    field = Field(4, withdrawn={0: 1, 1: 1}, played=[won_match, drawn_match])
    tree = bracket(field)
    assert [(match.winner, match.decision) for match in tree[0]] == [
        (0, Decision.POINTS),
        (2, Decision.WALKOVER),
    ]
    # Entry 0 won its match before it was withdrawn, so it loses only the next match.
    assert (tree[-1][0].winner, tree[1][0].decision) == (2, Decision.WALKOVER)
    assert KNOCKOUT.next_wave(field) is None


def test_a_walkover_winner_stays_in_the_bracket_when_withdrawn() -> None:
    # Entry 0 was withdrawn at once, so 3 met 1 in the next round, and was then withdrawn too.
    field = Field(
        4,
        withdrawn={0: 1, 3: 2},
        played=[PlayedPairing(1, 1, 2, 2, 0, 2), PlayedPairing(2, 1, 3, 1, 1, 2)],
    )
    tree = bracket(field)
    assert [match.winner for match in tree[0]] == [3, 1]
    assert (tree[-1][0].winner, tree[1][0].decision) == (1, Decision.WALKOVER)


def test_decided_walkover_holds_if_its_winner_withdraws_later() -> None:
    drawn = [PlayedPairing(1, 1, 2, 1, 1, 2)]
    assert bracket(Field(4, withdrawn={0: 1}, played=drawn))[0][0].winner == 3
    assert bracket(Field(4, withdrawn={0: 1, 3: 2}, played=drawn))[0][0].winner == 3


@settings(deadline=None)
@given(FIELDS, SEEDS, st.sampled_from([0.3, 1.0]))
def test_decided_match_keeps_its_winner_whoever_withdraws(field: Field, seed: int, draws: float) -> None:
    decided: dict[tuple[int, int], int] = {}
    for field_now, _ in waves_of(KNOCKOUT.next_wave, field, Chance(seed, draws, withdrawals=0.7)):
        winners = {
            (number, place): match.winner
            for number, matches in enumerate(bracket(field_now))
            for place, match in enumerate(matches)
            if match.winner is not None
        }
        assert decided.items() <= winners.items()
        decided = winners


def test_if_all_entries_are_withdrawn_the_best_seed_wins() -> None:
    assert bracket(Field(5, withdrawn=dict.fromkeys(range(5), 1)))[-1][0].winner == 0
    assert KNOCKOUT.next_wave(Field(5, withdrawn=dict.fromkeys(range(5), 1))) is None


@settings(deadline=None)
@given(st.integers(3, 40), SEEDS)
def test_every_entry_has_one_match_a_round(entries: int, seed: int) -> None:
    for _, wave in waves_of(KNOCKOUT.next_wave, Field(entries), Chance(seed)):
        playing = Counter(chain(*wave.pairings, wave.byes)) if wave else Counter()
        assert max(playing.values(), default=0) <= 1


def test_same_field_gives_the_same_wave() -> None:
    field = Field(11, played=[PlayedPairing(1, 4, 11 - 4, 1, 1, 2)])
    assert KNOCKOUT.next_wave(field) == KNOCKOUT.next_wave(field)


@pytest.mark.parametrize("entries", [0, 1])
def test_a_single_entry_has_won(entries: int) -> None:
    assert KNOCKOUT.next_wave(Field(entries)) is None


def test_games_so_far_count_in_the_bracket_and_decide_nothing() -> None:
    tied = PlayedPairing(1, 0, 1, first_points=1.0, second_points=1.0, games=2)
    extra = UnfinishedPairing(PlayedPairing(1, 1, 0, first_points=1.0, second_points=0.0, games=1), 1, next_game=4)
    ((match,),) = bracket(Field(2, played=(tied,), unfinished=(extra,)))
    assert (match.first_points, match.second_points, match.games) == (1.0, 2.0, 3)
    assert (match.games_left, match.next_game) == (1, 4)
    assert (match.winner, match.decision) == (None, None)
    ((over,),) = bracket(Field(2, played=(tied,), unfinished=(extra,), withdrawn={1: 5}))
    assert (over.winner, over.decision) == (0, Decision.WALKOVER)
