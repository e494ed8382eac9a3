"""A server on PostgreSQL plays tournaments across a restart, and the check of its database finds no error."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from noughts_proto.v1 import tournaments_pb2
from noughts_server.records.replay import errors_of_stored_game
from noughts_server.store.checking import check_database
from noughts_server.store.engine.database import Store
from tests.server.services.test_tunings import check_values_of_tuning
from tests.support.client import client_of
from tests.support.databases import POSTGRESQL, databases_of, url_of
from tests.support.guard import processes_allowed

FINISHED = tournaments_pb2.TOURNAMENT_STATE_FINISHED


@pytest.fixture(autouse=True)
def database_kind() -> Iterator[str]:
    """Only PostgreSQL."""
    with processes_allowed(True), databases_of(POSTGRESQL):
        yield POSTGRESQL


async def test_tournaments_are_played_to_their_ends_across_a_restart(tmp_path: Path) -> None:
    bots = ("ada", "bob", "cleo", "dora")
    formats = {
        "cup": tournaments_pb2.SCHEDULE_KNOCKOUT,
        "swiss": tournaments_pb2.SCHEDULE_SWISS,
        "all": tournaments_pb2.SCHEDULE_ROUND_ROBIN,
    }
    async with client_of(tmp_path / "league", rate_own_games=True) as client:
        token = await client.token()
        async with client.online(token, *bots):
            for slug, schedule in formats.items():
                await client.create(token, slug, schedule=schedule, games_per_pair=200 if slug == "all" else 4)
                for bot in bots:
                    await client.join(token, bot, slug)
                await client.start(token, slug)
    async with client_of(tmp_path / "league", rate_own_games=True) as client, client.online(token, *bots):
        for slug in formats:
            while (await client.get(slug)).state != FINISHED:
                await client.at_rest()
    store = await Store.open(url_of(tmp_path / "league"))
    report = await store.read(lambda connection: check_database(connection, errors_of_stored_game))
    await store.close()
    assert (report.tournaments, report.findings, report.ratings) == (3, [], 4)
    assert report.games > 6 * 200  # the round robin of four bots alone has 6 pairs


@pytest.mark.parametrize("workers", [1, 3])
async def test_values_of_a_tuning_do_not_depend_on_the_workers(tmp_path: Path, workers: int) -> None:
    async with client_of(tmp_path / "tunings") as client:
        await check_values_of_tuning(client, await client.token(), workers)
