"""Pairings of a gauntlet, in which the first entry plays each of the others."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noughts_server.competition.formats.gauntlet import Gauntlet

SCHEDULES = st.builds(Gauntlet, entries=st.integers(2, 25), games_per_pair=st.integers(1, 7))


def pairings(schedule: Gauntlet) -> list[tuple[int, int]]:
    slots = list(schedule.slots(range(1, schedule.total + 1)))
    assert slots == [schedule.slot(ordinal) for ordinal in range(1, schedule.total + 1)]
    assert [slot.ordinal for slot in slots] == list(range(1, schedule.total + 1))
    return [(slot.first, slot.second) for slot in slots]


@settings(deadline=None)
@given(SCHEDULES)
def test_first_entry_meets_each_other_exactly_and_the_others_never_meet(schedule: Gauntlet) -> None:
    games = Counter(map(frozenset, pairings(schedule)))
    assert games == {frozenset((0, other)): schedule.games_per_pair for other in range(1, schedule.entries)}
    assert sum(games.values()) == schedule.total


@settings(deadline=None)
@given(SCHEDULES)
def test_sides_are_balanced_in_each_pair_and_in_each_cycle(schedule: Gauntlet) -> None:
    games = pairings(schedule)
    for other in range(1, schedule.entries):
        assert abs(games.count((0, other)) - games.count((other, 0))) <= schedule.games_per_pair % 2
        sides = [first for first, second in games if other in (first, second)]
        assert all(one != next_one for one, next_one in pairwise(sides))
    size = schedule.entries - 1
    for begin in range(0, len(games), size):
        games_as_first_mover = sum(first == 0 for first, _ in games[begin : begin + size])
        assert abs(2 * games_as_first_mover - size) <= 1


@settings(deadline=None)
@given(SCHEDULES, st.data())
def test_slots_of_an_entry_and_of_a_pair_come_from_the_highest_down(schedule: Gauntlet, data: st.DataObject) -> None:
    one, other = (data.draw(st.integers(0, schedule.entries - 1)) for _ in range(2))
    before = data.draw(st.integers(-1, schedule.total + 3))
    numbered = list(enumerate(pairings(schedule), start=1))[::-1]
    assert list(schedule.slots_of(one, before)) == [
        ordinal for ordinal, pair in numbered if one in pair and ordinal < before
    ]
    assert list(schedule.slots_between(one, other, before)) == [
        ordinal for ordinal, pair in numbered if {*pair} == {one, other} and ordinal < before
    ]


@pytest.mark.parametrize("ordinal", [-1, 0, 5])
def test_slot_that_does_not_exist_is_an_error(ordinal: int) -> None:
    with pytest.raises(IndexError):
        Gauntlet(3, 2).slot(ordinal)


def test_last_slot_of_a_huge_gauntlet_costs_no_table() -> None:
    schedule = Gauntlet(4_096, 100_000)
    assert schedule.slot(schedule.total).ordinal == schedule.total == 4_095 * 100_000
    assert next(schedule.slots_of(17, schedule.total + 1)) == schedule.total - 4_095 + 17
