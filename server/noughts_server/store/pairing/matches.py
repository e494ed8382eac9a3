"""Matches in the store: pairs of games count in the order of their slots, and a decided test ends the match.

So neither the verdict nor the stored games depend on the order in which games end, on crashes or on how many referees
store games.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import Any

from sqlalchemy import Connection, Row, select, update

from noughts_referee.rules import Result, parse_variant
from noughts_referee.work_units import FinishedGame, unpack_moves
from noughts_server.statistics.estimate import Pentanomial, WinsDrawsLosses, estimate
from noughts_server.statistics.match_games import MatchGames, MatchStatistics, counted_game, opening_of
from noughts_server.statistics.sprt import Sprt
from noughts_server.store.engine.schema import games, tournaments
from noughts_server.store.people.webhooks import report_event
from noughts_server.store.tournament_options import read_options

_MOST_OPENINGS = 20
_MOST_REFEREES = 100
# A win, a draw, a loss and no result for the side that moved first, and for the other.
_RESULTS = (
    (Result.FIRST_WINS, Result.DRAW, Result.SECOND_WINS, Result.VOID),
    (Result.SECOND_WINS, Result.DRAW, Result.FIRST_WINS, Result.VOID),
)
_COLUMNS = games.c.ordinal, games.c.result, games.c.termination, games.c.moves, games.c.opening_plies
_GAMES = select(*_COLUMNS, games.c.first_entry.label("first")).order_by(games.c.ordinal)


class StoredMatch:
    """A match as stored. It is cached between transactions, and first reads what others have stored meanwhile."""

    def __init__(self, tournament: Row[Any]) -> None:
        self.games = MatchGames(_test(read_options(tournament.options).get("sprt", "")))
        self._id, self._variant = tournament.id, tournament.variant
        self._games_done = 0
        self._referees: Counter[str] = Counter()
        # Wins, draws and losses of the first entry and games without a result, in the order of the slots.
        self._endings: defaultdict[int, list[int]] = defaultdict(lambda: [0] * 4)
        self._openings: defaultdict[bytes, list[int]] = defaultdict(lambda: [0] * 4)
        self._frequent: list[bytes] = []
        self._counted = 0
        # By slot: the termination, the opening and the index of the result.
        self._waiting: dict[int, tuple[int, bytes, int]] = {}

    def take(self, connection: Connection, row: Row[Any], fresh: Mapping[int, FinishedGame], referee: str = "") -> None:
        """Count the games of a transaction that began with this row; `referee` is the node that stores them, if any."""
        if self._games_done != row.games_done:
            missing = _GAMES.where(games.c.tournament_id == self._id, games.c.ordinal > self.games.known)
            self._add(connection.execute(missing))
        self._add(fresh.values())
        self._games_done = row.games_done + len(fresh)
        self._referees = Counter((row.match_counts or {}).get("referees", {}))
        if referee:
            self._referees[referee] += len(fresh)

    def store(self, connection: Connection) -> None:
        """Store the statistics; if the test has ended the match, its last game becomes the last slot."""
        found = self.games.statistics()
        counts = {name: getattr(found, name) for name in ("pentanomial", "single", "repeats", "games")}
        cells = parse_variant(self._variant).cells
        counts |= {
            "llr": found.sprt and found.sprt.llr,
            "course": self.games.course,
            "endings": {str(int(termination)): results for termination, results in sorted(self._endings.items())},
            "openings": [(unpack_moves(opening, cells), self._openings[opening]) for opening in self._frequent],
            "openings_total": len(self._openings),
            "referees": dict(self._referees.most_common(_MOST_REFEREES)),
        }
        values: dict[str, Any] = {"match_counts": counts}
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
        added = {}
        for game in stored:
            added[game.ordinal] = counted_game(game, self._variant)
            index = _RESULTS[game.first != 0].index(game.result)
            self._waiting[game.ordinal] = game.termination, opening_of(game, self._variant), index
        self.games.add(added)
        changed = set(self._frequent)
        while self._counted < self.games.known:
            self._counted += 1
            termination, opening, index = self._waiting.pop(self._counted)
            self._endings[termination][index] += 1
            self._openings[opening][index] += 1
            changed.add(opening)
        # Counts only grow, so any other opening stays behind these.
        self._frequent = nlargest(_MOST_OPENINGS, changed, key=lambda opening: (sum(self._openings[opening]), opening))


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
