"""The counts from which all tables are made, added game by game.

Of a game itself only a hash is kept, and its moves if a language model played.
"""

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

_PLACES = {"1-0": 0, "1/2-1/2": 1, "0-1": 2}
"""The places of results in `Counts.by_result`."""
_TIMEOUT = str(Termination.TIMEOUT)
_ADJUDICATED = str(Termination.ADJUDICATED)


class _RepeatedGame(NamedTuple):
    """A game that was played one or more times, always with the same moves and the same result."""

    hash: int
    """The hash of the players and moves."""
    result: str
    times: int


class GameOfModels(NamedTuple):
    """The moves of a game in which a language model played."""

    variant: str
    first: str
    second: str
    moves: tuple[int, ...]
    first_chosen: int
    """The first ply that a bot chose."""


class Counts:
    """Wins, draws and losses of the first mover, and void games."""

    __slots__ = ("by_result", "plies", "void")

    def __init__(self) -> None:
        self.by_result = [0, 0, 0]
        self.void = 0
        self.plies = 0
        """The sum of the plies of all games, including void ones and openings."""

    def add(self, result: str, plies: int) -> None:
        place = _PLACES.get(result)
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
    """The counts of a set of games, and the facts about their tournament."""

    def __init__(self, games: Iterable[RecordedGame] = (), about: About = About(), *, forfeits: bool = True) -> None:
        """Count the games of a tournament, and any that `add` adds.

        `about` has all entries, also those without games. Without `forfeits`, games lost by a fault count only in
        `games`, `variants` and `faults`.
        """
        self._forfeits = forfeits
        self._labels: dict[str, None] = {}
        self._about = about
        self._file_facts: list[FileFacts | None] = []
        """The facts about tournaments in a file, at most two: with two, the file has several tournaments."""
        self._dates: set[str] = set()
        self.variants: Counter[str] = Counter()
        self.pairs: defaultdict[tuple[str, str], Counts] = defaultdict(Counts)
        """The counts by (first mover, second mover)."""
        self.terminations: defaultdict[str, Counts] = defaultdict(Counts)
        self.openings: defaultdict[tuple[int, ...], Counts] = defaultdict(Counts)
        """The counts by the cells of the opening, which are empty for games from the empty board."""
        self.times: defaultdict[str, TimeHistogram] = defaultdict(TimeHistogram)
        """The move times by label, without the moves of openings."""
        self.late_moves: Counter[str] = Counter()
        """The number of moves that needed the time margin, by label."""
        self.faults: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """The number of games lost by label and fault."""
        self.models: defaultdict[str, list[Question]] = defaultdict(list)
        """The questions to language models, by label."""
        self.games_of_models: list[GameOfModels] = []
        """The games of `models` with a result and a chosen move."""
        self._walkovers: Counter[tuple[str, str, str]] = Counter()
        """The number of games lost by a withdrawal, by (first mover, second mover, result)."""
        self._distinct: set[int] = set()
        self._repeated: dict[tuple[str, str, tuple[int, ...]], _RepeatedGame | None] = {}
        """By (first mover, second mover, opening): the only game from this start, or None if games differ."""
        for game in games:
            self.add(game)

    def add(self, game: RecordedGame) -> None:
        first, second, moves = game.first, game.second, game.moves
        self._labels.setdefault(first)
        self._labels.setdefault(second)
        if len(self._file_facts) < 2 and isinstance(facts := game.more.get("tournament"), dict):
            self._file_facts.append(read_file_facts(facts))
        if date := game.occasion.get("date"):
            self._dates.add(date)
        self.variants[game.variant] += 1
        if game.by_fault and game.loser is not None:
            self.faults[(first, second)[game.loser]][game.termination] += 1
            if not self._forfeits:
                return
        plies = len(moves)
        self.pairs[first, second].add(game.result, plies)
        questions = game.questions
        for ply, question in questions.items():
            self.models[(first, second)[ply % 2]].append(question)
        if questions and game.score is not None and len(moves) > game.first_chosen:
            self.games_of_models.append(GameOfModels(game.variant, first, second, moves, game.first_chosen))
        self.terminations[game.termination].add(game.result, plies)
        # A game that was adjudicated without moves never began, because an entry was withdrawn.
        if moves or game.termination != _ADJUDICATED:
            self.openings[game.opening].add(game.result, plies)
        # Without moves (in files of results) repeats cannot be recognised: each game gets a different number.
        game_hash = hash((first, second, *moves)) if moves else -self.games - 1
        self._distinct.add(game_hash)
        if game.walkover and game.result in _PLACES:
            self._walkovers[first, second, game.result] += 1
        elif moves and game.result in _PLACES and not game.by_fault:
            start = (first, second, game.opening)
            if start not in self._repeated:
                self._repeated[start] = _RepeatedGame(game_hash, game.result, 1)
            elif (repeated := self._repeated[start]) is not None:
                is_same = repeated.hash == game_hash and repeated.result == game.result
                self._repeated[start] = repeated._replace(times=repeated.times + 1) if is_same else None
        if game.times_ms:
            for side, label in enumerate((first, second)):
                self.late_moves[label] += game.late_moves[side]
                first_ply = game.first_chosen + (game.first_chosen + side) % 2
                self.times[label].add(round(time * 1000) for time in game.times_ms[first_ply::2])

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
        """Return the number of different games. Two games are equal if their players, sides and moves are."""
        return len(self._distinct)

    @property
    def repeats(self) -> int:
        """Return the number of games that only repeat another one, because the bots are deterministic.

        A start (the players, their sides and the opening) from which bots with randomness played different games has no
        repeats.
        """
        return sum(repeated.times - 1 for repeated in self._repeated.values() if repeated)

    @property
    def independent_scores(self) -> dict[tuple[str, str], Score]:
        """Return the scores from which strength can be estimated: without `repeats` and games lost by a withdrawal."""
        by_result = {pair: list(counts.by_result) for pair, counts in self.pairs.items()}
        for (first, second, _), repeated in self._repeated.items():
            if repeated:
                by_result[first, second][_PLACES[repeated.result]] -= repeated.times - 1
        for (first, second, result), games in self._walkovers.items():
            by_result[first, second][_PLACES[result]] -= games
        return {pair: Score(*counts) for pair, counts in by_result.items()}

    @property
    def scores(self) -> dict[tuple[str, str], Score]:
        """Return the first mover's score by (first mover, second mover)."""
        return {pair: counts.score for pair, counts in self.pairs.items()}

    def crosstable(self, labels: Iterable[str]) -> Crosstable:
        return Crosstable(labels, self.scores)

    @property
    def labels(self) -> dict[str, None]:
        """The labels of all entries of the tournament, then other labels in the order in which they first played."""
        return dict.fromkeys(self.about.bye_points) | self._labels

    @property
    def about(self) -> About:
        """Return the facts about the tournament. If they lack its dates, use those of the games."""
        facts = self._facts_of_complete_file
        about = self._about if self._about.schedule or facts is None else facts.about
        if about.began or not self._dates:
            return about
        return about._replace(began=min(self._dates), ended=max(self._dates))

    @property
    def _facts_of_complete_file(self) -> FileFacts | None:
        """Return the facts in a file that has all games of one tournament; None for other files."""
        facts = self._file_facts[0] if len(self._file_facts) == 1 else None
        return facts if facts is not None and facts.games == self.games else None

    @property
    def unknown_note(self) -> str:
        """Return a sentence about what is unknown because the games come from a file; empty if everything is known."""
        if self._about.schedule:
            return ""
        facts = self._facts_of_complete_file
        if facts is None:
            reasons = {
                0: "This file has games only",
                1: "This file lacks games of its tournament",
                2: "This file has games of several tournaments",
            }
            consequence = "byes, withdrawn bots and the bracket of a knockout are unknown, and do not count."
            return f"{reasons[len(self._file_facts)]}: {consequence}"
        return "" if facts.finished else "The tournament was not finished when this file was written."

    @property
    def has_bracket(self) -> bool:
        """Return whether the bracket of a knockout determines the ranks."""
        return self.about.matches_won is not None

    def standings(self) -> list[RankedEntry]:
        """Return the standings; see the module `standings`."""
        about = self.about
        return compute_standings(self.labels, self.scores, about.bye_points, about.matches_won)

    def time_losses(self, label: str) -> int:
        """Return how many games this entry lost on time."""
        return self.faults[label][_TIMEOUT] if label in self.faults else 0
