"""The interface that starts child players: it turns a command into a process with three pipes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from noughts_proto.child_kinds import Speech


@dataclass(frozen=True, slots=True)
class ChildCommand:
    kind: str
    """One of `noughts_proto.child_kinds`."""
    target: str
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    speech: Speech = Speech.FRAMES
    """How the child communicates with the referee. Not for engines."""
    port: int | None = None
    """The only TCP port that a sandboxed child can reach; None: it can reach none."""
    folder: str | None = None
    """Its working folder; None: the launcher chooses."""
    memory_bytes: int = 0
    """Limit of its private memory; 0: the launcher's limit."""
    cores: tuple[int, ...] = ()
    """The cores that it can run on; empty: all of them."""


class Started(ABC):
    """A child that a launcher has started."""

    def __init__(self, pid: int, pipes: tuple[int, int, int], scratch: str) -> None:
        self.pid = pid
        """The process ID. The child leads its own session and process group."""
        self.stdin, self.stdout, self.stderr = pipes
        """The referee's ends of its pipes: non-blocking file descriptors, which the caller closes."""
        self.scratch = scratch
        """Its own folder, which is removed at its end."""
        self.ended_for = ""
        """Set after its end: the reason if the launcher ended it, a phrase that follows "it"; else empty."""
        self.processor_seconds = 0.0
        """Set after its end: processor time of the child and of the processes that it waited for; 0.0 if unknown."""

    @abstractmethod
    async def wait(self) -> int:
        """Return its exit code after its whole session has ended; negative: the signal. Repeatable and cancellable."""

    @abstractmethod
    def give_way(self, gives: bool) -> None:
        """Give it a lower priority than other processes, or the usual one again. Does nothing without a sandbox."""

    @abstractmethod
    def kill(self, signal: int) -> None:
        """Send a signal to the whole process group, if it still exists."""


class Launcher(Protocol):
    async def start(self, command: ChildCommand) -> Started:
        """Start a child. If its program cannot run, it ends with exit code 126 or 127. Raises ValueError for an invalid
        command. Any other error is not the child's fault.
        """

    async def close(self) -> None:
        """Release everything. All children have ended."""
