"""Matches in the store: pairs of games count in the order of their slots, and a decided test ends the match.

Therefore the verdict and the stored games do not depend on the order in which games end, on crashes, or on the number
of referees that store games.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import Any

from sqlalchemy import Connection, Row, delete, func, select, update

from noughts_referee.rules import Result, parse_variant
from noughts_referee.work_units import FinishedGame, unpack_moves
from noughts_server.competition.formats import format_of
from noughts_server.openings.sufficiency import more_openings
from noughts_server.statistics.candidates import Candidates, CandidateState
from noughts_server.statistics.estimate import Pentanomial, WinsDrawsLosses, estimate
from noughts_server.statistics.match_games import MatchGames, MatchStatistics, counted_game, opening_of
from noughts_server.statistics.sprt import Decision, Sprt
from noughts_server.store.engine.schema import entries, games, pairings, tournaments
from noughts_server.store.pairing.pairings import NewScheduledGame, append_slots
from noughts_server.store.people.webhooks import report_event
from noughts_server.store.tournament_options import read_settings

_MOST_OPENINGS = 20
"""The most frequent openings, whose results are stored."""
_MOST_REFEREES = 100
"""Limit of the referees that are named with their numbers of games."""
# A win, a draw, a loss and no result for the side that moved first, and for the other.
_RESULTS_OF_FIRST = (Result.FIRST_WINS, Result.DRAW, Result.SECOND_WINS, Result.VOID)
_RESULTS_OF_SECOND = (Result.SECOND_WINS, Result.DRAW, Result.FIRST_WINS, Result.VOID)
_COLUMNS = games.c.ordinal, games.c.result, games.c.termination, games.c.moves, games.c.opening_plies, games.c.fault
_GAMES = select(*_COLUMNS, games.c.first_entry.label("first")).order_by(games.c.ordinal)


class StoredMatch:
    """The state of a stored match.

    It is cached between transactions, and reads the games that other processes have stored.
    """

    def __init__(self, tournament: Row[Any], counted: MatchGames | Candidates) -> None:
        self.games = counted
        self._id = tournament.id
        self._variant = tournament.variant
        self._most = tournament.games_per_pair
        self._settings = read_settings(tournament)
        self._advice: str = (tournament.match_counts or {}).get("advice", "")
        self._base = format_of(tournament.schedule).base
        self._games_done = 0
        self._referees: Counter[str] = Counter()
        # Wins, draws and losses of the first entry and games without a result, in the order of the slots.
        self._endings: defaultdict[int, list[int]] = defaultdict(lambda: [0] * 4)
        self._openings: defaultdict[bytes, list[int]] = defaultdict(lambda: [0] * 4)
        self._frequent: list[bytes] = []
        self._counted_slots = 0
        # By slot: the termination, the opening and the index of the result.
        self._waiting: dict[int, tuple[int, bytes, int]] = {}

    def count_games(
        self, connection: Connection, row: Row[Any], fresh: Mapping[int, FinishedGame], referee: str = ""
    ) -> None:
        """Count the games of a transaction; `referee` is the node that stores them, if any.

        `row` is the row of the tournament before the transaction, and `fresh` has the games that it stores.
        """
        if self._games_done != row.games_done:
            missing = _GAMES.where(games.c.tournament_id == self._id, games.c.ordinal > self.games.known)
            self._add(connection.execute(missing))
        self._add(fresh.values())
        self._games_done = row.games_done + len(fresh)
        self._referees = Counter((row.match_counts or {}).get("referees", {}))
        if referee:
            self._referees[referee] += len(fresh)

    def store(self, connection: Connection, total: int) -> int:
        """Store the statistics, and return the number of slots.

        After the decision of a test, no slot follows that of its last game.
        """
        cells = parse_variant(self._variant).cells
        self._advise()
        counts = self._counts() | {
            "advice": self._advice,
            "endings": {str(int(termination)): results for termination, results in sorted(self._endings.items())},
            "openings": [(unpack_moves(opening, cells), self._openings[opening]) for opening in self._frequent],
            "openings_total": len(self._openings),
            "referees": dict(self._referees.most_common(_MOST_REFEREES)),
        }
        values: dict[str, Any] = {"match_counts": counts}
        if self.games.over:
            total = self.games.known
            values |= {"games_total": total, "base_games_per_pair": total}
        connection.execute(update(tournaments).where(tournaments.c.id == self._id).values(values))
        return total

    def undecided_reason(self) -> str:
        """Return why the finished match has no decision; empty if it has one, or no test."""
        states = [match.state for match in self._matches()]
        undecided = [match for match in self._matches() if match.sprt is not None and not match.decided]
        if not undecided or any(state is not None and state.decision is Decision.H1 for state in states):
            return ""
        if any(match.out_of_games for match in undecided):
            repeats = sum(match.statistics().repeats for match in undecided)
            games = sum(match.statistics().games for match in undecided)
            return f"the test ran out of different games: {repeats:,} of {games:,} repeat others. Fix: {self._fix()}"
        if any(match.walked_over for match in undecided):
            return "an entry was withdrawn before the test was decided"
        return f"all {self._most:,} games are over without a decision. Fix: more games, or elo0 and elo1 further apart"

    def _matches(self) -> Sequence[MatchGames]:
        """Return the counted games of each comparison with the base."""
        _, match = self._deciding()
        return [match]

    def _advise(self) -> None:
        """Set the advice if a match repeats its games."""
        repeating = next((match for match in self._matches() if match.repeating), None)
        if repeating is None:
            return
        statistics = repeating.statistics()
        self._advice = (
            f"{statistics.repeats:,} of {statistics.games:,} games repeated earlier ones: from the same opening,"
            f" both bots always played the same moves. Fix: {self._fix()}."
        )

    def _fix(self) -> str:
        return more_openings(self._settings.openings, parse_variant(self._variant), self._most)

    def report_decision(self, connection: Connection, now_ms: int) -> None:
        """Report the decision of the test to webhooks, if it has accepted a hypothesis."""
        number, match = self._deciding()
        statistics = match.statistics()
        if statistics.sprt is not None and match.decided:
            of_tournament = select(entries.c.label).where(entries.c.tournament_id == self._id)
            label = connection.execute(of_tournament.where(entries.c.number == number)).scalar_one()
            facts = statistics.sprt._asdict() | {"pentanomial": statistics.pentanomial, "repeats": statistics.repeats}
            report_event(connection, "match.decided", self._id, now_ms, label=label, **facts)

    def _counts(self) -> dict[str, Any]:
        _, match = self._deciding()
        return _counts(match) | {"course": match.course}

    def _deciding(self) -> tuple[int, MatchGames]:
        """Return the entry whose test ends the tournament, and its games."""
        assert isinstance(self.games, MatchGames)
        return 0, self.games

    def _add(self, stored: Iterable[Any]) -> None:
        added = {}
        for game in stored:
            added[game.ordinal] = counted_game(game, self._variant, self._base)
            results = _RESULTS_OF_SECOND if game.first == self._base else _RESULTS_OF_FIRST
            index = results.index(game.result)
            self._waiting[game.ordinal] = game.termination, opening_of(game, self._variant), index
        self.games.add(added)
        changed = set(self._frequent)
        while self._counted_slots < self.games.known:
            self._counted_slots += 1
            termination, opening, index = self._waiting.pop(self._counted_slots)
            self._endings[termination][index] += 1
            self._openings[opening][index] += 1
            changed.add(opening)
        # Counts only grow, so an opening whose count did not change cannot enter the most frequent ones.
        self._frequent = nlargest(_MOST_OPENINGS, changed, key=lambda opening: (sum(self._openings[opening]), opening))


class StoredCandidates(StoredMatch):
    """The state of stored candidates.

    Further pairs are scheduled in the transaction of the games from which they follow.
    """

    def __init__(self, connection: Connection, tournament: Row[Any]) -> None:
        """Read the scheduled pairs. A pair begins at an odd ordinal, where its candidate is the first entry."""
        of_tournament = entries.c.tournament_id == tournament.id
        entry_count: int = connection.execute(
            select(func.count()).select_from(entries).where(of_tournament)
        ).scalar_one()
        pair = (pairings.c.tournament_id == tournament.id) & (pairings.c.ordinal % 2 == 1)
        scheduled = connection.scalars(select(pairings.c.first_entry - 1).where(pair).order_by(pairings.c.ordinal))
        test = Sprt.parse(read_settings(tournament).sprt)
        self._candidates = Candidates(test, entry_count - 1, tournament.games_per_pair // 2, scheduled)
        super().__init__(tournament, self._candidates)

    def store(self, connection: Connection, total: int) -> int:
        """Store the statistics and further pairs; after the end, remove the pairs that are not played any more."""
        before = total
        total = super().store(connection, total)
        if self.games.over:
            later = (pairings.c.tournament_id == self._id) & (pairings.c.ordinal > total)
            connection.execute(delete(pairings).where(later))
            return total
        slots = [
            NewScheduledGame(first_entry=first, second_entry=second, game_pair=game_pair, round=0)
            for candidate, game_pair in self._candidates.pairs_from(before // 2)
            for first, second in ((candidate + 1, 0), (0, candidate + 1))
        ]
        return append_slots(connection, self._id, before, slots)

    def _counts(self) -> dict[str, Any]:
        candidates = [
            _counts(match) | {"state": self._candidates.state(number)}
            for number, match in enumerate(self._candidates.matches)
        ]
        return {"candidates": candidates}

    def _matches(self) -> Sequence[MatchGames]:
        return self._candidates.matches

    def _deciding(self) -> tuple[int, MatchGames]:
        """Return the accepted candidate, or the last that was dropped."""
        number = self._candidates.last_out
        return number + 1, self._candidates.matches[number]


def stored_match(connection: Connection, tournament: Row[Any]) -> StoredMatch:
    """Return the match of a started tournament that compares entries with a base. It has counted no game yet."""
    if format_of(tournament.schedule).pairs_ahead:
        return StoredCandidates(connection, tournament)
    return StoredMatch(tournament, MatchGames(_test(read_settings(tournament).sprt)))


def read_candidates(counts: Mapping[str, Any] | None, sprt: str, number: int) -> list[tuple[MatchStatistics, str]]:
    """Return the statistics and the state of each candidate from the row of its tournament."""
    candidates = (counts or {}).get("candidates", [{}] * number)
    test = Sprt.parse(sprt).of_each(number)
    return [(_statistics(candidate, test), candidate.get("state", CandidateState.WAITS)) for candidate in candidates]


def read_statistics(counts: Mapping[str, Any] | None, sprt: str) -> MatchStatistics:
    """Return the statistics of a match from its row; `sprt` is its test, empty if there is none."""
    return _statistics(counts or {}, _test(sprt))


def _statistics(counts: Mapping[str, Any], test: Sprt | None) -> MatchStatistics:
    pairs = Pentanomial(*counts.get("pentanomial", ()))
    single = WinsDrawsLosses(*counts.get("single", ()))
    return MatchStatistics(
        pentanomial=pairs,
        single=single,
        repeats=counts.get("repeats", 0),
        games=counts.get("games", 0),
        estimate=estimate(pairs, single),
        sprt=test.state(counts.get("llr", 0.0)) if test else None,
    )


def _counts(match: MatchGames) -> dict[str, Any]:
    statistics = match.statistics()
    return {
        "pentanomial": statistics.pentanomial,
        "single": statistics.single,
        "repeats": statistics.repeats,
        "games": statistics.games,
        "llr": None if statistics.sprt is None else statistics.sprt.llr,
    }


def _test(sprt: str) -> Sprt | None:
    return Sprt.parse(sprt) if sprt else None
