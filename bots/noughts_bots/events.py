"""What happens to a bot's session at a server, for whoever listens. `str()` of an event is a line for people."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Online:
    """The server has let the bot in; it may be asked from now on. Comes again after each lost connection."""

    version: str
    """`bots/NAME/versions/VERSION`."""

    def __str__(self) -> str:
        return f"online as {self.version}"


@dataclass(frozen=True, slots=True)
class WaitsForTournaments:
    """The bot is online, but tournaments that are not over are entered with another version of it."""

    tournaments: tuple[str, ...]
    """`tournaments/ID` each."""

    def __str__(self) -> str:
        names = ", ".join(self.tournaments)
        return f"another version of this bot is entered in {names}: this one waits until that is over"


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """There is no stream, or none any more; it is dialled again."""

    reason: str
    wait: float
    """Seconds until then, at most."""
    server: str = ""
    """HOST:PORT where the bot has never been online there since it was started: the address may be wrong."""
    last: bool = False
    """Whether it will not be waited longer than that from now on."""
    give_up: float = math.inf
    """Seconds after the start at which a bot that has never been online stops."""

    def __str__(self) -> str:
        again = f"trying again {'every' if self.last else 'in'} {self.wait:.1f} s"
        if not self.server:
            return f"connection lost ({self.reason}); {again}"
        until = "until Ctrl-C" if math.isinf(self.give_up) else f"for {self.give_up:g} s"
        return (
            f"cannot reach a server at {self.server} ({self.reason}): is it running, and is that its address?"
            f" {again[0].upper()}{again[1:]} {until}"
        )


@dataclass(frozen=True, slots=True)
class Complaint:
    """The referee says that an answer of the bot was none."""

    message: str

    def __str__(self) -> str:
        return f"the referee complains: {self.message}"


def tells_more(event: "SessionEvent", before: "SessionEvent | None") -> bool:
    """Whether a person who has read the event `before` learns something from this one.

    Of a row of failed attempts those are the first, another reason, and the longest wait.
    """
    if not (isinstance(event, ConnectionLost) and isinstance(before, ConnectionLost)):
        return True
    return event.reason != before.reason or (event.last and not before.last)


SessionEvent = Online | WaitsForTournaments | ConnectionLost | Complaint
