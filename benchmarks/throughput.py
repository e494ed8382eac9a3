"""Measure the plies per second of a complete server with two bot processes, clocks, storage and Elo.

    python benchmarks/throughput.py [--flights 1,8,64,256,1024,4096] [--rounds 5] [--seconds 2]

Each round runs, one after the other, a bare grpc.aio ping-pong, a bare echo of frames of the same size, and the server
with that number of concurrent games, each in new processes. Prints medians, and the number of plies in the time of one
ping-pong, which depends less on the machine.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from noughts_bots.connection.event_loop import run_loop
from noughts_bots.reference.specs import parse_spec
from noughts_referee.clock import TimeControl
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.plan import LocalPlan, LocalProgress, LocalStop
from noughts_server.local.run import play_locally

_HERE = Path(__file__).parent
_WARM_SECONDS = 1.0
"""Plies of the first seconds do not count: processes still load modules and fill caches."""
_GAMES_PER_PAIR = 1_000_000
"""More games than a server can finish during a measurement."""
_ENGINE_OF_NOUGHTS = os.environ.get("GRPC_EXPERIMENTS", "")


class Sample(NamedTuple):
    time: float
    plies: int
    """Number of plies so far."""


async def measure(flight: int, seconds: float, variant: str, specs: str) -> dict[str, float]:
    """Run the server once, in a separate process, to measure its own peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "noughts.sqlite"
        plan = LocalPlan(
            specs=tuple(parse_spec(spec) for spec in specs.split()),
            settings=TournamentSettings(
                variant=variant,
                time=TimeControl(),
                games_per_pair=_GAMES_PER_PAIR,
                concurrency=flight,
                seed=1,
            ),
            database=f"sqlite:///{database}",
        )
        stop = LocalStop()
        samples: list[Sample] = []

        def take_sample(progress: LocalProgress) -> None:
            if progress.plies:
                now = time.perf_counter()
                samples.append(Sample(now, progress.plies))
                if now - samples[0].time > _WARM_SECONDS + seconds:
                    stop.finish()

        outcome = await play_locally(plan, on_progress=take_sample, stop=stop)
        start = samples[0].time
        first = next(sample for sample in samples if sample.time - start >= _WARM_SECONDS)
        last = next(sample for sample in samples if sample.time - start > _WARM_SECONDS + seconds)
        size = sum(entry.stat().st_size for entry in os.scandir(folder))
        return {
            "plies": (last.plies - first.plies) / (last.time - first.time),
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "bytes": size / max(1, outcome.games),
            "games": outcome.games,
        }


def run(*arguments: str, **variables: str) -> dict[str, float]:
    """Run a Python program with these environment variables; return the JSON in the last line of its output."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", **variables}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    if done.returncode:
        raise SystemExit(f"{arguments} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", default="1,8,64,256,1024,4096")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--variant", default="tictactoe")
    parser.add_argument("--specs", default="random random")
    parser.add_argument("--one", type=int, help="measure the server once with this number of games, print JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_loop(measure(options.one, options.seconds, options.variant, options.specs))))
        return
    flights = [int(flight) for flight in options.flights.split(",")]
    print(f"{'games':>9} {'plies/s':>10} {'ping-pongs/s':>12} {'plies per':>10} {'time per ply':>13} "
          f"{'same, no':>11} {'of a bare':>10} {'peak':>8} {'bytes per':>9}")  # fmt: skip
    print(f"{'':>9} {'':>10} {'':>12} {'ping-pong':>10} {'in ping-pongs':>13} "
          f"{'engine':>11} {'echo':>10} {'MiB':>8} {'game':>9}")  # fmt: skip
    for flight in flights:
        rounds = [_round(flight, options) for _ in range(options.rounds)]
        plies, bare, ratio, ours, echo, memory, size = (
            statistics.median(column) for column in zip(*rounds, strict=True)
        )
        print(
            f"{flight:>9,} {plies:>10,.0f} {bare:>12,.0f} {ratio:>10.1f} {1 / ratio:>13.2f} "
            f"{ours:>11.1f} {echo:>10.0%} {memory:>8.0f} {size:>9.0f}",
            flush=True,
        )


def _round(flight: int, options: argparse.Namespace) -> tuple[float, ...]:
    # The reference programs use the defaults of gRPC. The server and its bots choose another event engine (see
    # noughts_proto); `same_engine` is a ping-pong with that engine.
    bare = run(str(_HERE / "bare.py"), "pingpong", GRPC_EXPERIMENTS="")["per_second"]
    echo = run(str(_HERE / "bare.py"), "echo", "--flight", str(flight), GRPC_EXPERIMENTS="")["per_second"]
    same_engine = run(str(_HERE / "bare.py"), "pingpong", GRPC_EXPERIMENTS=_ENGINE_OF_NOUGHTS)["per_second"]
    served = run(
        __file__, "--one", str(flight), "--seconds", str(options.seconds), "--variant", options.variant,
        "--specs", options.specs,
    )  # fmt: skip
    plies = served["plies"]
    return plies, bare, plies / bare, plies / same_engine, plies / echo, served["memory"], served["bytes"]


if __name__ == "__main__":
    main()
