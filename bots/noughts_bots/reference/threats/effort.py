"""The limit of a search: a number of nodes or a deadline, whichever comes first."""

from collections.abc import Callable

# A node takes 20 us on 15x15 and up to a millisecond on 30x30. Reading the clock takes 0.1 us.
_NODES_BETWEEN_LOOKS = 4


class Spent(Exception):
    """The effort is spent, so the search stops at once."""


class Effort:
    """Counts nodes: positions searched in any way. `spend` raises Spent when it is time to move."""

    def __init__(self, nodes: int | None, *, deadline: float = 0.0, clock: Callable[[], float] | None = None) -> None:
        """Args:
        nodes: the largest number of positions; None for no limit but the deadline.
        deadline: the time, in seconds of `clock`, at which to stop.
        clock: None if only nodes count."""
        self.nodes = 0
        self._most = nodes
        self._deadline = deadline
        self._clock = clock
        self._next_look = 0

    def spend(self) -> None:
        """Count one position. Raises Spent."""
        self.nodes += 1
        if self.nodes >= self._next_look:
            self._look()

    def grant(self, most: int) -> int:
        """Count up to `most` positions at once, and return how many; 0 if the effort is spent.

        The search returns those that it has not visited with `give_back`.
        """
        try:
            self._look()
        except Spent:
            return 0
        granted = most if self._most is None else min(most, self._most - self.nodes)
        self.nodes += granted
        return granted

    def give_back(self, nodes: int) -> None:
        """Take back positions that were granted and not visited."""
        self.nodes -= nodes

    def part(self, share: float) -> "Effort":
        """Return a share of the rest as a separate effort. Call `add` with it afterwards."""
        nodes = None if self._most is None else round((self._most - self.nodes) * share)
        if self._clock is None:
            return Effort(nodes)
        now = self._clock()
        return Effort(nodes, deadline=now + (self._deadline - now) * share, clock=self._clock)

    def add(self, part: "Effort") -> None:
        """Count the positions of a part."""
        self.nodes += part.nodes
        self._next_look = self.nodes

    def _look(self) -> None:
        if self._most is not None and self.nodes >= self._most:
            raise Spent
        if self._clock is not None and self._clock() >= self._deadline:
            raise Spent
        self._next_look = self.nodes + _NODES_BETWEEN_LOOKS
        if self._most is not None:
            self._next_look = min(self._next_look, self._most)
