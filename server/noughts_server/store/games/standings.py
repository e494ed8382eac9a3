"""Standings and crosstables of tournaments."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, and_, func, select

from noughts_server.core.resource_names import bot_name
from noughts_server.store.engine.pages import read_page_token, write_page_token
from noughts_server.store.engine.schema import (
    bot_versions,
    bots,
    byes,
    entries,
    entries_with_bots,
    entry_scores,
    pair_scores,
    ratings,
)
from noughts_server.store.games.games import count_faults
from noughts_server.store.games.tie_breaks import TieBreakSums, tie_breaks
from noughts_server.store.ratings.rater import list_key
from noughts_server.store.tournaments.brackets import listed_matches, listed_rounds, matches_won
from noughts_server.store.tournaments.tournaments import Tournament
from noughts_server.store.validation import check_number
from noughts_server.tables.pairings import MatchRow
from noughts_server.tables.standings import Standing, rank_entries

_CELLS_A_PAGE = 65_536
"""Cells in a message, so that it stays below the limit of its size."""
_MOST_AT_TOP = 1_000


class CrosstableCell(NamedTuple):
    """The games in which `first` moved first against `second`, from the first mover's point of view."""

    first: str
    """Labels of the entries."""
    second: str
    wins: int
    draws: int
    losses: int


class CrosstablePage(NamedTuple):
    """Each entry's score against each other entry, or a page of it."""

    standings: list[Standing]
    """In order of rank; empty after the first page."""
    cells: list[CrosstableCell]
    """Every ordered pair of entries that has a game, in order of the entries' numbers."""
    next_page_token: str
    matches: Sequence[MatchRow] = ()
    """The matches of a knockout, round by round; empty after the first page."""
    pairings: Sequence[MatchRow] = ()
    """The newest pairings of a Swiss or Danish tournament, round by round; empty after the first page."""


def standings(connection: Connection, tournament: Tournament) -> list[Standing]:
    """Return the standings in the order of `tables.standings`; before the start unranked, in the order of joining."""
    settings, score = tournament.settings, entry_scores.c
    list_id = list_key(connection, settings.variant, settings.time.time_class)
    of_entry = and_(score.tournament_id == entries.c.tournament_id, score.entry == entries.c.number)
    rows = connection.execute(
        select(
            entries,
            bots.c.name,
            bot_versions.c.version,
            ratings.c.rating,
            *(func.coalesce(score[name], 0).label(name) for name in ("wins", "draws", "losses")),
        )
        .select_from(entries_with_bots)
        .outerjoin(entry_scores, of_entry)
        .outerjoin(ratings, and_(ratings.c.list_id == list_id, ratings.c.bot_id == bots.c.id))
        .where(entries.c.tournament_id == tournament.id)
        .order_by(entries.c.number)
    )
    byes_of = _byes(connection, tournament)
    faults_of = count_faults(connection, tournament.id)
    table = [_standing(row, tournament, byes_of.get(row.number, 0), faults_of.get(row.number, 0)) for row in rows]
    return _ranked(connection, tournament, table) if tournament.started_at is not None else table


def _ranked(connection: Connection, tournament: Tournament, table: Sequence[Standing]) -> list[Standing]:
    sums = tie_breaks(connection, tournament, {row.number: row.points for row in table})
    won = matches_won(connection, tournament)
    rows = {row.label: row for row in table}
    ranked_entries = (
        replace(
            row.entry,
            head_to_head=sums_of_entry.head_to_head,
            sonneborn_berger=sums_of_entry.sonneborn_berger,
            matches_won=won.get(row.number, 0),
        )
        for row, sums_of_entry in ((row, sums.get(row.number, TieBreakSums())) for row in table)
    )
    ordered = rank_entries(ranked_entries, bracket=tournament.settings.schedule.places_by_bracket)
    ranked_rows = (rows[entry.label].with_place(entry) for entry in ordered)
    return [replace(row, buchholz=sums.get(row.number, TieBreakSums()).buchholz) for row in ranked_rows]


def _byes(connection: Connection, tournament: Tournament) -> dict[int, int]:
    """Return the number of byes of each entry that had one, if byes win points."""
    if not tournament.settings.schedule.by_points:
        return {}
    rows = connection.execute(
        select(byes.c.entry, func.count().label("byes"))
        .where(byes.c.tournament_id == tournament.id)
        .group_by(byes.c.entry)
    )
    return {row.entry: row.byes for row in rows}


def crosstable(connection: Connection, tournament: Tournament, *, page_token: str = "", top: int = 0) -> CrosstablePage:
    """Return each entry's score against each other entry, in pages of about 65,000 cells.

    With `top`, return one page with the cells among that many leading entries. Raises InvalidArgument for a bad page
    token or a `top` that is too large.
    """
    check_number("top", top, 0, _MOST_AT_TOP)
    method = f"{tournament.name}/crosstable"
    after = int((read_page_token(method, page_token, [0]) or [-1])[0])
    table = standings(connection, tournament)
    labels = {standing.number: standing.label for standing in table}
    numbers = sorted(number for number in labels if number > after)
    first, second = pair_scores.c.first_entry, pair_scores.c.second_entry
    if top:
        page = numbers
        at_top = [standing.number for standing in table[:top]]
        condition = and_(first.in_(at_top), second.in_(at_top))
    else:
        page = numbers[: max(1, _CELLS_A_PAGE // max(1, len(labels)))]
        condition = and_(first > after, first <= max(page, default=-1))
    of_tournament = pair_scores.c.tournament_id == tournament.id
    rows = connection.execute(select(pair_scores).where(of_tournament, condition).order_by(first, second))
    cells = [
        CrosstableCell(labels[row.first_entry], labels[row.second_entry], row.wins, row.draws, row.losses)
        for row in rows
    ]
    next_page_token = write_page_token(method, [page[-1]]) if len(page) < len(numbers) else ""
    if page_token:
        return CrosstablePage([], cells, next_page_token)
    matches = tuple(listed_matches(connection, tournament, labels))
    rounds = tuple(listed_rounds(connection, tournament, labels))
    return CrosstablePage(table, cells, next_page_token, matches, rounds)


def whole_crosstable(connection: Connection, tournament: Tournament) -> CrosstablePage:
    """Return all pages of the crosstable as one."""
    whole = crosstable(connection, tournament)
    page = whole
    while page.next_page_token:
        page = crosstable(connection, tournament, page_token=page.next_page_token)
        whole.cells.extend(page.cells)
    return whole._replace(next_page_token="")


def _standing(row: Row[Any], tournament: Tournament, byes_had: int, faults: int) -> Standing:
    return Standing(
        label=row.label,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        rating=row.rating if tournament.settings.rated else None,
        byes=byes_had,
        bye_points=float(byes_had * tournament.settings.games_per_pair),
        withdrawn_at=row.withdrawn_at,
        withdrawn_reason=row.withdrawn_reason or "",
        faults=faults,
        bot_version=bot_name(row.name, row.version),
        number=row.number,
        bot_id=row.bot_id,
        bot_version_id=row.bot_version_id,
    )
