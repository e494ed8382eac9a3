"""Matches in the store: pairs of games count in the order of their slots, and a decided test ends the match.

So neither the verdict nor the stored games depend on the order in which games end, on crashes or on how many referees
store games.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Row, select, update

from noughts_referee.work_units import FinishedGame
from noughts_server.statistics.estimate import Pentanomial, WinsDrawsLosses, estimate
from noughts_server.statistics.match_games import MatchGames, MatchStatistics, counted_game
from noughts_server.statistics.sprt import Sprt
from noughts_server.store.engine.schema import games, tournaments
from noughts_server.store.people.webhooks import report_event
from noughts_server.store.tournament_options import read_options

_COLUMNS = games.c.ordinal, games.c.result, games.c.termination, games.c.moves, games.c.opening_plies
_GAMES = select(*_COLUMNS, games.c.first_entry.label("first")).order_by(games.c.ordinal)


class StoredMatch:
    """A match as stored. It is cached between transactions, and first reads what others have stored meanwhile."""

    def __init__(self, tournament: Row[Any]) -> None:
        self.games = MatchGames(_test(read_options(tournament.options).get("sprt", "")))
        self._id, self._variant = tournament.id, tournament.variant
        self._games_done = 0

    def take(self, connection: Connection, games_done: int, fresh: Mapping[int, FinishedGame]) -> None:
        """Count the games of a transaction that began with so many stored games."""
        if self._games_done != games_done:
            missing = _GAMES.where(games.c.tournament_id == self._id, games.c.ordinal > self.games.known)
            self._add(connection.execute(missing))
        self._add(fresh.values())
        self._games_done = games_done + len(fresh)

    def store(self, connection: Connection) -> None:
        """Store the statistics; if the test has ended the match, its last game becomes the last slot."""
        found = self.games.statistics()
        counts = {name: getattr(found, name) for name in ("pentanomial", "single", "repeats", "games")}
        values: dict[str, Any] = {"match_counts": counts | {"llr": found.sprt and found.sprt.llr}}
        if self.games.over:
            values |= {"games_total": self.games.known, "base_games_per_pair": self.games.known}
        connection.execute(update(tournaments).where(tournaments.c.id == self._id).values(values))

    def report_decision(self, connection: Connection, now_ms: int) -> None:
        """Report the decision of the test to webhooks, if it has accepted a hypothesis."""
        found = self.games.statistics()
        if found.sprt is not None and self.games.decided:
            facts = found.sprt._asdict() | {"pentanomial": found.pentanomial, "repeats": found.repeats}
            report_event(connection, "match.decided", self._id, now_ms, **facts)

    def _add(self, stored: Iterable[Any]) -> None:
        self.games.add({game.ordinal: counted_game(game, self._variant) for game in stored})


def read_statistics(counts: Mapping[str, Any] | None, sprt: str) -> MatchStatistics:
    """Return the statistics of a match from its row; `sprt` is its test, empty if there is none."""
    known, test = counts or {}, _test(sprt)
    pairs = Pentanomial(*known.get("pentanomial", ()))
    single = WinsDrawsLosses(*known.get("single", ()))
    state = test.state(known.get("llr", 0.0)) if test else None
    return MatchStatistics(
        pairs, single, known.get("repeats", 0), known.get("games", 0), estimate(pairs, single), state
    )


def _test(sprt: str) -> Sprt | None:
    return Sprt.parse(sprt) if sprt else None
