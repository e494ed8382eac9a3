"""Choose the opening of a pair of games, which depends only on the tournament's seed and the pair's number."""

from collections.abc import Callable
from functools import lru_cache

from noughts_referee.rules import Draws, Variant, game_seed, purpose_seed, symmetries
from noughts_server.openings.by_chance import drawn_plies
from noughts_server.openings.legality import OpeningError, check_opening, is_legal
from noughts_server.openings.settings import MOST_PLIES, Openings, OpeningsKind, OpeningsOrder

# Purposes of seeds: they separate the random numbers of openings from those of games, and from each other.
_GAME_PAIRS = 0x6A09E667F3BCC909
_PASSES = 0xBB67AE8584CAA73B
_SYMMETRY_PLY = 1 << 20
"""A ply that no opening reaches: its random number chooses the symmetry."""
# Attempts to find a random opening, and a balanced one, which takes longer.
_TRIES = 500
_SEARCHES = 200

OpeningChoice = tuple[int, ...]
"""The cells in playing order."""


def opening_of(openings: Openings, variant: Variant, seed: int, game_pair: int) -> OpeningChoice:
    """Return the opening of a tournament's pair of games with this number, from 0; empty without openings.

    `seed` is the tournament's. Balanced openings take some tenths of a second, others almost no time. Raises
    OpeningError if the variant has no such opening.
    """
    if not openings:
        return ()
    pair_seed = _pair_seed(seed, game_pair)
    if openings.kind is OpeningsKind.LIST:
        opening = _from_list(openings, seed, game_pair)
    else:
        opening, _ = _random_opening(openings, variant, pair_seed)
    if openings.symmetries:
        images = symmetries(variant)
        image = Draws(pair_seed, _SYMMETRY_PLY).choice(images)
        image_of_opening = tuple(image[cell] for cell in opening)
        # A plugin's variant can forbid the image of an opening.
        opening = image_of_opening if is_legal(variant, image_of_opening) else opening
    return opening


def check_openings(openings: Openings, variant: Variant) -> None:
    """Raise OpeningError if a tournament of the variant cannot have these openings."""
    if not openings:
        return
    if variant.agreement:
        raise OpeningError(
            f"openings ({openings}) for {variant.name}, where the players agree on one ({variant.agreement})",
            "openings or an opening rule, not both",
        )
    if openings.kind is OpeningsKind.LIST:
        if not openings.listed:
            raise OpeningError("a list without openings", "at least one")
        for number, cells in enumerate(openings.listed, start=1):
            try:
                check_opening(variant, cells)
            except OpeningError as error:
                raise OpeningError(f"opening {number} with {error.got}", error.expected) from None
        return
    if not 1 <= openings.plies <= min(MOST_PLIES, variant.cells - 1):
        most = min(MOST_PLIES, variant.cells - 1)
        raise OpeningError(f"{openings.plies} plies", f"1 to {most} for {variant.name}")
    _, is_balanced = _random_opening(openings, variant, _pair_seed(0, 0))
    if openings.kind is OpeningsKind.BALANCED and not is_balanced:
        raise OpeningError(
            f"no balanced opening of {openings.plies} plies for {variant.name} in {_SEARCHES} tries",
            f"another number of plies, or `random:{openings.plies}`",
        )


def _pair_seed(seed: int, game_pair: int) -> int:
    return game_seed(purpose_seed(seed, _GAME_PAIRS), game_pair)


def _random_opening(openings: Openings, variant: Variant, pair_seed: int) -> tuple[OpeningChoice, bool]:
    """Return the first random opening that is balanced, or the most balanced one; and whether it is balanced.

    An opening of the kind `random` counts as balanced if the side to move cannot win at once. Raises OpeningError if
    no tried opening has this many plies.
    """
    natural = False
    most_uneven = 0
    tries = _TRIES
    unevenness: Callable[[Variant, OpeningChoice], int] = _won_at_once
    if openings.kind is OpeningsKind.BALANCED:
        # Imported only if a search is needed.
        from noughts_server.openings.balance import MOST_LEAD, imbalance

        natural = True
        unevenness = imbalance
        most_uneven = MOST_LEAD
        tries = _SEARCHES
    draws = Draws(pair_seed, 0)
    best: OpeningChoice | None = None
    best_score = 0
    for _ in range(tries):
        opening = drawn_plies(variant, openings.plies, draws, natural=natural)
        if opening is not None:
            score = unevenness(variant, opening)
            if score <= most_uneven:
                return opening, True
            if best is None or score < best_score:
                best, best_score = opening, score
    if best is None:
        expected = f"fewer plies for {variant.name}"
        raise OpeningError(f"{openings.plies} plies, which ended the game in all {tries} tries", expected)
    return best, False


def _won_at_once(variant: Variant, opening: OpeningChoice) -> int:
    """Return 1 if the side to move can complete a line with its next stone, else 0."""
    side = len(opening) & 1
    own, opponent = (sum(1 << cell for cell in opening[first::2]) for first in (side, 1 - side))
    cells = variant.legal_cells(own, opponent, side)
    return int(any(variant.completes(own | 1 << cell, cell, opponent) for cell in cells))


def _from_list(openings: Openings, seed: int, game_pair: int) -> OpeningChoice:
    listed = openings.listed
    turn, index = divmod(game_pair, len(listed))
    if openings.order is OpeningsOrder.RANDOM:
        index = _shuffled(seed, turn, len(listed))[index]
    return listed[index]


@lru_cache(maxsize=8, typed=True)
def _shuffled(seed: int, turn: int, count: int) -> tuple[int, ...]:
    """Return the order of a list for the `turn`th pass: each opening occurs once before any is repeated."""
    draws = Draws(game_seed(purpose_seed(seed, _PASSES), turn), 0)
    order = list(range(count))
    for last in range(count - 1, 0, -1):
        other = draws.below(last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)
