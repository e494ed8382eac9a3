"""What starts a child player, whatever it is: a command goes in, a process with three pipes comes out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """What is to be started."""

    kind: str
    """One of `noughts_proto.child_kinds`."""
    target: str
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it finds in its environment beside the usual."""
    json_lines: bool = False
    """Its frames are JSON, one a line (see `children.framing`)."""
    port: int | None = None
    """The TCP port that it has to reach; where there is a lock, it reaches no other."""
    folder: str | None = None
    """Its working folder; None: an empty one of its own."""
    memory_bytes: int = 0
    """The private memory that it may use; 0: as the launcher's limits say."""
    cores: tuple[int, ...] = ()
    """The cores that it may run on; none: all of them."""


class Started(Protocol):
    """A running child."""

    pid: int
    """Leader of a session and process group of its own."""
    stdin: int
    """Our ends of its pipes: non-blocking file descriptors, which the caller closes."""
    stdout: int
    stderr: int
    scratch: str
    """A folder of its own, which is removed at its end."""
    ended_for: str
    """Once it has ended: what the launcher ended it for, a phrase that follows "it"; empty: it did not."""
    processor_seconds: float
    """Once it has ended: its processor time, and that of the processes that it waited for; 0.0 where unknown."""

    async def wait(self) -> int:
        """Its exit code, once nothing of its session is left; negative: the signal that ended it.

        May be called again, and cancelled.
        """

    def kill(self, signal: int) -> None:
        """Sends a signal to the whole process group; no error if it is gone."""


class Launcher(Protocol):
    """Starts children."""

    async def start(self, command: ChildCommand) -> Started:
        """Starts one. A program that cannot be run ends with exit code 126 or 127.

        Raises ValueError for a command that cannot be read; whatever else is raised is our own failure.
        """

    async def close(self) -> None:
        """Gives back what it holds; its children have ended."""
