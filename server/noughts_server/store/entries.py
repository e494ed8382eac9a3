"""Who takes part in a tournament, and how they stand."""

from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, and_, delete, exists, func, insert, select

from noughts_server.errors import (
    AlreadyExists,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    TooManyEntries,
    WrongState,
)
from noughts_server.store.bots import BotVersion, get_version, require_in_service, version_name
from noughts_server.store.schema import (
    bot_versions,
    bots,
    entries,
    entry_scores,
    pair_scores,
    rating_lists,
    ratings,
    tournaments,
)
from noughts_server.store.tournaments import (
    Tournament,
    TournamentState,
    check_size,
    get_tournament,
    require_state,
)
from noughts_server.store.validation import check_name

_MOST_CROSSTABLE_ENTRIES = 256
_MOST_WAITED_FOR = 20
_SHOW = "`noughts tournament show {}` lists the entries."


class Entry(NamedTuple):
    """A bot version that takes part under a label."""

    label: str
    bot_version: str
    """`bots/NAME/versions/V`."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One entry's line in the table."""

    number: int
    """The entry's number, by which games name it from the start on."""
    label: str
    bot_id: int
    bot_version_id: int
    bot_version: str
    """`bots/NAME/versions/V`."""
    wins: int
    draws: int
    losses: int
    rating: float | None
    """The bot's rating now; None in unrated tournaments and before its first rated game."""

    @property
    def points(self) -> float:
        """A win counts 1, a draw 1/2."""
        return self.wins + self.draws / 2


class CrosstableCell(NamedTuple):
    """The games in which `first` moved first against `second`, from the first mover's point of view."""

    first: str
    """Labels."""
    second: str
    wins: int
    draws: int
    losses: int


class Crosstable(NamedTuple):
    """Each entry's score against each other."""

    standings: list[Standing]
    """In order of points."""
    cells: list[CrosstableCell]
    """Every ordered pair of entries that has a game, in order of the entries' numbers."""


def join_tournament(
    connection: Connection,
    slug: str,
    *,
    bot: str,
    version: str = "",
    label: str = "",
    owner_id: int | None = None,
    now_ms: int | None = None,
) -> Entry:
    """Enters a bot in a version (empty: the newest) under a label (empty: its name, `NAME#2` where that is taken).

    With `owner_id` only bots of that owner, with `now_ms` only inside the join window. Raises NotFound,
    PermissionDenied, WrongState (also of a retired bot), InvalidArgument, AlreadyExists (the label, or this version
    of the bot), TooManyEntries, ResourceExhausted (too many games).
    """
    tournament = get_tournament(connection, slug)
    entering = get_version(connection, bot, version)
    if owner_id not in (None, entering.owner_id):
        raise PermissionDenied(f"bots/{bot}")
    require_in_service(entering.bot, entering.retired_at)
    require_state(tournament, TournamentState.OPEN)
    if now_ms is not None:
        closed = tournament.joining.closed(now_ms)
        if closed:
            expected = f"the join window ({tournament.joining})"
            raise WrongState(tournament.name, got=closed, expected=expected)
    joined, last = connection.execute(
        select(func.count(), func.max(entries.c.number)).where(entries.c.tournament_id == tournament.id)
    ).one()
    if joined >= tournament.joining.entries_max:
        raise TooManyEntries(tournament.name, got=joined + 1, limit=tournament.joining.entries_max)
    check_size(tournament, joined + 1)
    row = {
        "tournament_id": tournament.id,
        "number": 0 if last is None else last + 1,
        "bot_version_id": entering.id,
        "label": _label(connection, tournament, label, bot),
    }
    _check_absent(connection, tournament, entering)
    connection.execute(insert(entries), row)
    return Entry(str(row["label"]), entering.resource)


class EntryOwners(NamedTuple):
    """Whom an entry concerns: its bot's name and owner, and the tournament's owner."""

    bot: str
    owner_id: int
    organiser_id: int


def entry_owners(connection: Connection, slug: str, label: str) -> EntryOwners:
    """Whose the entry under this label is. Raises NotFound."""
    tournament = get_tournament(connection, slug)
    found = connection.execute(
        select(bots.c.name, bots.c.owner_id)
        .select_from(entries)
        .join(bot_versions)
        .join(bots)
        .where(entries.c.tournament_id == tournament.id, entries.c.label == label)
    ).one_or_none()
    if found is None:
        raise NotFound(f"{tournament.name}/entries/{label}", hint=_SHOW.format(tournament.slug))
    return EntryOwners(found.name, found.owner_id, tournament.owner_id)


def withdraw_entry(connection: Connection, slug: str, label: str, *, owner_id: int | None = None) -> None:
    """Takes an entry out before the start, also after the join window; its owner may, and the tournament's.

    Raises NotFound, PermissionDenied, WrongState.
    """
    tournament = get_tournament(connection, slug)
    this = and_(entries.c.tournament_id == tournament.id, entries.c.label == label)
    owner: int | None = connection.execute(
        select(bots.c.owner_id).select_from(entries).join(bot_versions).join(bots).where(this)
    ).scalar()
    if owner is None:
        raise NotFound(f"{tournament.name}/entries/{label}", hint=_SHOW.format(tournament.slug))
    if owner_id not in (None, owner, tournament.owner_id):
        raise PermissionDenied(f"{tournament.name}/entries/{label}")
    require_state(tournament, TournamentState.OPEN)
    connection.execute(delete(entries).where(this))


def pinned_elsewhere(connection: Connection, bot_version_id: int) -> list[str]:
    """`tournaments/ID` of those that are not over and have an entry of this bot, but only in other versions.

    Newest first, at most 20.
    """
    this, others = bot_versions.alias(), bot_versions.alias()
    own = entries.alias()
    over = (TournamentState.FINISHED, TournamentState.CANCELLED)
    statement = (
        select(tournaments.c.slug, tournaments.c.id)
        .distinct()
        .select_from(this)
        .join(others, and_(others.c.bot_id == this.c.bot_id, others.c.id != this.c.id))
        .join(entries, entries.c.bot_version_id == others.c.id)
        .join(tournaments, tournaments.c.id == entries.c.tournament_id)
        .where(
            this.c.id == bot_version_id,
            tournaments.c.state.not_in(over),
            ~exists().where(own.c.tournament_id == tournaments.c.id, own.c.bot_version_id == bot_version_id),
        )
        .order_by(tournaments.c.id.desc())
        .limit(_MOST_WAITED_FOR)
    )
    return [f"tournaments/{row.slug}" for row in connection.execute(statement)]


def standings(connection: Connection, tournament: Tournament) -> list[Standing]:
    """The table in order of points, then wins, then joining; before the start in order of joining."""
    rows = connection.execute(
        select(
            entries,
            bots.c.id.label("bot_id"),
            bots.c.name,
            bot_versions.c.version,
            ratings.c.rating,
            *(func.coalesce(entry_scores.c[name], 0).label(name) for name in ("wins", "draws", "losses")),
        )
        .select_from(entries)
        .join(bot_versions)
        .join(bots, bots.c.id == bot_versions.c.bot_id)
        .outerjoin(
            entry_scores,
            and_(
                entry_scores.c.tournament_id == entries.c.tournament_id,
                entry_scores.c.entry == entries.c.number,
            ),
        )
        .outerjoin(
            rating_lists,
            and_(
                rating_lists.c.variant == tournament.settings.variant,
                rating_lists.c.time_class == tournament.settings.time.time_class,
            ),
        )
        .outerjoin(ratings, and_(ratings.c.list_id == rating_lists.c.id, ratings.c.bot_id == bots.c.id))
        .where(entries.c.tournament_id == tournament.id)
        .order_by(entries.c.number)
    )
    table = [_standing(row, rated=tournament.settings.rated) for row in rows]
    table.sort(key=lambda standing: (-standing.points, -standing.wins))
    return table


def crosstable(connection: Connection, tournament: Tournament) -> Crosstable:
    """Each entry's score against each other. Raises ResourceExhausted beyond 256 entries."""
    table = standings(connection, tournament)
    if len(table) > _MOST_CROSSTABLE_ENTRIES:
        raise ResourceExhausted(
            f"{tournament.name} crosstable",
            got=len(table),
            limit=_MOST_CROSSTABLE_ENTRIES,
            hint="A crosstable of so many entries cannot be read; ask for the standings.",
        )
    labels = {standing.number: standing.label for standing in table}
    rows = connection.execute(
        select(pair_scores)
        .where(pair_scores.c.tournament_id == tournament.id)
        .order_by(pair_scores.c.first_entry, pair_scores.c.second_entry)
    )
    cells = [
        CrosstableCell(labels[row.first_entry], labels[row.second_entry], row.wins, row.draws, row.losses)
        for row in rows
    ]
    return Crosstable(table, cells)


def _check_absent(connection: Connection, tournament: Tournament, entering: BotVersion) -> None:
    # Its one session cannot play both sides of a game.
    label: str | None = connection.execute(
        select(entries.c.label).where(entries.c.tournament_id == tournament.id, entries.c.bot_version_id == entering.id)
    ).scalar()
    if label is not None:
        hint = "Enter another version of the bot, or run it again under another name."
        raise AlreadyExists(f"{tournament.name}/entries/{label} ({entering.resource})", hint=hint)


def _label(connection: Connection, tournament: Tournament, wanted: str, bot: str) -> str:
    of_tournament = entries.c.tournament_id == tournament.id
    taken = set(connection.scalars(select(entries.c.label).where(of_tournament)))
    if wanted:
        check_name("label", wanted)
        if wanted in taken:
            raise AlreadyExists(f"{tournament.name}/entries/{wanted}", hint="Choose another label.")
        return wanted
    if bot not in taken:
        return bot
    return next(label for number in count(2) if (label := f"{bot}#{number}") not in taken)


def _standing(row: Row[Any], *, rated: bool) -> Standing:
    return Standing(
        number=row.number,
        label=row.label,
        bot_id=row.bot_id,
        bot_version_id=row.bot_version_id,
        bot_version=version_name(row.name, row.version),
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        rating=row.rating if rated else None,
    )
