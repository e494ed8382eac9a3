"""Connect a program or plugin on its author's machine to a remote server: frames pass between pipes and a stream.

Each session has its own child. After a lost stream, a new child starts, and the server sends its running games again.
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import grpc.aio

from noughts_bots.connection.events import Online, SessionEvent
from noughts_bots.connection.stream import (
    Login,
    PlayCall,
    end_of_stream,
    greet,
    keep_connecting,
    next_frame,
    open_call,
    raise_if_failed,
)
from noughts_bots.reference.specs import BotSpec
from noughts_proto.child_kinds import child_kind
from noughts_proto.errors import USAGE, ExplainedError
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.launcher import Launcher
from noughts_referee.children.running_child import ChildSettings, Death, NotStarted
from noughts_server.core.resource_names import game_name
from noughts_server.launching.launcher import SandboxMode, launching
from noughts_server.launching.players import Player, start_player

_MOST_DEATHS = 3
"""Ends of the player in a row, without an answer between them, after which it is not started again."""


class PlayerFailed(ExplainedError):
    """A player that ended several times in a row without an answer."""


class PlayerRefused(ExplainedError):
    """A player that cannot be started as its spec says; the text is its host's message."""

    exit_code = USAGE


class RelayNotice(str):
    """A gap of the sandbox, an end of the player's process, or a game that it lost by a fault.

    A Python bot reports its faults itself.
    """


RelayEvent = SessionEvent | RelayNotice


@dataclass(frozen=True, slots=True)
class RelayPlan:
    """The player, and values that override its hello."""

    spec: BotSpec
    max_games: int = 0
    """0: as in its hello."""
    challenges: bool = True
    times: ChildSettings = ChildSettings()  # noqa: RUF009  # immutable
    sandbox_mode: SandboxMode = SandboxMode.USUAL
    processes: int = 1
    """Number of processes, whose games add up."""
    memory_bytes: int = 0
    """Limit of each process; 0 means the default of its kind."""


async def relay(
    plan: RelayPlan, login: Login, on_event: Callable[[RelayEvent], None], on_output: Callable[[bytes], None]
) -> None:
    """Play until the server ends the session. `on_output` receives each piece of the player's stderr.

    Raises PlayerFailed, PlayerRefused, SandboxIncomplete, and the errors of `keep_connecting`.
    """
    deaths = 0

    def note_event(event: RelayEvent) -> None:
        nonlocal login
        if isinstance(event, Online):
            # After the first login, reconnect for as long as it takes.
            login = replace(login, wait=math.inf)
        on_event(event)

    async with launching(plan.sandbox_mode, lambda text: on_event(RelayNotice(text))) as launcher:
        while True:
            try:
                return await keep_connecting(
                    login, note_event, lambda: _RelaySession(plan, launcher, login, note_event, on_output)
                )
            except _PlayerEndedError as ended:
                if not ended.has_loaded and (refusal := ended.death.refusal(child_kind(plan.spec.kind))):
                    raise PlayerRefused(refusal) from None
                deaths = 1 if ended.has_answered else deaths + 1
                on_event(RelayNotice(f"the player: it {ended.death.reason}"))
                if deaths == _MOST_DEATHS:
                    problem = (
                        f"the player ended {_MOST_DEATHS} times without an answer; at last it {ended.death.reason}"
                    )
                    raise PlayerFailed(problem) from None


@dataclass(eq=False)
class _PlayerEndedError(Exception):
    """The player's process ended during a session."""

    death: Death
    has_loaded: bool
    has_answered: bool


@dataclass(eq=False)
class _RelaySession:
    """One stream and the child that plays on it; see `keep_connecting`."""

    plan: RelayPlan
    launcher: Launcher
    login: Login
    on_event: Callable[[RelayEvent], None]
    on_output: Callable[[bytes], None]
    welcomed: bool = False
    _has_answered: bool = False
    _names: dict[int, str] = field(default_factory=dict)
    """Names of running games, by handle."""

    async def serve(self, channel: grpc.aio.Channel) -> None:
        """Play until the stream ends. Raises _PlayerEndedError, and AioRpcError unless the server ended it with OK."""
        plan = self.plan
        start = partial(start_player, plan.spec, self.launcher, plan.times, on_output=self.on_output)
        child = await start(processes=plan.processes, memory_bytes=plan.memory_bytes)
        reason = ""
        child_ended = False
        has_loaded = False
        try:
            hello = self._hello_request(await child.hello())
            has_loaded = True
            child_ended = await self._pass_frames(child, hello, open_call(channel, self.login))
        except NotStarted as failure:
            reason = str(failure)
            child_ended = True
        finally:
            death = await child.stop(reason)
        if child_ended:
            raise _PlayerEndedError(death, has_loaded, self._has_answered)

    def _hello_request(self, hello: pb.Hello) -> pb.PlayRequest:
        hello.bot, hello.version = self.login.name, self.login.version
        hello.max_games = self.plan.max_games or hello.max_games
        hello.declines_challenges = hello.declines_challenges or not self.plan.challenges
        if self.login.seek is not None:
            hello.seek.CopyFrom(self.login.seek)
        return pb.PlayRequest(hello=hello)

    async def _pass_frames(self, child: Player, hello: pb.PlayRequest, call: PlayCall) -> bool:
        """Pass frames both ways until one end closes; return whether it was the child."""
        child_ended = False

        async def send_answers() -> None:
            nonlocal child_ended
            while (request := await child.frames.read()) is not None:
                self._has_answered = self._has_answered or request.HasField("moves")
                await call.write(request)
            child_ended = True
            # The server ends the stream then, as for a bot that disconnects.
            await call.done_writing()

        with end_of_stream(call):
            first = await greet(call, hello, self.on_event)
            self.welcomed = True
            await child.frames.write(first)
            async with asyncio.TaskGroup() as tasks:
                sender = tasks.create_task(send_answers())
                while (frame := await next_frame(call)) is not None:
                    self._tell_faults(frame)
                    await child.frames.write(frame)
                sender.cancel()
        if not child_ended:
            await raise_if_failed(call)
        return child_ended

    def _tell_faults(self, frame: pb.PlayResponse) -> None:
        """Report games lost through a fault of a player that does not report them itself."""
        if child_kind(self.plan.spec.kind).hosted:
            return
        for starts in frame.starts:
            numbers = (game_name(starts.tournament, number) for number in starts.number)
            self._names.update(zip(starts.game, numbers, strict=True))
        ends = frame.ends
        for row, fault in zip(ends.faulted, ends.fault, strict=True):
            game = self._names.get(ends.game[row], "a game")
            self.on_event(RelayNotice(f"the player lost {game} at ply {ends.plies[row]}: it {fault}"))
        for handle in ends.game:
            self._names.pop(handle, None)
