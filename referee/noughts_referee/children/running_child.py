"""One process of a child player: its start, its Hello, and its end, which leaves no process."""

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
    """The exit code, or the signal as a negative number. None: the referee ended the child."""
    stderr: str
    """The last 64 KB of its stderr."""
    offending: bytes = b""
    """The beginning of an invalid message, as far as it had arrived."""

    def refusal(self, kind: ChildKind) -> str:
        """Return the host's message if it could not load the target of the spec; else an empty text."""
        if not kind.hosted or self.code != NOT_LOADED:
            return ""
        return self.stderr.rstrip().rpartition("\n")[2]

    @property
    def text(self) -> str:
        """The whole report, for a reader."""
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
                overdue = f"did not {frames.first} within {self.settings.start:g} s (see --start-timeout)"
                raise NotStarted(overdue) from None
            # The Hello was in time; the event loop was late.
            first = await frames.read()
        if first is None:
            # A child that only closed a pipe or its stream has probably ended. `stop` checks this.
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

        `reason` says why it must end. If empty, the report has the reason of its frames or its exit code.
        """
        frames, settings = self.frames, self.settings
        death_reason = reason or frames.reason
        code: int | None = None
        try:
            code = await self.leave(settings.stop)
            if code is None:
                self.started.kill(signal.SIGTERM)
                await self.leave(settings.stop)
        finally:
            self.started.kill(signal.SIGKILL)
            frames.close()
            try:
                await self.started.wait()
            finally:
                self.output.close()
        if not reason and not frames.at_fault and code is not None:
            death_reason = ended_with(code)
        return Death(self.started.ended_for or death_reason, code, self.output.text, frames.offending)

    async def leave(self, seconds: float) -> int | None:
        """Close its standard input. Return its exit code if it ends within these seconds; else None."""
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
    on_output: Callable[[bytes], None] | None = None,
) -> RunningChild:
    """Start a child. A child that opens a stream instead of using its pipes needs an invitation.

    `on_output` is called with its stderr as it arrives. Raises the launcher's errors.
    """
    if command.speech is not Speech.STREAM:
        started = await launcher.start(command)
        framing = JsonLines() if command.speech is Speech.JSON else LengthPrefixed()
        frames = PipeFrames(started.stdout, started.stdin, settings.now, framing)
        return RunningChild(started, frames, Tail(started.stderr, on_output=on_output), settings)
    assert invite is not None
    stream = DialledFrames(settings.now)
    invitation = invite(stream.carry)
    started = await launcher.start(replace(command, environment=invitation.environment, port=invitation.port))
    stream.belong_to(started)
    # The frames use the stream, so standard output is readable text, too.
    return RunningChild(started, stream, Tail(started.stdout, started.stderr, on_output=on_output), settings)


def ended_with(code: int) -> str:
    """Describe the end of a process with this exit code, as a phrase that follows "it"."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"was ended by signal {-code}"
