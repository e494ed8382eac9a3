"""Tests: unrated matches of two bot versions that start at once, listed in the order of a queue."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection, case, exists, func, select

from noughts_server.core.errors import AlreadyExists, NotFound
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import bot_name, test_name
from noughts_server.store.engine.pages import Page, read_page
from noughts_server.store.engine.schema import Kind, TournamentState, bot_versions, bots, entries, tournaments
from noughts_server.store.people.bots import BotVersion
from noughts_server.store.tournaments.entries import Entry, join_tournament
from noughts_server.store.tournaments.join_window import LATEST
from noughts_server.store.tournaments.tournaments import (
    NewTournament,
    Tournament,
    create_tournament,
    get_tournament,
    matching_tournaments,
    read_row,
    start_tournament,
)

_LONGEST_LABEL = 63
"""The longest label of an entry."""
_PART = 25
"""Characters of a version in an ID that the server chooses."""
_RUNNING = tournaments.c.state == TournamentState.RUNNING
_PRIORITY = func.coalesce(tournaments.c.options["priority"].as_integer(), 0)
_ACROSS_OWNERS = func.coalesce(tournaments.c.options["across_owners"].as_boolean(), False)
_QUEUE = (
    case((_RUNNING, case((_ACROSS_OWNERS, -_PRIORITY), else_=0)), else_=1).label("urgency"),
    case((_RUNNING, tournaments.c.owner_id), else_=0).label("by_owner"),
    case((_RUNNING, -_PRIORITY), else_=func.coalesce(-tournaments.c.ended_at, -LATEST)).label("priority"),
    case((_RUNNING, tournaments.c.id), else_=-tournaments.c.id).label("age"),
)
_UNKNOWN = "`noughts test list` shows the tests."
_UNKNOWN_FOR_AGENTS = "`list_tests` shows the tests."


@dataclass(frozen=True, slots=True)
class NewTest:
    """The owner's settings of a test. If the ID of `match` is empty, the server chooses one."""

    match: NewTournament
    new: BotVersion
    base: BotVersion


def create_test(connection: Connection, test: NewTest, *, owner_id: int, now_ms: int, limits: Limits) -> Tournament:
    """Create a test that was checked, and start it. Raises AlreadyExists, LimitReached, WrongState (a retired bot)."""
    versions = test.new, test.base
    if test.base.owner_id != owner_id:
        _check_guest(connection, test.base, owner_id, limits)
    match = replace(test.match, slug=test.match.slug or _free_slug(connection, versions), kind=Kind.TEST)
    create_tournament(connection, match, owner_id=owner_id, now_ms=now_ms, limits=limits)
    for bot_version in versions:
        join = partial(join_tournament, connection, match.slug, bot=bot_version.bot, version=bot_version.version)
        try:
            version_label = f"{bot_version.bot}-{bot_version.version}"[-_LONGEST_LABEL:].lstrip("-_.:=,#+")
            join(label=version_label if test.new.bot_id == test.base.bot_id else "")
        except AlreadyExists:  # another owner has a bot with this name
            join()
    return start_tournament(connection, match.slug, now_ms=now_ms)


def get_test(connection: Connection, slug: str) -> Tournament:
    """Return the tournament of `tests/SLUG`. Raises NotFound."""
    try:
        tournament = get_tournament(connection, slug)
    except NotFound as error:
        raise NotFound(test_name(slug), hint=_UNKNOWN, agent_hint=_UNKNOWN_FOR_AGENTS) from error
    if tournament.kind is not Kind.TEST:
        raise NotFound(test_name(slug), hint=_UNKNOWN, agent_hint=_UNKNOWN_FOR_AGENTS)
    return tournament


def list_tests(
    connection: Connection, *, size: int = 0, page_token: str = "", owner: str = "", search: str = "", state: int = 0
) -> Page[Tournament]:
    """Return a page of tests: running tests first, then stopped ones, then ended ones with the newest first.

    Running tests with a priority across owners come first. The other running tests are grouped by owner, and sorted by
    priority and age.

    Raises InvalidArgument (size, token, search).
    """
    statement = matching_tournaments(Kind.TEST, owner=owner, search=search, state=state).add_columns(*_QUEUE)
    return read_page(connection, statement, read_row, "tests", _QUEUE, size=size, page_token=page_token)


def tested_versions(connection: Connection, tournament_ids: Iterable[int]) -> dict[int, list[Entry]]:
    """Return the new version and the base of tests, by key of their tournaments."""
    tested: defaultdict[int, list[Entry]] = defaultdict(list)
    columns = entries.c.tournament_id, entries.c.label, bots.c.name, bot_versions.c.version
    statement = select(*columns).select_from(entries).join(bot_versions).join(bots)
    ordered = statement.where(entries.c.tournament_id.in_(list(tournament_ids))).order_by(entries.c.number)
    for key, label, bot, version in connection.execute(ordered):
        tested[key].append(Entry(label, bot_name(bot, version)))
    return tested


def _check_guest(connection: Connection, base: BotVersion, owner_id: int, limits: Limits) -> None:
    """Raise LimitReached if a bot is the base of too many running or stopped tests of other owners."""
    # A stopped test can be resumed at any time. `+ 0`, because SQLite would read all tests by the index of kinds.
    open_tests = tournaments.c.state.in_((TournamentState.RUNNING, TournamentState.PAUSED))
    by_others = (tournaments.c.kind + 0 == int(Kind.TEST), open_tests, tournaments.c.owner_id != base.owner_id)
    playing = exists().where(entries.c.bot_id == base.bot_id, entries.c.tournament_id == tournaments.c.id)
    counted = select(func.count()).select_from(tournaments).where(*by_others, playing)
    so_far = connection.execute(counted).scalar_one()
    limits.check("bot_challenges", f"running and stopped tests of others against {bot_name(base.bot)}", so_far)


def _free_slug(connection: Connection, versions: Iterable[BotVersion]) -> str:
    """Return an ID that names both versions, with a number if it is taken."""
    parts = [re.sub("[^a-z0-9]+", "-", f"{each.bot}-{each.version}".lower())[-_PART:].strip("-") for each in versions]
    stem = "-vs-".join(parts)

    def slug(number: int) -> str:
        return stem if number == 1 else f"{stem}-{number}"

    def is_taken(number: int) -> bool:
        return connection.scalar(select(exists().where(tournaments.c.slug == slug(number)))) is True

    # There can be thousands of tests of the same versions, so bisection needs only a few lookups.
    used, unused = 0, 1
    while is_taken(unused):
        used, unused = unused, 2 * unused
    while unused - used > 1:
        middle = (used + unused) // 2
        if is_taken(middle):
            used = middle
        else:
            unused = middle
    return slug(unused)
