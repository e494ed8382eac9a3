"""The limit of a search: a number of nodes or a deadline, whichever comes first."""

from collections.abc import Callable

_NODES_BETWEEN_CHECKS = 4
"""Nodes between two checks of the clock. A node takes 20 us on 15x15 and up to 1 ms on 30x30, the clock 0.1 us."""


class EffortSpent(Exception):
    """The effort is spent, so the search stops at once."""


class Effort:
    """Counts nodes (searched positions). `spend` raises EffortSpent when the limit is reached."""

    def __init__(self, nodes: int | None, *, deadline: float = 0.0, clock: Callable[[], float] | None = None) -> None:
        """Args:
        nodes: the largest number of positions; None for no limit but the deadline.
        deadline: the time, in seconds of `clock`, at which to stop.
        clock: returns seconds from any origin; None if only nodes are limited."""
        self.nodes = 0
        self._most = nodes
        self._deadline = deadline
        self._clock = clock
        self._next_check = 0

    def spend(self) -> None:
        """Count one position. Raises EffortSpent."""
        self.nodes += 1
        if self.nodes >= self._next_check:
            self._check()

    def grant(self, most: int) -> int:
        """Count up to `most` positions in advance, and return their number; 0 if the effort is spent.

        Call `give_back` with the positions that the search has not visited.
        """
        try:
            self._check()
        except EffortSpent:
            return 0
        granted = most if self._most is None else min(most, self._most - self.nodes)
        self.nodes += granted
        return granted

    def give_back(self, nodes: int) -> None:
        """Subtract positions that were granted and not visited."""
        self.nodes -= nodes

    def part(self, share: float) -> "Effort":
        """Return a share of the rest as a separate effort. Call `add` with it when it is no longer used."""
        nodes = None if self._most is None else round((self._most - self.nodes) * share)
        if self._clock is None:
            return Effort(nodes)
        now = self._clock()
        return Effort(nodes, deadline=now + (self._deadline - now) * share, clock=self._clock)

    def add(self, part: "Effort") -> None:
        """Count the positions of a part."""
        self.nodes += part.nodes
        self._next_check = self.nodes

    def _check(self) -> None:
        if self._most is not None and self.nodes >= self._most:
            raise EffortSpent
        if self._clock is not None and self._clock() >= self._deadline:
            raise EffortSpent
        self._next_check = self.nodes + _NODES_BETWEEN_CHECKS
        if self._most is not None:
            self._next_check = min(self._next_check, self._most)
