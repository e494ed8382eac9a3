"""Analyses of games. A game is analysed when a client asks for it the first time, and later only by a new version."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, select, tuple_

from noughts_referee.rules import Result
from noughts_server.core.messages import N_
from noughts_server.store.engine.schema import TournamentState, analyses, games, tournaments
from noughts_server.store.games.games import StoredGame, get_game
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament

_OVER = (TournamentState.FINISHED, TournamentState.CANCELLED)
VERSION = 1
"""Increase this number if analyses get better or their documents change.

Games with an older analysis are then analysed again.
"""
_VERSION = "version"
_FAILURE = "failure"
"""The key of the reason in the document of a game whose analysis failed."""


class GameToAnalyse(NamedTuple):
    """A game that can be analysed."""

    tournament_id: int
    ordinal: int
    variant: str
    moves: tuple[int, ...]
    first_chosen: int
    """The first ply, from 0, that a bot chose."""
    counts: bool
    """Whether the game counts for the players' accuracy."""


class RequestedAnalysis(NamedTuple):
    """The state of a requested analysis: refused, not analysed yet, or analysed."""

    refusal: str = ""
    """The reason for which the game cannot be analysed; else empty."""
    game: GameToAnalyse | None = None
    """The game, unless the analysis is refused."""
    document: Mapping[str, Any] | None = None
    """The analysis; see `tables.game_analysis`."""


def requested_analysis(connection: Connection, slug: str, ordinal: int) -> RequestedAnalysis:
    """Return the analysis of a game, or why there is none. Raises NotFound."""
    tournament = get_tournament(connection, slug)
    stored = get_game(connection, slug, ordinal, comments=False)
    if stored.clocks_us is not None:
        return RequestedAnalysis(N_("the game is not over"))
    # Bots could use an analysis in later games.
    if tournament.state not in _OVER and not tournament.settings.live_analysis:
        if not tournament.settings.schedule.endless:
            return RequestedAnalysis(
                N_("the tournament is not over, and its organiser has not allowed analysis before the end")
            )
        if not _is_pairing_over(connection, tournament, ordinal):
            return RequestedAnalysis(N_("the other games of this pairing are not over"))
    document = _document(connection, tournament.id, ordinal)
    if document is not None and _FAILURE in document:
        return RequestedAnalysis(f"the analysis failed: {document[_FAILURE]}")
    return RequestedAnalysis(game=_game_to_analyse(stored), document=document)


def _is_pairing_over(connection: Connection, tournament: Tournament, ordinal: int) -> bool:
    """Return whether all games of this game's pairing in a ladder are over.

    Later pairings of a ladder are no reason to wait: it has no end, and its bots can analyse their games themselves.
    """
    length = tournament.settings.games_per_pair
    first = (ordinal - 1) // length * length + 1
    of_pairing = games.c.tournament_id == tournament.id, games.c.ordinal.between(first, first + length - 1)
    return connection.execute(select(func.count()).select_from(games).where(*of_pairing)).scalar_one() == length


def _document(connection: Connection, tournament_id: int, ordinal: int) -> Mapping[str, Any] | None:
    """Return the document of a game; None if there is none of this version."""
    document = connection.execute(select(analyses.c.document).where(*_is_game(tournament_id, ordinal))).scalar()
    return document if document is not None and document.get(_VERSION) == VERSION else None


def _is_game(tournament_id: int, ordinal: int) -> tuple[ColumnElement[bool], ...]:
    return analyses.c.tournament_id == tournament_id, analyses.c.ordinal == ordinal


def _game_to_analyse(game: StoredGame) -> GameToAnalyse:
    agreed = 0 if game.agreement is None else min(game.agreement.stones, len(game.moves))
    return GameToAnalyse(
        tournament_id=game.tournament_id,
        ordinal=game.ordinal,
        variant=game.variant,
        moves=tuple(game.moves),
        first_chosen=max(game.opening_plies, agreed),
        counts=game.result != Result.VOID,
    )


def has_analysis(connection: Connection, game: GameToAnalyse) -> bool:
    """Return whether the game was analysed, or its analysis failed."""
    return _document(connection, game.tournament_id, game.ordinal) is not None


def store_analysis(connection: Connection, game: GameToAnalyse, document: Mapping[str, Any]) -> None:
    """Store the analysis of a game, unless the game was dropped meanwhile. Writes."""
    forget_analysis(connection, game)
    this = games.c.tournament_id == game.tournament_id, games.c.ordinal == game.ordinal
    if connection.execute(select(games.c.ordinal).where(*this)).scalar() is None:
        return
    with_version = {_VERSION: VERSION, **document}
    values = {"tournament_id": game.tournament_id, "ordinal": game.ordinal, "document": with_version}
    connection.execute(analyses.insert(), values)


def store_failure(connection: Connection, game: GameToAnalyse, reason: str) -> None:
    """Store why a game cannot be analysed, so that this version does not try it again. Writes."""
    store_analysis(connection, game, {_FAILURE: reason})


def drop_later_analyses(connection: Connection, tournament_id: int, last: int) -> None:
    """Delete the analyses of a tournament's games after this one, which were dropped. Writes."""
    connection.execute(delete(analyses).where(analyses.c.tournament_id == tournament_id, analyses.c.ordinal > last))


def drop_orphans(connection: Connection) -> None:
    """Delete the analyses of games that are not stored. Writes."""
    same = and_(games.c.tournament_id == analyses.c.tournament_id, games.c.ordinal == analyses.c.ordinal)
    connection.execute(delete(analyses).where(~exists().where(same)))


def count_analyses(connection: Connection) -> int:
    """Return the number of stored analyses, with those that failed."""
    return int(connection.execute(select(func.count()).select_from(analyses)).scalar_one())


def next_analysed(connection: Connection, after: tuple[int, int]) -> GameToAnalyse | None:
    """Return the first game after this tournament and number that has a stored analysis; None after the last one."""
    key = tuple_(analyses.c.tournament_id, analyses.c.ordinal)
    rows = connection.execute(
        select(analyses.c.tournament_id, analyses.c.ordinal, tournaments.c.slug)
        .join(tournaments, tournaments.c.id == analyses.c.tournament_id)
        .where(key > after)
        .order_by(analyses.c.tournament_id, analyses.c.ordinal)
        .limit(1)
    ).all()
    return _game_to_analyse(get_game(connection, rows[0].slug, rows[0].ordinal, comments=False)) if rows else None


def forget_analysis(connection: Connection, game: GameToAnalyse) -> None:
    """Delete the analysis of a game, so that the next request has the game analysed. Writes."""
    connection.execute(delete(analyses).where(*_is_game(game.tournament_id, game.ordinal)))
