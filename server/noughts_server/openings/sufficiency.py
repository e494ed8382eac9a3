"""Estimate whether there are enough openings for a match, because two deterministic bots repeat an opening's games.

Openings that lead to the same position count as one. Their number follows from how often two random openings are the
same, the collisions of the birthday problem: of n samples from N equally likely ones, n (n - 1) / 2N pairs are equal.
"""

import math
from collections import Counter
from functools import lru_cache

from noughts_referee.rules import Draws, Variant, parse_variant, symmetries
from noughts_server.openings.by_chance import drawn_plies
from noughts_server.openings.settings import Openings, OpeningsKind

_SAMPLES = 1_000
_MOST_COUNTED = 50_000
"""From `_SAMPLES` samples, a larger number of openings cannot be estimated."""
_MOST_PLIES = 12
"""With more plies, all samples differ on the boards that have enough cells."""
_SEED = 1


@lru_cache(maxsize=256)
def _number(name: str, plies: int) -> float:
    """Return the estimated number of positions after these random plies; infinity if no two samples are the same."""
    variant = parse_variant(name)
    draws = Draws(_SEED, 0)
    seen: Counter[tuple[frozenset[int], frozenset[int]]] = Counter()
    collisions = 0
    samples = 0
    for _ in range(_SAMPLES):
        cells = drawn_plies(variant, plies, draws, natural=False)
        if cells is not None:
            position = frozenset(cells[::2]), frozenset(cells[1::2])
            collisions += seen[position]
            seen[position] += 1
            samples += 1
    if samples < _SAMPLES // 2 or len(seen) <= _SAMPLES // 10:
        # Most games end within these plies, or there are so few openings that all have occurred.
        return len(seen)
    return samples * (samples - 1) / 2 / collisions if collisions else math.inf


def different_openings(openings: Openings, variant: Variant, most: int) -> int | None:
    """Return the number of different openings if it is less than `most`; None if it is not, or unknown."""
    if not openings:
        return 1 if most > 1 and not variant.agreement else None
    if openings.kind is OpeningsKind.LIST:
        listed = len(set(openings.listed)) * (len(symmetries(variant)) if openings.symmetries else 1)
        return listed if listed < most else None
    if openings.kind is OpeningsKind.BALANCED or openings.plies > _MOST_PLIES:
        return None
    number = _number(variant.name, openings.plies)
    return round(number) if number < min(most, _MOST_COUNTED) else None


def usual_openings(variant: Variant, pairs: int) -> Openings:
    """Return random openings of the fewest plies with which there are at least `pairs` of them, else with the most.

    The plies are an even number, so that the side that moves first also begins after the opening. A variant
    whose players agree on the opening has none.
    """
    if variant.agreement:
        return Openings()
    most = max(2, min(_MOST_PLIES, variant.cells // 2) // 2 * 2)
    choices = [Openings(OpeningsKind.RANDOM, plies) for plies in range(2, most + 1, 2)]
    for openings in choices:
        if different_openings(openings, variant, pairs) is None:
            return openings
    return max(choices, key=lambda openings: _number(variant.name, openings.plies))


def shortage(openings: Openings, variant: Variant, games: int) -> str:
    """Return a sentence if a match of this many games has more pairs than different openings, else an empty text."""
    pairs = games // 2
    different = different_openings(openings, variant, pairs)
    if different is None:
        return ""
    subject = f"The openings {openings} are" if openings else "Without openings there is"
    number = f"about {different:,} different ones" if openings else "only one start"
    repeating = "Bots that always play the same moves will repeat games"
    return (
        f"{subject} {number}, for up to {pairs:,} pairs. {repeating}. Fix: {more_openings(openings, variant, games)}."
    )


def more_openings(openings: Openings, variant: Variant, games: int) -> str:
    """Return advice, a phrase, with which a match of this many games has more openings."""
    usual = usual_openings(variant, games // 2)
    if openings.kind is not OpeningsKind.RANDOM or openings.plies < usual.plies:
        return f"--openings {usual} in a new test"
    return "test in a variant with a larger board, or with bots that choose moves at random"
