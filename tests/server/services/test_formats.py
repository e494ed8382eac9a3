"""Formats on a server: extensions, late entries, withdrawals, ladders."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import tournaments_pb2 as pb
from tests.support.client import Client, bearer, client_of, refusal_of

from .players import until_online

CUP = "tournaments/cup"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with client_of(tmp_path / "x.sqlite") as opened:
        yield opened


@asynccontextmanager
async def online(client: Client, token: str, *names: str) -> AsyncIterator[None]:
    """These bots are logged in and play at random."""
    async with asyncio.TaskGroup() as tasks:
        logins = [Login(client.server.address, name=name, token=token) for name in names]
        playing = [tasks.create_task(play(Random(), login)) for login in logins]
        for name in names:
            await until_online(client, name)
        try:
            yield
        finally:
            for task in playing:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*playing)


async def shown(client: Client, wanted: Callable[[pb.Tournament], bool]) -> pb.Tournament:
    """The tournament as soon as it is as wanted."""
    async with asyncio.timeout(20):
        while True:
            answer = await client.tournaments.GetTournament(pb.GetTournamentRequest(name=CUP))
            if wanted(answer.tournament):
                return answer.tournament
            await asyncio.sleep(0.02)


def finished(tournament: pb.Tournament) -> bool:
    return tournament.state == pb.TOURNAMENT_STATE_FINISHED


async def extend(client: Client, token: str, **fields: Any) -> pb.Tournament:
    request = pb.ExtendTournamentRequest(name=CUP, **fields)
    return (await client.tournaments.ExtendTournament(request, metadata=bearer(token))).tournament


async def begun(client: Client, token: str, bots: tuple[str, ...], **fields: Any) -> None:
    await client.create(token, **fields)
    for bot in bots:
        await client.join(token, bot)
    await client.start(token)


@pytest.mark.parametrize(
    "schedule, byes", [(pb.SCHEDULE_GAUNTLET, 0), (pb.SCHEDULE_SWISS, 2), (pb.SCHEDULE_KNOCKOUT, 0)]
)
async def test_a_tournament_of_every_format_is_played_to_its_end(
    client: Client, schedule: pb.Schedule, byes: int
) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    async with online(client, token, *bots):
        await begun(client, token, bots, schedule=schedule)
        over = await shown(client, finished)
    assert over.games_done == over.games_total > 0
    assert sum(row.byes for row in over.standings) == byes


async def test_the_bracket_of_a_knockout_comes_with_its_crosstable(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    async with online(client, token, *bots):
        await begun(client, token, bots, schedule=pb.SCHEDULE_KNOCKOUT)
        await shown(client, finished)
    bye, semifinal, final = (await client.tournaments.GetCrosstable(pb.GetCrosstableRequest(name=CUP))).matches
    assert (bye.first, bye.second, bye.winner, bye.decision) == ("ada", "", "ada", pb.MATCH_DECISION_BYE)
    assert (semifinal.round, semifinal.first, semifinal.second) == (1, "cleo", "bob")
    assert (final.round, final.first, final.second) == (2, "ada", semifinal.winner)
    assert final.winner in (final.first, final.second)
    assert final.games == final.first_points + final.second_points >= 2


async def test_what_was_finished_plays_more_games_when_it_is_extended(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob")
    async with online(client, token, *bots):
        await begun(client, token, bots)
        await shown(client, finished)
        await extend(client, token, games_per_pair=4)
        over = await shown(client, lambda cup: finished(cup) and cup.games_done == 6)
    assert over.games_per_pair == 6


async def test_a_running_tournament_plays_what_is_added_to_it(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob")
    async with online(client, token, *bots):
        await begun(client, token, bots, games_per_pair=300)
        await extend(client, token, games_per_pair=101)
        over = await shown(client, lambda cup: finished(cup) and cup.games_total == 401)
    assert over.games_done == 401


@pytest.mark.parametrize("schedule", [pb.SCHEDULE_ROUND_ROBIN, pb.SCHEDULE_GAUNTLET])
async def test_extended_tournament_ends_without_an_error(client: Client, schedule: pb.Schedule) -> None:
    token, bots = await client.token(), ("ada", "bob")
    await client.register(*bots)
    # The last of the units waits until the bots play. It is claimed with the games that were added.
    await begun(client, token, bots, games_per_pair=201, concurrency=1, schedule=schedule)
    await extend(client, token, games_per_pair=1)
    with capture_logs() as logs:
        async with online(client, token, *bots):
            over = await shown(client, finished)
            async with asyncio.timeout(20):
                while not {"tournament_played", "tournament_stopped"} & {line["event"] for line in logs}:  # noqa: ASYNC110  # nothing tells
                    await asyncio.sleep(0.02)
    assert over.games_done == 202
    assert [line for line in logs if line["log_level"] == "error"] == []


@pytest.mark.parametrize("schedule", [pb.SCHEDULE_ROUND_ROBIN, pb.SCHEDULE_GAUNTLET, pb.SCHEDULE_SWISS])
async def test_finished_tournament_extended_by_nothing_finishes_again(client: Client, schedule: pb.Schedule) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    async with online(client, token, *bots):
        await begun(client, token, bots, schedule=schedule)
        before = await shown(client, finished)
        assert (await extend(client, token)).state == pb.TOURNAMENT_STATE_PAUSED
        await client.start(token)
        after = await shown(client, finished)
    assert after.games_done == after.games_total == before.games_total


async def test_a_finished_tournament_is_paused_for_late_entries(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    async with online(client, token, *bots):
        await begun(client, token, bots[:2])
        await shown(client, finished)
        assert (await extend(client, token)).state == pb.TOURNAMENT_STATE_PAUSED
        await client.join(token, "cleo")
        await client.start(token)
        over = await shown(client, lambda cup: finished(cup) and len(cup.standings) == 3)
    assert over.games_done == 6


@pytest.mark.parametrize(
    "schedule, fields, field",
    [
        (pb.SCHEDULE_ROUND_ROBIN, {"rounds": 1}, "rounds"),
        (pb.SCHEDULE_SWISS, {"games_per_pair": 2}, "games_per_pair"),
        (pb.SCHEDULE_SWISS, {"rounds": 9}, "rounds"),
    ],
)
async def test_what_a_format_cannot_have_more_of_is_refused(
    client: Client, schedule: pb.Schedule, fields: dict[str, int], field: str
) -> None:
    token = await client.token()
    await client.register("ada", "bob", "cleo", "dora")
    await begun(client, token, ("ada", "bob", "cleo", "dora"), schedule=schedule)
    refusal = await refusal_of(extend(client, token, **fields))
    assert refusal.fields() == [field]


async def test_only_the_organiser_extends(client: Client) -> None:
    await client.register("ada", "bob")
    await begun(client, await client.token(), ("ada", "bob"))
    refusal = await refusal_of(extend(client, await client.token("eve"), games_per_pair=2))
    assert refusal.reason == "PERMISSION_DENIED"


async def test_who_leaves_a_running_tournament_loses_the_rest_and_it_ends(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    await client.register("cleo")
    async with online(client, token, *bots[:2]):
        await begun(client, token, bots, games_per_pair=4)
        await shown(client, lambda cup: cup.games_done == 4)
        leaving = pb.WithdrawTournamentRequest(name=CUP, label="cleo")
        await client.tournaments.WithdrawTournament(leaving, metadata=bearer(token))
        over = await shown(client, finished)
    [row] = [row for row in over.standings if row.label == "cleo"]
    assert (row.wins, row.draws, row.losses, row.withdraw_reason) == (0, 0, 8, "on request")
    assert row.HasField("withdraw_time")


async def test_a_ladder_goes_on_until_it_is_cancelled_and_takes_who_comes_late(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo", "dora")
    async with online(client, token, *bots):
        await begun(client, token, bots[:3], schedule=pb.SCHEDULE_LADDER)
        await shown(client, lambda cup: cup.games_done > 20)
        await client.join(token, "dora")
        running = await shown(client, lambda cup: any(row.label == "dora" and row.wins > 2 for row in cup.standings))
        assert running.state == pb.TOURNAMENT_STATE_RUNNING
        await client.tournaments.CancelTournament(pb.CancelTournamentRequest(name=CUP), metadata=bearer(token))
        over = await shown(client, lambda cup: cup.state == pb.TOURNAMENT_STATE_CANCELLED)
    assert over.games_done > 20


async def test_a_ladder_that_had_nobody_to_pair_goes_on_with_a_newcomer(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    async with online(client, token, *bots):
        await begun(client, token, bots[:2], schedule=pb.SCHEDULE_LADDER)
        await shown(client, lambda cup: cup.games_done > 4)
        leaving = pb.WithdrawTournamentRequest(name=CUP, label="bob")
        await client.tournaments.WithdrawTournament(leaving, metadata=bearer(token))
        stalled = await shown(client, lambda cup: cup.games_done == cup.games_total)
        await asyncio.sleep(0.1)
        await client.join(token, "cleo")
        await shown(client, lambda cup: cup.games_done > stalled.games_done + 4)
