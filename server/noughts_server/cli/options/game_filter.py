"""Options that select games of a server by their end."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from typer import Option

from noughts_proto.v1 import games_pb2 as pb
from noughts_referee.rules import Result, Termination
from noughts_server.cli.errors import UsageProblem


class ResultChoice(StrEnum):
    """The values of --result."""

    FIRST = "1-0"
    HALF = "1/2-1/2"
    SECOND = "0-1"
    VOID = "*"
    WIN = "win"
    DRAW = "draw"
    LOSS = "loss"
    WON = "won"
    DRAWN = "drawn"
    LOST = "lost"


_RESULTS = {
    ResultChoice.FIRST: Result.FIRST_WINS,
    ResultChoice.HALF: Result.DRAW,
    ResultChoice.DRAW: Result.DRAW,
    ResultChoice.DRAWN: Result.DRAW,
    ResultChoice.SECOND: Result.SECOND_WINS,
    ResultChoice.VOID: Result.VOID,
}
_WINS = {
    ResultChoice.WIN: True,
    ResultChoice.WON: True,
    ResultChoice.LOSS: False,
    ResultChoice.LOST: False,
}
"""Whether the bot won. `won`, `drawn` and `lost` are the words of `noughts records list`."""


@dataclass(frozen=True, slots=True)
class GameFilter:
    """Options that select games by result, termination or fault."""

    result: Annotated[
        ResultChoice | None, Option("--result", help="Only games with this result, from the bot's point of view")
    ] = None
    termination: Annotated[
        str, Option("--termination", metavar="HOW", help="Only games that ended this way, e.g. line or timeout")
    ] = ""
    fault: Annotated[bool, Option("--fault", help="Only games that a bot lost through its own fault")] = False

    @property
    def is_set(self) -> bool:
        """Whether any of the options is given."""
        return bool(self.result or self.termination or self.fault)

    @property
    def needs_bot(self) -> bool:
        """Whether the result is from the point of view of a bot, so that the command needs one."""
        return self.result in _WINS

    def apply(self, request: pb.ListGamesRequest) -> None:
        """Write the filter into the request. Raises UsageProblem for an unknown termination."""
        request.faults_only = self.fault
        if self.result in _WINS:
            request.won = _WINS[self.result]
        elif self.result is not None:
            request.result = _RESULTS[self.result].value  # type: ignore[assignment]  # equal values
        if self.termination:
            request.termination = _read_termination(self.termination)  # type: ignore[assignment]  # equal values


def _read_termination(text: str) -> int:
    for termination in Termination:
        if str(termination) == text:
            return termination.value
    expected = ", ".join(map(str, Termination))
    raise UsageProblem(f"--termination {text!r}: expected one of {expected}")
