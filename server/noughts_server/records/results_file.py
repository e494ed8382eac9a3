"""Results of games from a file: CSV with `white,black,result` (white moved first), or the games that `-o` writes."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from noughts_referee.rules import FAULTS

SCORES = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5, "½-½": 0.5, "1": 1.0, "0": 0.0, "0.5": 0.5, "1/2": 0.5, "=": 0.5}
"""The first mover's score, by what a file may call it."""

_VOID = ("*", "")
_COLUMNS = ("white", "black", "result")
_FAULTS = frozenset(map(str, FAULTS))
_SHOWN = 80
_EXPECTED_RESULT = "`1-0`, `0-1`, `1/2-1/2` or `*`"
_EXPECTED_ROW = "white,black,result as in `alpha,beta,1-0`"
_EXPECTED_LINE = '{"first", "second", "result"} as -o writes them'


class ResultsError(ValueError):
    """A line that cannot be read."""

    def __init__(self, line: int, got: str, expected: str) -> None:
        super().__init__(f"line {line}: got {got}, expected {expected}")
        self.line = line
        self.got = got
        self.expected = expected


@dataclass(frozen=True, slots=True)
class GameLine:
    """One game of a file."""

    first: str
    second: str
    score: float
    """The first player's."""
    forfeit: bool
    """Whether it was lost by a fault, as far as the file tells."""
    start: tuple[Any, ...] | None = None
    """What the game began with: the players, and the opening. None where moves are not known."""
    moves: tuple[int, ...] = ()


@dataclass(slots=True)
class Results:
    """The games of a file, counted by players and score."""

    counts: dict[tuple[str, str, float], int] = field(default_factory=dict)
    players: dict[str, None] = field(default_factory=dict)
    """All that are named, in the order of the file."""
    void: int = 0
    """Games without a result; they count nowhere."""
    forfeits: dict[str, int] = field(default_factory=dict)
    """Games lost by a fault, by who lost them."""
    repeats: int = 0
    """Games that were played before, move by move, by players who always play that one; they count once."""
    games: int = 0
    """Games with a result, repeats and forfeits included."""


def read_results(path: Path, *, forfeits: bool = True) -> Results:
    """The results in a file; without `forfeits` games that were lost by a fault count nowhere.

    A file whose first character is `{` holds JSON lines, any other CSV, with or without a heading. Raises ResultsError
    and OSError.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        beginning = file.read(1)
        while beginning.isspace():
            beginning = file.read(1)
        file.seek(0)
        return _counted(_json_games(file) if beginning == "{" else _csv_games(file), forfeits=forfeits)


def _counted(games: Iterable[GameLine | None], *, forfeits: bool) -> Results:
    results = Results()
    # By what they began with: how often each game was played.
    known: defaultdict[tuple[Any, ...], dict[tuple[tuple[int, ...], float], int]] = defaultdict(dict)
    for game in games:
        if game is None:
            results.void += 1
            continue
        results.players.setdefault(game.first)
        results.players.setdefault(game.second)
        results.games += 1
        if game.forfeit:
            loser = game.second if game.score == 1.0 else game.first
            results.forfeits[loser] = results.forfeits.get(loser, 0) + 1
            if not forfeits:
                continue
        if game.start is not None and not game.forfeit:
            played = known[game.start]
            played[game.moves, game.score] = played.get((game.moves, game.score), 0) + 1
        else:
            _count(results, game.first, game.second, game.score, 1)
    for start, played in known.items():
        # Where chance is at work the same start leads to several games, and each is a result of its own.
        always = len(played) == 1
        for (_, score), times in played.items():
            results.repeats += times - 1 if always else 0
            _count(results, start[0], start[1], score, 1 if always else times)
    return results


def _count(results: Results, first: str, second: str, score: float, times: int) -> None:
    key = (first, second, score)
    results.counts[key] = results.counts.get(key, 0) + times


def _csv_rows(file: TextIO) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(file)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise ResultsError(reader.line_num, f"no CSV ({error})", _EXPECTED_ROW) from None


def _csv_games(file: TextIO) -> Iterator[GameLine | None]:
    places: list[int] | None = None
    ending: int | None = None
    for number, row in _csv_rows(file):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if places is None:
            names = [cell.lower() for cell in cells]
            if set(_COLUMNS) <= set(names):
                places = [names.index(column) for column in _COLUMNS]
                ending = names.index("termination") if "termination" in names else None
                continue
            places = [0, 1, 2]
        if len(cells) <= max(places):
            raise ResultsError(number, _shown(",".join(row)), _EXPECTED_ROW)
        white, black, result = (cells[place] for place in places)
        if not white or not black:
            raise ResultsError(number, _shown(",".join(row)), _EXPECTED_ROW)
        fault = ending is not None and len(cells) > ending and cells[ending].lower().replace(" ", "_") in _FAULTS
        yield _game(number, white, black, result, fault)


def _json_games(file: TextIO) -> Iterator[GameLine | None]:
    variant: str | None = None
    for number, line in enumerate(file, start=1):
        if line.isspace():
            continue
        try:
            document = json.loads(line)
            first, second, result = document["first"], document["second"], document["result"]
            moves = tuple(document["moves"]) if "moves" in document else None
            if not all(isinstance(text, str) and text for text in (first, second, result)):
                raise TypeError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ResultsError(number, _shown(line.strip()), _EXPECTED_LINE) from None
        played = document.get("variant")
        if variant is not None and played != variant:
            raise ResultsError(number, f"a game of {played} after games of {variant}", "games of one variant in a file")
        variant = played
        start = None
        if moves is not None:
            opening = document.get("opening")
            # What players agreed on is an object, and their own choice.
            start = (first, second, moves[: len(opening)] if isinstance(opening, list) else ())
        fault = document.get("termination") in _FAULTS
        yield _game(number, first, second, result, fault, start, moves or ())


def _game(
    line: int,
    first: str,
    second: str,
    result: str,
    fault: bool,
    start: tuple[Any, ...] | None = None,
    moves: tuple[int, ...] = (),
) -> GameLine | None:
    """The game; None for a void one. Raises ResultsError."""
    if first == second:
        raise ResultsError(line, f"{_shown(first)} against itself", "two players")
    if result in _VOID and result:
        return None
    score = SCORES.get(result)
    if score is None:
        raise ResultsError(line, f"the result {_shown(result)}", _EXPECTED_RESULT)
    return GameLine(first, second, score, fault and score != 0.5, start, moves)


def _shown(text: str) -> str:
    return repr(text[:_SHOWN])
