"""Tunings whose games workers play: their iterations, and the claims of the games of the present iteration.

An iteration is complete when all its pairs of games are reported. Its result is their sum, so the values do not depend
on the number of workers. A claim is a lease: when it ends without a report, another worker gets the games.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from noughts_server.core.errors import AlreadyExists, InvalidArgument, NotFound, PermissionDenied
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import tuning_name
from noughts_server.statistics.spsa import PairOfSets, Parameter, PlayedIteration, Tuning
from noughts_server.store.engine import dialect
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.pages import Page, contains, read_page
from noughts_server.store.engine.schema import (
    TuningState,
    owners,
    tuning_iterations,
    tuning_parts,
    tuning_workers,
    tunings,
)
from noughts_server.store.seeds import signed, unsigned

LEASE_MS = 60_000
"""The milliseconds after which a claim ends, and after which a silent worker no longer counts."""
_MOST_WORKERS = 1_000
"""Limit of the workers of a tuning."""
_PARTS = tuning_parts.c
_UNKNOWN = "`noughts tuning list` shows the tunings."


@dataclass(frozen=True, slots=True)
class NewTuning:
    """A tuning that is not stored yet. Its values were checked."""

    slug: str
    bot: str
    """The spec of the bot with `$NAME` for each parameter."""
    tuning: Tuning
    pairs: int
    """Pairs of games in an iteration."""
    conditions: Mapping[str, str]
    """JSON texts by name."""
    seed_given: bool = True
    """Whether the caller chose the seed. If not, any seed of a stored tuning fits."""


@dataclass(frozen=True, slots=True)
class StoredTuning:
    """A stored tuning. Times are milliseconds since 1970 in UTC."""

    id: int
    slug: str
    owner_id: int
    owner: str
    state: TuningState
    bot: str
    tuning: Tuning
    pairs: int
    conditions: Mapping[str, str]
    iterations_done: int
    values: tuple[float, ...]
    """The values of the parameters after these iterations."""
    lost_by_fault: int
    created_at: int
    ended_at: int | None
    workers: int
    """The number of workers that were heard of lately."""

    @property
    def name(self) -> str:
        return tuning_name(self.slug)


class ClaimedPairs(NamedTuple):
    """Pairs of games of one iteration, for the worker that has the claim."""

    claim: str
    iteration: int
    first_pair: int
    """Counts from 0."""
    pairs: int
    sets: PairOfSets
    seed: int
    """The seed of all games of the iteration."""


class PlayedPairs(NamedTuple):
    """The results of claimed games, for the set `plus`."""

    wins: int
    draws: int
    losses: int
    lost_by_fault: int


class StoredIteration(NamedTuple):
    """A complete iteration, with the values after it."""

    iteration: int
    result: PlayedIteration
    values: tuple[float, ...]


def create_or_join_tuning(
    connection: Connection, new: NewTuning, *, owner_id: int, now_ms: int, limits: Limits
) -> tuple[StoredTuning, bool]:
    """Create a tuning, or return the owner's equal tuning of this name; the second value is whether it is new.

    Raises AlreadyExists (another tuning has this name), PermissionDenied (it belongs to another owner), LimitReached.
    """
    row = connection.execute(select(tunings.c.owner_id).where(tunings.c.slug == new.slug)).one_or_none()
    if row is not None:
        stored = owned_tuning(connection, new.slug, owner_id)
        _check_equal(stored, new)
        return stored, False
    is_running = (tunings.c.owner_id == owner_id, tunings.c.state == TuningState.RUNNING)
    so_far = connection.execute(select(func.count()).select_from(tunings).where(*is_running)).scalar_one()
    limits.check("tunings", "tunings of yours that are not finished", so_far)
    connection.execute(
        insert(tunings),
        {
            "slug": new.slug,
            "owner_id": owner_id,
            "state": TuningState.RUNNING,
            "bot": new.bot,
            "parameters": [_parameter_document(parameter) for parameter in new.tuning.parameters],
            "iterations": new.tuning.iterations,
            "pairs": new.pairs,
            "seed": signed(new.tuning.seed),
            "conditions": dict(new.conditions),
            "iterations_done": 0,
            "course_values": [parameter.start for parameter in new.tuning.parameters],
            "lost_by_fault": 0,
            "created_at": now_ms,
        },
    )
    return get_tuning(connection, new.slug), True


def get_tuning(connection: Connection, slug: str) -> StoredTuning:
    """Return the tuning `tunings/SLUG`. Raises NotFound."""
    row = connection.execute(_tunings(connection).where(tunings.c.slug == slug)).one_or_none()
    if row is None:
        raise NotFound(tuning_name(slug), hint=_UNKNOWN)
    return _read_row(row)


def owned_tuning(connection: Connection, slug: str, owner_id: int | None) -> StoredTuning:
    """Return the tuning; with `owner_id`, it must belong to this owner. Raises NotFound, PermissionDenied."""
    tuning = get_tuning(connection, slug)
    if owner_id not in (None, tuning.owner_id):
        raise PermissionDenied(tuning.name, hint="Choose another name, or use a token of its owner.")
    return tuning


def list_tunings(
    connection: Connection, *, size: int = 0, page_token: str = "", owner: str = "", search: str = "", state: int = 0
) -> Page[StoredTuning]:
    """Return a page of the tunings that match, newest first. Raises InvalidArgument (size, token, search)."""
    statement = _tunings(connection)
    if owner:
        statement = statement.where(owners.c.name == owner)
    if search:
        statement = statement.where(contains(search, tunings.c.slug))
    if state:
        statement = statement.where(tunings.c.state == state)
    return read_page(
        connection,
        statement,
        _read_row,
        "tunings",
        (tunings.c.id,),
        size=size,
        page_token=page_token,
        descending=True,
    )


def list_iterations(
    connection: Connection, tuning: StoredTuning, *, size: int = 0, page_token: str = ""
) -> Page[StoredIteration]:
    """Return a page of the complete iterations in numerical order. Raises InvalidArgument (size, token)."""
    statement = select(tuning_iterations).where(tuning_iterations.c.tuning_id == tuning.id)
    order = (tuning_iterations.c.iteration,)
    method = f"tuning_iterations {tuning.id}"
    return read_page(connection, statement, _read_iteration, method, order, size=size, page_token=page_token)


def iterations_after(connection: Connection, tuning: StoredTuning, after: int) -> list[StoredIteration]:
    """Return the complete iterations with higher numbers than `after`, in numerical order."""
    of_tuning = (tuning_iterations.c.tuning_id == tuning.id, tuning_iterations.c.iteration > after)
    rows = connection.execute(select(tuning_iterations).where(*of_tuning).order_by(tuning_iterations.c.iteration))
    return [_read_iteration(row) for row in rows]


def has_free_pairs(connection: Connection, tuning: StoredTuning) -> bool:
    """Return whether a worker can claim games now."""
    if tuning.state is TuningState.FINISHED:
        return False
    parts = _parts(connection, tuning)
    now = dialect.of(connection).now_ms(connection)
    return _unclaimed(tuning, parts) > 0 or any(_is_lost(part, now) for part in parts)


def note_worker(connection: Connection, tuning: StoredTuning, worker: str) -> None:
    """Remember that a worker plays, or waits for games; forget the silent ones. Raises InvalidArgument. Writes."""
    now = dialect.of(connection).now_ms(connection)
    of_tuning = tuning_workers.c.tuning_id == tuning.id
    connection.execute(delete(tuning_workers).where(of_tuning, tuning_workers.c.seen_at <= now - LEASE_MS))
    others = select(func.count()).select_from(tuning_workers).where(of_tuning, tuning_workers.c.name != worker)
    if connection.execute(others).scalar_one() >= _MOST_WORKERS:
        raise InvalidArgument.of("worker", worker, f"at most {_MOST_WORKERS:,} workers of a tuning")
    upsert(connection, tuning_workers, [(tuning.id, worker, now)], replace=("seen_at",))


def leave_tuning(connection: Connection, tuning: StoredTuning, worker: str) -> None:
    """Forget a worker, and end the leases of its claims. Repeating it has no effect. Writes."""
    this = (tuning_workers.c.tuning_id == tuning.id, tuning_workers.c.name == worker)
    connection.execute(delete(tuning_workers).where(*this))
    unreported = (_PARTS.tuning_id == tuning.id, _PARTS.worker == worker, _PARTS.wins.is_(None))
    connection.execute(update(tuning_parts).where(*unreported).values(expires_at=0))


def claim_pairs(
    connection: Connection, tuning: StoredTuning, *, worker: str, most: int, lease_ms: int = LEASE_MS
) -> ClaimedPairs | None:
    """Claim up to `most` pairs of the present iteration. Return None if none are free. Writes.

    Games whose lease has ended come first. Of the others, a worker gets its share of those that are left, so that
    all workers end at about the same time.
    """
    if tuning.state is TuningState.FINISHED:
        return None
    now = dialect.of(connection).now_ms(connection)
    parts = _parts(connection, tuning)
    claim = secrets.token_hex(8)
    lease = {"claim": claim, "worker": worker, "expires_at": now + lease_ms}
    lost = next((part for part in parts if _is_lost(part, now)), None)
    row = {"tuning_id": tuning.id, "iteration": tuning.iterations_done + 1}
    if lost is not None:
        first_pair, pairs = lost.first_pair, min(most, lost.pairs)
        connection.execute(update(tuning_parts).where(*_key(tuning, first_pair)).values(pairs=pairs, **lease))
        if pairs < lost.pairs:
            rest = {"first_pair": first_pair + pairs, "pairs": lost.pairs - pairs, "claim": secrets.token_hex(8)}
            connection.execute(insert(tuning_parts), row | rest | {"worker": lost.worker, "expires_at": 0})
    else:
        unclaimed = _unclaimed(tuning, parts)
        if not unclaimed:
            return None
        others = (tuning_workers.c.tuning_id == tuning.id, tuning_workers.c.name != worker)
        workers = 1 + connection.execute(select(func.count()).select_from(tuning_workers).where(*others)).scalar_one()
        first_pair, pairs = tuning.pairs - unclaimed, min(most, -(-unclaimed // workers))
        connection.execute(insert(tuning_parts), row | {"first_pair": first_pair, "pairs": pairs} | lease)
    iteration = tuning.iterations_done + 1
    return ClaimedPairs(
        claim=claim,
        iteration=iteration,
        first_pair=first_pair,
        pairs=pairs,
        sets=tuning.tuning.pair_of_sets(iteration, tuning.values),
        seed=tuning.tuning.seed_of_games(iteration),
    )


def renew_claim(connection: Connection, tuning: StoredTuning, claim: str, *, lease_ms: int = LEASE_MS) -> bool:
    """Extend the lease of a claim; return False if it does not exist any more, or is reported. Writes."""
    this = (_PARTS.tuning_id == tuning.id, _PARTS.claim == claim, _PARTS.wins.is_(None))
    worker = connection.scalar(select(_PARTS.worker).where(*this))
    if worker is None:
        return False
    expires_at = dialect.of(connection).now_ms(connection) + lease_ms
    connection.execute(update(tuning_parts).where(*this).values(expires_at=expires_at))
    note_worker(connection, tuning, worker)
    return True


def report_pairs(
    connection: Connection, tuning: StoredTuning, claim: str, played: PlayedPairs, *, now_ms: int
) -> tuple[StoredTuning, bool]:
    """Store the results of claimed games, and complete the iteration if they are the last ones. Writes.

    Return the tuning after that, and whether the results count: they do not if another worker has claimed the games
    since. Repeating a report has no effect. Raises InvalidArgument (more games than were claimed).
    """
    part = connection.execute(
        select(tuning_parts).where(_PARTS.tuning_id == tuning.id, _PARTS.claim == claim)
    ).one_or_none()
    if part is None:
        return tuning, False
    games = played.wins + played.draws + played.losses
    if games > 2 * part.pairs:
        raise InvalidArgument.of("wins", f"{games} games", f"at most the {2 * part.pairs} games that were claimed")
    if part.wins is not None:
        return tuning, True
    results = {
        "wins": played.wins,
        "draws": played.draws,
        "losses": played.losses,
        "lost_by_fault": played.lost_by_fault,
    }
    connection.execute(update(tuning_parts).where(*_key(tuning, part.first_pair)).values(**results))
    parts = _parts(connection, tuning)
    if not _unclaimed(tuning, parts) and all(each.wins is not None for each in parts):
        _complete(connection, tuning, parts, now_ms)
        return get_tuning(connection, tuning.slug), True
    return tuning, True


def delete_tuning(connection: Connection, tuning: StoredTuning) -> None:
    """Delete a tuning with its results. Writes."""
    for table in (tuning_parts, tuning_workers, tuning_iterations):
        connection.execute(delete(table).where(table.c.tuning_id == tuning.id))
    connection.execute(delete(tunings).where(tunings.c.id == tuning.id))


def _complete(connection: Connection, tuning: StoredTuning, parts: Sequence[Row[Any]], now_ms: int) -> None:
    """Store the sum of the results of an iteration, and move the values."""
    iteration = tuning.iterations_done + 1
    result = PlayedIteration(
        wins=sum(part.wins for part in parts),
        draws=sum(part.draws for part in parts),
        losses=sum(part.losses for part in parts),
    )
    values = list(tuning.tuning.moved(iteration, tuning.values, result))
    row = {"tuning_id": tuning.id, "iteration": iteration, **result._asdict(), "course_values": values}
    connection.execute(insert(tuning_iterations), row)
    connection.execute(delete(tuning_parts).where(_PARTS.tuning_id == tuning.id, _PARTS.iteration < iteration))
    finished = iteration == tuning.tuning.iterations
    changes = {
        "iterations_done": iteration,
        "course_values": values,
        "lost_by_fault": tuning.lost_by_fault + sum(part.lost_by_fault for part in parts),
        "state": TuningState.FINISHED if finished else TuningState.RUNNING,
        "ended_at": now_ms if finished else None,
    }
    if finished:
        connection.execute(delete(tuning_workers).where(tuning_workers.c.tuning_id == tuning.id))
    connection.execute(update(tunings).where(tunings.c.id == tuning.id).values(**changes))


def _check_equal(stored: StoredTuning, new: NewTuning) -> None:
    """Raise AlreadyExists with the first difference between a stored tuning and a requested one."""
    before, after = (
        _compared(stored.bot, stored.tuning, stored.pairs, stored.conditions),
        _compared(new.bot, new.tuning, new.pairs, new.conditions),
    )
    if not new.seed_given:
        after["seed"] = before["seed"]
    for name in {**before, **after}:
        if before.get(name) != after.get(name):
            raise AlreadyExists(
                stored.name,
                message=f"{stored.name} was created with {name} {before.get(name, 'none')}, got "
                f"{after.get(name, 'none')}",
                hint="Use the settings of that tuning, or choose another name.",
            )


def _compared(bot: str, tuning: Tuning, pairs: int, conditions: Mapping[str, str]) -> dict[str, object]:
    """Return everything that is equal for all workers of a tuning, by name."""
    parameters = {
        f"{key} of {parameter.name}": value
        for parameter in tuning.parameters
        for key, value in _parameter_document(parameter).items()
        if key != "name"
    }
    names = ", ".join(parameter.name for parameter in tuning.parameters)
    return {
        "bot": bot,
        "parameters": names,
        **parameters,
        "iterations": tuning.iterations,
        "games": 2 * pairs,
        "seed": tuning.seed,
        **conditions,
    }


def _tunings(connection: Connection) -> Select[Any]:
    since = dialect.of(connection).now_ms(connection) - LEASE_MS
    workers = select(func.count()).where(tuning_workers.c.tuning_id == tunings.c.id, tuning_workers.c.seen_at > since)
    return select(
        tunings, owners.c.name.label("owner"), workers.correlate(tunings).scalar_subquery().label("workers")
    ).join(owners)


def _read_row(row: Row[Any]) -> StoredTuning:
    return StoredTuning(
        id=row.id,
        slug=row.slug,
        owner_id=row.owner_id,
        owner=row.owner,
        state=TuningState(row.state),
        bot=row.bot,
        tuning=Tuning(
            parameters=tuple(_read_parameter(document) for document in row.parameters),
            iterations=row.iterations,
            seed=unsigned(row.seed),
        ),
        pairs=row.pairs,
        conditions=row.conditions,
        iterations_done=row.iterations_done,
        values=tuple(row.course_values),
        lost_by_fault=row.lost_by_fault,
        created_at=row.created_at,
        ended_at=row.ended_at,
        workers=row.workers,
    )


def _read_iteration(row: Row[Any]) -> StoredIteration:
    return StoredIteration(
        iteration=row.iteration,
        result=PlayedIteration(wins=row.wins, draws=row.draws, losses=row.losses),
        values=tuple(row.course_values),
    )


def _parameter_document(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "start": parameter.start,
        "low": parameter.low,
        "high": parameter.high,
        "step": parameter.step,
        "rate": parameter.rate,
        "whole": parameter.whole,
    }


def _read_parameter(document: Mapping[str, Any]) -> Parameter:
    return Parameter(
        name=document["name"],
        start=document["start"],
        low=document["low"],
        high=document["high"],
        step=document["step"],
        rate=document["rate"],
        whole=document["whole"],
    )


def _parts(connection: Connection, tuning: StoredTuning) -> Sequence[Row[Any]]:
    """Return the claimed parts of the present iteration, in order."""
    present = (_PARTS.tuning_id == tuning.id, _PARTS.iteration == tuning.iterations_done + 1)
    return connection.execute(select(tuning_parts).where(*present).order_by(_PARTS.first_pair)).all()


def _key(tuning: StoredTuning, first_pair: int) -> tuple[Any, ...]:
    """Return the conditions of a part of the present iteration."""
    return (
        _PARTS.tuning_id == tuning.id,
        _PARTS.iteration == tuning.iterations_done + 1,
        _PARTS.first_pair == first_pair,
    )


def _unclaimed(tuning: StoredTuning, parts: Sequence[Row[Any]]) -> int:
    """Return the number of pairs of the present iteration that were never claimed: they follow the claimed ones."""
    claimed: int = sum(part.pairs for part in parts)
    return tuning.pairs - claimed


def _is_lost(part: Row[Any], now_ms: int) -> bool:
    """Return whether the lease of a part ended without a report."""
    return part.wins is None and part.expires_at <= now_ms
