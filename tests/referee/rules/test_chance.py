"""Random numbers of `Draws`: repeatable from (seed, ply), uniform, and in exact proportion to weights.

All seeds here are fixed, so the statistical tests always give the same result.
"""

import math
import tracemalloc
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.rules import (
    Draws,
    OldSeed,
    commitment,
    first_choice,
    first_choices,
    game_seed,
    purpose_seed,
    side_seed,
    side_seeds,
)
from tests.support.settings import examples

FIRST_BITS = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
FIRST_SEED = 0x1CCFDC0B8F452EEF
COMMITMENT_OF_7 = "f0209819e182c9bf034b89ae98af0b800b7ba4113e8b9a04c5a7b10e0e363e86"
OLD_SEED = 0xBEEB8DA1658EEC67

seeds = st.integers(0, 2**64 - 1)


def chi_square(counts: Counter[int], expected: dict[int, float]) -> float:
    assert set(counts) <= set(expected)
    return sum((counts[value] - mean) ** 2 / mean for value, mean in expected.items())


def is_plausible(statistic: float, freedom: int) -> bool:
    """Return whether a chi-square statistic is within five standard deviations of its mean.

    `freedom`: degrees of freedom. For a uniform source this fails about once in a million.
    """
    return abs(statistic - freedom) < 5 * math.sqrt(2 * freedom)


@examples(200)
@given(seeds, st.integers(0, 900), st.integers(1, 900))
def test_the_same_seed_and_ply_give_the_same_draws(seed: int, ply: int, count: int) -> None:
    one, another = Draws(seed, ply), Draws(seed, ply)
    assert [one.below(count) for _ in range(5)] == [another.below(count) for _ in range(5)]
    assert 0 <= one.bits() < 2**64
    assert one.bits() != another.bits()  # `one` has already returned its first number above


@given(seed=st.integers(0, 2**64 - 1), ply=st.integers(0, 899), count=st.integers(1, 900))
def test_first_choice_equals_the_first_choice_of_new_draws(seed: int, ply: int, count: int) -> None:
    assert first_choice(seed, ply, range(count)) == Draws(seed, ply).choice(range(count))


@pytest.mark.parametrize("rows", [0, 1, 15, 16, 17, 1_000])
def test_choices_and_seeds_of_many_rows_equal_those_of_single_rows(rows: int) -> None:
    seeds = [game_seed(3, row) for row in range(rows)]
    seeds[-2:] = [0, (1 << 64) - 1][:rows]
    plies = [row * row % 901 for row in range(rows)]
    items = [range(1 + row % 900) for row in range(rows)]
    assert first_choices(seeds, plies, items) == list(map(first_choice, seeds, plies, items))
    numbers = [row * row * row + 1 for row in range(rows)]
    sides = [row % 2 for row in range(rows)]
    for seed in (0, 7, (1 << 64) - 1):
        assert side_seeds(seed, numbers, sides) == [
            side_seed(game_seed(seed, number), side) for number, side in zip(numbers, sides, strict=True)
        ]


def test_the_first_draws_are_the_same_in_every_release() -> None:
    """Stored games are replayed from their seeds: this stream must never change."""
    draws = Draws(0, 0)
    assert [draws.bits() for _ in range(3)] == FIRST_BITS
    assert side_seed(game_seed(1, 2), 0) == FIRST_SEED


def test_a_tournament_of_an_older_database_keeps_its_seeds() -> None:
    assert game_seed(OldSeed(1), 2) == OLD_SEED
    assert side_seeds(OldSeed(1), [2, 2], [0, 1]) == [OLD_SEED, (OLD_SEED + 0xA0761D6478BD642F) % 2**64]
    assert type(purpose_seed(OldSeed(1), 2)) is OldSeed
    assert side_seeds(1, [2], [0]) == [FIRST_SEED]  # equal numbers, and yet another seed


def test_seeds_of_many_tournaments_take_little_memory() -> None:
    tracemalloc.start()
    for tournament_seed in range(2**40, 2**40 + 5_000):
        side_seeds(tournament_seed, [1], [0])
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 1 << 20  # 1 MiB for 5,000 tournaments


def test_a_bot_that_knows_a_seed_cannot_predict_its_opponent() -> None:
    # Seeds were once sums and outputs of splitmix64. Each guess is a relation between seeds that held then.
    gamma, steps = 0x9E3779B97F4A7C15, (0xA0761D6478BD642F, 0xD1342543DE82EF95)
    games, values = 6_000, 9
    hits: Counter[str] = Counter()
    for number in range(1, games + 1):
        own, opponent = side_seeds(77, [number, number], [0, 1])
        before = game_seed(77, number - 1)
        guesses = {
            "the same": own,
            "a constant apart": own + steps[0],
            "a constant apart the other way": own - steps[0],
            "another constant apart": own + steps[1],
            "the next of its stream": Draws(own, 0).bits(),
            "hashed as if it were a game's": side_seed(own, 1),
            "from the game before": side_seed(unmixed(before) + gamma & 2**64 - 1, 1),
            "from the tournament that the game before gives": side_seed(
                game_seed(unmixed(before) - (number - 1) * gamma & 2**64 - 1, number), 1
            ),
        }
        drawn = Draws(opponent, 1).below(values)
        hits.update(name for name, guess in guesses.items() if Draws(guess % 2**64, 1).below(values) == drawn)
    mean = games / values
    assert len(hits) == 8
    assert all(abs(count - mean) < 5 * math.sqrt(mean) for count in hits.values()), hits


def unmixed(mixed: int) -> int:
    """Return the state from which the mixing steps of splitmix64 make this number."""
    z = mixed
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9), (30, 1)):
        start = z
        for _ in range(64 // shift + 1):
            z = start ^ z >> shift
        z = z * pow(factor, -1, 2**64) % 2**64
    return z


def test_a_seed_commitment_can_be_checked_with_sha256sum() -> None:
    # The output of: printf 'noughts seed 7' | sha256sum
    assert commitment(7) == COMMITMENT_OF_7


def test_below_is_the_high_part_of_the_bits() -> None:
    draws, bits = Draws(5, 3), Draws(5, 3)
    for count in (1, 2, 9, 225, 2**40):
        assert draws.below(count) == bits.bits() * count >> 64


@pytest.mark.parametrize("count", [2, 3, 7, 9, 225])
def test_first_draws_of_neighbouring_seeds_are_uniform(count: int) -> None:
    trials = 200 * count
    counts = Counter(Draws(seed, 0).below(count) for seed in range(trials))
    assert is_plausible(chi_square(counts, dict.fromkeys(range(count), trials / count)), count - 1)


@pytest.mark.parametrize("count", [2, 3, 7, 9, 225])
def test_first_draws_of_neighbouring_plies_are_uniform(count: int) -> None:
    trials = 200 * count
    counts = Counter(Draws(side_seed(game_seed(42, ply // 225), 0), ply % 225).below(count) for ply in range(trials))
    assert is_plausible(chi_square(counts, dict.fromkeys(range(count), trials / count)), count - 1)


@pytest.mark.parametrize("count", [2, 3, 9])
def test_draws_one_after_the_other_are_uniform_in_pairs(count: int) -> None:
    draws = Draws(2024, 5)
    numbers = [draws.below(count) for _ in range(200 * count * count)]
    counts = Counter(one * count + another for one, another in pairwise(numbers))
    mean = (len(numbers) - 1) / count**2
    assert is_plausible(chi_square(counts, dict.fromkeys(range(count * count), mean)), count**2 - 1)


def test_two_plies_of_a_game_share_no_part_of_their_streams() -> None:
    streams = [Draws(99, ply) for ply in range(225)]
    numbers = [draws.bits() for draws in streams for _ in range(50)]
    assert len(set(numbers)) == len(numbers)


@examples(100)
@given(seeds, st.integers(0, 50), st.lists(st.integers(0, 5), min_size=1, max_size=8).filter(any))
def test_a_weight_counts_as_that_number_of_equal_items(seed: int, ply: int, weights: list[int]) -> None:
    items = list(range(len(weights)))
    repeated_items = [item for item, weight in zip(items, weights, strict=True) for _ in range(weight)]
    assert Draws(seed, ply).weighted(items, weights) == Draws(seed, ply).choice(repeated_items)


def test_weighted_choices_come_in_proportion() -> None:
    weights = [16, 1, 0, 4, 11]
    counts = Counter(Draws(seed, 1).weighted(range(5), weights) for seed in range(8_000))
    assert counts[2] == 0
    expected = {item: 8_000 * weight / 32 for item, weight in enumerate(weights) if weight}
    assert is_plausible(chi_square(counts, expected), 3)


def test_seeds_depend_on_every_part_and_on_their_order() -> None:
    numbers = [
        side_seed(game_seed(tournament, game), side) for tournament in (1, 2) for game in range(500) for side in (0, 1)
    ]
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number < 2**64 for number in numbers)
    assert game_seed(1, 23) != game_seed(12, 3) != game_seed(3, 12)
    assert game_seed(2**64 - 1, 1) == game_seed(2**64 - 1, 1)
