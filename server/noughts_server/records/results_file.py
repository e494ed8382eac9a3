"""Results of games from a file in any format of `formats`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noughts_referee.rules import FAULTS
from noughts_server.records.formats import FORMATS, read_games
from noughts_server.records.recorded_game import SCORES, Placed, RecordedGame, RecordError

_VOID = "*"
_FAULTS = frozenset(map(str, FAULTS))


class ResultsError(ValueError):
    """A game that cannot be read."""

    def __init__(self, line: int, got: str, expected: str, file: str = "") -> None:
        super().__init__(f"{file}{', ' if file else ''}line {line}: got {got}, expected {expected}")
        self.line = line
        self.got = got
        self.expected = expected


@dataclass(slots=True)
class Results:
    """The games in a file, counted by players and score."""

    counts: dict[tuple[str, str, float], int] = field(default_factory=dict)
    players: dict[str, None] = field(default_factory=dict)
    """All players, in the order of the file."""
    void: int = 0
    """Games without a result, which do not count."""
    forfeits: dict[str, int] = field(default_factory=dict)
    """Games lost through a fault, by loser."""
    repeats: int = 0
    """Repeated games of deterministic players, which count once."""
    games: int = 0
    """Games with a result, including repeats and forfeits."""


def read_results(path: Path, *, forfeits: bool = True) -> Results:
    """Return the results in a file; without `forfeits`, games lost through a fault do not count.

    The name determines the format. With another name, a file that starts with `{` has JSON lines, any other one CSV.
    Raises ResultsError, FormatError and OSError.
    """
    form = "" if path.suffix.lower() in FORMATS else _guessed(path)
    return _counted(_games(read_games(str(path), form=form)), forfeits=forfeits)


def _guessed(path: Path) -> str:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        beginning = file.read(1)
        while beginning.isspace():
            beginning = file.read(1)
    return ".jsonl" if beginning == "{" else ".csv"


def _games(all_placed: Iterable[Placed]) -> Iterator[RecordedGame]:
    """Yield the games that can be counted together. Raises ResultsError."""
    variant = ""
    for line, game, file in all_placed:
        if isinstance(game, RecordError):
            raise ResultsError(line, game.got, game.expected, file)
        if not (game.first and game.second):
            raise ResultsError(line, "a game between players without names", "two names", file)
        if game.first == game.second:
            raise ResultsError(line, f"{game.first!r} against itself", "two players", file)
        if game.variant and variant and game.variant != variant:
            expected = "games of one variant in a file"
            raise ResultsError(line, f"a game of {game.variant} after games of {variant}", expected, file)
        variant = variant or game.variant
        yield game


def _counted(games: Iterable[RecordedGame], *, forfeits: bool) -> Results:
    results = Results()
    # By opening and players: how often each game was played.
    known: defaultdict[tuple[Any, ...], dict[tuple[tuple[int, ...], float], int]] = defaultdict(dict)
    for game in games:
        if game.result == _VOID:
            results.void += 1
            continue
        score = SCORES[game.result]
        results.players.setdefault(game.first)
        results.players.setdefault(game.second)
        results.games += 1
        forfeit = game.termination.lower().replace(" ", "_") in _FAULTS and score != 0.5
        if forfeit:
            loser = game.second if score == 1.0 else game.first
            results.forfeits[loser] = results.forfeits.get(loser, 0) + 1
            if not forfeits:
                continue
        if game.moves and not forfeit:
            played = known[game.first, game.second, game.opening]
            played[game.moves, score] = played.get((game.moves, score), 0) + 1
        else:
            _count(results, game.first, game.second, score, 1)
    for start, played in known.items():
        # With randomness, the same start leads to several games, and each is a separate result.
        always = len(played) == 1
        for (_, score), times in played.items():
            results.repeats += times - 1 if always else 0
            _count(results, start[0], start[1], score, 1 if always else times)
    return results


def _count(results: Results, first: str, second: str, score: float, times: int) -> None:
    key = (first, second, score)
    results.counts[key] = results.counts.get(key, 0) + times
