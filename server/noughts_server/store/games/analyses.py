"""Analyses of games. A game is analysed when a client asks for it the first time, and never again."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select

from noughts_referee.rules import Result
from noughts_server.store.engine.schema import Kind, TournamentState, analyses
from noughts_server.store.games.games import StoredGame, get_game
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament

_OVER = (TournamentState.FINISHED, TournamentState.CANCELLED)
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
    """What the store has for a request: a refusal, a game that is not analysed yet, or an analysis."""

    refusal: str = ""
    """Why there is no analysis; empty if there is one, or can be."""
    game: GameToAnalyse | None = None
    """The game, unless the analysis is refused."""
    document: Mapping[str, Any] | None = None
    """The analysis; see `tables.game_analysis`."""


def requested_analysis(connection: Connection, slug: str, ordinal: int) -> RequestedAnalysis:
    """Return the analysis of a game, or why there is none. Raises NotFound."""
    tournament = get_tournament(connection, slug)
    stored = get_game(connection, slug, ordinal)
    if stored.clocks_us is not None:
        return RequestedAnalysis("the game is not over")
    if not _is_open(tournament):
        return RequestedAnalysis(
            "the tournament is not over, and its organiser has not allowed analysis before the end"
        )
    key = analyses.c.tournament_id == tournament.id, analyses.c.ordinal == ordinal
    document = connection.execute(select(analyses.c.document).where(*key)).scalar()
    if document is not None and _FAILURE in document:
        return RequestedAnalysis(f"the analysis failed: {document[_FAILURE]}")
    return RequestedAnalysis(game=_game_to_analyse(stored), document=document)


def _is_open(tournament: Tournament) -> bool:
    """Return whether games of the tournament can be analysed: bots could use an analysis in its later games."""
    is_over = tournament.kind is Kind.CHALLENGE or tournament.state in _OVER
    return is_over or tournament.settings.live_analysis


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
    key = analyses.c.tournament_id == game.tournament_id, analyses.c.ordinal == game.ordinal
    return connection.execute(select(analyses.c.ordinal).where(*key)).first() is not None


def store_analysis(connection: Connection, game: GameToAnalyse, document: Mapping[str, Any]) -> None:
    """Store the analysis of a game. Writes."""
    key = analyses.c.tournament_id == game.tournament_id, analyses.c.ordinal == game.ordinal
    connection.execute(delete(analyses).where(*key))
    values = {"tournament_id": game.tournament_id, "ordinal": game.ordinal, "document": document}
    connection.execute(analyses.insert(), values)


def store_failure(connection: Connection, game: GameToAnalyse, reason: str) -> None:
    """Store why a game cannot be analysed, so that nobody tries it again. Writes."""
    store_analysis(connection, game, {_FAILURE: reason})
