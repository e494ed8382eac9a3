"""Play a plan in this process: signals, progress and the file of games around `play_locally`."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

from noughts_server.cli.drawing.progress import showing_progress
from noughts_server.cli.drawing.score_lines import score_lines
from noughts_server.cli.errors import INTERRUPTED, Problem
from noughts_server.cli.options.logs import LogLevel, configure_logs
from noughts_server.cli.printing import count, note
from noughts_server.cli.processes.signals import run_loop, two_stages
from noughts_server.local.plan import LocalOutcome, LocalPlan, LocalStop
from noughts_server.local.run import play_locally
from noughts_server.records.games_file import STDOUT, GamesFile


def play(plan: LocalPlan, *, output: Path | None = None, times: bool = False, every: int | None = None) -> LocalOutcome:
    """Play the plan, with progress on a terminal, else with the score after every `every` games.

    The games are written to `output` while they are played.
    """
    configure_logs(LogLevel.WARNING)
    if output is None:
        return run_loop(_play(plan, lambda games: None, every))
    with GamesFile(output, times=times) as file:
        return run_loop(_play(plan, file.write, every))


@contextmanager
def stdout_for_games(output: Path | None) -> Iterator[None]:
    """Print results on stderr inside the block if the games go to stdout, so that a program can read the games."""
    with redirect_stdout(sys.stderr) if output == STDOUT else nullcontext():
        yield


async def _play(plan: LocalPlan, export: Callable[[Any], None], every: int | None) -> LocalOutcome:
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


def exit_if_ended_early(outcome: LocalOutcome) -> None:
    """End the program with the exit code of an interruption, if there was one. Call it after printing the result.

    Raises Problem if a fault ended the run (`--fatal`).
    """
    if outcome.fatal is not None:
        game = outcome.fatal
        detail = f": it {game.fault}" if game.fault else ""
        raise Problem(
            (
                f"{game.loser} {game.outcome.termination.deed} in game {game.number:,} ({game.first} - "
                f"{game.second}){detail}"
            ),
            f"Leave out --fatal, which ended the run after {outcome.games:,} of {outcome.games_total:,} games.",
        )
    if outcome.interrupted:
        if outcome.endless:
            note(f"Stopped after {count(outcome.games, 'game')}.")
        elif outcome.games:
            note(f"Interrupted after {outcome.games:,} of {count(outcome.games_total, 'game')}.")
        else:
            note("Interrupted before any game ended.")
        if outcome.kept:
            database = outcome.kept
            if database.startswith("sqlite:"):  # --db takes the file's path
                from noughts_server.store.engine.dialect import parse_url

                database = str(parse_url(database).database)
            subject = "They are" if outcome.games else "The games in progress are"
            note(f"{subject} stored in {database}. To resume:\n  {_resume_command(database)}")
        if not outcome.endless:
            raise SystemExit(INTERRUPTED)


def _resume_command(database: str) -> str:
    """Return this program's command line, with the option that resumes the games of a database."""
    words = []
    arguments = iter(sys.argv[1:])
    for word in arguments:
        if word == "--db":
            next(arguments, None)  # the value of --db
        elif word != "--resume" and not word.startswith("--db="):
            words.append(word)
    return shlex.join(["noughts", *words, "--db", database, "--resume"])
