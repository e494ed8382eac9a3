"""A child player. It starts a process, restarts it after a crash, and is disabled after repeated failed starts."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol

import grpc

from noughts_proto.child_kinds import ChildKind
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.frames import ChildFrames
from noughts_referee.children.running_child import ChildSettings, Death, NotStarted
from noughts_referee.clock import MICROSECONDS
from noughts_referee.frame_connection import FrameConnection
from noughts_referee.game import LostGame, running_games
from noughts_referee.rules import Termination
from noughts_referee.stream_closed import StreamClosed

MOST_STARTS = 3
"""A child is disabled after this number of failed starts in a row."""
_HUNG = "hung: it had nothing to answer, but did not acknowledge a frame (done_through) or echo a heartbeat"
"""The reason of the end of a child that hung without an open question. Its next process continues its games."""
_HANGS = {"FRAME_NOT_ACKNOWLEDGED", "HEARTBEAT_MISSED"}
"""The reasons of a stream's end that show that the child hung."""
_CHECKS_OF_SILENCE = 4
"""The number of checks within the limit of silence."""
_CHECKS_BEFORE_CHANGE = 4
"""The number of checks in a row before the priority of a child changes."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The end of a child's process, with the games that it lost."""

    death: Death
    games: tuple[LostGame, ...]
    disabled: bool
    """Whether the child is now disabled."""


class ChildProcess(Protocol):
    """A running child: a process of its own, or a player of an engine."""

    @property
    def frames(self) -> ChildFrames:
        """The carrier of its frames."""

    @property
    def stderr(self) -> str:
        """The end of its stderr."""

    async def hello(self) -> pb.Hello:
        """Return the first frame. Raises NotStarted."""

    @property
    def computes(self) -> bool:
        """Return whether one of its threads runs or waits for a core."""

    def give_way(self, gives: bool) -> None:
        """Give it a lower priority than other processes, or the usual one again."""

    async def stop(self, reason: str = "") -> Death:
        """End the child. `reason` says why, if the referee ended it."""


@dataclass(eq=False)
class ChildPlayer:
    """Plays with one process of a child after the other."""

    kind: ChildKind
    wire: FrameConnection
    settings: ChildSettings
    _: KW_ONLY
    start: Callable[[], Awaitable[ChildProcess]]
    accept: Callable[[pb.Hello], pb.Welcome]
    """Answers a Hello or raises NotStarted."""
    on_start: Callable[[ChildProcess], None] = lambda child: None
    """Called with each new process of the child."""
    on_fault: Callable[[Fault], None]
    """Called when a process ends. It can end `play` by raising."""
    failures: int = field(default=0, init=False)
    """Failed starts in a row."""

    async def play(self) -> None:
        """Play until cancelled, the server stops, or the child is disabled.

        Raises the errors that keep the referee from starting any child, because these are not the child's fault.
        """
        while self.failures < MOST_STARTS:
            child = await self.start()
            lost: tuple[LostGame, ...] = ()
            self.on_start(child)
            try:
                reason = await self._serve(child)
                if reason != _HUNG:
                    lost = running_games(self.wire.player)
                    self.wire.dismiss(Termination.CRASHED)
            except NotStarted as failure:
                reason = str(failure)
            except BaseException as error:
                await child.stop()
                if isinstance(error, _ServerStopsError):
                    return
                raise
            async with asyncio.TaskGroup() as tasks:
                ending = tasks.create_task(self._end(child, reason, lost))
                try:
                    await asyncio.shield(ending)
                except asyncio.CancelledError:
                    # The lost game can end the tournament, but `on_fault` must still report why it was lost.
                    await asyncio.wait([ending])
                    raise

    async def _end(self, child: ChildProcess, reason: str, lost: tuple[LostGame, ...]) -> None:
        death = await child.stop(reason)
        # A child that only received its welcome has not started. A host says hello before its program runs, so a
        # hosted program has started only after its first answer.
        host_says_hello = self.kind.hosted and self.kind.starts_programs
        has_started = child.frames.has_answered if host_says_hello else child.frames.written > 1
        self.failures = 0 if has_started else self.failures + 1
        disabled = self.failures == MOST_STARTS
        self.on_fault(Fault(death, lost, disabled))

    async def _serve(self, child: ChildProcess) -> str:
        """Play until the child leaves. Return the reason if the referee ended it."""
        hello = await child.hello()
        welcome = self.accept(hello)
        silence, rest = _Silence(self.wire, child, self.settings), _Rest(self.wire, child, self.settings)
        try:
            self.wire.player.opens = hello.opens
            self.wire.player.stored_ends = hello.stored_ends
            await self.wire.serve(
                child.frames,
                welcome,
                hello.max_games,
                prepares=hello.prepares,
                last_write=child.frames.last_write,
            )
        except StreamClosed as closed:
            if closed.code is grpc.StatusCode.UNAVAILABLE:
                raise _ServerStopsError from closed
            return _HUNG if closed.reason in _HANGS else f"was cut off: {closed}"
        finally:
            silence.stop()
            rest.stop()
        return ""


class _ServerStopsError(Exception):
    """The server stops. The child is not at fault."""


class _Silence:
    """A timer that ends the stream of a child that is silent for too long during its turn in a game without a clock."""

    def __init__(self, wire: FrameConnection, child: ChildProcess, settings: ChildSettings) -> None:
        self._wire = wire
        self._child = child
        self._seconds = settings.silence
        self._now = settings.now
        self._timer = asyncio.get_running_loop().call_later(self._seconds / _CHECKS_OF_SILENCE, self._check)

    def stop(self) -> None:
        self._timer.cancel()

    def _check(self) -> None:
        player = self._wire.player
        owes = any(game.mover is player and game.time is None for game in player.games.values())
        if owes and self._now() - self._child.frames.last_read_us > self._seconds * MICROSECONDS:
            message = f"silent for {self._seconds:g} s during its turn in a game without a clock"
            self._wire.close(StreamClosed(grpc.StatusCode.DEADLINE_EXCEEDED, "SILENT", message))
            return
        self._timer = asyncio.get_running_loop().call_later(self._seconds / _CHECKS_OF_SILENCE, self._check)


class _Rest:
    """A timer that lowers the priority of a child that computes without a question, until it stops computing.

    Its threads would take processor time from bots that think.
    """

    def __init__(self, wire: FrameConnection, child: ChildProcess, settings: ChildSettings) -> None:
        self._wire = wire
        self._child = child
        self._seconds = settings.rest
        self._gives_way = False
        self._checks = 0
        """Checks in a row that call for a change."""
        self._last_frame: int | None = None
        """The bot's last frame at the last check, if it had nothing to do."""
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._check)

    def stop(self) -> None:
        self._timer.cancel()

    def _check(self) -> None:
        before, self._last_frame = self._last_frame, self._wire.idle_frame
        # Until its first answer, a child loads its modules and data.
        if self._last_frame is not None and self._last_frame == before and self._child.frames.has_answered:
            self._checks = self._checks + 1 if self._child.computes != self._gives_way else 0
            if self._checks == _CHECKS_BEFORE_CHANGE:
                self._checks = 0
                self._gives_way = not self._gives_way
                self._child.give_way(self._gives_way)
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._check)
