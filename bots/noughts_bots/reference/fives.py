"""`fives`: adds up what every window of k cells gives to its empty cells, in any variant."""

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Considered
from noughts_referee.rules import Position, Variant

# What a window gives is a power of this, so that each pair of a priority's decimal digits counts the windows of one
# kind. Lesser windows never add up to a greater one: on a board of at most 30x30 a cell lies in 60 windows at most.
_STEP = 100
_NEIGHBOUR = 1

# The first stone keeps so many cells between itself and the edge.
_FROM_EDGE = 5

# Positions of larger boards hardly ever come back, and are worked out faster than much memory is filled.
_REMEMBERED_BOARD = 12


class Fives(CachingBot):
    """Takes a cell of the largest priority, looking no move ahead; lots among equals.

    A window is k cells that win together; the article's k is 5. One that holds two to k-1 stones of one colour and is
    otherwise empty adds to the priority of each of its empty cells. From the least to the greatest: two of the
    opponent's 100, two own 100**2, three of the opponent's 100**3, three own 100**4 and so on, up to k-1 of the
    opponent's and k-1 own. So an own win beats anything, then comes the opponent's, which must be blocked, then own
    k-2; among cells that have the same greatest window it matters in how many such windows they lie. (Where k is 2, a
    single stone counts.) A cell with a neighbour in any of the eight directions has 1 more, however many neighbours.

    On boards that the article does not know: in a cube there are 26 directions; with gravity only cells where a stone
    comes to rest count, whatever that opens above them; a window that its owner has spoiled or the other side has shut
    gives nothing.

    The first stone of a game is drawn from the cells with at least five others between them and every edge. A board is
    small if that leaves none in one of its directions (10 cells or fewer): there, the middle cell or two are meant.

    Source: article 004, which ranks the first three windows and leaves the weights open. Its main text counts windows
    of two stones and more; windows of one, which its first example mentions, give nothing.
    """

    name = "fives"
    boards = "every variant whose lines have the same length"
    heeds_forbidden_moves = True

    def __init__(self) -> None:
        super().__init__()
        self._boards: dict[Variant, _Board] = {}

    def plays(self, variant: Variant) -> bool:
        return len(set(map(len, variant.line_cells))) == 1

    def consider(self, position: Position) -> Considered:
        return super().consider(position) if position.variant.cells <= _REMEMBERED_BOARD else self.work_out(position)

    def work_out(self, position: Position) -> Considered:
        board = self._boards.get(position.variant)
        if board is None:
            board = self._boards[position.variant] = _Board(position.variant)
        priorities = board.priorities(position.own, position.opponent, position.free)
        if not position.own | position.opponent:
            openings = tuple(cell for cell in board.openings if cell in priorities)
            return Considered(openings or position.free, scores=priorities)
        largest = max(priorities.values())
        return Considered(tuple(cell for cell in priorities if priorities[cell] == largest), scores=priorities)


class _Board:
    """What is known of a variant before any stone is placed."""

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        ends = (variant.beside.get(line, 0) for line in variant.lines)
        shut = (variant.blocked_ends.get(line, 0) for line in variant.lines)
        self._windows = tuple(zip(variant.lines, ends, shut, variant.line_cells, strict=True))
        length = len(variant.line_cells[0])
        fewest = min(2, length - 1)
        # By the number of stones in a window that holds no stone of the other side.
        self._own = [0] * (length + 1)
        self._opponent = [0] * (length + 1)
        for stones in range(max(1, fewest), length):
            self._opponent[stones] = _STEP ** (2 * (stones - fewest) + 1)
            self._own[stones] = _STEP ** (2 * (stones - fewest) + 2)
        first_column = sum(1 << cell for cell in range(0, variant.cells, variant.columns))
        self._not_first_column = variant.full & ~first_column
        layer = (1 << variant.columns * variant.rows) - 1
        self._layers = tuple(layer << start for start in range(0, variant.cells, variant.columns * variant.rows))
        self.openings = _openings(variant)
        """The cells the first stone is drawn from."""

    def priorities(self, own: int, opponent: int, free: tuple[int, ...]) -> dict[int, int]:
        """The priority of each of the cells `free` for the side that has the stones `own` and is to move."""
        sums = [0] * self._variant.cells
        for window, ends, shut, cells in self._windows:
            if held := window & own:
                weight = 0 if window & opponent or ends & own else self._own[held.bit_count()]
            else:
                weight = 0 if ends & opponent else self._opponent[(window & opponent).bit_count()]
            if weight and not (shut and not shut & ~(opponent if held else own)):
                # Occupied cells, too: nobody reads their sums, and to leave them out would take longer.
                for cell in cells:
                    sums[cell] += weight
        near = self._near(own | opponent)
        return {cell: sums[cell] + _NEIGHBOUR * (near >> cell & 1) for cell in free}

    def _near(self, stones: int) -> int:
        """The cells beside, above, below or diagonal to a stone, and the stones themselves, as a set."""
        beside = stones | stones << 1 & self._not_first_column | (stones & self._not_first_column) >> 1
        if len(self._layers) == 1:
            return self._with_rows(beside)
        # Row by row in each layer, or the last row of one would lie next to the first of another.
        near = 0
        for layer in self._layers:
            near |= self._with_rows(beside & layer) & layer
        size = self._variant.columns * self._variant.rows
        return near | near << size | near >> size

    def _with_rows(self, cells: int) -> int:
        return cells | cells << self._variant.columns | cells >> self._variant.columns


def _openings(variant: Variant) -> tuple[int, ...]:
    """The free cells of the empty board that are far from all edges; with gravity the row is given."""
    rows = range(variant.rows) if variant.gravity else _inner(variant.rows)
    inner = {
        (layer * variant.rows + row) * variant.columns + column
        for layer in _inner(variant.layers)
        for row in rows
        for column in _inner(variant.columns)
    }
    free = variant.free_cells(0)
    return tuple(cell for cell in free if cell in inner) or free


def _inner(size: int) -> range:
    """The columns, rows or layers, of so many, that are far from both edges: the middle one or two of a small board."""
    margin = min(_FROM_EDGE, (size - 1) // 2)
    return range(margin, size - margin)
