"""Measure how two matches with a throughput share a cluster of two servers and two referees.

    python -m benchmarks.shares [--seconds 60] [--throughputs 75,25] [--time]

Prints each match's share of the games that were stored in this time, and the share that follows from the throughputs.
`--time`: games with clocks. NATS and PostgreSQL come from the wheels of the tests and run on this machine.
"""

import argparse
import asyncio
from typing import Any

from noughts_proto.v1 import tournaments_pb2, tournaments_pb2_grpc
from tests.cluster.cluster import running_cluster

_SETTLED_SECONDS = 3.0


async def _measure(seconds: float, throughputs: list[int], settings: dict[str, Any]) -> None:
    pairs = {f"match{number}": (f"new{number}", f"old{number}") for number in range(len(throughputs))}
    async with running_cluster(servers=2, referees=2) as cluster:
        for pair in pairs.values():
            cluster.start_bots(pair)
        await cluster.wait_until_online([bot for pair in pairs.values() for bot in pair])
        for (slug, pair), throughput in zip(pairs.items(), throughputs, strict=True):
            await cluster.organise(slug, pair, throughput=throughput, **settings)

        async def stored_games() -> list[int]:
            return [(await cluster.tournament(slug)).games_done for slug in pairs]

        await asyncio.sleep(_SETTLED_SECONDS)
        before = await stored_games()
        await asyncio.sleep(seconds)
        games = [now - then for now, then in zip(await stored_games(), before, strict=True)]
        stub = cluster.stub(tournaments_pb2_grpc.TournamentServiceStub)
        for slug, number, throughput in zip(pairs, games, throughputs, strict=True):
            share, wanted_share = 100 * number / sum(games), 100 * throughput / sum(throughputs)
            cancel = tournaments_pb2.CancelTournamentRequest(name=f"tournaments/{slug}")
            await cluster.call(stub.CancelTournament, cancel)
            print(f"{slug}: {number:,} games, {share:.1f} % (throughput: {wanted_share:.1f} %)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--throughputs", default="75,25")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    settings: dict[str, Any] = {"schedule": tournaments_pb2.SCHEDULE_MATCH, "games_per_pair": 1_000_000}
    if options.time:
        settings["time"] = {"bank_us": 60_000_000}
    asyncio.run(_measure(options.seconds, [int(text) for text in options.throughputs.split(",")], settings))


if __name__ == "__main__":
    main()
