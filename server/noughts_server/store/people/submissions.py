"""Bots submitted as files: their programs, their owners, and the submissions that are needed now."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, delete, func, insert, select

from noughts_server.core.errors import AlreadyExists, PermissionDenied
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import bot_name
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import (
    TournamentState,
    bot_versions,
    bots,
    entries,
    owners,
    processor_times,
    programs,
    submissions,
    tournaments,
)
from noughts_server.store.people.bots import FIRST_VERSION, BotVersion, check_prefix, log_in, require_in_service

_HOUR_MS = 3_600_000


class Upload(NamedTuple):
    """A program to submit."""

    bot: str
    version: str
    """Empty for the next number."""
    kind: str
    entry: str
    file_name: str
    content: bytes
    variant: str = ""
    """The variant of the trial; empty before the trial, and for a file that needs no trial."""
    variants: tuple[str, ...] | None = None
    """The variants that it declared in its trial (empty: all); None if unknown."""
    declines_challenges: bool = False
    """Whether it declined games with the bots of other owners in its trial."""

    @property
    def hash(self) -> bytes:
        """SHA-256 of the content."""
        return hashlib.sha256(self.content).digest()


class Submission(NamedTuple):
    """A submitted version of a bot."""

    bot_version_id: int
    bot_id: int
    bot: str
    """Without the `bots/`."""
    version: str
    owner_id: int
    owner: str
    kind: str
    entry: str
    file_name: str
    hash: bytes
    size: int
    variants: list[str] | None
    """The variants that it declared in its trial (empty: all); None if unknown."""
    declines_challenges: bool
    """Whether it declined games with the bots of other owners in its trial."""

    @property
    def resource(self) -> str:
        return bot_name(self.bot, self.version)

    @property
    def bot_version(self) -> BotVersion:
        return BotVersion(self.bot_version_id, self.bot_id, self.owner_id, self.bot, self.version)


class Stored(NamedTuple):
    """The result of an upload."""

    submission: Submission
    is_new: bool
    """False if the newest version has the same program."""


def check_submission(
    connection: Connection, *, owner_id: int, bot: str, size: int, now_ms: int, limits: Limits
) -> None:
    """Check, before its content is read, whether an upload of this size could be stored.

    Raises PermissionDenied if the name belongs to another owner, WrongState if the bot is retired, and LimitReached.
    """
    row = connection.execute(select(bots.c.owner_id, bots.c.retired_at).where(bots.c.name == bot)).one_or_none()
    if row is not None and row.owner_id != owner_id:
        raise PermissionDenied(bot_name(bot), hint="Choose another name for your bot.")
    if row is None:
        check_prefix(connection, bot, owner_id)
    else:
        require_in_service(bot, row.retired_at)
    own = submissions.c.owner_id == owner_id
    recent = select(func.count()).where(own, submissions.c.submitted_at > now_ms - _HOUR_MS)
    limits.check("submissions", "bots that you submit within an hour", connection.execute(recent).scalar_one())
    files = select(programs.c.size).where(programs.c.id.in_(select(submissions.c.program_id).where(own)))
    so_far = connection.execute(select(func.coalesce(func.sum(files.subquery().c.size), 0))).scalar_one()
    limits.check("submitted_bytes", "bytes of your submitted bots", int(so_far) + size - 1)


def store_submission(connection: Connection, upload: Upload, *, owner_id: int, now_ms: int, limits: Limits) -> Stored:
    """Store an upload as a version of the bot, unless the newest version has the same program.

    Raises the errors of `check_submission` and `log_in`, and AlreadyExists if the version exists.
    """
    newest = newest_submission(connection, upload.bot)
    same = newest is not None and (newest.hash, newest.kind, newest.entry) == (upload.hash, upload.kind, upload.entry)
    if newest is not None and same and newest.owner_id == owner_id and upload.version in ("", newest.version):
        return Stored(newest, False)
    size = len(upload.content)
    check_submission(connection, owner_id=owner_id, bot=upload.bot, size=size, now_ms=now_ms, limits=limits)
    version = upload.version or _next_version(connection, upload.bot)
    same_version = (
        select(bot_versions.c.id).join(bots).where(bots.c.name == upload.bot, bot_versions.c.version == version)
    )
    if connection.execute(same_version).first() is not None:
        raise AlreadyExists(bot_name(upload.bot, version))
    bot_version = log_in(connection, owner_id=owner_id, name=upload.bot, version=version, now_ms=now_ms, limits=limits)
    program = connection.execute(select(programs.c.id).where(programs.c.hash == upload.hash)).scalar()
    if program is None:
        row = {"hash": upload.hash, "size": size, "content": upload.content}
        program = connection.execute(insert(programs).returning(programs.c.id), row).scalar_one()
    file_columns = {"kind": upload.kind, "entry": upload.entry, "file_name": upload.file_name, "submitted_at": now_ms}
    trial_columns = {"variants": upload.variants, "declines_challenges": upload.declines_challenges}
    keys = {"bot_version_id": bot_version.id, "program_id": program, "owner_id": owner_id}
    connection.execute(insert(submissions), file_columns | trial_columns | keys)
    (stored,) = submissions_of(connection, [bot_version.id])
    return Stored(stored, True)


def newest_submission(connection: Connection, bot: str) -> Submission | None:
    """Return the newest version of a bot, if it was submitted."""
    newest = select(func.max(bot_versions.c.id)).join(bots).where(bots.c.name == bot)
    return next(iter(submissions_of(connection, [connection.execute(newest).scalar() or 0])), None)


def submissions_of(connection: Connection, versions: Iterable[int]) -> list[Submission]:
    """Return the submissions among these versions."""
    return _read(connection, _rows().where(submissions.c.bot_version_id.in_(list(versions))))


def ready_submissions(connection: Connection) -> list[Submission]:
    """Return the newest version of each active bot, if that version was submitted. It plays on demand."""
    newest = select(func.max(bot_versions.c.id)).group_by(bot_versions.c.bot_id)
    return _read(connection, _rows().where(bots.c.retired_at.is_(None), submissions.c.bot_version_id.in_(newest)))


def needed_submissions(connection: Connection) -> list[Submission]:
    """Return the submissions with an entry in a running tournament."""
    running = (tournaments.c.state == TournamentState.RUNNING, entries.c.withdrawn_at.is_(None))
    of_running = select(entries.c.bot_version_id).join(tournaments).where(*running)
    return _read(connection, _rows().where(submissions.c.bot_version_id.in_(of_running)))


def program_of(connection: Connection, hash_: bytes) -> bytes:
    content: bytes = connection.execute(select(programs.c.content).where(programs.c.hash == hash_)).scalar_one()
    return content


def add_processor_time(connection: Connection, *, day: int, used: Mapping[int, int]) -> None:
    """Add milliseconds of processor time, by owner, to a day (counted from 1970), and delete earlier days. Writes."""
    upsert(
        connection,
        processor_times,
        [(day, owner, milliseconds) for owner, milliseconds in used.items()],
        add=("milliseconds",),
    )
    connection.execute(delete(processor_times).where(processor_times.c.day < day))


def processor_time(connection: Connection, *, day: int) -> Counter[int]:
    """Return the milliseconds of processor time of a day, by owner."""
    of_day = select(processor_times.c.owner_id, processor_times.c.milliseconds).where(processor_times.c.day == day)
    return Counter({row.owner_id: row.milliseconds for row in connection.execute(of_day)})


def _next_version(connection: Connection, bot: str) -> str:
    names = connection.execute(select(bot_versions.c.version).join(bots).where(bots.c.name == bot)).scalars()
    numbers = [int(name) for name in names if name.isdecimal() and len(name) < len("1000000000")]
    return str(max(numbers) + 1) if numbers else FIRST_VERSION


def _rows() -> Select[Any]:
    return (
        select(
            submissions,
            bots.c.id.label("bot_id"),
            bots.c.name.label("bot"),
            bot_versions.c.version,
            owners.c.name.label("owner"),
            programs.c.hash,
            programs.c.size,
        )
        .select_from(submissions)
        .join(programs, programs.c.id == submissions.c.program_id)
        .join(bot_versions, bot_versions.c.id == submissions.c.bot_version_id)
        .join(bots, bots.c.id == bot_versions.c.bot_id)
        .join(owners, owners.c.id == submissions.c.owner_id)
        .order_by(submissions.c.bot_version_id)
    )


def _read(connection: Connection, statement: Select[Any]) -> list[Submission]:
    return [
        Submission(
            bot_version_id=row.bot_version_id,
            bot_id=row.bot_id,
            bot=row.bot,
            version=row.version,
            owner_id=row.owner_id,
            owner=row.owner,
            kind=row.kind,
            entry=row.entry,
            file_name=row.file_name,
            hash=row.hash,
            size=row.size,
            variants=row.variants,
            declines_challenges=row.declines_challenges,
        )
        for row in connection.execute(statement)
    ]
