"""Play the planned games for a few seconds, to estimate how long all of them will take."""

import tempfile
from dataclasses import replace
from pathlib import Path
from time import monotonic

from noughts_server.cli.drawing.dry_run import Pace, pace_of
from noughts_server.cli.options.logs import LogLevel, configure_logs
from noughts_server.cli.processes.signals import run_loop
from noughts_server.competition.forecast import longest_game
from noughts_server.competition.formats import ROUND_ROBIN
from noughts_server.local.plan import LocalPlan, LocalProgress, LocalStop
from noughts_server.local.run import play_locally

_SECONDS = 3.0
"""Seconds of the trial."""
_GAMES_PER_PAIR = 10_000
"""More games than a trial can play."""


def pace_by_trial(plan: LocalPlan) -> Pace:
    """Return the pace of the plan's games: from its time limits, else measured in a trial of a few seconds."""
    times = [plan.settings.time, *plan.settings.own_times.values()]
    if longest_game(times, 1) is not None:
        return pace_of(plan.settings)
    if any(spec.asks_an_endpoint for spec in plan.specs):
        return Pace(None, None, "none", "no trial is played, because it would send requests to an endpoint")
    from noughts_server.store.engine.sqlite import url_of

    configure_logs(LogLevel.WARNING)
    stop = LocalStop()
    start: float | None = None
    games = 0
    seconds = 0.0

    def on_progress(progress: LocalProgress) -> None:
        """Count games and seconds from the first time when all bots are connected."""
        nonlocal start, games, seconds
        if start is None:
            if progress.bots_online < progress.bots_expected:
                return
            start = monotonic()
        games = progress.games_done
        seconds = monotonic() - start
        if seconds >= _SECONDS:
            stop.abort()

    settings = replace(
        plan.settings, schedule=ROUND_ROBIN, rounds=0, stop_when_decided=False, sprt="", games_per_pair=_GAMES_PER_PAIR
    )
    with tempfile.TemporaryDirectory(prefix="noughts-") as folder:
        database = url_of(Path(folder) / "trial.sqlite")
        trial = replace(plan, settings=settings, database=database, resumes="", log=None, messages=None, fatal=False)
        run_loop(play_locally(trial, on_progress=on_progress, stop=stop))
    if not games:
        wording = f"no game ended within {_SECONDS:.0f} s of a trial, and there is no time limit"
        return Pace(None, None, "trial", wording)
    rate = games / seconds
    wording = f"this assumes {rate:,.3g} games a second, measured in a trial round robin of {seconds:.0f} s"
    return Pace(None, rate, "trial", wording)
