"""Which opening an encounter gets. It follows from the tournament's seed and the encounter's number alone."""

from collections.abc import Callable
from functools import lru_cache

from noughts_referee.rules import Draws, Variant, game_seed
from noughts_server.openings.balance import is_balanced
from noughts_server.openings.by_chance import drawn_near, drawn_plies
from noughts_server.openings.legality import OpeningError, check_opening, is_legal
from noughts_server.openings.settings import MOST_PLIES, Openings, OpeningsKind, OpeningsOrder
from noughts_server.openings.symmetries import symmetries

# They set the chance of openings apart from that of games, and of each other.
_ENCOUNTERS = 0x6A09E667F3BCC909
_PASSES = 0xBB67AE8584CAA73B
_SYMMETRY_PLY = 1 << 20
_MOST_TRIES = 500
_MOST_BALANCED_TRIES = 200

Opening = tuple[int, ...]
"""Its cells in the order of play."""


def opening_of(openings: Openings, variant: Variant, seed: int, encounter: int) -> Opening:
    """The opening of a tournament's encounter with this number, from 0; empty where there are none.

    `seed` is the tournament's. Openings by search take some tenths of a second, the others next to nothing. Raises
    OpeningError where the variant has no such opening.
    """
    if not openings:
        return ()
    chance = game_seed(seed ^ _ENCOUNTERS, encounter)
    opening = _SOURCES[openings.kind](openings, variant, seed, encounter)
    if openings.symmetries:
        images = symmetries(variant)
        image = Draws(chance, _SYMMETRY_PLY).choice(images)
        turned = tuple(image[cell] for cell in opening)
        # A variant of somebody's own may forbid what is not symmetric.
        opening = turned if is_legal(variant, turned) else opening
    return opening


def check_openings(openings: Openings, variant: Variant) -> None:
    """Raises OpeningError if a tournament of the variant cannot have these openings."""
    if not openings:
        return
    if variant.agreement:
        raise OpeningError(
            f"openings ({openings}) for {variant.name}, where the players agree on one ({variant.agreement})",
            "one of the two",
        )
    if openings.kind is OpeningsKind.LIST:
        if not openings.listed:
            raise OpeningError("a list without openings", "at least one")
        for number, cells in enumerate(openings.listed, start=1):
            try:
                check_opening(variant, cells)
            except OpeningError as error:
                raise OpeningError(f"in opening {number} {error.got}", error.expected) from None
        return
    if not 1 <= openings.plies <= min(MOST_PLIES, variant.cells - 1):
        most = min(MOST_PLIES, variant.cells - 1)
        raise OpeningError(f"{openings.plies} plies", f"1 to {most} for {variant.name}")
    opening_of(openings, variant, 0, 0)


def _by_chance(openings: Openings, variant: Variant, seed: int, encounter: int) -> Opening:
    return _first_that_suits(openings, variant, seed, encounter, drawn_plies, _MOST_TRIES, _nothing_to_win_at_once)


def _balanced(openings: Openings, variant: Variant, seed: int, encounter: int) -> Opening:
    return _first_that_suits(openings, variant, seed, encounter, drawn_near, _MOST_BALANCED_TRIES, is_balanced)


def _first_that_suits(
    openings: Openings,
    variant: Variant,
    seed: int,
    encounter: int,
    draw: Callable[[Variant, int, Draws], Opening | None],
    tries: int,
    suits: Callable[[Variant, Opening], bool],
) -> Opening:
    draws = Draws(game_seed(seed ^ _ENCOUNTERS, encounter), 0)
    legal: Opening | None = None
    for _ in range(tries):
        opening = draw(variant, openings.plies, draws)
        if opening is None:
            continue
        if suits(variant, opening):
            return opening
        legal = legal or opening
    # A board so small that nothing else is left: a game that can be won at once is better than none.
    if legal is not None and openings.kind is OpeningsKind.RANDOM:
        return legal
    raise OpeningError(
        f"no opening of {openings.plies} plies for {variant.name} in {tries} tries that is {openings.kind}",
        "fewer plies, or `random:K`" if openings.kind is OpeningsKind.BALANCED else "fewer plies",
    )


def _nothing_to_win_at_once(variant: Variant, opening: Opening) -> bool:
    """Whether the side to move cannot complete a line with its next stone."""
    side = len(opening) & 1
    own, opponent = (sum(1 << cell for cell in opening[first::2]) for first in (side, 1 - side))
    return not any(
        variant.completes(own | 1 << cell, cell, opponent) for cell in variant.legal_cells(own, opponent, side)
    )


def _from_list(openings: Openings, variant: Variant, seed: int, encounter: int) -> Opening:
    listed = openings.listed
    turn, place = divmod(encounter, len(listed))
    if openings.order is OpeningsOrder.RANDOM:
        place = _shuffled(seed, turn, len(listed))[place]
    return listed[place]


@lru_cache(maxsize=8)
def _shuffled(seed: int, turn: int, count: int) -> tuple[int, ...]:
    """The order in which a list is gone through for the `turn`th time: each opening once before any comes again."""
    draws, order = Draws(game_seed(seed ^ _PASSES, turn), 0), list(range(count))
    for last in range(count - 1, 0, -1):
        other = draws.below(last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)


_SOURCES: dict[OpeningsKind, Callable[[Openings, Variant, int, int], Opening]] = {
    OpeningsKind.RANDOM: _by_chance,
    OpeningsKind.BALANCED: _balanced,
    OpeningsKind.LIST: _from_list,
}
