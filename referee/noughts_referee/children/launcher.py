"""What starts children: the interface that all launchers have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Command:
    """What a child is to be."""

    kind: str
    """`py`, `dll`, `exec` or `gomocup`."""
    target: str
    options: Mapping[str, str] = field(default_factory=dict)


class Started(Protocol):
    """A child that runs."""

    pid: int
    """The leader of a session and process group of its own."""
    stdin: int
    """Our end of its standard input: non-blocking; whoever started the child closes it."""
    stdout: int
    stderr: int

    async def wait(self) -> int:
        """Its exit code once it has ended; negative: the signal that ended it."""
        ...

    def kill(self, signal: int) -> None:
        """Sends a signal to its whole process group; nothing happens when it is gone."""
        ...


class Launcher(Protocol):
    """Starts children."""

    async def start(self, command: Command) -> Started:
        """Starts a child. That its program cannot run is seen as its end, with the reason on its stderr."""
        ...

    async def close(self) -> None:
        """Ends what is left of the children that were started."""
        ...
