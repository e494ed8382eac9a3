"""Entries of tournaments."""

from itertools import count
from typing import NamedTuple

from sqlalchemy import Connection, Row, and_, delete, exists, func, insert, select

from noughts_proto.child_kinds import child_kind
from noughts_server.competition.conflict_of_interest import can_withdraw
from noughts_server.competition.formats.tournament_format import LateEntries
from noughts_server.core.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    TooManyEntries,
    WrongState,
)
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import bot_name, entry_name, tournament_name
from noughts_server.store.engine.schema import (
    Kind,
    TournamentState,
    bot_names,
    bot_versions,
    bots,
    entries,
    tournaments,
)
from noughts_server.store.people.bots import BotVersion, get_version, require_in_service
from noughts_server.store.people.confusable_names import look_alike, skeleton
from noughts_server.store.people.submissions import submissions_of
from noughts_server.store.tournaments.extensions import add_late_entry
from noughts_server.store.tournaments.tournaments import (
    Tournament,
    check_size,
    get_tournament,
    organiser_has_conflict,
    require_state,
)
from noughts_server.store.tournaments.withdrawals import Withdrawal, withdraw
from noughts_server.store.validation import check_name

_MOST_WAITED_FOR = 20
"""Limit of the tournaments that a message names."""
_LATE = {
    LateEntries.NEVER: (),
    LateEntries.WHILE_PAUSED: (TournamentState.PAUSED,),
    LateEntries.ALWAYS: (TournamentState.PAUSED, TournamentState.RUNNING),
}
_EXTEND = "`noughts tournament extend {}` opens it again: then bots can join, and `start` resumes it."
_EXTEND_FOR_AGENTS = "`extend_tournament` opens it again: then bots can join, and `start_tournament` resumes it."
_CONSENT = (
    "Its owner can enter it, or let organisers enter it: `noughts bot register {bot} --open-to-organisers`. After that,"
    " the organiser of a tournament can join it."
)
_WINS_OF_ORGANISER = (
    "The tournament is rated and bots of yours play in it, so they would get rated wins that nobody played. The owner"
    " of the entry or an admin can withdraw it."
)
_SHOW = "`noughts tournament show {}` lists the entries."
_SHOW_FOR_AGENTS = "`get_tournament` lists the entries."


class Entry(NamedTuple):
    """A bot version that takes part under a label."""

    label: str
    bot_version: str
    """`bots/NAME/versions/V`."""


def join_tournament(
    connection: Connection,
    slug: str,
    *,
    bot: str,
    version: str = "",
    label: str = "",
    owner_id: int | None = None,
    now_ms: int | None = None,
    limits: Limits | None = None,
    online: bool = True,
) -> Entry:
    """Enter a version of a bot (default: the newest) under a label (default: its name, or `NAME#2` if that is taken).

    With `owner_id`, the bot must belong to this owner, or the tournament must belong to this owner and the bot be open
    to organisers. With `now_ms`, the join window must be open. A ladder pairs the entry when it is `online`.

    Raises NotFound, PermissionDenied, WrongState (also if the bot is retired), InvalidArgument, AlreadyExists (the
    label, or this version of the bot), TooManyEntries, ResourceExhausted (too many games), LimitReached (too many bots
    of one owner in a tournament of another; `limits` None: unlimited).
    """
    tournament = get_tournament(connection, slug)
    bot_version = get_version(connection, bot, version)
    is_invited = bot_version.open_to_organisers and owner_id == tournament.owner_id
    if owner_id not in (None, bot_version.owner_id) and not is_invited:
        raise PermissionDenied(bot_name(bot), hint=_CONSENT.format(bot=bot))
    require_in_service(bot_version.bot, bot_version.retired_at)
    for submission in submissions_of(connection, [bot_version.id]) if tournament.settings.fuel else ():
        if not child_kind(submission.kind).takes_fuel:
            hint = "Their moves depend on the machine. Enter WebAssembly modules and reference bots."
            raise InvalidArgument.of("bot", submission.resource, "a bot whose moves fuel can limit", hint=hint)
    is_late = tournament.state is not TournamentState.OPEN
    late_states = _LATE[tournament.settings.schedule.late_entries]
    is_finished = tournament.state is TournamentState.FINISHED
    can_extend = late_states and is_finished
    require_state(
        tournament,
        TournamentState.OPEN,
        *late_states,
        hint=_EXTEND.format(slug) if can_extend else "",
        agent_hint=_EXTEND_FOR_AGENTS if can_extend else "",
    )
    if now_ms is not None and not is_late:
        why_closed = tournament.joining.why_closed(now_ms)
        if why_closed:
            expected = f"the join window ({tournament.joining})"
            raise WrongState(tournament.name, got=why_closed, expected=expected)
    numbers = select(func.count(), func.max(entries.c.number))
    entry_count, last = connection.execute(numbers.where(entries.c.tournament_id == tournament.id)).one()
    if entry_count >= tournament.joining.entries_max:
        raise TooManyEntries(tournament.name, got=entry_count + 1, limit=tournament.joining.entries_max)
    check_size(tournament, entry_count + 1)
    if limits is not None and owner_id == bot_version.owner_id != tournament.owner_id:
        _check_share(connection, tournament, bot_version.owner_id, limits)
    number = 0 if last is None else last + 1
    label = _label(connection, tournament, label, bot_version)
    row = {
        "tournament_id": tournament.id,
        "number": number,
        "bot_version_id": bot_version.id,
        "bot_id": bot_version.bot_id,
        "label": label,
        "absent": tournament.settings.schedule.endless and not online,
    }
    _check_not_entered(connection, tournament, bot_version)
    connection.execute(insert(entries), row)
    if is_late:
        add_late_entry(connection, tournament, number)
    return Entry(label, bot_version.resource)


class EntryOwners(NamedTuple):
    """The bot of an entry, its owner, and the tournament's owner."""

    bot: str
    owner_id: int
    organiser_id: int


def entry_owners(connection: Connection, slug: str, label: str) -> EntryOwners:
    """Return the owners of the entry with this label. Raises NotFound."""
    tournament = get_tournament(connection, slug)
    entry = _entry(connection, tournament, label)
    return EntryOwners(entry.name, entry.owner_id, tournament.owner_id)


def _entry(connection: Connection, tournament: Tournament, label: str) -> Row[int, str, int]:
    """Return the entry's number, and the name and the owner of its bot. Raises NotFound."""
    columns = (entries.c.number, bots.c.name, bots.c.owner_id)
    statement = select(*columns).select_from(entries).join(bot_versions).join(bots)
    this = (entries.c.tournament_id == tournament.id, entries.c.label == label)
    row = connection.execute(statement.where(*this)).one_or_none()
    if row is None:
        raise NotFound(
            entry_name(tournament.name, label), hint=_SHOW.format(tournament.slug), agent_hint=_SHOW_FOR_AGENTS
        )
    return row


def withdraw_entry(
    connection: Connection, slug: str, label: str, *, now_ms: int, owner_id: int | None = None, reason: str = ""
) -> list[Withdrawal]:
    """Withdraw an entry, also after the join window.

    Its owner and the tournament's owner are allowed to, the latter unless it has a conflict of interest. Before the
    start, the entry is deleted. After it, the entry loses its remaining games. Return the withdrawals to report to the
    referee. Raises NotFound, PermissionDenied, WrongState.
    """
    tournament = get_tournament(connection, slug)
    entry = _entry(connection, tournament, label)
    is_organiser = owner_id == tournament.owner_id
    is_allowed = can_withdraw(
        is_admin=owner_id is None,
        owns_bot=owner_id == entry.owner_id,
        is_organiser=is_organiser,
        has_conflict=organiser_has_conflict(connection, tournament),
    )
    if not is_allowed:
        raise PermissionDenied(entry_name(tournament.name, label), hint=_WINS_OF_ORGANISER if is_organiser else "")
    require_state(tournament, TournamentState.OPEN, TournamentState.RUNNING, TournamentState.PAUSED)
    if tournament.state is TournamentState.OPEN:
        this = and_(entries.c.tournament_id == tournament.id, entries.c.number == entry.number)
        connection.execute(delete(entries).where(this))
        return []
    return withdraw(connection, tournament.id, [entry.number], reason, now_ms=now_ms)


def entered_by(connection: Connection, bot_id: int) -> list[str]:
    """Return the newest 20 unfinished tournaments (`tournaments/ID`) that a version of this bot has entered."""
    statement = (
        select(tournaments.c.slug)
        .join(entries, entries.c.tournament_id == tournaments.c.id)
        .where(
            entries.c.bot_id == bot_id,
            entries.c.withdrawn_at.is_(None),
            tournaments.c.kind == Kind.ORGANISED,
            tournaments.c.state.in_((TournamentState.OPEN, TournamentState.RUNNING, TournamentState.PAUSED)),
        )
        .distinct()
        .order_by(tournaments.c.id.desc())
        .limit(_MOST_WAITED_FOR)
    )
    return [tournament_name(row.slug) for row in connection.execute(statement.add_columns(tournaments.c.id))]


def pinned_elsewhere(connection: Connection, bot_version_id: int) -> list[str]:
    """Return the newest 20 unfinished tournaments (`tournaments/ID`) that have this bot only in other versions."""
    bot_id = select(bot_versions.c.bot_id).where(bot_versions.c.id == bot_version_id).scalar_subquery()
    of_bot = exists().where(entries.c.bot_id == bot_id, entries.c.tournament_id == tournaments.c.id)
    statement = (
        select(tournaments.c.slug)
        .where(
            # The index of states finds the few unfinished tournaments. A bot can have any number of finished ones.
            tournaments.c.state.in_((TournamentState.OPEN, TournamentState.RUNNING, TournamentState.PAUSED)),
            of_bot,
            ~of_bot.where(entries.c.bot_version_id == bot_version_id),
        )
        .order_by(tournaments.c.id.desc())
        .limit(_MOST_WAITED_FOR)
    )
    return [tournament_name(row.slug) for row in connection.execute(statement)]


def _check_share(connection: Connection, tournament: Tournament, owner_id: int, limits: Limits) -> None:
    """Raise LimitReached if an owner has its maximum of entries in a tournament of another owner."""
    most = min(limits.owner_entries, (tournament.joining.entries_max + 1) // 2)
    statement = select(func.count()).select_from(entries).join(bots, bots.c.id == entries.c.bot_id)
    so_far = connection.execute(statement.where(entries.c.tournament_id == tournament.id, bots.c.owner_id == owner_id))
    subject = f"entries of yours in {tournament.name}"
    limits.with_changes(owner_entries=most).check("owner_entries", subject, so_far.scalar_one())


def _check_not_entered(connection: Connection, tournament: Tournament, bot_version: BotVersion) -> None:
    # A bot version has one session, which cannot play both sides of a game.
    this = (entries.c.tournament_id == tournament.id, entries.c.bot_version_id == bot_version.id)
    label: str | None = connection.execute(select(entries.c.label).where(*this)).scalar()
    if label is not None:
        hint = "Enter another version of the bot, or run it again under another name."
        raise AlreadyExists(f"{entry_name(tournament.name, label)} ({bot_version.resource})", hint=hint)


def _label(connection: Connection, tournament: Tournament, requested: str, bot_version: BotVersion) -> str:
    bot = bot_version.bot
    of_tournament = entries.c.tournament_id == tournament.id
    labels = set(connection.scalars(select(entries.c.label).where(of_tournament)))
    if requested:
        check_name("label", requested)
        if requested in labels:
            raise AlreadyExists(entry_name(tournament.name, requested), hint="Choose another label.")
        of_organiser = bot_version.owner_id == tournament.owner_id
        if not of_organiser and (alike := next((label for label in labels if look_alike(label, requested)), "")):
            raise AlreadyExists(entry_name(tournament.name, alike), hint="Choose a label that looks different.")
        same = bot_names.c.name == requested if of_organiser else bot_names.c.skeleton == skeleton(requested)
        others = select(bot_names.c.name).where(same, bot_names.c.owner_id != bot_version.owner_id)
        if other := next((name for name in connection.scalars(others).all() if look_alike(name, requested)), ""):
            hint = "Choose another label: this is, or looks like, the name of another owner's bot."
            raise AlreadyExists(bot_name(other), hint=hint)
        return requested
    if bot not in labels:
        return bot
    return next(label for number in count(2) if (label := f"{bot}#{number}") not in labels)
