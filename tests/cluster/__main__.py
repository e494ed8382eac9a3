"""A cluster under load and disruption: `python -m tests.cluster --games 60000`. Prints what came of it; exits with 1 if
a game was lost or stored twice, ratings are not those that follow from the games, a watcher missed something, or play
stood still for longer than it may.

With `--busy 15`, it plays for 15 minutes on one processor with 25 busy loops. With `--stops 12`, the holder of a unit
is stopped for 8 s, twelve times.
"""

import argparse
import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from noughts_referee.rules import ON_THE_BOARD
from tests.cluster.disruptions import Tally
from tests.cluster.run import Scenario, run
from tests.cluster.slow import BUSY_STANDSTILL_SECONDS, Busy, run_busy, run_stops

_CONSOLE = Console(soft_wrap=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    parser.add_argument("--games", type=int, default=60_000)
    parser.add_argument("--referees", type=int, default=3)
    parser.add_argument("--calm", action="store_true", help="no disruptions")
    parser.add_argument("--logs", type=Path, help="an empty folder for what the processes log")
    parser.add_argument("--variant", default="mnk:11,11,5")
    parser.add_argument("--busy", type=float, default=0, metavar="MINUTES", help="play on a machine that is too busy")
    parser.add_argument("--load", type=int, default=25, help="busy loops of that machine")
    parser.add_argument("--cpu", type=int, help="the processor of that machine")
    parser.add_argument("--stops", type=int, default=0, help="stop the holder of a unit so often")
    options = parser.parse_args()
    if options.busy:
        busy = Busy(say=_CONSOLE.print)
        asyncio.run(run_busy(busy, minutes=options.busy, load=options.load, cpu=options.cpu))
        return print_busy_result(busy)
    if options.stops:
        asyncio.run(run_stops(options.stops))
        return 0
    scenario = Scenario(options.games, options.variant, referees=options.referees, logs=options.logs)
    if options.calm:
        scenario = replace(scenario, disruptions=())
    tally = Tally(say=_CONSOLE.print)
    asyncio.run(run(scenario, tally))
    return print_result(tally)


def print_busy_result(busy: Busy) -> int:
    """Print what came of a run on a machine that is too busy; return its exit code."""
    table = Table(
        "tournament", "games", "longest standstill", "without a reason", "reasons", title=f"load {busy.load:.0f}"
    )
    for slug, seconds in busy.standstill.items():
        reasons = "; ".join(sorted(busy.reasons.get(slug, ())))
        table.add_row(slug, f"{busy.games[slug]:,}", f"{seconds:.1f} s", f"{busy.silent[slug]:.1f} s", reasons)
    _CONSOLE.print(table)
    _CONSOLE.print(dict(busy.events), busy.checked)
    stood = any(seconds > BUSY_STANDSTILL_SECONDS for seconds in busy.silent.values())
    return int(stood or any(busy.checked.values()) or not all(busy.games.values()))


def print_result(tally: Tally) -> int:
    """Print what came of the run; return its exit code."""
    on_the_board = sum(tally.endings[termination] for termination in ON_THE_BOARD)
    table = Table("what", "", title=f"{tally.games:,} games")
    for name, seconds in tally.seconds.items():
        table.add_row(f"seconds until play resumes: {name}", f"{seconds:.1f}")
    table.add_row(", ".join(tally.checked), ", ".join(map(str, tally.checked.values())))
    table.add_row("lost by a fault", str(sum(tally.endings.values()) - on_the_board))
    table.add_row("late writes refused", str(tally.refused))
    table.add_row("units that were played again", str(tally.again))
    table.add_row("messages to watchers, plies in them", f"{tally.messages:,}, {tally.plies:,}")
    table.add_row("their gaps, resyncs", f"{len(tally.gaps)}, {tally.resyncs}")
    table.add_row("games a second", f"{tally.games_a_second:,.0f}")
    _CONSOLE.print(table)
    if tally.gaps:
        _CONSOLE.print(tally.gaps[:10])
    wrong = any(tally.checked.values()) or bool(tally.gaps) or on_the_board < tally.games
    return int(wrong or max(tally.seconds.values(), default=0) >= tally.most_seconds)


if __name__ == "__main__":
    sys.exit(main())
