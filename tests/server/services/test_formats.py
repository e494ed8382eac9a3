"""Formats on a server: extensions, late entries, withdrawals, ladders."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_referee.work_units import ScheduledGame
from noughts_server.runtime.tournament_play import LocalPlay
from noughts_server.store.tournaments.claims import Claim
from tests.support.client import Client, bearer, refusal_of
from tests.support.patience import PATIENCE

from .players import Undecided, until_online

CUP = "tournaments/cup"


@asynccontextmanager
async def bots_online(client: Client, token: str, *names: str) -> AsyncIterator[None]:
    """Bots with these names that are logged in and play at random while the block runs."""
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


async def cup_when(client: Client, condition: Callable[[pb.Tournament], bool]) -> pb.Tournament:
    """Wait until the condition holds for the tournament, and return it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await client.tournaments.GetTournament(pb.GetTournamentRequest(name=CUP))
            if condition(answer.tournament):
                return answer.tournament
            await asyncio.sleep(0.02)


def is_finished(tournament: pb.Tournament) -> bool:
    return tournament.state == pb.TOURNAMENT_STATE_FINISHED


async def extend(client: Client, token: str, **fields: Any) -> pb.Tournament:
    request = pb.ExtendTournamentRequest(name=CUP, **fields)
    return (await client.tournaments.ExtendTournament(request, metadata=bearer(token))).tournament


async def start_cup(client: Client, token: str, bots: tuple[str, ...], **fields: Any) -> None:
    """Create the tournament `cup`, enter these bots, and start it."""
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
    async with bots_online(client, token, *bots):
        await start_cup(client, token, bots, schedule=schedule)
        finished = await cup_when(client, is_finished)
    assert finished.games_done == finished.games_total > 0
    assert sum(row.byes for row in finished.standings) == byes


async def test_the_bracket_of_a_knockout_comes_with_its_crosstable(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    async with bots_online(client, token, *bots):
        await start_cup(client, token, bots, schedule=pb.SCHEDULE_KNOCKOUT)
        await cup_when(client, is_finished)
    bye, semifinal, final = (await client.tournaments.GetCrosstable(pb.GetCrosstableRequest(name=CUP))).matches
    assert (bye.first, bye.second, bye.winner, bye.decision) == ("ada", "", "ada", pb.MATCH_DECISION_BYE)
    assert (semifinal.round, semifinal.first, semifinal.second) == (1, "cleo", "bob")
    assert (final.round, final.first, final.second) == (2, "ada", semifinal.winner)
    assert final.winner in (final.first, final.second)
    assert final.games == final.first_points + final.second_points >= 2


async def test_an_extended_tournament_plays_more_games(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob")
    async with bots_online(client, token, *bots):
        await start_cup(client, token, bots)
        await cup_when(client, is_finished)
        await extend(client, token, games_per_pair=4)
        finished = await cup_when(client, lambda cup: is_finished(cup) and cup.games_done == 6)
    assert finished.games_per_pair == 6


async def test_a_running_tournament_plays_added_games(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob")
    async with bots_online(client, token, *bots):
        await start_cup(client, token, bots, games_per_pair=300)
        await extend(client, token, games_per_pair=101)
        finished = await cup_when(client, lambda cup: is_finished(cup) and cup.games_total == 401)
    assert finished.games_done == 401


@pytest.mark.parametrize("schedule", [pb.SCHEDULE_ROUND_ROBIN, pb.SCHEDULE_GAUNTLET])
async def test_extended_tournament_ends_without_an_error(client: Client, schedule: pb.Schedule) -> None:
    token, bots = await client.token(), ("ada", "bob")
    await client.register(*bots)
    # The last unit is claimed only after the bots have played the others, and then contains the added games.
    await start_cup(client, token, bots, games_per_pair=201, concurrency=1, schedule=schedule)
    await extend(client, token, games_per_pair=1)
    with capture_logs() as logs:
        async with bots_online(client, token, *bots):
            finished = await cup_when(client, is_finished)
            async with asyncio.timeout(PATIENCE):
                while not {"tournament_played", "tournament_stopped"} & {line["event"] for line in logs}:  # noqa: ASYNC110  # nothing tells
                    await asyncio.sleep(0.02)
    assert finished.games_done == 202
    assert [line for line in logs if line["log_level"] == "error"] == []


@pytest.mark.parametrize("schedule", [pb.SCHEDULE_ROUND_ROBIN, pb.SCHEDULE_GAUNTLET, pb.SCHEDULE_SWISS])
async def test_finished_tournament_extended_by_nothing_finishes_again(client: Client, schedule: pb.Schedule) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    async with bots_online(client, token, *bots):
        await start_cup(client, token, bots, schedule=schedule)
        before = await cup_when(client, is_finished)
        assert (await extend(client, token)).state == pb.TOURNAMENT_STATE_PAUSED
        await client.start(token)
        after = await cup_when(client, is_finished)
    assert after.games_done == after.games_total == before.games_total


async def test_a_finished_tournament_is_paused_for_late_entries(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    async with bots_online(client, token, *bots):
        await start_cup(client, token, bots[:2])
        await cup_when(client, is_finished)
        assert (await extend(client, token)).state == pb.TOURNAMENT_STATE_PAUSED
        await client.join(token, "cleo")
        await client.start(token)
        finished = await cup_when(client, lambda cup: is_finished(cup) and len(cup.standings) == 3)
    assert finished.games_done == 6


@pytest.mark.parametrize(
    "schedule, fields, field",
    [
        (pb.SCHEDULE_ROUND_ROBIN, {"rounds": 1}, "rounds"),
        (pb.SCHEDULE_SWISS, {"games_per_pair": 2}, "games_per_pair"),
        (pb.SCHEDULE_SWISS, {"rounds": 9}, "rounds"),
    ],
)
async def test_extension_that_does_not_fit_the_format_is_refused(
    client: Client, schedule: pb.Schedule, fields: dict[str, int], field: str
) -> None:
    token = await client.token()
    await client.register("ada", "bob", "cleo", "dora")
    await start_cup(client, token, ("ada", "bob", "cleo", "dora"), schedule=schedule)
    refusal = await refusal_of(extend(client, token, **fields))
    assert refusal.fields() == [field]


async def test_only_the_organiser_extends(client: Client) -> None:
    await client.register("ada", "bob")
    await start_cup(client, await client.token(), ("ada", "bob"))
    refusal = await refusal_of(extend(client, await client.token("eve"), games_per_pair=2))
    assert refusal.reason == "PERMISSION_DENIED"


async def test_an_entry_that_withdraws_loses_its_remaining_games(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    await client.register("cleo")
    async with bots_online(client, token, *bots[:2]):
        await start_cup(client, token, bots, games_per_pair=4)
        await cup_when(client, lambda cup: cup.games_done == 4)
        leaving = pb.WithdrawTournamentRequest(name=CUP, label="cleo")
        await client.tournaments.WithdrawTournament(leaving, metadata=bearer(token))
        finished = await cup_when(client, is_finished)
    [row] = [row for row in finished.standings if row.label == "cleo"]
    assert (row.wins, row.draws, row.losses, row.withdraw_reason) == (0, 0, 8, "on request")
    assert row.HasField("withdraw_time")


async def test_a_ladder_runs_until_it_is_cancelled_and_takes_late_entries(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo", "dora")
    async with bots_online(client, token, *bots):
        await start_cup(client, token, bots[:3], schedule=pb.SCHEDULE_LADDER)
        await cup_when(client, lambda cup: cup.games_done > 20)
        await client.join(token, "dora")
        running = await cup_when(client, lambda cup: any(row.label == "dora" and row.wins > 2 for row in cup.standings))
        assert running.state == pb.TOURNAMENT_STATE_RUNNING
        await client.tournaments.CancelTournament(pb.CancelTournamentRequest(name=CUP), metadata=bearer(token))
        cancelled = await cup_when(client, lambda cup: cup.state == pb.TOURNAMENT_STATE_CANCELLED)
    assert cancelled.games_done > 20


async def test_a_newcomer_to_a_ladder_plays_at_once_next_to_absent_entries(client: Client) -> None:
    token, absent = await client.token(), tuple(f"away{number}" for number in range(20))
    await client.register(*absent)
    await start_cup(client, token, absent, schedule=pb.SCHEDULE_LADDER)
    async with bots_online(client, token, "ada", "bob"):
        await client.join(token, "ada")
        await client.join(token, "bob")
        cup = await cup_when(client, lambda cup: cup.games_done >= 10)
        assert {row.label for row in cup.standings if row.wins + row.draws + row.losses} == {"ada", "bob"}
        # An absent entry has lost nothing, and plays as soon as it is back.
        async with bots_online(client, token, "away7"):
            await cup_when(client, lambda cup: any(row.label == "away7" and row.points for row in cup.standings))


async def test_games_of_an_entry_that_has_just_joined_have_conditions_with_it(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    async with bots_online(client, token, *bots):
        await start_cup(client, token, bots, schedule=pb.SCHEDULE_LADDER)
        assert isinstance(client.server.play, LocalPlay)
        (supply,) = client.server.play.supplies.values()
        conditions = await supply.read_conditions()
        earlier = replace(conditions, players=conditions.players[:2], labels=conditions.labels[:2])
        claim = Claim(number=0, attempt=1, slots=(ScheduledGame(1, 0, 2),), game_pairs=(), begun={})
        unit = await supply.unit_of(claim, earlier)
    assert unit.conditions.labels == bots


async def test_a_bot_whose_opponent_leaves_a_ladder_gets_another_one(client: Client) -> None:
    token, leaver = await client.token(), Undecided()
    async with client.online(token, "bob"):
        async with client.online(token, "ada", bot=leaver):
            await start_cup(client, token, ("ada", "bob"), schedule=pb.SCHEDULE_LADDER)
            async with asyncio.timeout(PATIENCE):
                await leaver.was_asked.wait()
        async with client.online(token, "cleo"):
            await client.join(token, "cleo")
            cup = await cup_when(client, lambda cup: any(row.label == "cleo" and row.points for row in cup.standings))
        assert [row.label for row in cup.standings if row.label == "ada" and row.losses] == []
        # The rest of the old pairing is played when its bot is back.
        async with client.online(token, "ada"):
            await cup_when(client, lambda cup: any(row.label == "ada" and row.points for row in cup.standings))


async def test_a_ladder_without_a_pair_continues_with_a_new_entry(client: Client) -> None:
    token, bots = await client.token(), ("ada", "bob", "cleo")
    async with bots_online(client, token, *bots):
        await start_cup(client, token, bots[:2], schedule=pb.SCHEDULE_LADDER)
        await cup_when(client, lambda cup: cup.games_done > 4)
        leaving = pb.WithdrawTournamentRequest(name=CUP, label="bob")
        await client.tournaments.WithdrawTournament(leaving, metadata=bearer(token))
        stalled = await cup_when(client, lambda cup: cup.games_done == cup.games_total)
        await asyncio.sleep(0.1)
        await client.join(token, "cleo")
        await cup_when(client, lambda cup: cup.games_done > stalled.games_done + 4)
