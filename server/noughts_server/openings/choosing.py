"""Choose the opening of an encounter, which depends only on the tournament's seed and the encounter's number."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import permutations, product

from noughts_referee.rules import Draws, Variant, apart, game_seed, members
from noughts_server.openings.legality import OpeningError, check_opening, is_legal
from noughts_server.openings.settings import MOST_PLIES, Openings, OpeningsKind, OpeningsOrder

# On boards with edges of at least this length, the first stone is at most a fifth of the edge from the middle.
_LARGE_EDGE = 7
_NEAR = 3


def drawn_plies(variant: Variant, plies: int, draws: Draws) -> tuple[int, ...] | None:
    """Return `plies` random legal cells that do not end the game; None if there are too few."""
    return _drawn_line(variant, plies, draws, near=False)


def drawn_near(variant: Variant, plies: int, draws: Draws) -> tuple[int, ...] | None:
    """Return the same in natural places: on large boards near the middle, then up to three cells from another stone."""
    return _drawn_line(variant, plies, draws, near=min(variant.columns, variant.rows) >= _LARGE_EDGE)


def _drawn_line(variant: Variant, plies: int, draws: Draws, *, near: bool) -> tuple[int, ...] | None:
    cells: list[int] = []
    own = opponent = 0
    for ply in range(plies):
        side = ply & 1
        legal = variant.legal_cells(own, opponent, side)
        if near:
            wanted = _surroundings(variant, own | opponent) if cells else _middle(variant)
            legal = tuple(cell for cell in legal if wanted >> cell & 1) or legal
        while legal:
            cell = draws.choice(legal)
            if variant.outcome(own | 1 << cell, opponent, cell, side) is None:
                break
            legal = tuple(other for other in legal if other != cell)
        else:
            return None
        cells.append(cell)
        own, opponent = opponent, own | 1 << cell
    return tuple(cells)


def _middle(variant: Variant) -> int:
    """Return the cells around the middle, in all layers, as a set."""
    reach = max(1, min(variant.columns, variant.rows) // 5)
    row, column = (variant.rows - 1) // 2, (variant.columns - 1) // 2
    return _square(variant, row, column, reach)


def _surroundings(variant: Variant, stones: int) -> int:
    near = 0
    for cell in members(stones):
        row, column = divmod(cell % (variant.rows * variant.columns), variant.columns)
        near |= _square(variant, row, column, _NEAR)
    return near


def _square(variant: Variant, row: int, column: int, reach: int) -> int:
    cells = 0
    for layer in range(variant.layers):
        for near_row in range(max(0, row - reach), min(variant.rows, row + reach + 1)):
            first, last = max(0, column - reach), min(variant.columns, column + reach + 1)
            start = (layer * variant.rows + near_row) * variant.columns
            cells |= ((1 << last) - (1 << first)) << start
    return cells


_MOST_KEPT = 8


@lru_cache(maxsize=_MOST_KEPT)
def symmetries(variant: Variant) -> tuple[tuple[int, ...], ...]:
    """Return each symmetry as the image of every cell; the first is the identity.

    A flat square board has 8, an oblong one 4, one with gravity 2, a cube 48. They are found by trial: of all
    permutations and reflections of the axes, those that map lines to lines and keep what is below a cell below it.
    """
    lines = set(variant.lines)
    found = [
        image
        for image in _turned(variant)
        if {_moved(line, image) for line in variant.line_cells} == lines
        and all(
            _moved(_cells(below), image) == variant.supports[image[cell]]
            for cell, below in enumerate(variant.supports)
            if below
        )
    ]
    return tuple(dict.fromkeys(found))


def _turned(variant: Variant) -> Iterator[tuple[int, ...]]:
    sizes = (variant.layers, variant.rows, variant.columns)
    cells = list(product(*map(range, sizes)))
    for axes in permutations(range(3)):
        if tuple(sizes[axis] for axis in axes) != sizes:
            continue
        for flips in product((False, True), repeat=3):
            image = []
            for place in cells:
                layer, row, column = (
                    size - 1 - place[axis] if flip else place[axis]
                    for axis, flip, size in zip(axes, flips, sizes, strict=True)
                )
                image.append((layer * variant.rows + row) * variant.columns + column)
            yield tuple(image)


def _moved(cells: tuple[int, ...], image: tuple[int, ...]) -> int:
    return sum(1 << image[cell] for cell in cells)


def _cells(cells: int) -> tuple[int, ...]:
    return tuple(cell for cell in range(cells.bit_length()) if cells >> cell & 1)


# They separate the random numbers of openings from those of games and from each other.
_ENCOUNTERS = 0x6A09E667F3BCC909
_PASSES = 0xBB67AE8584CAA73B
_SYMMETRY_PLY = 1 << 20
_TRIES, _SEARCHES = 500, 200

OpeningChoice = tuple[int, ...]
"""The cells in playing order."""


def opening_of(openings: Openings, variant: Variant, seed: int, encounter: int) -> OpeningChoice:
    """Return the opening of a tournament's encounter with this number, from 0; empty without openings.

    `seed` is the tournament's. Balanced openings take some tenths of a second, others almost no time. Raises
    OpeningError if the variant has no such opening.
    """
    if not openings:
        return ()
    chance = game_seed(apart(seed, _ENCOUNTERS), encounter)
    opening = _SOURCES[openings.kind](openings, variant, seed, encounter)
    if openings.symmetries:
        images = symmetries(variant)
        image = Draws(chance, _SYMMETRY_PLY).choice(images)
        turned = tuple(image[cell] for cell in opening)
        # A plugin's variant can forbid the image of an opening.
        opening = turned if is_legal(variant, turned) else opening
    return opening


def check_openings(openings: Openings, variant: Variant) -> None:
    """Raise OpeningError if a tournament of the variant cannot have these openings."""
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
    _, even = _drawn(openings, variant, 0, 0)
    if openings.kind is OpeningsKind.BALANCED and not even:
        raise OpeningError(
            f"no opening of {openings.plies} plies for {variant.name} in {_SEARCHES} tries that is even",
            f"another number of plies, or `random:{openings.plies}`",
        )


def _by_chance(openings: Openings, variant: Variant, seed: int, encounter: int) -> OpeningChoice:
    opening, _ = _drawn(openings, variant, seed, encounter)
    return opening


def _drawn(openings: Openings, variant: Variant, seed: int, encounter: int) -> tuple[OpeningChoice, bool]:
    """Return the first random opening that is balanced, or the most balanced one; and whether it is balanced.

    Raises OpeningError if no opening has so many plies.
    """
    draw, bound, tries = drawn_plies, 0, _TRIES
    unevenness: Callable[[Variant, OpeningChoice], int] = _won_at_once
    if openings.kind is OpeningsKind.BALANCED:
        # Imported only if a search is needed.
        from noughts_server.openings.balance import MOST_LEAD, imbalance

        draw, unevenness, bound, tries = drawn_near, imbalance, MOST_LEAD, _SEARCHES
    draws = Draws(game_seed(apart(seed, _ENCOUNTERS), encounter), 0)
    best: tuple[OpeningChoice, int] | None = None
    for _ in range(tries):
        opening = draw(variant, openings.plies, draws)
        if opening is not None:
            uneven = unevenness(variant, opening)
            if uneven <= bound:
                return opening, True
            if best is None or uneven < best[1]:
                best = opening, uneven
    if best is None:
        expected = f"fewer plies for {variant.name}"
        raise OpeningError(f"{openings.plies} plies, after which no game was still open in {tries} tries", expected)
    return best[0], False


def _won_at_once(variant: Variant, opening: OpeningChoice) -> int:
    """Return 1 if the side to move can complete a line with its next stone, else 0."""
    side = len(opening) & 1
    own, opponent = (sum(1 << cell for cell in opening[first::2]) for first in (side, 1 - side))
    cells = variant.legal_cells(own, opponent, side)
    return int(any(variant.completes(own | 1 << cell, cell, opponent) for cell in cells))


def _from_list(openings: Openings, variant: Variant, seed: int, encounter: int) -> OpeningChoice:
    listed = openings.listed
    turn, place = divmod(encounter, len(listed))
    if openings.order is OpeningsOrder.RANDOM:
        place = _shuffled(seed, turn, len(listed))[place]
    return listed[place]


@lru_cache(maxsize=8, typed=True)
def _shuffled(seed: int, turn: int, count: int) -> tuple[int, ...]:
    """Return the order of a list for the `turn`th pass: each opening occurs once before any is repeated."""
    draws, order = Draws(game_seed(apart(seed, _PASSES), turn), 0), list(range(count))
    for last in range(count - 1, 0, -1):
        other = draws.below(last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)


_SOURCES: dict[OpeningsKind, Callable[[Openings, Variant, int, int], OpeningChoice]] = {
    OpeningsKind.RANDOM: _by_chance,
    OpeningsKind.BALANCED: _by_chance,
    OpeningsKind.LIST: _from_list,
}
