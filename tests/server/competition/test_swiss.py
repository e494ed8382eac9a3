"""Pairings of Swiss tournaments, compared with an exhaustive search, NetworkX and an engine of the Dutch system."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py4swiss.engines import DutchEngine
from py4swiss.trf import ParsedTrf
from py4swiss.trf.codes import PlayerCode
from py4swiss.trf.results import ColorToken, ResultToken, RoundResult
from py4swiss.trf.sections import PlayerSection, XSection

from noughts_server.competition.formats import SWISS
from noughts_server.competition.formats.rounds_by_points import buchholz, final_order, points_of, usual_rounds
from noughts_server.competition.formats.swiss import most_rounds
from noughts_server.competition.formats.tournament_format import FormatError
from noughts_server.competition.pairing_batch import Field, Pairing, PairingBatch, PlayedPairing
from noughts_server.competition.tournament_settings import TournamentSettings
from tests.support.settings import examples
from tests.support.waves import Chance, waves_of

ENTRIES = st.integers(2, 12)
SEEDS = st.integers(0, 2**64 - 1)
CHANCES = st.builds(Chance, SEEDS, st.sampled_from([0.0, 0.2, 1.0]))

Costs = tuple[int, float]
"""Costs of a round: points of the entry with the bye above the lowest points, and the sum of differences in points."""


def costs(field: Field, wave: PairingBatch) -> Costs:
    points = points_of(field)
    lowest = min(points[entry] for entry in range(field.entries) if entry not in field.withdrawn)
    return (
        sum(round(2 * (points[entry] - lowest)) for entry in wave.byes),
        sum(abs(points[one] - points[other]) for one, other in wave.pairings),
    )


def all_costs(field: Field) -> Iterator[Costs]:
    """Yield the costs of all allowed pairings."""
    points = points_of(field)
    met = {frozenset(pairing[1:3]) for pairing in field.played}
    had_bye = {entry for _, entry in field.byes}
    active = [entry for entry in range(field.entries) if entry not in field.withdrawn]
    lowest = min(points[entry] for entry in active)

    def pairings(left: Sequence[int]) -> Iterator[float]:
        if not left:
            yield 0.0
            return
        one, *others = left
        for other in others:
            if frozenset((one, other)) not in met:
                gap = abs(points[one] - points[other])
                yield from (gap + rest for rest in pairings([entry for entry in others if entry != other]))

    if len(active) % 2:
        for bye in active:
            if bye not in had_bye:
                rest = pairings([entry for entry in active if entry != bye])
                yield from ((round(2 * (points[bye] - lowest)), gaps) for gaps in rest)
    else:
        yield from ((0, gaps) for gaps in pairings(active))


@pytest.mark.long
@settings(deadline=None)
@given(ENTRIES, CHANCES, st.data())
def test_no_pair_meets_twice_and_no_entry_has_two_byes(entries: int, chance: Chance, data: st.DataObject) -> None:
    rounds = data.draw(st.integers(1, most_rounds(entries)))
    begin = Field(entries, rounds=rounds, seed=chance.seed)
    *waves, (end, last) = waves_of(SWISS.next_wave, begin, chance)
    assert last is None
    assert [wave.round for _, wave in waves if wave] == list(range(1, rounds + 1))
    for _, wave in waves:
        assert wave is not None
        assert sorted(chain(*wave.pairings, wave.byes)) == list(range(entries))
        assert wave.games == 2
        assert len(wave.byes) == entries % 2
    assert max(Counter(frozenset(pairing[1:3]) for pairing in end.played).values()) == 1
    assert max(Counter(entry for _, entry in end.byes).values(), default=0) <= 1


@settings(deadline=None)
@given(ENTRIES, SEEDS)
def test_withdrawn_entries_are_not_paired_and_others_meet_once(entries: int, seed: int) -> None:
    *waves, (end, _) = waves_of(SWISS.next_wave, Field(entries, seed=seed), Chance(seed, withdrawals=0.7))
    for field, wave in waves:
        assert wave is not None
        assert sorted(chain(*wave.pairings, wave.byes)) == sorted(set(range(entries)) - field.withdrawn.keys())
    assert max(Counter(frozenset(pairing[1:3]) for pairing in end.played).values(), default=0) <= 1
    assert max(Counter(entry for _, entry in end.byes).values(), default=0) <= 1


@settings(deadline=None)
@given(st.integers(2, 9), CHANCES)
def test_differences_in_points_are_the_smallest_of_all_pairings(entries: int, chance: Chance) -> None:
    # With so few rounds, no round must save pairings for later rounds.
    rounds = max(1, (entries + 1) // 4)
    for field, wave in waves_of(SWISS.next_wave, Field(entries, rounds=rounds, seed=chance.seed), chance):
        if wave is not None:
            assert costs(field, wave) == min(all_costs(field))


@settings(deadline=None)
@given(st.integers(3, 8), SEEDS)
def test_differences_are_the_smallest_also_in_the_last_round_of_all(entries: int, seed: int) -> None:
    begin = Field(entries, rounds=most_rounds(entries), seed=seed)
    *_, (field, wave), _ = waves_of(SWISS.next_wave, begin, Chance(seed))
    assert wave is not None
    assert costs(field, wave) == min(all_costs(field))


@pytest.mark.long
@examples(10)
@given(st.integers(13, 40), CHANCES)
def test_pairings_are_as_good_as_those_of_networkx(entries: int, chance: Chance) -> None:
    import networkx

    # NetworkX looks at all pairs, but our search only at pairs with similar points.
    rounds = (entries + 1) // 2
    for field, wave in waves_of(SWISS.next_wave, Field(entries, rounds=rounds, seed=chance.seed), chance):
        if wave is None:
            continue
        points = points_of(field)
        met = {frozenset(pairing[1:3]) for pairing in field.played}
        had_bye = {entry for _, entry in field.byes}
        graph: networkx.Graph[int] = networkx.Graph()
        for one in range(entries):
            for other in range(one):
                if frozenset((one, other)) not in met:
                    graph.add_edge(one, other, weight=-round(2 * abs(points[one] - points[other])))
            if entries % 2 and one not in had_bye:
                graph.add_edge(one, -1, weight=-round(2 * points[one]) * 10**6)
        best_matching = networkx.max_weight_matching(graph, maxcardinality=True)
        weight = sum(graph.edges[pair]["weight"] for pair in best_matching)
        own_weight = -round(2 * costs(field, wave)[1]) - sum(round(2 * points[entry]) * 10**6 for entry in wave.byes)
        assert own_weight == weight


def tournament_report(field: Field, done: int) -> ParsedTrf:
    """Return the field as a FIDE report file, in which a pairing is a game whose first mover has White."""
    results: list[list[RoundResult]] = [[] for _ in range(field.entries)]
    tokens = {2.0: ResultToken.WIN, 1.0: ResultToken.DRAW, 0.0: ResultToken.LOSS}
    for number in range(1, done + 1):
        for pairing in field.played:
            if pairing.round == number:
                for entry, other, colour, points_won in (
                    (pairing.first, pairing.second, ColorToken.WHITE, pairing.first_points),
                    (pairing.second, pairing.first, ColorToken.BLACK, pairing.second_points),
                ):
                    results[entry].append(RoundResult(id=other + 1, color=colour, result=tokens[points_won]))
        for bye_round, entry in field.byes:
            if bye_round == number:
                bye = ResultToken.PAIRING_ALLOCATED_BYE
                results[entry].append(RoundResult(id=0, color=ColorToken.BYE_OR_NOT_PAIRED, result=bye))
    points = points_of(field)
    report = ParsedTrf(
        player_sections=[
            PlayerSection(
                code=PlayerCode.PLAYER,
                starting_number=entry + 1,
                points_times_ten=round(5 * points[entry]),
                rank=entry + 1,
                results=results[entry],
            )
            for entry in range(field.entries)
        ],
        # One round more than are played, because the last round has special rules.
        x_section=XSection(number_of_rounds=done + 2),
    )
    report.validate_contents()
    return report


@pytest.mark.long
@examples(12)
@given(st.integers(6, 40), SEEDS)
def test_differences_are_never_larger_than_those_of_the_dutch_system(entries: int, seed: int) -> None:
    class WholePairings(Chance):
        def played(self, number: int, pairing: Pairing, games: int) -> PlayedPairing:
            points = super().played(number, pairing, 1).first_points * games
            return PlayedPairing(number, *pairing, points, games - points, games)

    compared = 0
    for field, wave in waves_of(SWISS.next_wave, Field(entries, seed=seed), WholePairings(seed)):
        if wave is None:
            continue
        dutch_pairs = DutchEngine.generate_pairings(tournament_report(field, wave.round - 1))
        dutch = PairingBatch(
            wave.round,
            tuple(Pairing(pair.white - 1, pair.black - 1) for pair in dutch_pairs if pair.black),
            2,
            tuple(pair.white - 1 for pair in dutch_pairs if not pair.black),
        )
        assert costs(field, wave) <= costs(field, dutch)
        compared += 1
    assert compared == usual_rounds(entries)


def test_first_round_has_the_upper_half_against_the_lower() -> None:
    wave = SWISS.next_wave(Field(9, seed=5))
    assert wave is not None
    assert {frozenset(pair) for pair in wave.pairings} == {frozenset((seed, seed + 4)) for seed in range(4)}
    assert wave.byes == (8,)


@settings(deadline=None)
@given(ENTRIES, CHANCES)
def test_entry_that_moved_first_less_often_moves_first(entries: int, chance: Chance) -> None:
    for field, wave in waves_of(SWISS.next_wave, Field(entries, seed=chance.seed), chance):
        balance = Counter(pairing.first for pairing in field.played)
        balance.subtract(pairing.second for pairing in field.played)
        for first, second in wave.pairings if wave else ():
            assert balance[first] <= balance[second]


def test_same_field_gives_the_same_wave_and_another_seed_other_sides() -> None:
    field, other_fields = Field(16, seed=1), [Field(16, seed=seed) for seed in range(8)]
    assert SWISS.next_wave(field) == SWISS.next_wave(field)
    assert len({SWISS.next_wave(field_of_seed) for field_of_seed in other_fields}) == 2


def test_odd_games_of_a_pairing_and_byes_count_as_points() -> None:
    field = Field(3, played=[PlayedPairing(1, 0, 1, 3.5, 0.5, 4)], byes=[(1, 2)], games=4)
    assert points_of(field) == [3.5, 0.5, 4.0]
    assert buchholz(field) == [0.5, 3.5, 4.0]
    assert final_order(field) == [2, 0, 1]


def test_buchholz_breaks_ties_of_points() -> None:
    played = [
        PlayedPairing(1, 0, 1, 2, 0, 2),
        PlayedPairing(1, 2, 3, 2, 0, 2),
        PlayedPairing(2, 0, 2, 2, 0, 2),
        PlayedPairing(2, 3, 1, 2, 0, 2),
    ]
    field = Field(4, played=played)
    assert points_of(field) == [4, 0, 2, 2]
    assert buchholz(field) == [2, 6, 6, 2]
    assert final_order(field) == [0, 2, 3, 1]


def test_a_single_remaining_entry_is_not_paired() -> None:
    assert SWISS.next_wave(Field(4, withdrawn={0: 1, 1: 1, 3: 1}, rounds=2)) is None


def test_tournament_ends_when_all_remaining_entries_have_met() -> None:
    played = [PlayedPairing(1, 0, 1, 2, 0, 2), PlayedPairing(1, 2, 3, 2, 0, 2)]
    assert SWISS.next_wave(Field(4, withdrawn={2: 1, 3: 1}, played=played, rounds=3)) is None


@pytest.mark.parametrize(
    "entries, rounds, has_caution",
    [(12, 11, False), (13, 7, False), (13, 8, True), (14, 8, True), (40, 20, False), (40, 21, True)],
)
def test_caution_says_if_rounds_may_be_impossible(entries: int, rounds: int, has_caution: bool) -> None:
    assert bool(SWISS.caution(entries, TournamentSettings(rounds=rounds))) == has_caution


@pytest.mark.parametrize("entries, rounds", [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (200, 8)])
def test_usual_number_of_rounds_leaves_one_entry_without_a_loss(entries: int, rounds: int) -> None:
    assert usual_rounds(entries) == rounds


@pytest.mark.parametrize(
    "entries, rounds, message",
    [
        (6, 6, "got 6, expected at most 5: 6 entries can play 5 rounds without a rematch"),
        (7, 8, "got 8, expected at most 7: 7 entries can play 7 rounds without a rematch"),
    ],
)
def test_rounds_that_cannot_be_played_are_refused(entries: int, rounds: int, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        SWISS.check_entries(entries, TournamentSettings(rounds=rounds))


@pytest.mark.parametrize("entries, rounds", [(6, 5), (7, 7), (2, 0)])
def test_rounds_that_can_be_played_are_not_refused(entries: int, rounds: int) -> None:
    SWISS.check_entries(entries, TournamentSettings(rounds=rounds))


def test_all_rounds_that_are_possible_after_withdrawals_are_played() -> None:
    # Some of eight entries are withdrawn after the first of seven rounds. If six are left, four of them met one another
    # in that round. Each of these has four opponents left, so four more rounds follow.
    def rounds_played(withdrawn: frozenset[int]) -> int:
        begin = Field(
            8,
            withdrawn=dict.fromkeys(withdrawn, 1),
            played=[PlayedPairing(1, one, one + 4, 2, 0, 2) for one in range(4)],
            rounds=7,
        )
        *_, (end, _) = waves_of(SWISS.next_wave, begin, Chance(1))
        return max(pairing.round for pairing in end.played)

    assert rounds_played(frozenset()) == 7
    assert rounds_played(frozenset({7})) == 7
    assert rounds_played(frozenset({6, 7})) == 5
