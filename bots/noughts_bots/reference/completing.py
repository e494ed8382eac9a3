"""Which cells would complete a line: what a search needs to know most, worked out once for each set of stones."""

from noughts_referee.rules import Variant


class Threats:
    """For sets of stones of one side, the cells that would complete a line.

    Only the free ones among them mean anything: the others may have been taken since, by either side.
    """

    def __init__(self, variant: Variant) -> None:
        self._variant = variant
        self._known: dict[int, int] = {}

    def __len__(self) -> int:
        """How many sets of stones are remembered."""
        return len(self._known)

    def forget(self) -> None:
        """Forgets what was worked out."""
        self._known.clear()

    def of(self, stones: int) -> int:
        """The cells that would each complete a line of `stones`, as a set."""
        threats = self._known.get(stones)
        if threats is None:
            threats = self._known[stones] = _completing(self._variant.lines, stones)
        return threats

    def after(self, stones: int, cell: int) -> int:
        """The same as `of(stones | 1 << cell)`, found from the lines through `cell` alone."""
        more = stones | 1 << cell
        threats = self._known.get(more)
        if threats is None:
            threats = self.of(stones) | _completing(self._variant.lines_through[cell], more)
            self._known[more] = threats
        return threats


def _completing(lines: tuple[int, ...], stones: int) -> int:
    cells = 0
    for line in lines:
        missing = line & ~stones
        if not missing & (missing - 1):
            cells |= missing
    return cells
