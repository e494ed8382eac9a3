"""Outcomes of games: who won, and why. The values of the enums equal those of the protocol's enums of the same name."""

from enum import IntEnum
from typing import NamedTuple


class Result(IntEnum):
    """A game's result, from the first mover's point of view."""

    FIRST_WINS = 1
    DRAW = 2
    SECOND_WINS = 3
    VOID = 4

    def __str__(self) -> str:
        return _RESULT_TEXT[self]

    @property
    def winner(self) -> int | None:
        """The side that won (0 first, 1 second); None if neither did."""
        return _WINNER.get(self)

    @property
    def loser(self) -> int | None:
        """The side that lost; None if neither did."""
        return None if self.winner is None else 1 - self.winner


_WINNER = {Result.FIRST_WINS: 0, Result.SECOND_WINS: 1}
_WINS = tuple(_WINNER)
_RESULT_TEXT = {Result.FIRST_WINS: "1-0", Result.DRAW: "1/2-1/2", Result.SECOND_WINS: "0-1", Result.VOID: "*"}


class Termination(IntEnum):
    """Why a game ended."""

    # Decided on the board.
    LINE = 1
    BOARD_FULL = 2
    # A player's own action: the player loses. `is_fault` tells whether the action is a fault.
    ILLEGAL_MOVE = 3
    TIMEOUT = 4
    DISCONNECTED = 5
    CRASHED = 6
    RESIGNED = 7
    # The organiser's decision.
    ADJUDICATED = 8
    # The infrastructure's fault: no player loses, and the game is played again.
    VOID = 9

    def __str__(self) -> str:
        return self.name.lower()

    @property
    def words(self) -> str:
        """The termination in words, e.g. `board full`."""
        return in_words(str(self))

    @property
    def deed(self) -> str:
        """The loser's action, as a phrase that follows "it"; only for `FORFEITS`."""
        return _DEEDS[self]


def in_words(code: str) -> str:
    """Return a termination code such as `board_full` in words."""
    return code.replace("_", " ")


_DEEDS = {
    Termination.ILLEGAL_MOVE: "made an illegal move",
    Termination.TIMEOUT: "was too slow",
    Termination.DISCONNECTED: "disconnected",
    Termination.CRASHED: "crashed",
    Termination.RESIGNED: "resigned",
}

CONCEDED_FAULT = "was in a game that its owner, the organiser, stopped"
"""Why a bot lost an adjudicated game of a rated tournament that its owner ended while the game ran."""

ON_THE_BOARD = frozenset({Termination.LINE, Termination.BOARD_FULL})
"""Terminations that the stones decided."""

DISCONNECTIONS = frozenset({Termination.DISCONNECTED, Termination.CRASHED})
"""Terminations in which the loser's connection or process had ended."""

FORFEITS = frozenset(_DEEDS)
"""Terminations in which the loser lost through its own action and not on the board."""

FORFEITS_WHILE_ONLINE = FORFEITS - DISCONNECTIONS
"""Forfeits of a player that is still connected, so that it continues with its other games."""

FAULTS = FORFEITS - {Termination.RESIGNED}
"""Forfeits that are always faults. A resignation is a fault only if it has a reason: see `is_fault`."""


def is_fault(termination: int, fault: str | None) -> bool:
    """Return whether the loser lost through its own fault: `FAULTS`, or a resignation with a reason (`fault`)."""
    return termination in FAULTS or (termination == Termination.RESIGNED and bool(fault))


class Outcome(NamedTuple):
    """The outcome of a game. Use `won`, `lost`, `DRAWN` or `VOID` to get one."""

    result: Result
    termination: Termination

    @property
    def winner(self) -> int | None:
        return self.result.winner

    @property
    def loser(self) -> int | None:
        return self.result.loser


def won(side: int, termination: Termination = Termination.LINE) -> Outcome:
    """Return a win of the side (0 first, 1 second)."""
    return Outcome(_WINS[side], termination)


def lost(side: int, termination: Termination) -> Outcome:
    """Return a loss of the side (0 first, 1 second), usually by one of `FORFEITS`."""
    return Outcome(_WINS[1 - side], termination)


DRAWN = Outcome(Result.DRAW, Termination.BOARD_FULL)
"""No line is complete, and the board is full or the side to move has no legal cell."""

VOID = Outcome(Result.VOID, Termination.VOID)
"""The infrastructure's fault: the game does not count."""
