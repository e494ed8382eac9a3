"""What happens to a bot's session at a server, for whoever listens. `str()` of an event is a line for people."""

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

    def __str__(self) -> str:
        return f"connection lost ({self.reason}); trying again in {self.wait:.1f} s"


@dataclass(frozen=True, slots=True)
class Complaint:
    """The referee says that an answer of the bot was none."""

    message: str

    def __str__(self) -> str:
        return f"the referee complains: {self.message}"


SessionEvent = Online | WaitsForTournaments | ConnectionLost | Complaint
