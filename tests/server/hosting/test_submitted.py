"""Bots that are submitted by a call: their games, challenges, replacement, retirement and restarts."""

from collections import Counter
from pathlib import Path

import grpc
import pytest
from structlog.testing import capture_logs

from noughts_proto.v1 import bots_pb2 as pb
from noughts_proto.v1 import challenges_pb2, games_pb2, status_pb2, status_pb2_grpc, tests_pb2
from noughts_server.hosting import submitted
from noughts_server.runtime.sessions import OnlineBot
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.submissions import Submission, needed_submissions
from tests.server.hosting.submitting import (
    ALL_SCOPES,
    FIRST_CELL_BOT,
    RANDOM_BOT,
    hosting,
    online_bots,
    submit,
    wait_for,
)
from tests.support.client import Client, bearer, refusal_of
from tests.support.databases import change
from tests.support.loopback import wait_until


async def test_a_bot_is_submitted_played_replaced_and_retired(client: Client, random_module: bytes) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    status = await client_status(client)
    assert list(status.accepts) == ["wasm", "py"]
    created_version = (await submit(client, token, "guesser", random_module, "wasm", file_name="random.wasm")).version
    assert (created_version.name, created_version.submission.kind, created_version.submission.size) == (
        "bots/guesser/versions/1",
        "wasm",
        len(random_module),
    )
    first = await submit(client, token, "mine", FIRST_CELL_BOT)
    assert first.version.submission.entry == "bot.py:Mine"
    await wait_for(lambda: online_bots(client), lambda names: names == ["bots/guesser", "bots/mine"])
    # No bot starts before a game needs it.
    await client.create(token, games_per_pair=10, variant="mnk:5,5,4")
    for bot in ("guesser", "mine"):
        await client.join(token, bot)
    await client.start(token)
    await client.until(lambda cup: cup.games_done == 10)
    games = (await client.games.ListGames(games_pb2.ListGamesRequest(parent="tournaments/cup"))).games
    assert {game.termination for game in games} <= {1, 2}
    # The same file is the same version, another one the next.
    assert (await submit(client, token, "mine", FIRST_CELL_BOT)).unchanged
    second = await submit(client, token, "mine", RANDOM_BOT)
    assert (second.version.name, second.unchanged) == ("bots/mine/versions/2", False)
    bot_answer = await client.bots.GetBot(pb.GetBotRequest(name="bots/mine"))
    assert [version.submission.version for version in bot_answer.versions] == ["2", "1"]
    await client.bots.RetireBot(pb.RetireBotRequest(name="bots/mine"), metadata=bearer(token))
    assert (await refusal_of(submit(client, token, "mine", FIRST_CELL_BOT))).info.reason == "WRONG_STATE"


async def test_fuel_excludes_submitted_bots_of_other_kinds_and_clocks(client: Client, random_module: bytes) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    await submit(client, token, "guesser", random_module, "wasm")
    await submit(client, token, "mine", FIRST_CELL_BOT)
    refusal = await refusal_of(client.create(token, fuel=10**15, time={"move_us": 5_000_000}))
    assert "tournament.fuel: got '1000000000000000', expected 0: the clock 5/move depends on" in refusal.trailing
    await client.create(token, fuel=10**15)
    assert (await client.get()).fuel == 10**15
    await client.join(token, "guesser")
    refusal = await refusal_of(client.join(token, "mine"))
    assert "bot: got 'bots/mine/versions/1', expected a bot whose moves fuel can limit" in refusal.trailing


async def client_status(client: Client) -> status_pb2.GetStatusResponse:
    async with grpc.aio.insecure_channel(client.server.address) as channel:
        stub: status_pb2_grpc.StatusServiceAsyncStub = status_pb2_grpc.StatusServiceStub(channel)
        return await stub.GetStatus(status_pb2.GetStatusRequest())


async def test_submitted_bot_is_online_until_it_is_retired(client: Client) -> None:
    token = await client.token("alice", *ALL_SCOPES)
    for bot in ("one", "two"):
        await submit(client, token, bot, RANDOM_BOT)
        assert f"bots/{bot}" in await online_bots(client)
    retired = await client.bots.RetireBot(pb.RetireBotRequest(name="bots/one"), metadata=bearer(token))
    assert (retired.bot.online, await online_bots(client)) == (False, ["bots/two"])


async def test_a_submitted_bot_can_be_challenged_and_leaves_afterwards(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "mine", FIRST_CELL_BOT)
        await submit(client, token, "other", RANDOM_BOT)
        request = challenges_pb2.CreateChallengeRequest(challenger="bots/mine", opponent="bots/other", games=4)
        created = await client.challenges.CreateChallenge(request, metadata=bearer(token))
        slug = created.tournament.name.removeprefix("tournaments/")
        await wait_for(lambda: client.get(slug), lambda tournament: tournament.games_done == 4)
        await wait_until(lambda: not submitted_bots.playing())


CONNECT4_BOT = RANDOM_BOT.replace("    def", '    variants = ("connect4",)\n\n    def')


async def test_submitted_bot_is_refused_in_variants_that_it_does_not_declare(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        for name in ("mine", "other"):
            await submit(client, token, name, CONNECT4_BOT)
        await submit(client, token, "mine", CONNECT4_BOT + "\n", version="2")
        await submit(client, token, "mine", CONNECT4_BOT + "\n", version="same-file")
        await client.create(token)
        await _check_all_refuse(client, token)
    async with hosting(tmp_path) as (client, _):
        await _check_all_refuse(client, token)
        await client.create(token, "connect-four", variant="connect4")
        await client.join(token, "mine", "connect-four")


async def _check_all_refuse(client: Client, token: str) -> None:
    """Check that games of tictactoe with all versions of the bots are refused: tournament, test and challenge."""
    for bot in ("mine", "mine/versions/1", "mine/versions/2", "other"):
        assert "expected a bot that plays tictactoe" in (await refusal_of(client.join(token, bot))).trailing
    test = tests_pb2.Test(new_version="bots/other", base_version="bots/mine/versions/1")
    test.tournament.variant = "tictactoe"
    request = tests_pb2.CreateTestRequest(test=test)
    refusal = await refusal_of(client.tests.CreateTest(request, metadata=bearer(token)))
    assert "expected a bot that plays tictactoe" in refusal.trailing
    challenge = challenges_pb2.CreateChallengeRequest(
        challenger="bots/mine", opponent="bots/other", variant="tictactoe", games=2
    )
    refusal = await refusal_of(client.challenges.CreateChallenge(challenge, metadata=bearer(token)))
    assert "expected a bot that plays tictactoe" in refusal.trailing


async def test_submitted_bot_declines_challenges_before_its_first_game(tmp_path: Path) -> None:
    declining = RANDOM_BOT.replace("    def", "    accepts_challenges = False\n\n    def")

    async def check_refusals(client: Client) -> None:
        for opponent in ("bots/mine", "bots/mine/versions/same-file"):
            challenge = challenges_pb2.CreateChallengeRequest(challenger="bots/other", opponent=opponent, games=2)
            refusal = await refusal_of(client.challenges.CreateChallenge(challenge, metadata=bearer(bob)))
            assert "declin" in refusal.trailing

    async with hosting(tmp_path) as (client, _):
        alice, bob = await client.token("alice", *ALL_SCOPES), await client.token("bob", *ALL_SCOPES)
        await submit(client, alice, "mine", declining)
        await submit(client, alice, "mine", declining, version="same-file")
        await submit(client, bob, "other", RANDOM_BOT)
        await check_refusals(client)
    async with hosting(tmp_path) as (client, _):
        await check_refusals(client)


async def test_database_is_read_for_submitted_bots_only_after_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submitted, "_TICK_SECONDS", 0.01)
    reads, ticks = Counter[str](), Counter[str]()

    def counting_needed_submissions(connection: Connection) -> list[Submission]:
        reads["needed"] += 1
        return needed_submissions(connection)

    monkeypatch.setattr(submitted, "needed_submissions", counting_needed_submissions)
    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "mine", FIRST_CELL_BOT)
        await wait_for(lambda: online_bots(client), lambda names: names == ["bots/mine"])
        stand_by, before = client.server.sessions.stand_by, reads["needed"]

        def counting_stand_by(bots: dict[int, OnlineBot]) -> None:
            ticks["stand by"] += 1
            stand_by(bots)

        monkeypatch.setattr(client.server.sessions, "stand_by", counting_stand_by)
        await wait_until(lambda: ticks["stand by"] >= 10)
        assert reads["needed"] == before
        await client.bots.RetireBot(pb.RetireBotRequest(name="bots/mine"), metadata=bearer(token))
        await wait_for(lambda: online_bots(client), lambda names: not names)
        await wait_until(lambda: reads["needed"] == before + 1)


async def test_a_bot_of_a_kind_that_is_no_longer_accepted_is_offline(tmp_path: Path, random_module: bytes) -> None:
    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "mine", RANDOM_BOT)
    async with hosting(tmp_path, ("wasm",)) as (client, _):
        assert await online_bots(client) == []
        assert (
            "accepting bots of kind wasm" in (await refusal_of(submit(client, token, "mine", FIRST_CELL_BOT))).trailing
        )
        await submit(client, token, "guesser", random_module, "wasm")


async def test_an_unreadable_program_does_not_stop_the_server(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        for name, content in (("one", RANDOM_BOT), ("two", FIRST_CELL_BOT)):
            await submit(client, token, name, content)
        change(tmp_path / "x.sqlite", "UPDATE programs SET content = CAST(content || x'0a' AS BLOB)")
        await client.create(token)
        for bot in ("one", "two"):
            await client.join(token, bot)
        with capture_logs() as logs:
            await client.start(token)
            await wait_until(lambda: any(line["event"] == "submission_start_failed" for line in logs))
        change(tmp_path / "x.sqlite", "UPDATE programs SET content = substr(content, 1, length(content) - 1)")
        await client.until(lambda cup: cup.games_done == 2)


async def test_an_unexpected_error_with_a_bot_does_not_stop_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: object) -> None:
        raise RuntimeError("the child that examines programs was killed")

    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        for name, content in (("one", RANDOM_BOT), ("two", FIRST_CELL_BOT)):
            await submit(client, token, name, content)
        await client.create(token)
        for bot in ("one", "two"):
            await client.join(token, bot)
        with capture_logs() as logs, monkeypatch.context() as patch:
            patch.setattr(submitted, "examine_and_place", fail)
            await client.start(token)
            await wait_until(lambda: any(line["event"] == "submission_failed" for line in logs))
        await client.until(lambda cup: cup.games_done == 2)


async def test_submitted_bots_continue_after_a_restart(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (client, _):
        token = await client.token("alice", *ALL_SCOPES)
        for name, content in (("one", RANDOM_BOT), ("two", FIRST_CELL_BOT)):
            await submit(client, token, name, content)
        await client.create(token, games_per_pair=2000)
        for bot in ("one", "two"):
            await client.join(token, bot)
        await client.start(token)
        await client.until(lambda cup: cup.games_done > 10)
    async with hosting(tmp_path) as (client, _):
        await client.until(lambda cup: cup.games_done == 2000)
