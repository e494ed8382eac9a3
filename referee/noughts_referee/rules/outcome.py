"""How a game ends. Values equal those of the protocol's enums of the same name."""

from enum import IntEnum


class Result(IntEnum):
    """A game's result, from the first mover's point of view."""

    FIRST_WINS = 1
    DRAW = 2
    SECOND_WINS = 3
    VOID = 4

    def __str__(self) -> str:
        return _RESULT_TEXT[self]


_RESULT_TEXT = {
    Result.FIRST_WINS: "1-0",
    Result.DRAW: "1/2-1/2",
    Result.SECOND_WINS: "0-1",
    Result.VOID: "*",
}


class Termination(IntEnum):
    """Why a game ended. Who lost follows from it and from the side it concerns."""

    # Decided on the board.
    LINE = 1
    BOARD_FULL = 2
    # A player's fault: it loses.
    ILLEGAL_MOVE = 3
    TIMEOUT = 4
    DISCONNECTED = 5
    CRASHED = 6
    RESIGNED = 7
    # The organiser's decision.
    ADJUDICATED = 8
    # The infrastructure's fault: nobody loses, the game is played again.
    VOID = 9

    def __str__(self) -> str:
        return self.name.lower()


_BLAMES = frozenset(
    {
        Termination.ILLEGAL_MOVE,
        Termination.TIMEOUT,
        Termination.DISCONNECTED,
        Termination.CRASHED,
        Termination.RESIGNED,
    }
)


def blames(termination: Termination) -> bool:
    """Whether the game was lost by a player's own doing rather than on the board."""
    return termination in _BLAMES


def result_for(side: int) -> Result:
    """The result when `side` (0 first, 1 second) wins."""
    return Result.SECOND_WINS if side else Result.FIRST_WINS


def result_against(side: int) -> Result:
    """The result when `side` (0 first, 1 second) loses."""
    return Result.FIRST_WINS if side else Result.SECOND_WINS
