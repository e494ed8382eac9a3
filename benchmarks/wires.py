"""The same bots as children of the referee and remote: plies a second of a whole server, `gomoku`, no clocks.

    python benchmarks/wires.py [--rounds 5] [--seconds 2] [--flight 1024] [--spec dll:./player.so]

Each round measures, one after the other and each in fresh processes: a bare gRPC ping-pong; two of the bot as children
behind the lock; the same two remote, as `noughts bot run SPEC` plays them at a server; and two remote `first-free`,
Python bots that need no plugin. Persistence and Elo are on. Prints medians, and the plies that are made in the time of
one ping-pong. Without `--spec` the bot is `bots/examples/c/lowest.c`, compiled with gcc.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from players import compiled
from throughput import run

from noughts_bots.event_loop import run_loop
from noughts_proto.transport import TOKEN_VARIABLE
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.tournament import LocalTournament
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings

_HERE = Path(__file__).parent
_WARM_SECONDS = 1.0
_MORE_THAN_ENOUGH = 1_000_000
_LABELS = ("one", "two")


async def _remote(spec: str, flight: int, seconds: float) -> float:
    """Plies a second of two such bots, each a process that dials in with a child of its own."""
    with tempfile.TemporaryDirectory() as folder:
        listening = ServerSettings(listen="127.0.0.1:0", database=f"sqlite:///{folder}/noughts.sqlite")
        async with running_server(listening) as server:
            settings = TournamentSettings(
                variant="gomoku", games_per_pair=_MORE_THAN_ENOUGH, concurrency=flight, seed=1
            )
            tournament = LocalTournament(server, settings, dict.fromkeys(_LABELS, "1"))
            await tournament.create()
            with _dialling(spec, {label: tournament.ticket(label) for label in _LABELS}, server.address):
                await tournament.all_online(lambda: None)
                async with asyncio.TaskGroup() as tasks:
                    playing = tasks.create_task(tournament.play(lambda *_: None))
                    await asyncio.sleep(_WARM_SECONDS)
                    before, began = server.referee.plies, time.perf_counter()
                    await asyncio.sleep(seconds)
                    rate = (server.referee.plies - before) / (time.perf_counter() - began)
                    playing.cancel()
                server.director.abandon()
    return rate


@contextmanager
def _dialling(spec: str, tickets: dict[str, str], address: str) -> Iterator[None]:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "noughts_server.cli", "bot", "run", spec, "--server", address, "--name", label],
            env={**os.environ, TOKEN_VARIABLE: ticket},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for label, ticket in tickets.items()
    ]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--flight", type=int, default=1_024)
    parser.add_argument("--spec", default="")
    parser.add_argument("--one", action="store_true", help="measure the remote pair once, print JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps({"plies": run_loop(_remote(options.spec, options.flight, options.seconds))}))
        return
    with tempfile.TemporaryDirectory() as folder:
        spec = options.spec or f"dll:{compiled(Path(folder))}"
        rounds = [_round(spec, options) for _ in range(options.rounds)]
    names = ("children", "the same remote", "first-free remote")
    print(f"{spec}\n{'':<20} {'plies/s':>10} {'per ping-pong':>14}")
    for column, name in enumerate(names, 1):
        plies = statistics.median(row[column] for row in rounds)
        ratio = statistics.median(row[column] / row[0] for row in rounds)
        print(f"{name:<20} {plies:>10,.0f} {ratio:>14.1f}")


def _round(spec: str, options: argparse.Namespace) -> tuple[float, float, float, float]:
    timing = ("--seconds", str(options.seconds))
    local = (str(_HERE / "throughput.py"), "--one", str(options.flight), *timing, "--variant", "gomoku", "--specs")
    return (
        run(str(_HERE / "bare.py"), "pingpong", GRPC_EXPERIMENTS="")["per_second"],
        run(*local, f"one={spec} two={spec}")["plies"],
        run(__file__, "--one", *timing, "--flight", str(options.flight), "--spec", spec)["plies"],
        run(*local, "one=first-free two=first-free")["plies"],
    )


if __name__ == "__main__":
    main()
