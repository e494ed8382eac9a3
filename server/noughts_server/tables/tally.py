"""The counts from which tables are made, added game by game. A single game leaves only a hash, to recognise repeats."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from noughts_bots.language_models.record import Question
from noughts_referee.rules import Termination
from noughts_server.competition.score import Score
from noughts_server.tables.about import About, FileFacts, read_file_facts
from noughts_server.tables.crosstable import Crosstable
from noughts_server.tables.recorded_game import RecordedGame
from noughts_server.tables.standings import RankedEntry, compute_standings
from noughts_server.tables.time_histogram import TimeHistogram

_RESULTS = {"1-0": 0, "1/2-1/2": 1, "0-1": 2}
_TIMEOUT = str(Termination.TIMEOUT)


class _Repeated(NamedTuple):
    played: int
    """A hash of the moves."""
    result: str
    times: int


class Counts:
    """Wins, draws and losses of the first mover, and void games."""

    __slots__ = ("by_result", "plies", "void")

    def __init__(self) -> None:
        self.by_result = [0, 0, 0]
        self.void = 0
        self.plies = 0
        """The sum over all games, including void ones and openings."""

    def add(self, result: str, plies: int) -> None:
        place = _RESULTS.get(result)
        self.plies += plies
        if place is None:
            self.void += 1
        else:
            self.by_result[place] += 1

    @property
    def score(self) -> Score:
        """Return the first mover's score."""
        return Score(*self.by_result)

    @property
    def games(self) -> int:
        """Return the number of games, including void ones."""
        return sum(self.by_result) + self.void


class Tally:
    """Counts of games. Labels are in the order in which they first appear."""

    def __init__(self, games: Iterable[RecordedGame] = (), about: About = About(), *, forfeits: bool = True) -> None:
        """Count these games of a tournament; labels in `about` need not have played.

        Without `forfeits`, games lost by a fault only count in `games` and `faults`.
        """
        self._forfeits = forfeits
        self._labels: dict[str, None] = {}
        self._about = about
        self._recorded: list[FileFacts | None] = []
        # What games of a file say about their tournaments, at most two: one is known, two are several tournaments.
        self._dates: set[str] = set()
        self.variants: Counter[str] = Counter()
        self.pairs: defaultdict[tuple[str, str], Counts] = defaultdict(Counts)
        """The counts by (first mover, second mover)."""
        self.terminations: defaultdict[str, Counts] = defaultdict(Counts)
        self.openings: defaultdict[tuple[int, ...], Counts] = defaultdict(Counts)
        """The counts by the cells of the opening; empty cells for a game from the empty board."""
        self.times: defaultdict[str, TimeHistogram] = defaultdict(TimeHistogram)
        """The move times by label, without the moves of openings."""
        self.late_moves: Counter[str] = Counter()
        """The number of moves that needed the time margin, by label."""
        self.faults: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """The number of games lost by label and fault."""
        self.models: defaultdict[str, list[Question]] = defaultdict(list)
        """The questions to language models, by label."""
        self._distinct: set[int] = set()
        # By (first mover, second mover, opening): the one game that was always played from there, or None for several.
        self._same: dict[tuple[str, str, tuple[int, ...]], _Repeated | None] = {}
        for game in games:
            self.add(game)

    def add(self, game: RecordedGame) -> None:
        first, second, moves = game.first, game.second, game.moves
        self._labels.setdefault(first)
        self._labels.setdefault(second)
        if len(self._recorded) < 2 and isinstance(facts := game.more.get("tournament"), dict):
            self._recorded.append(read_file_facts(facts))
        if date := game.occasion.get("date"):
            self._dates.add(date)
        self.variants[game.variant] += 1
        if game.by_fault and game.loser is not None:
            self.faults[(first, second)[game.loser]][game.termination] += 1
            if not self._forfeits:
                return
        plies = len(moves)
        self.pairs[first, second].add(game.result, plies)
        for ply, question in game.questions.items():
            self.models[(first, second)[ply & 1]].append(question)
        self.terminations[game.termination].add(game.result, plies)
        if moves or game.termination != "adjudicated":  # else an entry was withdrawn before the game began
            self.openings[game.opening].add(game.result, plies)
        # Result files have no moves, so repeats cannot be recognised.
        played = hash((first, second, *moves)) if moves else ~self.games
        self._distinct.add(played)
        if moves and game.result in _RESULTS and not game.by_fault:
            start = (first, second, game.opening)
            if start not in self._same:
                self._same[start] = _Repeated(played, game.result, 1)
            elif (before := self._same[start]) is not None:
                same = before.played == played and before.result == game.result
                self._same[start] = before._replace(times=before.times + 1) if same else None
        if game.times_ms:
            begin = game.first_chosen
            for side, label in enumerate((first, second)):
                self.late_moves[label] += game.late_moves[side]
                self.times[label].add(round(time * 1000) for time in game.times_ms[begin + (begin + side) % 2 :: 2])

    @property
    def games(self) -> int:
        """Return the number of games, including void ones."""
        return self.variants.total()

    @property
    def has_moves(self) -> bool:
        """Return whether any game has moves; files of results have none."""
        return any(counts.plies for counts in self.terminations.values())

    @property
    def void(self) -> int:
        return sum(counts.void for counts in self.pairs.values())

    @property
    def distinct(self) -> int:
        """Return the number of games that differ in the first mover or a move: deterministic bots repeat themselves."""
        return len(self._distinct)

    @property
    def repeats(self) -> int:
        """Return how many games only repeat another: the same start always led to the same moves.

        With randomness, the same start leads to several games, and each is a separate result.
        """
        return sum(same.times - 1 for same in self._same.values() if same)

    @property
    def independent_scores(self) -> dict[tuple[str, str], Score]:
        """Return `scores` without `repeats`, from which strength can be estimated."""
        counts = {pair: list(counted.by_result) for pair, counted in self.pairs.items()}
        for (first, second, _), same in self._same.items():
            if same:
                counts[first, second][_RESULTS[same.result]] -= same.times - 1
        return {pair: Score(*of_pair) for pair, of_pair in counts.items()}

    @property
    def scores(self) -> dict[tuple[str, str], Score]:
        """Return the first mover's score by (first mover, second mover)."""
        return {pair: counts.score for pair, counts in self.pairs.items()}

    def crosstable(self, labels: Iterable[str]) -> Crosstable:
        return Crosstable(labels, self.scores)

    @property
    def labels(self) -> dict[str, None]:
        """The labels of all entries: those of the tournament, and then others in the order of the games."""
        return dict.fromkeys(self.about.bye_points) | self._labels

    @property
    def about(self) -> About:
        """Return the facts about the tournament; without other dates, those of the games."""
        about = self._about if self._about.schedule or self._whole is None else self._whole.about
        if about.began or not self._dates:
            return about
        return about._replace(began=min(self._dates), ended=max(self._dates))

    @property
    def _whole(self) -> FileFacts | None:
        """Return what a file says about the one tournament of which it has all games; None otherwise."""
        one = self._recorded[0] if len(self._recorded) == 1 else None
        return one if one is not None and one.games == self.games else None

    @property
    def unknown_note(self) -> str:
        """Return a sentence about what is unknown because the games come from a file; empty if everything is known."""
        if self._about.schedule:
            return ""
        if self._whole is None:
            several = "This file has games of several tournaments"
            texts = ("This file has games only", "This file lacks games of its tournament", several)
            what = "byes, withdrawn bots and the bracket of a knockout are unknown, and do not count."
            return f"{texts[len(self._recorded)]}: {what}"
        return "" if self._whole.finished else "The tournament was not finished when this file was written."

    @property
    def has_bracket(self) -> bool:
        """Return whether the tournament itself gave the ranks (a knockout), not the points."""
        return self.about.matches_won is not None

    def standings(self) -> list[RankedEntry]:
        """Return the standings by the tie-breaks of `standings`."""
        about = self.about
        return compute_standings(self.labels, self.scores, about.bye_points, about.matches_won)

    def time_losses(self, label: str) -> int:
        """Return how many games this entry lost on time."""
        return self.faults[label][_TIMEOUT] if label in self.faults else 0
