"""One process of a child player: it starts, says Hello, plays, and is always gone at the end."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from noughts_proto.child_kinds import NOT_LOADED, ChildKind, Speech
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.child_settings import ChildSettings as ChildSettings
from noughts_referee.children.dialled_frames import DialledFrames, Invite
from noughts_referee.children.framing import JsonLines, LengthPrefixed
from noughts_referee.children.launcher import ChildCommand, Launcher, Started
from noughts_referee.children.pipe_frames import PipeFrames, Tail
from noughts_referee.children.watch import family, running_threads


class NotStarted(Exception):
    """A child did not say Hello as required. The text is a phrase that follows "it"."""


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a child, for its owner."""

    reason: str
    """A phrase that follows "it"."""
    code: int | None
    """Its exit code; negative: the signal; None: we ended it."""
    stderr: str
    """The last 64 KB of its stderr."""
    offending: bytes = b""
    """The beginning of an invalid message, as far as it had arrived."""

    def refusal(self, kind: ChildKind) -> str:
        """Return the host's own words if it could not load the target of the spec; else an empty text."""
        if not kind.hosted or self.code != NOT_LOADED:
            return ""
        return self.stderr.rstrip().rpartition("\n")[2]

    @property
    def text(self) -> str:
        """The whole report, for people."""
        sent = f"what it sent began with {self.offending!r}" if self.offending else ""
        return "\n".join(filter(None, (f"it {self.reason}", sent, self.stderr)))


@dataclass(eq=False)
class RunningChild:
    started: Started
    frames: PipeFrames | DialledFrames
    output: Tail
    settings: ChildSettings

    async def hello(self) -> pb.Hello:
        frames = self.frames
        try:
            async with asyncio.timeout(self.settings.start):
                first = await frames.read()
        except TimeoutError:
            if not frames.has_arrived:
                late = f"did not {frames.first} within {self.settings.start:g} s (see --start-timeout)"
                raise NotStarted(late) from None
            # It was in time; the event loop was late.
            first = await frames.read()
        if first is None:
            # A child that only closed a pipe or its stream has probably ended; `stop` finds out.
            raise NotStarted(frames.reason if frames.at_fault else "")
        if not first.HasField("hello"):
            raise NotStarted("sent the wrong first frame: got no hello, expected hello")
        return first.hello

    def kill(self, signal: int) -> None:
        self.started.kill(signal)

    @property
    def computes(self) -> bool:
        """Return whether one of its threads runs or waits for a core."""
        return any(map(running_threads, family(self.started.pid)))

    def give_way(self, gives: bool) -> None:
        """Give it a lower priority than other processes, or the usual one again."""
        self.started.give_way(gives)

    @property
    def stderr(self) -> str:
        return self.output.text

    async def stop(self, reason: str = "") -> Death:
        """End the child: close its standard input, then SIGTERM, then SIGKILL. Nothing of its session remains.

        `reason` says what it did; by default its frames or its exit code do.
        """
        frames, settings = self.frames, self.settings
        said = reason or frames.reason
        code: int | None = None
        try:
            code = await self._within(settings.stop)
            if code is None:
                self.started.kill(signal.SIGTERM)
                await self._within(settings.stop)
        finally:
            self.started.kill(signal.SIGKILL)
            frames.close()
            try:
                await self.started.wait()
            finally:
                self.output.close()
        if not reason and not frames.at_fault and code is not None:
            said = ended_with(code)
        return Death(self.started.ended_for or said, code, self.output.text, frames.offending)

    async def _within(self, seconds: float) -> int | None:
        """Return its exit code if it ends in this time."""
        self.frames.close_writing()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self.started.wait()
        return None


async def start_child(
    launcher: Launcher,
    command: ChildCommand,
    settings: ChildSettings,
    invite: Invite | None = None,
    heard: Callable[[bytes], None] | None = None,
) -> RunningChild:
    """Start a child. It uses its pipes, unless it opens a stream: then it needs an invitation.

    `heard` is called with its stderr as it arrives. Raises what the launcher raises.
    """
    if command.speech is not Speech.STREAM:
        started = await launcher.start(command)
        framing = JsonLines() if command.speech is Speech.JSON else LengthPrefixed()
        frames = PipeFrames(started.stdout, started.stdin, settings.now, framing)
        return RunningChild(started, frames, Tail(started.stderr, heard=heard), settings)
    assert invite is not None
    stream = DialledFrames(settings.now)
    invitation = invite(stream.carry)
    started = await launcher.start(replace(command, environment=invitation.environment, port=invitation.port))
    stream.belong_to(started)
    # The frames use the stream, so standard output is text for people, too.
    return RunningChild(started, stream, Tail(started.stdout, started.stderr, heard=heard), settings)


def ended_with(code: int) -> str:
    """Return what happened to a process with this exit code, as a phrase that follows "it"."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"was ended by signal {-code}"
