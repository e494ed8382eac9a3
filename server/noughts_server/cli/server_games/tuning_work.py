"""The work on a tuning of a server: this machine claims games, plays them, and reports the results."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import grpc

from noughts_proto.v1 import tunings_pb2 as pb
from noughts_server.cli import printing
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.local.plan import LocalStop
from noughts_server.local.tuning import Part
from noughts_server.statistics.spsa import Course, Parameter, PlayedIteration, Tuning

Request = TypeVar("Request")
Response = TypeVar("Response")

_CALL_SECONDS = 30.0
"""The time limit of a call: a claim can wait up to 10 s for games."""
_RENEWALS_OF_A_LEASE = 3
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 10.0
_MOST_WAITING_SECONDS = 600.0
"""The time for which a server can be unavailable before the worker gives up."""
_LEAVING_SECONDS = 5.0
_RESTARTING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def create_or_join(
    client: Client, name: str, bot: str, tuning: Tuning, *, seed_given: bool, games: int, conditions: Mapping[str, Any]
) -> tuple[pb.Tuning, bool]:
    """Create the tuning `tunings/ID`, or return the equal one of this owner; the second value is whether it is new.

    Raises CallFailed, also if another tuning has this name.
    """
    message = pb.Tuning(
        name=name,
        bot=bot,
        parameters=[
            pb.TuningParameter(
                name=parameter.name,
                start=parameter.start,
                low=parameter.low,
                high=parameter.high,
                step=parameter.step,
                rate=parameter.rate,
                whole=parameter.whole,
            )
            for parameter in tuning.parameters
        ],
        iterations=tuning.iterations,
        games_per_iteration=games,
        seed=tuning.seed if seed_given else None,
        conditions={key: json.dumps(value, sort_keys=True) for key, value in conditions.items()},
    )
    response = client.call(client.tunings.CreateTuning, pb.CreateTuningRequest(tuning=message))
    return response.tuning, response.created


def tuning_of(message: pb.Tuning) -> Tuning:
    """Return what a tuning of a server tunes, and for how long."""
    return Tuning(
        parameters=tuple(
            Parameter(
                name=parameter.name,
                start=parameter.start,
                low=parameter.low,
                high=parameter.high,
                step=parameter.step,
                rate=parameter.rate,
                whole=parameter.whole,
            )
            for parameter in message.parameters
        ),
        iterations=message.iterations,
        seed=message.seed,
    )


def read_course(client: Client, message: pb.Tuning) -> Course:
    """Return the course of a tuning from all its complete iterations. Raises CallFailed."""
    course = Course(tuning_of(message))
    request = pb.ListTuningIterationsRequest(name=message.name)
    for stored in client.list_items(client.tunings.ListTuningIterations, request, lambda page: page.iterations):
        course.add(PlayedIteration(wins=stored.wins, draws=stored.draws, losses=stored.losses))
    return course


@dataclass(eq=False)
class ServedParts:
    """Claims the games of a tuning of a server; see `noughts_server.local.tuning.Parts`."""

    client: Client
    name: str
    """`tunings/ID`."""
    parameters: Sequence[Parameter]
    pairs: int
    """The number of pairs that this machine plays at once."""
    on_progress: Callable[[pb.TuningProgress], None]
    """Called with the state of the tuning after each call."""
    _worker: str = field(default_factory=lambda: secrets.token_hex(8), init=False)
    _games: pb.ClaimedGames = field(default_factory=pb.ClaimedGames, init=False)
    """The claimed games."""

    async def next(self, stop: LocalStop) -> Part | None:
        """See `Parts`. Raises CallFailed."""
        while not stop.finishing.is_set():
            response = await self._claim_games(stop)
            if response is None:
                break
            self.on_progress(response.progress)
            if response.progress.state == pb.TUNING_STATE_FINISHED:
                break
            if response.HasField("games"):
                self._games = response.games
                return self._part()
        return None

    @asynccontextmanager
    async def holding(self) -> AsyncIterator[None]:
        """See `Parts`."""
        async with asyncio.TaskGroup() as tasks:
            renewals = tasks.create_task(self._renew(), name="lease")
            try:
                yield
            finally:
                renewals.cancel()

    async def report(self, part: Part, result: PlayedIteration, lost_by_fault: int) -> None:
        """See `Parts`. Raises CallFailed."""
        request = pb.ReportGamesRequest(
            name=self.name,
            claim=self._games.claim,
            wins=result.wins,
            draws=result.draws,
            losses=result.losses,
            games_lost_by_fault=lost_by_fault,
        )
        response = await self._call(self.client.tunings.ReportGames, request)
        if not response.counted:
            games = printing.count(2 * part.pairs, "game")
            printing.note(f"{games} of iteration {part.iteration} do not count: another worker has played them.")
        self.on_progress(response.progress)

    async def leave(self) -> None:
        """See `Parts`. If the server is unavailable, the lease of claimed games ends by itself."""
        request = pb.LeaveTuningRequest(name=self.name, worker=self._worker)
        with suppress(CallFailed):
            await self.client.call_async(self.client.tunings.LeaveTuning, request, seconds=_LEAVING_SECONDS)

    async def _claim_games(self, stop: LocalStop) -> pb.ClaimGamesResponse | None:
        """Return the answer to a claim; None if the user stops before. Raises CallFailed."""
        request = pb.ClaimGamesRequest(name=self.name, worker=self._worker, pairs=self.pairs)
        async with asyncio.TaskGroup() as tasks:
            claiming = tasks.create_task(self._call(self.client.tunings.ClaimGames, request), name="claim")
            stopping = tasks.create_task(stop.finishing.wait(), name="stop")
            await asyncio.wait((claiming, stopping), return_when=asyncio.FIRST_COMPLETED)
            is_answered = claiming.done()
            claiming.cancel()
            stopping.cancel()
        return claiming.result() if is_answered else None

    def _part(self) -> Part:
        """Return the claimed games."""
        games = self._games
        names = [parameter.name for parameter in self.parameters]
        return Part(
            iteration=games.iteration,
            plus=dict(zip(names, games.plus, strict=True)),
            minus=dict(zip(names, games.minus, strict=True)),
            seed=games.seed,
            first_pair=games.first_pair,
            pairs=games.pairs,
        )

    async def _renew(self) -> None:
        """Renew the lease until another worker has the games."""
        interval = self._games.lease.ToTimedelta().total_seconds() / _RENEWALS_OF_A_LEASE
        request = pb.RenewClaimRequest(name=self.name, claim=self._games.claim)
        is_held = True
        while is_held:
            await asyncio.sleep(interval)
            # If the server is unavailable, the report of the games can still count.
            with suppress(CallFailed):
                call = self.client.call_async(self.client.tunings.RenewClaim, request, seconds=_CALL_SECONDS)
                is_held = (await call).held

    async def _call(self, method: "grpc.UnaryUnaryMultiCallable[Request, Response]", request: Request) -> Response:
        """Return the method's answer, and try again while the server restarts. Raises CallFailed."""
        loop = asyncio.get_running_loop()
        began, wait = loop.time(), _FIRST_WAIT
        while True:
            try:
                return await self.client.call_async(method, request, seconds=_CALL_SECONDS)
            except CallFailed as failure:
                if failure.code not in _RESTARTING or loop.time() - began > _MOST_WAITING_SECONDS:
                    raise
                if wait == _FIRST_WAIT:
                    printing.note(f"{failure.message}; trying again.")
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
