"""Bots and their versions."""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from noughts_server.core.errors import AlreadyExists, InvalidArgument, NotFound, PermissionDenied, WrongState
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import bot_name
from noughts_server.store.engine.bulk import upsert
from noughts_server.store.engine.schema import (
    TournamentState,
    bot_names,
    bot_versions,
    bots,
    entries,
    owners,
    tokens,
    tournaments,
)
from noughts_server.store.people.confusable_names import imitated_reference, look_alike, skeleton
from noughts_server.store.people.tokens import HOUSE_OWNER, SITE_OWNER
from noughts_server.store.validation import check_name, check_text

FIRST_VERSION = "1"
"""The default version of a bot."""

# Created once, because an alias of a table is hundreds of objects in reference cycles.
_VERSIONS = bot_versions.alias()
_NEWEST = select(func.max(_VERSIONS.c.id)).where(_VERSIONS.c.bot_id == bots.c.id).scalar_subquery()
_DAY_MS = 24 * 3600 * 1000
# In characters, as the columns of the table.
_LONGEST_DESCRIPTION = 500
_LONGEST_LINK = 200
_CHOSEN_NAMES = re.compile(r"(?P<owner>.+)-(person|(second-)?guest-\d+)(#\d+)?", re.IGNORECASE)
"""Names that the programs of Noughts choose for an owner."""
_WORDS = re.compile("[-_.]")
_UNKNOWN_BOT = (
    "`noughts bot list --server HOST:PORT` shows the registered bots. Register this one with"
    " `noughts bot register NAME`, or start it: a bot is registered when it logs in for the first time."
)
_UNKNOWN_BOT_FOR_AGENTS = "`list_bots` shows the registered bots. `submit_bot` and `connect_player` register one."


@dataclass(frozen=True, slots=True)
class Bot:
    """A registered bot. `created_at` is in milliseconds since 1970 in UTC."""

    id: int
    name: str
    """Without the `bots/`."""
    owner_id: int
    owner: str
    latest_version: str
    created_at: int
    retired_at: int | None
    open_to_organisers: bool
    """Whether organisers can enter it in their tournaments."""
    open_to_tests: bool
    """Whether others can test their bots against it."""
    description: str = ""
    """What its owner says about it; empty: nothing."""
    link: str = ""
    """The address of a page of the bot; empty: none."""


class BotVersion(NamedTuple):
    id: int
    bot_id: int
    owner_id: int
    bot: str
    """Without the `bots/`."""
    version: str
    retired_at: int | None = None
    open_to_organisers: bool = False
    open_to_tests: bool = False
    """Only `get_version` sets `open_to_organisers` and `open_to_tests`; see `Bot`."""

    @property
    def resource(self) -> str:
        return bot_name(self.bot, self.version)


Version = Row[Any]
"""The columns of `bot_versions`; `created_at` is when it was submitted or first connected."""
COURSE_LABEL = "course"
"""The label of tokens for the students of a course."""


def log_in(
    connection: Connection, *, owner_id: int, name: str, version: str = "", now_ms: int, limits: Limits | None = None
) -> BotVersion:
    """Return the bot `name` of this owner in this version (default: `1`); register both if they are new.

    Raises InvalidArgument, PermissionDenied if the name belongs to another owner, WrongState if the bot is retired, and
    LimitReached if the owner has too many bots or versions. For the server's own bots, `limits` is None: then neither
    the limits nor names that look alike are checked.
    """
    check_name("bot", name)
    version = check_name("version", version or FIRST_VERSION)
    same_name = select(bots.c.id, bots.c.owner_id, bots.c.retired_at).where(bots.c.name == name)
    bot = connection.execute(same_name).one_or_none()
    if bot is None:
        check_prefix(connection, name, owner_id)
        if limits is not None:
            check_look_alikes(connection, name, owner_id)
            limits.check("bots", "bots of yours", _count(connection, select(bots).where(bots.c.owner_id == owner_id)))
        row = {"name": name, "owner_id": owner_id, "created_at": now_ms}
        bot_id = connection.execute(insert(bots).returning(bots.c.id), row).scalar_one()
        reserve_name(connection, name, owner_id)
    elif bot.owner_id != owner_id:
        raise PermissionDenied(bot_name(name), hint="Choose another name for your bot.")
    else:
        require_in_service(name, bot.retired_at)
        bot_id = bot.id
    version_id = _version_key(connection, bot_id, version)
    if version_id is None:
        if limits is not None:
            so_far = _count(connection, select(bot_versions.c.id).join(bots).where(bots.c.owner_id == owner_id))
            limits.check("versions", "versions of your bots", so_far)
        row = {"bot_id": bot_id, "version": version, "created_at": now_ms}
        version_id = int(connection.execute(insert(bot_versions).returning(bot_versions.c.id), row).scalar_one())
    return BotVersion(version_id, bot_id, owner_id, name, version)


def register_bot(
    connection: Connection,
    *,
    owner_id: int,
    name: str,
    version: str = "",
    open_to_organisers: bool | None = None,
    open_to_tests: bool | None = None,
    now_ms: int,
    limits: Limits | None = None,
) -> Bot:
    """Register a bot as `log_in` does, and return it. Without `version`, a known bot gets no new version.

    `open_to_organisers` says whether organisers can enter it in their tournaments, and `open_to_tests` whether others
    can test their bots against it (None: unchanged). Raises the errors of `log_in`.
    """
    bot = connection.execute(select_bots().where(bots.c.name == name)).one_or_none()
    if bot is None or version:
        log_in(connection, owner_id=owner_id, name=name, version=version, now_ms=now_ms, limits=limits)
    else:
        log_in_again(connection, owner_id=owner_id, name=name, version=get_bot(connection, name).latest_version)
    this = update(bots).where(bots.c.name == name)
    if open_to_organisers is not None:
        connection.execute(this.values(open_to_organisers=open_to_organisers))
    if open_to_tests is not None:
        connection.execute(this.values(open_to_tests=open_to_tests))
    return get_bot(connection, name)


def check_prefix(connection: Connection, name: str, owner_id: int) -> None:
    """Raise PermissionDenied if a bot's name is reserved for another owner.

    The server reserves `site-...` and `house-...`, and names that look like these, for its own bots. It reserves for
    each owner names like `OWNER-person` and `OWNER-guest-1`, which the programs of Noughts choose. Names that begin
    with the login of a course's student are reserved for that student. If several logins match, the longest counts.
    """
    match = _CHOSEN_NAMES.fullmatch(name)
    first_word, *rest = _WORDS.split(name, maxsplit=1)
    reserved = {owner for owner in (SITE_OWNER, HOUSE_OWNER) if rest and skeleton(first_word) == skeleton(owner)}
    reserved |= {match["owner"].lower()} if match else set()
    if reserved:
        own = connection.scalar(select(owners.c.name).where(owners.c.id == owner_id)) or ""
        others = reserved - {own.lower()}
        other_owners = select(owners.c.id).where(func.lower(owners.c.name).in_(others - {SITE_OWNER, HOUSE_OWNER}))
        if others & {SITE_OWNER, HOUSE_OWNER} or connection.execute(other_owners.limit(1)).first():
            raise PermissionDenied(bot_name(name), hint=f"It is reserved for {min(others)}. Choose another name.")
    ends = [place for place in range(1, len(name) + 1) if name[place : place + 1] in ("", "-", "_", ".")]
    starts = [name[:end].lower() for end in ends]
    students = select(owners.c.id, owners.c.name).join(tokens).where(tokens.c.label == COURSE_LABEL)
    rows = connection.execute(students.where(func.lower(owners.c.name).in_(starts))).all()
    if rows and max(rows, key=lambda row: len(row.name)).id != owner_id:
        raise PermissionDenied(bot_name(name), hint="Begin its name with your own login, not another student's.")


def check_look_alikes(connection: Connection, name: str, owner_id: int) -> None:
    """Raise PermissionDenied if a new name looks like a past or present name of another owner's bot or a reference bot.

    A reference bot's exact name is free: anyone who runs that bot can register it.
    """
    same = select(bot_names.c.name).where(bot_names.c.skeleton == skeleton(name), bot_names.c.owner_id != owner_id)
    alike = (other for other in connection.scalars(same.order_by(bot_names.c.name)).all() if look_alike(other, name))
    other = next(alike, "") or imitated_reference(name)
    if other:
        raise PermissionDenied(bot_name(name), hint=f"It looks like {other}. Choose another name for your bot.")


def reserve_name(connection: Connection, name: str, owner_id: int, renamed_at: int | None = None) -> None:
    """Reserve a bot's name for an owner. `renamed_at` is when a bot was given it instead of another name."""
    row = (name, skeleton(name), owner_id, renamed_at)
    upsert(connection, bot_names, [row], replace=("owner_id", "renamed_at"))


def log_in_again(connection: Connection, *, owner_id: int, name: str, version: str = "") -> BotVersion:
    """Log in a known version as `log_in` does; write nothing. Raises NotFound, PermissionDenied, WrongState."""
    version_row = get_version(connection, name, version or FIRST_VERSION)
    if version_row.owner_id != owner_id:
        raise PermissionDenied(bot_name(name), hint="Choose another name for your bot.")
    require_in_service(name, version_row.retired_at)
    return version_row


def get_bot(connection: Connection, name: str) -> Bot:
    """Return the bot `name`. Raises NotFound."""
    row = connection.execute(select_bots().where(bots.c.name == name)).one_or_none()
    if row is None:
        raise NotFound(bot_name(name), hint=_UNKNOWN_BOT, agent_hint=_UNKNOWN_BOT_FOR_AGENTS)
    return read_bot(row)


def get_version(connection: Connection, name: str, version: str = "") -> BotVersion:
    """Return a version of a bot; empty means the newest. Raises NotFound."""
    bot = get_bot(connection, name)
    version = version or bot.latest_version
    key = _version_key(connection, bot.id, version)
    if key is None:
        raise NotFound(bot_name(name, version), hint=f"Choose an existing version; the newest is {bot.latest_version}.")
    return BotVersion(
        id=key,
        bot_id=bot.id,
        owner_id=bot.owner_id,
        bot=name,
        version=version,
        retired_at=bot.retired_at,
        open_to_organisers=bot.open_to_organisers,
        open_to_tests=bot.open_to_tests,
    )


def get_version_by_id(connection: Connection, key: int) -> BotVersion:
    statement = select(bot_versions, bots.c.owner_id, bots.c.name, bots.c.retired_at).join(bots)
    row = connection.execute(statement.where(bot_versions.c.id == key)).one()
    return BotVersion(
        id=row.id,
        bot_id=row.bot_id,
        owner_id=row.owner_id,
        bot=row.name,
        version=row.version,
        retired_at=row.retired_at,
    )


def require_in_service(name: str, retired_at: int | None) -> None:
    """Raise WrongState if the bot is retired."""
    if retired_at is not None:
        hint = f"Its owner can reactivate it: noughts bot retire {name} --undo"
        raise WrongState(bot_name(name), got="retired", expected="an active bot", hint=hint)


def rename_bot(
    connection: Connection,
    name: str,
    new_name: str,
    *,
    now_ms: int,
    owner_id: int | None = None,
    limits: Limits | None = None,
) -> Bot:
    """Rename a bot (with `owner_id`, only of this owner). Its old name stays reserved for its owner.

    If `limits` is None, neither the limits nor names that look alike are checked.

    Raises NotFound, PermissionDenied, InvalidArgument, AlreadyExists, LimitReached.
    """
    bot = _owned(connection, name, owner_id)
    check_name("new_name", new_name)
    check_prefix(connection, new_name, bot.owner_id)
    if new_name != name and connection.execute(select(bots.c.id).where(bots.c.name == new_name)).first():
        raise AlreadyExists(bot_name(new_name))
    if limits is not None:
        check_look_alikes(connection, new_name, bot.owner_id)
        recent = (bot_names.c.owner_id == bot.owner_id, bot_names.c.renamed_at > now_ms - _DAY_MS)
        so_far = _count(connection, select(bot_names.c.name).where(*recent))
        limits.check("renames", "renames of your bots in a day", so_far)
    connection.execute(update(bots).where(bots.c.id == bot.id).values(name=new_name))
    reserve_name(connection, new_name, bot.owner_id, now_ms)
    return get_bot(connection, new_name)


def retire_bot(
    connection: Connection, name: str, *, undo: bool = False, now_ms: int, owner_id: int | None = None
) -> Bot:
    """Retire a bot, or with `undo` make it active again. With `owner_id`, the bot must belong to this owner.

    Repeating a call has no effect. Retiring also withdraws the bot from open tournaments, which would wait for it.
    Raises NotFound, PermissionDenied.
    """
    bot = _owned(connection, name, owner_id)
    if undo != (bot.retired_at is None):
        connection.execute(update(bots).where(bots.c.id == bot.id).values(retired_at=None if undo else now_ms))
    if not undo:
        not_started = select(tournaments.c.id).where(tournaments.c.state == TournamentState.OPEN)
        this = (entries.c.bot_id == bot.id, entries.c.tournament_id.in_(not_started))
        connection.execute(delete(entries).where(*this))
    return get_bot(connection, name)


def describe_bot(
    connection: Connection,
    name: str,
    *,
    description: str | None = None,
    link: str | None = None,
    owner_id: int | None = None,
) -> Bot:
    """Change what a bot's page says about it (None: unchanged). With `owner_id`, the bot must belong to this owner.

    Raises NotFound, PermissionDenied, InvalidArgument.
    """
    bot = _owned(connection, name, owner_id)
    this = update(bots).where(bots.c.id == bot.id)
    if description is not None:
        text = check_text("description", description.strip(), _LONGEST_DESCRIPTION)
        connection.execute(this.values(description=text))
    if link is not None:
        connection.execute(this.values(link=_checked_link(link.strip())))
    return get_bot(connection, name)


def _checked_link(link: str) -> str:
    """Return the address of a page, which can be empty. Raises InvalidArgument."""
    check_text("link", link, _LONGEST_LINK)
    if not link:
        return ""
    expected = "an address such as https://example.org/mybot"
    try:
        parts = urlsplit(link)
        is_page = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username
    except ValueError:
        is_page = False
    if not is_page or re.search(r"[\s\"<>\\]", link):
        raise InvalidArgument.of("link", link, expected)
    return link


def _owned(connection: Connection, name: str, owner_id: int | None) -> Bot:
    bot = get_bot(connection, name)
    if owner_id not in (None, bot.owner_id):
        raise PermissionDenied(bot_name(name))
    return bot


def list_versions(connection: Connection, bot_id: int, *, most: int) -> list[Version]:
    """Return up to `most` versions of a bot, newest first."""
    newest = select(bot_versions).where(bot_versions.c.bot_id == bot_id).order_by(bot_versions.c.id.desc())
    return list(connection.execute(newest.limit(most)))


def _version_key(connection: Connection, bot_id: int, version: str) -> int | None:
    key: int | None = connection.execute(
        select(bot_versions.c.id).where(bot_versions.c.bot_id == bot_id, bot_versions.c.version == version)
    ).scalar()
    return key


def _count(connection: Connection, rows: Select[Any]) -> int:
    return int(connection.execute(select(func.count()).select_from(rows.subquery())).scalar_one())


def read_bot(row: Row[Any]) -> Bot:
    """Return the bot in a row of `select_bots`."""
    return Bot(
        id=row.id,
        name=row.name,
        owner_id=row.owner_id,
        owner=row.owner,
        latest_version=row.version,
        created_at=row.created_at,
        retired_at=row.retired_at,
        open_to_organisers=row.open_to_organisers,
        open_to_tests=row.open_to_tests,
        description=row.description,
        link=row.link,
    )


def select_bots() -> Select[Any]:
    """Select bots with their owners and newest versions, for `read_bot`."""
    columns = (bots.c.id, bots.c.name, bots.c.owner_id, owners.c.name.label("owner"), bot_versions.c.version)
    consents = bots.c.open_to_organisers, bots.c.open_to_tests
    texts = bots.c.description, bots.c.link
    statement = select(*columns, bots.c.created_at, bots.c.retired_at, *consents, *texts).join(
        owners, owners.c.id == bots.c.owner_id
    )
    return statement.join(bot_versions, bot_versions.c.id == _NEWEST)
