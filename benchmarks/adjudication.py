"""Measure what adjudication, and keeping what bots think, cost a server.

    python benchmarks/adjudication.py [--rounds 5] [--games 1000] [--variant mnk:5,5,4]

Each round plays the same games once in each mode, in turn, in new processes. The bots report a score, a depth, nodes
and eight cells with each move. The figures are processor time of the server for a ply, because rules end games early,
and that of its child processes: the judge of proofs, and what starts the bots. The bots themselves are not measured.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from noughts_bots.connection.event_loop import run_loop
from noughts_bots.reference.specs import parse_spec
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.plan import LocalPlan, LocalStop
from noughts_server.local.run import play_locally

_BOT = """
from noughts_bots import Bot, Move

class Thinker(Bot):
    def choose(self, position):
        cell = position.rng().choice(position.free)
        return Move(cell, score=35.0, depth=12, nodes=34_000, pv=[cell, *position.free[:7]])
"""
_WARM_UP_GAMES = 20
_MODES: dict[str, dict[str, Any]] = {
    "off": {},
    "keep_scores": {"keep_scores": True},
    "resign and draw": {"resign": "moves=3,score=600", "draw": "moves=3,score=10"},
    "exact": {"adjudicate": "exact"},
}


async def measure(mode: str, games: int, variant: str) -> dict[str, float]:
    """Play the games in this process, and return its processor time for a ply in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        bot = Path(folder) / "bot" / "thinker.py"
        bot.parent.mkdir()
        bot.write_text(_BOT)
        settings = TournamentSettings(
            variant=variant, games_per_pair=games, concurrency=64, seed=1, rated=False, **_MODES[mode]
        )
        specs = tuple(parse_spec(f"{label}=py:{bot}:Thinker") for label in "AB")
        plies = 0
        warm_up = replace(settings, games_per_pair=_WARM_UP_GAMES)
        await play_locally(
            LocalPlan(specs=specs, settings=warm_up), on_progress=lambda progress: None, stop=LocalStop()
        )

        def count(progress: Any) -> None:
            nonlocal plies
            plies = progress.plies

        plan = LocalPlan(specs=specs, settings=settings, database=f"sqlite:///{folder}/games.db")
        before = _seconds(resource.RUSAGE_SELF)
        outcome = await play_locally(plan, on_progress=count, stop=LocalStop())
        used = _seconds(resource.RUSAGE_SELF) - before
        assert outcome.games == games
    return {
        "us": used / plies * 1e6,
        "plies": plies / games,
        "others": _seconds(resource.RUSAGE_CHILDREN) / games * 1e3,
    }


def _seconds(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--games", type=int, default=1_000)
    parser.add_argument("--variant", default="mnk:5,5,4")
    parser.add_argument("--modes", default=",".join(_MODES))
    parser.add_argument("--one", help="measure one mode once, print JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_loop(measure(options.one, options.games, options.variant))))
        return
    modes = options.modes.split(",")
    runs: dict[str, list[dict[str, float]]] = {mode: [] for mode in modes}
    for _ in range(options.rounds):
        for mode in modes:
            command = [sys.executable, __file__, "--one", mode, "--games", str(options.games)]
            done = subprocess.run(
                [*command, "--variant", options.variant], capture_output=True, text=True, check=True, timeout=1_800
            )
            runs[mode].append(json.loads(done.stdout.splitlines()[-1]))
    print(f"{'mode':>16} {'plies a game':>13} {'us per ply':>11} {'of off':>7} {'children, ms per game':>20}")
    for mode, results in runs.items():
        us, plies, others = (statistics.median(run[name] for run in results) for name in ("us", "plies", "others"))
        ratio = statistics.median(run["us"] / off["us"] for run, off in zip(results, runs[modes[0]], strict=True))
        print(f"{mode:>16} {plies:>13.1f} {us:>11.1f} {ratio:>7.2f} {others:>20.1f}")


if __name__ == "__main__":
    main()
