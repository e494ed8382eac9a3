"""Pairings of a round robin."""

from collections import Counter
from itertools import chain, combinations, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_server.competition.formats.round_robin import RoundRobin
from noughts_server.competition.units import unit_count, unit_games, unit_ordinals

SCHEDULES = st.builds(RoundRobin, entries=st.integers(2, 25), games_per_pair=st.integers(1, 5))

# FIDE Handbook C.05, annex 1: the tables for 6 and for 5 entries (there the last number is the bye).
BERGER_6 = [
    [(1, 6), (2, 5), (3, 4)],
    [(6, 4), (5, 3), (1, 2)],
    [(2, 6), (3, 1), (4, 5)],
    [(6, 5), (1, 4), (2, 3)],
    [(3, 6), (4, 2), (5, 1)],
]
BERGER_8 = [
    [(1, 8), (2, 7), (3, 6), (4, 5)],
    [(8, 5), (6, 4), (7, 3), (1, 2)],
    [(2, 8), (3, 1), (4, 7), (5, 6)],
    [(8, 6), (7, 5), (1, 4), (2, 3)],
    [(3, 8), (4, 2), (5, 1), (6, 7)],
    [(8, 7), (1, 6), (2, 5), (3, 4)],
    [(4, 8), (5, 3), (6, 2), (7, 1)],
]


def pairings(schedule: RoundRobin) -> list[tuple[int, int]]:
    slots = [schedule.slot(ordinal) for ordinal in range(1, schedule.total + 1)]
    assert list(schedule.slots(range(1, schedule.total + 1))) == slots
    assert [slot.ordinal for slot in slots] == list(range(1, schedule.total + 1))
    return [(slot.first, slot.second) for slot in slots]


def rounds(schedule: RoundRobin) -> list[list[tuple[int, int]]]:
    games, size = pairings(schedule), schedule.games_per_round
    return [games[begin : begin + size] for begin in range(0, len(games), size)]


@pytest.mark.parametrize("table", [BERGER_6, BERGER_8], ids=["6", "8"])
def test_rounds_are_those_of_the_berger_tables(table: list[list[tuple[int, int]]]) -> None:
    numbered = [[(first + 1, second + 1) for first, second in turn] for turn in rounds(RoundRobin(len(table) + 1, 1))]
    assert numbered == table


def test_with_an_odd_number_the_opponent_of_the_last_place_has_a_bye() -> None:
    with_bye = [[pair for pair in turn if 6 not in pair] for turn in BERGER_6]
    numbered = [[(first + 1, second + 1) for first, second in turn] for turn in rounds(RoundRobin(5, 1))]
    assert numbered == with_bye


@given(SCHEDULES)
def test_every_pair_plays_its_games_with_sides_balanced(schedule: RoundRobin) -> None:
    games = Counter(pairings(schedule))
    for first, second in combinations(range(schedule.entries), 2):
        as_first, as_second = games[first, second], games[second, first]
        assert as_first + as_second == schedule.games_per_pair
        assert abs(as_first - as_second) <= 1
    assert sum(games.values()) == schedule.total


@given(SCHEDULES)
def test_every_round_has_each_entry_at_most_once(schedule: RoundRobin) -> None:
    for turn in rounds(schedule):
        playing = [entry for pair in turn for entry in pair]
        assert len(set(playing)) == len(playing)
        assert len(playing) >= schedule.entries - 1


@given(SCHEDULES)
def test_every_cycle_is_a_round_robin_with_balanced_sides(schedule: RoundRobin) -> None:
    games, size = pairings(schedule), schedule.total // schedule.games_per_pair
    for begin in range(0, len(games), size):
        cycle = games[begin : begin + size]
        assert {frozenset(pair) for pair in cycle} == set(map(frozenset, combinations(range(schedule.entries), 2)))
        sides = Counter(first for first, _ in cycle)
        assert all(abs(2 * sides[entry] - (schedule.entries - 1)) <= 1 for entry in range(schedule.entries))


@given(SCHEDULES, st.data())
def test_slots_of_an_entry_and_of_a_pair_come_from_the_highest_down(schedule: RoundRobin, data: st.DataObject) -> None:
    one, other = (data.draw(st.integers(0, schedule.entries - 1)) for _ in range(2))
    before = data.draw(st.integers(-1, schedule.total + 3))
    numbered = list(enumerate(pairings(schedule), start=1))[::-1]
    assert list(schedule.slots_of(one, before)) == [
        ordinal for ordinal, pair in numbered if one in pair and ordinal < before
    ]
    assert list(schedule.slots_between(one, other, before)) == [
        ordinal for ordinal, pair in numbered if {*pair} == {one, other} and ordinal < before
    ]


def test_last_slots_of_an_entry_of_a_huge_tournament_cost_no_table() -> None:
    schedule = RoundRobin(4_096, 11)
    assert len(list(islice(schedule.slots_of(17, schedule.total + 1), 5))) == 5
    assert len(list(schedule.slots_between(17, 4_095, schedule.total + 1))) == 11


@pytest.mark.parametrize("ordinal", [-1, 0, 3])
def test_slot_that_does_not_exist_is_an_error(ordinal: int) -> None:
    with pytest.raises(IndexError):
        RoundRobin(2, 2).slot(ordinal)


def test_last_slot_of_a_huge_tournament_costs_no_table() -> None:
    schedule = RoundRobin(4_096, 11)
    last = schedule.slot(schedule.total)
    assert last.ordinal == schedule.total == 11 * 4_096 * 4_095 // 2


@given(st.integers(1, 100_000))
def test_units_cut_all_slots_into_contiguous_blocks(total: int) -> None:
    size = unit_games(total)
    blocks = [unit_ordinals(number, total, size) for number in range(unit_count(total, size))]
    assert list(chain.from_iterable(blocks)) == list(range(1, total + 1))
    assert all(0 < len(block) <= 2_048 for block in blocks)


@pytest.mark.parametrize("number", [-1, 4])
def test_unit_that_does_not_exist_is_empty(number: int) -> None:
    assert not unit_ordinals(number, 10, 3)


@pytest.mark.parametrize("total, size", [(1, 1), (63, 1), (64, 2), (65_536, 2_048), (100_000_000, 2_048)])
def test_small_tournaments_have_small_units(total: int, size: int) -> None:
    assert unit_games(total) == size
