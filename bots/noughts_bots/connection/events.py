"""Events of a bot's session on a server. `str()` of an event is a readable line."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Online:
    """The server has accepted the bot, which can now get questions. This is reported again after each reconnection."""

    version: str
    """`bots/NAME/versions/VERSION`."""

    def __str__(self) -> str:
        return f"online as {self.version}"


@dataclass(frozen=True, slots=True)
class WaitsForTournaments:
    """The bot is online, but unfinished tournaments have another version of it as their entry."""

    tournaments: tuple[str, ...]
    """The names of the tournaments, `tournaments/ID`."""

    def __str__(self) -> str:
        names = ", ".join(self.tournaments)
        return f"another version of this bot is entered in {names}: this one waits until that is over"


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """The connection is lost, or an attempt to connect has failed. The bot will try again."""

    reason: str
    wait: float
    """The longest time until the next attempt, in seconds."""
    server: str = ""
    """HOST:PORT if the bot has not been online since its start, so that the address can be wrong; else empty."""
    last: bool = False
    """Whether the wait has its greatest length, so that later waits do not grow."""
    give_up: float = math.inf
    """Seconds after the start at which the bot stops if it has not been online."""

    def __str__(self) -> str:
        next_attempt = f"trying again {'every' if self.last else 'in'} {self.wait:.1f} s"
        if not self.server:
            return f"connection lost ({self.reason}); {next_attempt}"
        until = "until Ctrl-C" if math.isinf(self.give_up) else f"for {self.give_up:g} s"
        return (
            f"cannot reach a server at {self.server} ({self.reason}): is it running, and is that its address?"
            f" {next_attempt[0].upper()}{next_attempt[1:]} {until}"
        )


@dataclass(frozen=True, slots=True)
class Complaint:
    """The referee rejects an answer of the bot."""

    message: str

    def __str__(self) -> str:
        return f"the referee complains: {self.message}"


def is_news(event: "SessionEvent", before: "SessionEvent | None") -> bool:
    """Return whether to report the event to a person after the event `before`.

    In a series of failed attempts, only the first one, one with a new reason and the first longest wait are reported.
    """
    if not (isinstance(event, ConnectionLost) and isinstance(before, ConnectionLost)):
        return True
    return event.reason != before.reason or (event.last and not before.last)


SessionEvent = Online | WaitsForTournaments | ConnectionLost | Complaint
