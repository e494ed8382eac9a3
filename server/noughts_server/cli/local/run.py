"""Plays a plan in this process: signals, progress and the file of games around `play_locally`."""

import shlex
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

from noughts_bots.specs import unique_labels
from noughts_server.cli.drawing.estimate_lines import elo_line, llr_text
from noughts_server.cli.drawing.progress import showing_progress
from noughts_server.cli.errors import INTERRUPTED, Problem
from noughts_server.cli.logs import configure_logs
from noughts_server.cli.options import LogLevel
from noughts_server.cli.output import note, points, stderr
from noughts_server.cli.signals import run_loop, two_stages
from noughts_server.competition.score import Score
from noughts_server.local.plan import LocalOutcome, LocalPlan, LocalStop, PlayedGame
from noughts_server.local.run import play_locally
from noughts_server.records.jsonl import STDOUT, GamesFile
from noughts_server.statistics.match_games import MatchGames, MatchStatistics
from noughts_server.statistics.sprt import Sprt

_MOST_BOTS = 16


def score_lines(plan: LocalPlan, every: int | None) -> Callable[[PlayedGame], None] | None:
    """Return a function that takes each game and prints the score on stderr after every N; None on a terminal."""
    if every is None or stderr().is_terminal:
        return None
    settings = plan.settings
    total = settings.schedule.most_games(settings, len(plan.specs))
    of_all = "" if settings.schedule.follows_results else f" of {total:,}"
    return _ScoreLines(unique_labels(plan.specs), every, of_all, plan.sprt).heard


class _ScoreLines:
    def __init__(self, labels: list[str], every: int, of_all: str, sprt: Sprt | None) -> None:
        self._labels = labels
        self._every = every
        self._of_all = of_all
        self._done = 0
        self._scores: defaultdict[str, Score] = defaultdict(Score)
        self._match = MatchGames(sprt) if len(labels) == 2 else None

    def heard(self, game: PlayedGame) -> None:
        winner = game.outcome.winner
        score = Score(wins=winner == 0, draws=winner is None, losses=winner == 1)
        self._scores[game.first] += score
        self._scores[game.second] += score.mirrored
        self._done += 1
        if self._match is not None:
            from noughts_server.local.match import match_game

            outcome, side = game.outcome, int(game.first != self._labels[0])
            counts = match_game(outcome.result, outcome.termination, side, game.moves, game.opening)
            self._match.add(game.number, counts)
        if self._done % self._every == 0 or (self._match is not None and self._match.decided):
            standing = self._table() if self._match is None else self._of_two(self._match.statistics())
            note(f"{self._done:,}{self._of_all} games: {standing}")

    def _of_two(self, statistics: MatchStatistics) -> str:
        first, second = self._labels
        score = self._scores[first]
        told = f"{first} {points(score.points)} - {points(score.mirrored.points)} {second}"
        told += f"; {elo_line(first, statistics.estimate)}"
        return told if statistics.sprt is None else f"{told}; {llr_text(statistics.sprt)}"

    def _table(self) -> str:
        ranked = sorted(self._labels, key=lambda label: -self._scores[label].points)
        told = [f"{label} {points(self._scores[label].points)}" for label in ranked[:_MOST_BOTS]]
        if len(ranked) > _MOST_BOTS:
            told.append(f"and {len(ranked) - _MOST_BOTS} more")
        return ", ".join(told)


def play(plan: LocalPlan, *, output: Path | None = None, times: bool = False, every: int | None = None) -> LocalOutcome:
    """Plays the plan, with progress on a terminal, else with the score after every so many games.

    Writes the games to `output` while they are played.
    """
    configure_logs(LogLevel.WARNING)
    if output is None:
        return run_loop(_play(plan, None, every))
    with GamesFile(output, times=times) as file:
        return run_loop(_play(plan, file.write, every))


@contextmanager
def beside_games(output: Path | None) -> Iterator[None]:
    """Where the games go to the standard output, results go to standard error: programs read one of them."""
    with redirect_stdout(sys.stderr) if output == STDOUT else nullcontext():
        yield


async def _play(plan: LocalPlan, export: Callable[[Any], None] | None, every: int | None) -> LocalOutcome:
    stop = LocalStop()
    with showing_progress() as show, two_stages(lambda: _finish(stop, plan), stop.abort):
        return await play_locally(
            plan, on_progress=show, stop=stop, export=export, on_note=note, on_game=score_lines(plan, every)
        )


def _finish(stop: LocalStop, plan: LocalPlan) -> None:
    note("Finishing the games that are running; press Ctrl-C again to stop at once.")
    if plan.has_children and not plan.settings.time.timed:
        silence = plan.children.silence
        note(f"If a bot hangs in a game without a clock, the run waits until the bot is silent for {silence:g} s.")
    stop.finish()


def leave_if_ended_early(outcome: LocalOutcome) -> None:
    """After the result has been printed: ends the program with the exit code of an interruption, if there was one.

    Raises Problem if it was a fault that ended the run (`--fatal`).
    """
    if outcome.fatal is not None:
        game = outcome.fatal
        how = f": it {game.fault}" if game.fault else ""
        raise Problem(
            f"{game.loser} {game.outcome.termination.deed} in game {game.number:,} ({game.first} - {game.second}){how}",
            f"Leave out --fatal, which ended the run after {outcome.games:,} of {outcome.games_total:,} games.",
        )
    if outcome.interrupted:
        if outcome.endless:
            note(f"Stopped after {outcome.games:,} games.")
        elif outcome.games:
            note(f"Interrupted after {outcome.games:,} of {outcome.games_total:,} games.")
        else:
            note("Interrupted before a game was over.")
        if outcome.kept and outcome.games:
            kept = _as_given(outcome.kept)
            note(f"They are stored in {kept}. To resume:\n  {_resuming(kept)}")
        if not outcome.endless:
            raise SystemExit(INTERRUPTED)


def _as_given(database: str) -> str:
    """The file of a database of SQLite, as `--db` takes it; the address of any other, as it is."""
    from noughts_server.store.engine.dialect import parse_url

    return str(parse_url(database).database) if database.startswith("sqlite:") else database


def _resuming(database: str) -> str:
    """This program's command line, with what makes it resume the games of a database."""
    words, rest = [], iter(sys.argv[1:])
    for word in rest:
        if word == "--db":
            next(rest, None)
        elif word != "--resume" and not word.startswith("--db="):
            words.append(word)
    return shlex.join(["noughts", *words, "--db", database, "--resume"])
