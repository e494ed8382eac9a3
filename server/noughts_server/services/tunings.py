"""TuningService: coordinates tunings whose games the workers of their owners play.

The server stores the spec of the bot only as text. It never runs it, and no worker gets a command from the server.
"""

import asyncio
import json
import math
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from google.protobuf.duration_pb2 import Duration

from noughts_proto.v1 import tunings_pb2 as pb
from noughts_proto.v1 import tunings_pb2_grpc
from noughts_server.convert.tunings import iteration_message, parameter_of, progress_message, tuning_message
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.resource_names import tuning_id
from noughts_server.core.spec_template import SpecTemplate
from noughts_server.runtime.endless_work import wait_until_set
from noughts_server.services.access import LARGE_REQUEST, Access, Context, current_caller, open_to
from noughts_server.services.answers import answer_in_turn, page_rows
from noughts_server.services.creations import charged_for_settings
from noughts_server.services.limiter import Limiter
from noughts_server.services.tuning_estimates import TuningEstimates
from noughts_server.statistics.spsa import Parameter, Tuning
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.schema import TuningState
from noughts_server.store.tunings import (
    ClaimedPairs,
    NewTuning,
    PlayedPairs,
    StoredTuning,
    claim_pairs,
    create_or_join_tuning,
    delete_tuning,
    get_tuning,
    has_free_pairs,
    leave_tuning,
    list_iterations,
    list_tunings,
    note_worker,
    owned_tuning,
    renew_claim,
    report_pairs,
)
from noughts_server.store.validation import check_number, check_slug, check_text

Result = TypeVar("Result")

_WAIT_SECONDS = 10.0
"""The time for which a claim waits for free games."""
_CHECK_SECONDS = 1.0
"""The interval at which it looks for games that other servers of a cluster, or ended leases, have made free."""
_MOST_PARAMETERS = 100
_MOST_VALUES = 200_000
"""Limit of iterations times parameters: an estimate of the optima then takes about a second."""
_MOST_GAMES = 10_000
_LONGEST_BOT = 2_000
_LONGEST_WORKER = 64
_MOST_CONDITIONS = 50
_MOST_CONDITION_BYTES = 1 << 20
_LARGEST_NUMBER = 1e12
_PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


@dataclass(eq=False)
class TuningServicer(tunings_pb2_grpc.TuningServiceServicer):
    """Creates and reads tunings, hands out their games, and takes the results."""

    store: Store
    limiter: Limiter
    lease_seconds: float
    """The time after which the games of a silent worker are given to another."""
    _released: dict[int, asyncio.Event] = field(default_factory=dict, init=False)
    """Events for the claims that wait here, by the tuning's key: games may have become free."""

    def __post_init__(self) -> None:
        self._estimates = TuningEstimates(self.store)

    @open_to(Access.ORGANISE, most_bytes=LARGE_REQUEST)
    async def CreateTuning(self, request: pb.CreateTuningRequest, context: Context) -> pb.CreateTuningResponse:
        caller = current_caller()
        create = partial(
            create_or_join_tuning,
            new=_new_tuning(request.tuning),
            owner_id=caller.owner_id,
            now_ms=self.store.now_ms(),
            limits=self.limiter.limits,
        )
        with charged_for_settings(self.limiter, caller, request.ByteSize()) as charge:
            tuning, charge.is_new = await self.store.write(create)
        return pb.CreateTuningResponse(tuning=tuning_message(tuning), created=charge.is_new)

    @open_to(Access.ANYONE)
    async def GetTuning(self, request: pb.GetTuningRequest, context: Context) -> pb.GetTuningResponse:
        tuning = await self._stored(request.name)
        return pb.GetTuningResponse(tuning=await self._estimates.estimated(tuning))

    @open_to(Access.ANYONE)
    async def ListTunings(self, request: pb.ListTuningsRequest, context: Context) -> pb.ListTuningsResponse:
        size = page_rows(request.page_size)

        def read(connection: Connection) -> pb.ListTuningsResponse:
            page = list_tunings(
                connection,
                size=size,
                page_token=request.page_token,
                owner=request.owner,
                search=request.search,
                state=request.state,
            )
            return pb.ListTuningsResponse(tunings=map(tuning_message, page.items), next_page_token=page.next_page_token)

        return await answer_in_turn(self.store, read)

    @open_to(Access.ANYONE)
    async def ListTuningIterations(
        self, request: pb.ListTuningIterationsRequest, context: Context
    ) -> pb.ListTuningIterationsResponse:
        size = page_rows(request.page_size)
        slug = tuning_id("name", request.name)

        def read(connection: Connection) -> pb.ListTuningIterationsResponse:
            tuning = get_tuning(connection, slug)
            page = list_iterations(connection, tuning, size=size, page_token=request.page_token)
            return pb.ListTuningIterationsResponse(
                iterations=map(iteration_message, page.items), next_page_token=page.next_page_token
            )

        return await answer_in_turn(self.store, read)

    @open_to(Access.ORGANISE)
    async def ClaimGames(self, request: pb.ClaimGamesRequest, context: Context) -> pb.ClaimGamesResponse:
        worker = check_text("worker", request.worker, _LONGEST_WORKER)
        most = check_number("pairs", request.pairs, 1, _MOST_GAMES // 2)

        def claim(connection: Connection, tuning: StoredTuning) -> tuple[StoredTuning, ClaimedPairs | None]:
            if tuning.state is TuningState.FINISHED:
                return tuning, None
            note_worker(connection, tuning, worker)
            return tuning, claim_pairs(connection, tuning, worker=worker, most=most, lease_ms=self._lease_ms)

        loop = asyncio.get_running_loop()
        deadline = loop.time() + _WAIT_SECONDS
        while True:
            tuning, claimed = await self._write(request.name, claim)
            if claimed is not None or tuning.state is TuningState.FINISHED:
                break
            if not await self._wait_for_pairs(tuning, deadline):
                break
        response = pb.ClaimGamesResponse(progress=progress_message(tuning))
        if claimed is not None:
            response.games.CopyFrom(self._games_message(tuning, claimed))
        return response

    @open_to(Access.ORGANISE)
    async def RenewClaim(self, request: pb.RenewClaimRequest, context: Context) -> pb.RenewClaimResponse:
        renew = partial(renew_claim, claim=request.claim, lease_ms=self._lease_ms)
        return pb.RenewClaimResponse(held=await self._write(request.name, renew))

    @open_to(Access.ORGANISE)
    async def ReportGames(self, request: pb.ReportGamesRequest, context: Context) -> pb.ReportGamesResponse:
        for name, number in (
            ("wins", request.wins),
            ("draws", request.draws),
            ("losses", request.losses),
            ("games_lost_by_fault", request.games_lost_by_fault),
        ):
            check_number(name, number, 0, _MOST_GAMES)
        played = PlayedPairs(
            wins=request.wins,
            draws=request.draws,
            losses=request.losses,
            lost_by_fault=request.games_lost_by_fault,
        )
        report = partial(report_pairs, claim=request.claim, played=played, now_ms=self.store.now_ms())
        tuning, counted = await self._write(request.name, report)
        self._wake(tuning.id)
        return pb.ReportGamesResponse(counted=counted, progress=progress_message(tuning))

    @open_to(Access.ORGANISE)
    async def LeaveTuning(self, request: pb.LeaveTuningRequest, context: Context) -> pb.LeaveTuningResponse:
        def leave(connection: Connection, tuning: StoredTuning) -> int:
            leave_tuning(connection, tuning, request.worker)
            return tuning.id

        self._wake(await self._write(request.name, leave))
        return pb.LeaveTuningResponse()

    @open_to(Access.ORGANISE)
    async def DeleteTuning(self, request: pb.DeleteTuningRequest, context: Context) -> pb.DeleteTuningResponse:
        def delete(connection: Connection, tuning: StoredTuning) -> int:
            delete_tuning(connection, tuning)
            return tuning.id

        self._wake(await self._write(request.name, delete))
        return pb.DeleteTuningResponse()

    @property
    def _lease_ms(self) -> int:
        return round(self.lease_seconds * 1000)

    async def _stored(self, name: str) -> StoredTuning:
        """Return a tuning that exists. Raises InvalidArgument, NotFound."""
        return await answer_in_turn(self.store, partial(get_tuning, slug=tuning_id("name", name)))

    async def _write(self, name: str, change: "Callable[[Connection, StoredTuning], Result]") -> Result:
        """Change a tuning of the caller in one transaction. Raises InvalidArgument, NotFound, PermissionDenied."""
        slug, owner_id = tuning_id("name", name), current_caller().only_owner

        def write(connection: Connection) -> Result:
            return change(connection, owned_tuning(connection, slug, owner_id))

        return await self.store.write(write)

    async def _wait_for_pairs(self, tuning: StoredTuning, deadline: float) -> bool:
        """Return True as soon as the tuning seems to have free games or is finished, False at the deadline."""

        def is_over(connection: Connection) -> bool:
            now = get_tuning(connection, tuning.slug)
            return now.state is TuningState.FINISHED or has_free_pairs(connection, now)

        loop = asyncio.get_running_loop()
        while (left := deadline - loop.time()) > 0:
            event = self._released.setdefault(tuning.id, asyncio.Event())
            await wait_until_set(event, min(left, _CHECK_SECONDS))
            if await self.store.read(is_over):
                return True
        return False

    def _wake(self, tuning: int) -> None:
        """Wake the claims that wait for games of this tuning."""
        event = self._released.pop(tuning, None)
        if event is not None:
            event.set()

    def _games_message(self, tuning: StoredTuning, claimed: ClaimedPairs) -> pb.ClaimedGames:
        lease = Duration()
        lease.FromMilliseconds(self._lease_ms)
        names = [parameter.name for parameter in tuning.tuning.parameters]
        return pb.ClaimedGames(
            claim=claimed.claim,
            iteration=claimed.iteration,
            first_pair=claimed.first_pair,
            pairs=claimed.pairs,
            seed=claimed.seed,
            plus=[claimed.sets.plus[name] for name in names],
            minus=[claimed.sets.minus[name] for name in names],
            lease=lease,
        )


def _new_tuning(message: pb.Tuning) -> NewTuning:
    """Return the tuning that a caller requests. Raises InvalidArgument."""
    slug = check_slug("tuning.name", tuning_id("tuning.name", message.name))
    bot = SpecTemplate(check_text("tuning.bot", message.bot, _LONGEST_BOT))
    if not 1 <= len(message.parameters) <= _MOST_PARAMETERS:
        raise InvalidArgument.of("tuning.parameters", f"{len(message.parameters)}", f"1 to {_MOST_PARAMETERS}")
    parameters = tuple(
        _checked_parameter(f"tuning.parameters[{index}]", parameter_of(parameter))
        for index, parameter in enumerate(message.parameters)
    )
    names = {parameter.name for parameter in parameters}
    if len(names) < len(parameters) or not bot.is_valid or bot.names != names:
        raise InvalidArgument.of("tuning.bot", message.bot, "one `$NAME` for each parameter, and no other")
    iterations = check_number("tuning.iterations", message.iterations, 1, _MOST_VALUES // len(parameters))
    games = check_number("tuning.games_per_iteration", message.games_per_iteration, 2, _MOST_GAMES)
    if games % 2:
        raise InvalidArgument.of("tuning.games_per_iteration", games, "an even number")
    seed_given = message.HasField("seed")
    return NewTuning(
        slug=slug,
        bot=bot.text,
        tuning=Tuning(
            parameters=parameters,
            iterations=iterations,
            seed=message.seed if seed_given else secrets.randbits(64),
        ),
        pairs=games // 2,
        conditions=_checked_conditions(message.conditions),
        seed_given=seed_given,
    )


def _checked_parameter(field: str, parameter: Parameter) -> Parameter:
    """Return a parameter if it is valid. Raises InvalidArgument."""
    if not _PARAMETER_NAME.fullmatch(parameter.name):
        raise InvalidArgument.of(f"{field}.name", parameter.name, "letters, digits and _, at most 63")
    numbers = {
        "start": parameter.start,
        "low": parameter.low,
        "high": parameter.high,
        "step": parameter.step,
        "rate": parameter.rate,
    }
    for name, number in numbers.items():
        if not math.isfinite(number) or abs(number) > _LARGEST_NUMBER:
            raise InvalidArgument.of(f"{field}.{name}", number, f"a number of at most {_LARGEST_NUMBER:g}")
    if not parameter.low < parameter.high:
        raise InvalidArgument.of(f"{field}.low", parameter.low, f"less than {parameter.high:g}")
    if not parameter.low <= parameter.start <= parameter.high:
        raise InvalidArgument.of(f"{field}.start", parameter.start, f"{parameter.low:g} to {parameter.high:g}")
    if not 0 < parameter.step <= parameter.high - parameter.low:
        raise InvalidArgument.of(f"{field}.step", parameter.step, "more than 0, and at most the width of the range")
    if not 0 < parameter.rate <= 1:
        raise InvalidArgument.of(f"{field}.rate", parameter.rate, "more than 0, and at most 1")
    return parameter


def _checked_conditions(conditions: Mapping[str, str]) -> dict[str, str]:
    """Return the conditions if they are JSON texts and not too long. Raises InvalidArgument."""
    if len(conditions) > _MOST_CONDITIONS:
        raise InvalidArgument.of("tuning.conditions", f"{len(conditions)}", f"at most {_MOST_CONDITIONS}")
    size = sum(len(name) + len(text) for name, text in conditions.items())
    if size > _MOST_CONDITION_BYTES:
        raise InvalidArgument.of("tuning.conditions", f"{size:,} characters", f"at most {_MOST_CONDITION_BYTES:,}")
    for name, text in conditions.items():
        check_text("tuning.conditions", name, _LONGEST_WORKER)
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidArgument.of(f"tuning.conditions.{name}", text, "JSON") from error
    return dict(sorted(conditions.items()))
