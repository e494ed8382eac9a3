"""One run of a cluster: a league of remote bots and of offered ones, watched, with disruptions or without."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg import OperationalError

from noughts_proto.v1 import tournaments_pb2, tournaments_pb2_grpc
from noughts_server.runtime.endless_work import running as running_work
from tests.cluster import players
from tests.cluster.cluster import Cluster, running_cluster
from tests.cluster.disruptions import (
    CUT_LINK,
    DISRUPTIONS,
    Tally,
    cause_disruptions,
    count_refused_games,
    count_repeated_units,
    watch_tournament,
)
from tests.support.databases import rows_of

REMOTE = tuple(f"bot{number}" for number in range(10))
CHILDREN = ("child1", "child2")
WATCHED_GAMES = 20
"""Number of games that are watched, evenly spread over the tournament."""
_FEWEST_LEFT = 40
"""If fewer games are left, the tournament is extended, so that no disruption meets a finished one."""
_LEFT = "SELECT games_total - games_done FROM tournaments WHERE slug = 'league'"


@dataclass(frozen=True, slots=True)
class Scenario:
    """The tournaments of a run, and the disruptions meanwhile."""

    games: int
    """The fewest games: all pairs play equally often, and games are added while disruptions last."""
    variant: str = "mnk:11,11,5"
    spec: str = "random"
    """The spec of the remote bots."""
    child: str = "Hasty"
    """The class of the offered bots, in `players`."""
    referees: int = 3
    disruptions: Sequence[str] = (*DISRUPTIONS, CUT_LINK)
    move_seconds: int = 0
    """Limit of each move; 0: none."""
    logs: Path | None = None
    """A folder in which the logs stay."""
    rest: float = 1.0
    """Seconds between two disruptions."""


async def run(scenario: Scenario, tally: Tally) -> None:
    """Play the scenario, and count the results."""
    with bot_file() as path:
        offers = [word for name in CHILDREN for word in ("--offers", f"{name}=py:{path}:{scenario.child}")]
        options = ("--owner", "ada", *offers)
        async with running_cluster(referees=scenario.referees, options=options, logs=scenario.logs) as cluster:
            await _play(cluster, tally, scenario)


@contextmanager
def bot_file() -> Iterator[Path]:
    """The file `players`, where sandboxed children can read it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "players.py"
        shutil.copyfile(players.__file__, path)
        path.chmod(0o644)
        Path(folder).chmod(0o755)
        yield path


async def _play(cluster: Cluster, tally: Tally, scenario: Scenario) -> None:
    cluster.start_bots(REMOTE[:5], scenario.spec)
    cluster.start_bots(REMOTE[5:], scenario.spec)
    everybody = (*REMOTE, *CHILDREN)
    await cluster.wait_until_online(everybody)
    pairs = len(everybody) * (len(everybody) - 1) // 2
    settings: dict[str, Any] = {"games_per_pair": -(-scenario.games // pairs // 2) * 2, "variant": scenario.variant}
    if scenario.move_seconds:
        settings["time"] = {"move_us": scenario.move_seconds * 1_000_000}
    began = time.monotonic()
    await cluster.organise("league", everybody, rated=True, **settings)
    watched = range(1, scenario.games, max(1, scenario.games // WATCHED_GAMES))
    async with watch_tournament(cluster, "league", watched) as observers:
        tally.observers = observers
        async with running_work(_extend(cluster), tally.measure_slowness()):
            await cause_disruptions(cluster, tally, scenario.disruptions, scenario.rest)
        tally.say(f"all disruptions are over after {time.monotonic() - began:.0f} s: {cluster.stored():,} games")
        await cluster.wait_until_finished("league", 600)
    tally.games = cluster.stored()
    tally.games_a_second = tally.games / (time.monotonic() - began)
    tally.checked = await cluster.count_errors("league")
    tally.refused = count_refused_games(cluster)
    tally.again = count_repeated_units(cluster)
    tally.endings = cluster.endings("league")


async def _extend(cluster: Cluster) -> None:
    """Add games while few are left: play lasts as long as the disruptions, on a fast machine and on a slow one."""
    stub = cluster.stub(tournaments_pb2_grpc.TournamentServiceStub)
    request = tournaments_pb2.ExtendTournamentRequest(name="tournaments/league", games_per_pair=1)
    while True:
        await asyncio.sleep(0.2)
        with suppress(OperationalError):  # PostgreSQL is away
            (left,) = rows_of(cluster.database, _LEFT)[0]
            if left < _FEWEST_LEFT:
                await cluster.call(stub.ExtendTournament, request)
