"""Tournaments from creation to their end."""

import asyncio

import pytest

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2, tournaments_pb2
from noughts_referee.rules import commitment
from tests.support.client import Client


async def test_output_only_fields_of_a_new_tournament_are_ignored(client: Client) -> None:
    created = await client.create(
        await client.token(),
        state=tournaments_pb2.TOURNAMENT_STATE_FINISHED,
        games_total=7,
        games_done=5,
        standings=[tournaments_pb2.Standing(label="ada", wins=3)],
        offline=["ada"],
        rating_list="chess/bullet",
        create_time={"seconds": 1},
        start_time={"seconds": 2},
        end_time={"seconds": 3},
    )
    assert created.state == tournaments_pb2.TOURNAMENT_STATE_OPEN
    assert (created.games_total, created.games_done) == (0, 0)
    assert not created.standings
    assert not created.offline
    assert created.rating_list == "tictactoe/untimed"
    assert created.create_time.seconds > 1_600_000_000
    assert not created.HasField("start_time")
    assert not created.HasField("end_time")
    assert await client.get() == created


async def test_fields_that_are_left_out_have_the_defaults_of_the_protocol(client: Client) -> None:
    token = await client.token()
    created = await client.create(token)
    assert (created.variant, created.games_per_pair, created.concurrency) == ("tictactoe", 2, 1024)
    assert (created.schedule, created.rated) == (tournaments_pb2.SCHEDULE_ROUND_ROBIN, True)


async def test_a_tournament_can_have_the_smallest_and_the_largest_seed(client: Client) -> None:
    token = await client.token()
    zero = await client.create(token, "zero", seed=0, rated=False)
    assert (zero.seed_hash, zero.rated, zero.rating_list) == (commitment(0), False, "")
    assert (await client.create(token, "most", seed=(1 << 64) - 1)).seed_hash == commitment((1 << 64) - 1)


async def test_a_seed_is_published_at_the_end_as_committed(client: Client) -> None:
    token = await client.token()
    random_seed = await client.create(token, "drawn")
    given_seed = await client.create(token, "given", seed=7)
    assert (random_seed.seed_given, given_seed.seed_given) == (False, True)
    for slug in ("drawn", "given"):
        listed = await client.tournaments.ListTournaments(tournaments_pb2.ListTournamentsRequest())
        views = [
            await client.get(slug),
            *(tournament for tournament in listed.tournaments if tournament.name.endswith(slug)),
        ]
        assert [view.HasField("seed") for view in views] == [False, False]
        await client.cancel(token, slug)
        ended = await client.get(slug)
        assert commitment(ended.seed) == ended.seed_hash
    assert (await client.get("drawn")).seed_hash == random_seed.seed_hash
    assert (await client.get("given")).seed == 7


async def test_a_tournament_of_two_bots_is_played_listed_and_rated(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bert"):
        online = await client.bots.ListBots(bots_pb2.ListBotsRequest(online_only=True))
        assert [bot.name for bot in online.bots] == ["bots/ada", "bots/bert"]
        await client.create(token, games_per_pair=20, seed=7)
        for bot in ("ada", "bert"):
            await client.join(token, bot)
        started = await client.start(token)
        assert (started.games_total, list(started.offline)) == (20, [])
        finished = await client.until(lambda cup: cup.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)
    assert finished.games_done == 20
    assert finished.HasField("end_time")
    assert await client.game_numbers() == list(range(1, 21))
    table = {row.label: (row.wins, row.draws, row.losses) for row in finished.standings}
    assert [sum(score) for score in table.values()] == [20, 20]
    answer = await client.leaderboards.GetLeaderboard(leaderboards_pb2.GetLeaderboardRequest())
    assert answer.rating_list == "tictactoe/untimed"
    rows = {row.bot.removeprefix("bots/"): (row.wins, row.draws, row.losses) for row in answer.rows}
    assert rows == table
    assert {row.label: row.rating for row in finished.standings} == {
        row.bot.removeprefix("bots/"): row.rating for row in answer.rows
    }
    crosstable = await client.tournaments.GetCrosstable(tournaments_pb2.GetCrosstableRequest(name="tournaments/cup"))
    assert sorted((cell.first, cell.second, cell.wins + cell.draws + cell.losses) for cell in crosstable.cells) == [
        ("ada", "bert", 10),
        ("bert", "ada", 10),
    ]
    game = (await client.games.GetGame(games_pb2.GetGameRequest(name="tournaments/cup/games/20"))).game
    assert 5 <= len(game.moves) == len(game.times_us) <= 9
    assert game.HasField("rating_seq")


async def test_a_started_tournament_names_the_bots_that_are_missing(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bert")
    await client.create(token)
    for bot in ("ada", "bert"):
        await client.join(token, bot)
    assert list((await client.start(token)).offline) == ["ada", "bert"]
    async with client.online(token, "ada", "bert"):
        finished = await client.until(lambda cup: cup.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)
    assert not finished.offline


@pytest.mark.long
async def test_a_tournament_paused_and_started_again_has_each_game_once(client: Client) -> None:
    token, games = await client.token(), 3_000
    async with client.online(token, "ada", "bert"):
        await client.create(token, games_per_pair=games, concurrency=8, seed=7)
        for bot in ("ada", "bert"):
            await client.join(token, bot)
        await client.start(token)
        for done in (1, games // 2):
            await client.until(lambda cup, done=done: cup.games_done >= done)  # type: ignore[misc]
            paused = await client.pause(token)
            assert paused.state == tournaments_pb2.TOURNAMENT_STATE_PAUSED
            assert paused.games_done < games
            # First start at once, while games from before the pause still run; then after they have ended.
            assert (await client.start(token)).state == tournaments_pb2.TOURNAMENT_STATE_RUNNING
            await client.pause(token)
            at_rest = await client.at_rest()
            await asyncio.sleep(0.2)  # time in which a game that was not paused would end
            assert (await client.get()).games_done == at_rest < games
            await client.start(token)
        finished = await client.until(lambda cup: cup.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)
    assert finished.games_done == games
    assert await client.game_numbers() == list(range(1, games + 1))
    assert [row.wins + row.draws + row.losses for row in finished.standings] == [games, games]
    rows = (await client.leaderboards.GetLeaderboard(leaderboards_pb2.GetLeaderboardRequest())).rows
    assert [row.games for row in rows] == [games, games]


async def test_a_cancelled_tournament_keeps_its_games_and_plays_no_more(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bert"):
        await client.create(token, games_per_pair=100_000, concurrency=8)
        for bot in ("ada", "bert"):
            await client.join(token, bot)
        await client.start(token)
        await client.until(lambda cup: cup.games_done > 0)
        done = (await client.cancel(token)).games_done
        await asyncio.sleep(0.3)  # time in which a game that was not cancelled would end
        cancelled = await client.get()
    assert (cancelled.state, cancelled.games_done) == (tournaments_pb2.TOURNAMENT_STATE_CANCELLED, done)
    numbers = await client.game_numbers()
    assert len(numbers) == len(set(numbers)) == done < 100_000
