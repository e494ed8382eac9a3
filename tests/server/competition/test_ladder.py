"""Pairings of ladders: limits that hold over thousands of simulated games."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import combinations
from random import Random
from statistics import mean

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noughts_server.competition.formats.ladder import AHEAD, PLACEMENT, WINDOW, Ladder
from noughts_server.competition.pairing_batch import Pairing, PlayedPairing
from tests.support.settings import examples

PAIRINGS = 5_000
"""Number of pairings of a simulation, each of two games."""

Duration = Callable[[Random, Pairing], float]


def same_duration(chance: Random, pair: Pairing) -> float:
    return 1.0


def similar_duration(chance: Random, pair: Pairing) -> float:
    return chance.uniform(0.5, 1.5)


def exponential_duration(chance: Random, pair: Pairing) -> float:
    return chance.expovariate(1)


@dataclass
class Simulation:
    """A simulated ladder, which checks every pair that is made."""

    entries: int
    room: int
    """Largest number of concurrent pairings."""
    duration: Duration
    seed: int = 1
    ladder: Ladder = field(init=False)
    chance: Random = field(init=False)
    strength: dict[int, float] = field(default_factory=dict)
    """True strength in Elo of each entry that has not been withdrawn."""
    counts: Counter[int] = field(default_factory=Counter)
    balance: Counter[int] = field(default_factory=Counter)
    open: Counter[int] = field(default_factory=Counter)
    last: dict[int, int] = field(default_factory=dict)
    playing: list[tuple[float, int, Pairing]] = field(default_factory=list)
    history: list[Pairing] = field(default_factory=list)
    over: dict[int, PlayedPairing] = field(default_factory=dict)
    now: float = 0.0
    widest: int = 0
    """The largest difference in pairings between present bots, after each had one."""

    def __post_init__(self) -> None:
        self.ladder, self.chance = Ladder(), Random(self.seed)
        for entry in range(self.entries):
            self.join(entry)

    def join(self, entry: int) -> None:
        self.strength[entry] = self.chance.gauss(0, 200)
        self.ladder.add(entry)

    def leave(self, entry: int) -> None:
        del self.strength[entry]
        self.ladder.withdraw(entry)

    def may_meet(self, one: int, other: int) -> bool:
        return len(self.strength) == 2 or (self.last.get(one) != other and self.last.get(other) != one)

    def waiting(self) -> list[int]:
        return [entry for entry in self.strength if not self.open[entry]]

    def begin(self, pair: Pairing) -> None:
        first, second = pair
        assert first != second
        assert {first, second} <= set(self.strength), "withdrawn"
        assert self.may_meet(first, second), "rematch"
        assert self.balance[first] <= self.balance[second]
        for entry, opponent, side in ((first, second, 1), (second, first, -1)):
            self.open[entry] += 1
            assert self.open[entry] == 1
            self.counts[entry] += 1
            self.balance[entry] += side
            self.last[entry] = opponent
        self.history.append(pair)
        heappush(self.playing, (self.now + self.duration(self.chance, pair), len(self.history) - 1, pair))

    def end(self) -> None:
        self.now, number, pair = heappop(self.playing)
        gap = self.strength.get(pair.first, 0.0) - self.strength.get(pair.second, 0.0)
        points = float(sum(self.chance.random() < 1 / (1 + 10 ** (-gap / 400)) for _ in range(2)))
        self.ladder.record_result(*pair, points, 2 - points)
        self.over[number] = PlayedPairing(1, *pair, points, 2 - points, 2)
        for entry in pair:
            self.open[entry] -= 1

    def step(self) -> list[Pairing]:
        """Start all pairings that can start, end the next one, and return those that were started."""
        pairs = self.ladder.pair(self.room - len(self.playing))
        for pair in pairs:
            self.begin(pair)
        if len(self.strength) > 1:
            assert self.playing, "nothing is played, and nobody is paired"
        counts = [self.counts[entry] for entry in self.strength]
        if min(counts):
            self.widest = max(self.widest, max(counts) - min(counts))
        if self.playing:
            self.end()
        return pairs

    def run(self) -> "Simulation":
        while len(self.history) < PAIRINGS:
            self.step()
        return self


@pytest.mark.long
@pytest.mark.parametrize("duration", [same_duration, similar_duration, exponential_duration])
@pytest.mark.parametrize("entries, room", [(3, 1), (4, 2), (10, 1), (10, 5), (60, 20)])
def test_bounds_hold_over_ten_thousand_games(entries: int, room: int, duration: Duration) -> None:
    simulation = Simulation(entries, room, duration).run()
    assert max(map(abs, simulation.balance.values())) <= 3
    # No bot waits for a slow one (1 in 400 of exponential durations), so a slow one can fall further behind.
    assert simulation.widest <= AHEAD + 1 if duration is not exponential_duration else simulation.widest <= 2 * AHEAD


@pytest.mark.long
@pytest.mark.parametrize("entries, room", [(10, 1), (30, 10), (10, 5)])
def test_entry_with_the_fewest_pairings_is_paired_next(entries: int, room: int) -> None:
    simulation = Simulation(entries, room, similar_duration)
    for _ in range(PAIRINGS // 5):
        while len(simulation.playing) < room and (pairs := simulation.ladder.pair(1)):
            waiting, counts = simulation.waiting(), simulation.counts
            opponents_counts = {
                one: [counts[other] for other in waiting if other != one and simulation.may_meet(one, other)]
                for one in waiting
            }
            candidates = [
                one
                for one in pairs[0]
                if counts[one] == min(counts[entry] for entry in waiting if opponents_counts[entry])
            ]
            most = max(counts[entry] for entry in pairs[0])
            assert any(most <= max(min(opponents_counts[one]) + WINDOW, counts[one]) for one in candidates)
            simulation.begin(pairs[0])
        simulation.end()


@pytest.mark.long
def test_opponents_are_near_in_strength_once_ratings_are_known() -> None:
    simulation = Simulation(100, 20, similar_duration).run()
    late_pairs = simulation.history[PAIRINGS // 2 :]
    mean_gap = mean(abs(simulation.strength[pair.first] - simulation.strength[pair.second]) for pair in late_pairs)
    mean_gap_of_all_pairs = mean(abs(one - other) for one, other in combinations(simulation.strength.values(), 2))
    assert mean_gap < mean_gap_of_all_pairs / 2
    # No pair meets too often, because then ratings of different parts of the ladder could not be compared.
    assert max(Counter(map(frozenset, late_pairs)).values()) < 20


@pytest.mark.long
def test_new_entries_play_soon_and_withdrawn_ones_never_again() -> None:
    simulation = Simulation(20, 5, exponential_duration)
    joined: dict[int, int] = {}
    first_game: dict[int, int] = {}
    calls = 0
    while len(simulation.history) < PAIRINGS:
        if simulation.chance.random() < 0.02 and len(simulation.strength) < 40:
            newcomer = max(simulation.counts, default=0) + 1 + len(joined)
            simulation.join(newcomer)
            joined[newcomer] = calls
        if simulation.chance.random() < 0.02 and len(simulation.strength) > 3:
            simulation.leave(simulation.chance.choice(sorted(simulation.strength)))
        pairs = simulation.step()
        calls += bool(pairs)
        for entry in {entry for pair in pairs for entry in pair} & joined.keys():
            first_game.setdefault(entry, calls - joined[entry])
    assert len(joined) > 50
    # Two entries that join at the same time can block each other until the next pairing.
    assert max(first_game.values()) <= 3
    assert {entry for entry in joined if entry in simulation.strength} - first_game.keys() <= {max(joined)}


def test_new_entry_plays_more_often_until_it_has_caught_up() -> None:
    simulation = Simulation(20, 4, similar_duration)
    while len(simulation.history) < 600:
        simulation.step()
    simulation.join(20)
    before = simulation.counts.copy()
    while len(simulation.history) < 800:
        simulation.step()
    new_pairings = {entry: simulation.counts[entry] - before[entry] for entry in range(20)}
    assert (
        mean(new_pairings.values()) + PLACEMENT - 2
        <= simulation.counts[20]
        <= mean(new_pairings.values()) + PLACEMENT + 3
    )


def test_bot_that_never_answers_does_not_block_the_others() -> None:
    def stuck(chance: Random, pair: Pairing) -> float:
        return 1e9 if 0 in pair else chance.uniform(0.5, 1.5)

    simulation = Simulation(10, 5, stuck)
    while len(simulation.history) < 1_000:
        simulation.step()
    assert simulation.now < 1e6
    assert simulation.counts[0] == 1


def test_two_bots_meet_repeatedly_until_a_third_joins() -> None:
    simulation = Simulation(2, 3, same_duration)
    for _ in range(10):
        assert len(simulation.step()) == 1
    simulation.join(2)
    met = [frozenset(pair) for _ in range(6) for pair in simulation.step()]
    assert met == [*map(frozenset, [(0, 2), (1, 2)])] or set(met) == {*map(frozenset, combinations(range(3), 2))}


def test_two_present_bots_meet_repeatedly_until_a_third_returns() -> None:
    ladder = Ladder()
    for entry in range(3):
        ladder.add(entry)
    ladder.record_absence(2)
    for _ in range(4):
        [pair] = ladder.pair(9)
        assert set(pair) == {0, 1}
        ladder.record_result(*pair, 1, 0)
    ladder.record_return(2)
    for _ in range(20):
        [pair] = ladder.pair(9)
        ladder.record_result(*pair, 1, 0)
        [following] = ladder.pair(9)
        assert set(following) != set(pair)
        ladder.record_result(*following, 1, 0)


def test_ladder_without_two_bots_makes_no_pairs() -> None:
    ladder = Ladder()
    assert ladder.pair(3) == []
    ladder.add(7)
    assert ladder.pair(3) == []


def test_absent_bots_are_not_paired_and_those_who_wait_for_them_are() -> None:
    ladder = Ladder()
    for entry in range(6):
        ladder.add(entry)
    for entry in (3, 4, 5):
        ladder.record_absence(entry)
    [pair] = ladder.pair(9)
    assert set(pair) < {0, 1, 2}
    ladder.record_return(5)
    [with_returned] = ladder.pair(9)
    assert 5 in with_returned
    assert ladder.live_pairings == 2
    # The opponent of a bot that leaves during the pairing gets another one.
    left_behind = next(entry for entry in with_returned if entry != 5)
    ladder.record_absence(5)
    assert ladder.live_pairings == 1
    ladder.record_return(4)
    [other] = ladder.pair(9)
    assert set(other) == {left_behind, 4}
    # The rest of the old pairing is played when both are present.
    ladder.record_return(5)
    assert ladder.live_pairings == 3
    ladder.record_result(*with_returned, 2, 0)
    ladder.record_result(*other, 1, 1)
    for pairing in ladder.pair(9):
        assert 3 not in pairing


def test_a_bot_that_returns_plays_soon_but_not_all_the_time() -> None:
    ladder = Ladder()
    for entry in range(8):
        ladder.add(entry)
    ladder.record_absence(7)
    counts: Counter[int] = Counter()

    def play(pairings: int) -> None:
        for _ in range(pairings):
            [pair] = ladder.pair(1)
            counts.update(pair)
            ladder.record_result(*pair, 1, 1)

    play(400)
    assert counts[7] == 0
    before = counts.copy()
    ladder.record_return(7)
    play(2)
    assert counts[7] >= 1
    play(198)
    others = mean(counts[entry] - before[entry] for entry in range(7))
    assert counts[7] <= others + PLACEMENT + 3


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_bots_that_come_and_go_never_block_those_present(seed: int) -> None:
    chance = Random(seed)
    ladder = Ladder()
    entries = range(12)
    for entry in entries:
        ladder.add(entry)
    absent: set[int] = set()
    withdrawn: set[int] = set()
    unfinished: list[Pairing] = []
    last: dict[int, int] = {}

    def live() -> list[Pairing]:
        return [pair for pair in unfinished if absent.isdisjoint(pair)]

    for step in range(3_000):
        for pair in ladder.pair(6 - len(live())):
            assert absent.isdisjoint(pair)
            assert withdrawn.isdisjoint(pair)
            assert not any(entry in other for other in live() for entry in pair), "in two live pairings"
            unfinished.append(pair)
            last[pair.first], last[pair.second] = pair.second, pair.first
        playing = {entry for pair in live() for entry in pair}
        waiting = set(entries) - absent - withdrawn - playing
        if not playing and len(waiting) > 1:
            raise AssertionError("nobody plays, although several are present")
        if playable := live():
            pair = chance.choice(playable)
            unfinished.remove(pair)
            ladder.record_result(*pair, *chance.choice([(2, 0), (1, 1), (0, 2), (0, 0)]))
        for entry in chance.sample(entries, 2):
            if entry in withdrawn or chance.random() > 0.3:
                continue
            if entry in absent:
                absent.discard(entry)
                ladder.record_return(entry)
            elif len(absent) < 9:
                absent.add(entry)
                ladder.record_absence(entry)
        if step == 1_500:
            withdrawn.add(0)
            absent.discard(0)
            ladder.withdraw(0)
            for pair in [pair for pair in unfinished if 0 in pair]:
                unfinished.remove(pair)
                ladder.record_result(*pair, 0, 2)
        assert ladder.live_pairings == len(live())


@examples(15)
@given(st.integers(2, 12), st.integers(0, 80))
@example(4, 1)  # two have played a draw, and two have not played: all ratings are equal
def test_rebuilt_ladder_makes_the_same_pairs(entries: int, steps: int) -> None:
    simulation = Simulation(entries, 1, similar_duration)
    for _ in range(steps):
        simulation.step()
    history = [simulation.over[number] for number in range(len(simulation.history))]
    rebuilt = Ladder.rebuild(range(entries), (), history)
    for _ in range(20):
        pairs = simulation.ladder.pair(1)
        assert rebuilt.pair(1) == pairs
        for ladder in (simulation.ladder, rebuilt):
            ladder.record_result(*pairs[0], 1.5, 0.5)


@examples(15)
@given(st.integers(3, 12), st.integers(2, 5), st.integers(1, 80))
def test_rebuilt_ladder_knows_open_pairings_and_withdrawn_entries(entries: int, room: int, steps: int) -> None:
    simulation = Simulation(entries, room, exponential_duration)
    for _ in range(steps):
        simulation.step()
    simulation.leave(0)
    history = [simulation.over.get(number, pair) for number, pair in enumerate(simulation.history)]
    rebuilt = Ladder.rebuild(range(entries), {0}, history)
    for pair in rebuilt.pair(entries):
        assert 0 not in pair
        assert not any(simulation.open[entry] for entry in pair)
        assert simulation.may_meet(*pair)


def ladder_with_anchors(newcomers: int) -> Ladder:
    """Return a ladder with newcomers, from entry 0 on, and eleven anchors from entry 100 on: -1,000 to 1,000 Elo."""
    ladder = Ladder()
    for entry in range(newcomers):
        ladder.add(entry)
    for number in range(11):
        ladder.add(100 + number, 200.0 * number - 1_000)
    return ladder


def test_anchors_without_other_bots_get_no_pairing() -> None:
    assert ladder_with_anchors(0).pair(16) == []


def test_a_newcomer_meets_anchors_near_its_rating_again_and_again() -> None:
    ladder = ladder_with_anchors(1)
    chance = Random(3)
    met: Counter[int] = Counter()
    for _ in range(200):
        (pair,) = ladder.pair(16)
        anchor = max(pair.first, pair.second)
        met[anchor] += 1
        wins = chance.random() < 1 / (1 + 10 ** ((200.0 * (anchor - 100) - 1_000 - 500) / 400))
        points = 2.0 if wins is (pair.first == 0) else 0.0
        ladder.record_result(pair.first, pair.second, points, 2 - points)
    # Its strength is 500 Elo, between the anchors 107 and 108.
    assert met[107] + met[108] > sum(met.values()) / 3
    assert met[100] + met[101] < 10
    assert len(met) > 3


def test_newcomers_all_play_and_anchors_only_play_newcomers() -> None:
    ladder = ladder_with_anchors(6)
    pairs = ladder.pair(16)
    assert sorted(entry for pair in pairs for entry in (pair.first, pair.second) if entry < 100) == list(range(6))


def test_a_bot_far_ahead_of_a_slow_one_plays_anchors_meanwhile() -> None:
    ladder = ladder_with_anchors(3)
    (slow,) = ladder.pair(1)
    assert {slow.first, slow.second} < {0, 1, 2}
    for _ in range(5 * AHEAD):
        (pair,) = ladder.pair(1)
        assert not {slow.first, slow.second} & {pair.first, pair.second}
        ladder.record_result(pair.first, pair.second, 1, 1)


def test_a_rebuilt_ladder_has_the_same_anchors() -> None:
    ladder = ladder_with_anchors(1)
    history: list[Pairing | PlayedPairing] = []
    for number in range(20):
        (pair,) = ladder.pair(1)
        ladder.record_result(pair.first, pair.second, 2, 0)
        history.append(PlayedPairing(number + 1, pair.first, pair.second, 2, 0, 2))
    anchors = {100 + number: 200.0 * number - 1_000 for number in range(11)}
    rebuilt = Ladder.rebuild([0, *anchors], [], history, anchors)
    assert rebuilt.pair(1) == ladder.pair(1)
