"""Plays a plan in this process: signals, progress and the file of games around `play_locally`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noughts_server.cli.errors import INTERRUPTED
from noughts_server.cli.options import LogLevel
from noughts_server.cli.output import note
from noughts_server.cli.signals import two_stages

if TYPE_CHECKING:
    from noughts_server.local.run import LocalOutcome, LocalPlan, LocalStop


def play(plan: "LocalPlan", *, output: Path | None = None, times: bool = False) -> "LocalOutcome":
    """Plays the plan, with progress on a terminal. Writes the games to `output`."""
    from noughts_bots.event_loop import run_loop
    from noughts_server.cli.logs import configure_logs
    from noughts_server.records.jsonl import GamesFile

    configure_logs(LogLevel.WARNING)
    if output is None:
        return run_loop(_play(plan, None))
    with GamesFile(output, times=times) as file:
        return run_loop(_play(plan, file.write))


async def _play(plan: "LocalPlan", export: Callable[[Any], None] | None) -> "LocalOutcome":
    from noughts_server.cli.drawing.progress import showing_progress
    from noughts_server.local.run import LocalStop, play_locally

    stop = LocalStop()
    with showing_progress() as show, two_stages(lambda: _finish(stop), stop.abort):
        return await play_locally(plan, on_progress=show, stop=stop, export=export, on_note=note)


def _finish(stop: "LocalStop") -> None:
    note("Finishing the games that are running; press Ctrl-C again to stop at once.")
    stop.finish()


def leave_if_interrupted(outcome: "LocalOutcome") -> None:
    """Ends the program with the exit code of an interruption, after the result has been printed."""
    if outcome.interrupted:
        note(f"Interrupted after {outcome.games:,} of {outcome.games_total:,} games.")
        raise SystemExit(INTERRUPTED)
