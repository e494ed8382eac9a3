"""Joining a tournament: the join window, scheduled starts, and the version of a bot that plays."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from noughts_bots.connection.events import SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import tournaments_pb2
from noughts_server.core.errors import InvalidArgument
from noughts_server.services.new_tournaments import check_joining
from noughts_server.store.tournaments.join_window import Joining
from tests.support.arena import NOW
from tests.support.client import Client, bearer, client_of, hello, refusal_of
from tests.support.patience import PATIENCE

from .players import Undecided, until_online, withdrawal

HOUR = 3_600_000
"""Milliseconds."""
YEAR_2100 = 4_102_444_800_000
"""2100-01-01 00:00:00 UTC, in milliseconds since 1970."""


def timestamp_of(milliseconds: int) -> Timestamp:
    stamp = Timestamp()
    stamp.FromMilliseconds(milliseconds)
    return stamp


def time_from_now(client: Client, milliseconds: int) -> Timestamp:
    """Return the time of the server's clock plus these milliseconds."""
    return timestamp_of(client.server.store.now_ms() + milliseconds)


# Checks of the settings.


@pytest.mark.parametrize(
    "settings, field",
    [
        ({"entries_min": 1}, "entries_min"),
        ({"entries_max": 1}, "entries_max"),
        ({"entries_min": 5, "entries_max": 4}, "entries_max"),
        ({"entries_max": 4_097}, "entries_max"),
        ({"start_at": NOW}, "start_at"),
        ({"join_until": NOW}, "join_until"),
        ({"join_from": NOW + 2, "join_until": NOW + 2}, "join_until"),
        ({"join_from": NOW + 2, "start_at": NOW + 2}, "start_at"),
        ({"join_until": NOW + 3, "start_at": NOW + 2}, "start_at"),
        ({"join_from": -1}, "join_from"),
        ({"start_at": 10**15}, "start_at"),
    ],
)
def test_times_out_of_order_and_limits_out_of_range_are_refused(settings: dict[str, int], field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        check_joining(Joining(**settings), NOW)
    assert caught.value.subject == f"tournament.{field}"


def test_a_join_window_can_have_begun_and_can_end_with_the_start() -> None:
    check_joining(Joining(), NOW)
    check_joining(Joining(join_from=NOW - 5, join_until=NOW + 5, start_at=NOW + 5, entries_min=4, entries_max=4), NOW)


async def test_join_window_and_entry_limits_are_returned(client: Client) -> None:
    token = await client.token()
    window: dict[str, Any] = {
        "join_from": time_from_now(client, HOUR),
        "join_until": time_from_now(client, 2 * HOUR),
        "start_at": time_from_now(client, 3 * HOUR),
        "entries_min": 3,
        "entries_max": 5,
    }
    created = await client.create(token, **window)
    assert {name: getattr(created, name) for name in window} == window
    default_settings = await client.create(token, "plain")
    assert (default_settings.entries_min, default_settings.entries_max) == (2, 4_096)
    assert not any(default_settings.HasField(name) for name in ("join_from", "join_until", "start_at"))


async def test_an_impossible_time_is_an_invalid_argument(client: Client) -> None:
    refusal = await refusal_of(client.create(await client.token(), start_at=Timestamp(seconds=4_000_000_000, nanos=-5)))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.fields() == ["tournament.start_at"]


# Joining and withdrawing.


async def test_joining_before_the_window_is_refused_with_its_times(client: Client) -> None:
    token = await client.token()
    await client.register("ada")
    await client.create(token, join_from=timestamp_of(YEAR_2100))
    refusal = await refusal_of(client.join(token, "ada"))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "WRONG_STATE")
    assert "2100-01-01 00:00:00 UTC" in refusal.status.message
    assert refusal.info.metadata["expected"] == "the join window (from 2100-01-01 00:00:00 UTC until the start)"


async def test_after_the_join_window_bots_can_only_leave(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob", "cleo", "dora")
    end_ms = client.server.store.now_ms() + HOUR
    await client.create(token, join_until=timestamp_of(end_ms))
    for bot in ("ada", "bob", "cleo"):
        await client.join(token, bot)
    refusal = await refusal_of(client.start(token))
    assert refusal.reason == "WRONG_STATE"
    assert "join window" in refusal.status.message
    client.server.store.now_ms = lambda: end_ms
    refusal = await refusal_of(client.join(token, "dora"))
    assert "closed for entries since" in refusal.status.message
    await client.tournaments.WithdrawTournament(withdrawal("cleo"), metadata=bearer(token))
    assert (await client.start(token)).games_total == 2
    refusal = await refusal_of(client.join(token, "dora"))
    assert refusal.reason == "WRONG_STATE"


async def test_withdrawal_needs_the_scope_of_the_bots_owner_or_the_organiser(client: Client) -> None:
    organiser, owner = await client.token("olga"), await client.token("ada")
    await client.register("bot", owner="ada")
    await client.create(organiser)
    await client.join(owner, "bot")
    for token in (await client.token("ada", "organise"), await client.token("olga", "play"), await client.token("eve")):
        refusal = await refusal_of(client.tournaments.WithdrawTournament(withdrawal("bot"), metadata=bearer(token)))
        assert refusal.code is grpc.StatusCode.PERMISSION_DENIED
    for name, scope in (("ada", "play:bot"), ("olga", "organise"), ("root", "admin")):
        token = await client.token(name, scope)
        await client.tournaments.WithdrawTournament(withdrawal("bot"), metadata=bearer(token))
        await client.join(owner, "bot")


async def test_a_full_tournament_accepts_an_entry_after_a_withdrawal(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob", "cleo")
    await client.create(token, entries_max=2)
    await client.join(token, "ada")
    await client.join(token, "bob")
    refusal = await refusal_of(client.join(token, "cleo"))
    assert (refusal.reason, refusal.info.metadata["expected"]) == ("TOO_MANY_ENTRIES", "at most 2")
    await client.tournaments.WithdrawTournament(withdrawal("ada"), metadata=bearer(token))
    assert (await client.join(token, "cleo")).label == "cleo"


async def test_a_start_by_hand_needs_the_minimum_number_of_entries(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob", "cleo")
    await client.create(token, entries_min=3)
    for bot in ("ada", "bob"):
        await client.join(token, bot)
    refusal = await refusal_of(client.start(token))
    assert (refusal.reason, refusal.info.metadata["expected"]) == ("WRONG_STATE", "at least 3")
    await client.join(token, "cleo")
    assert (await client.start(token)).state == tournaments_pb2.TOURNAMENT_STATE_RUNNING


# Scheduled starts.


async def test_a_scheduled_tournament_starts_by_itself_and_is_played(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        start_ms = client.server.store.now_ms() + HOUR
        await client.create(token, "later", start_at=timestamp_of(start_ms + 1))
        await client.create(token, start_at=timestamp_of(start_ms))
        for bot in ("ada", "bob"):
            await client.join(token, bot)
        refusal = await refusal_of(client.start(token))
        assert "wait for its start" in refusal.status.message
        client.server.store.now_ms = lambda: start_ms
        client.server.director.reschedule()
        cup = await client.until(lambda tournament: tournament.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED)
    assert cup.start_time.ToMilliseconds() == start_ms
    assert cup.games_done == 2
    assert (await client.get("later")).state == tournaments_pb2.TOURNAMENT_STATE_OPEN


async def test_a_scheduled_start_with_too_few_entries_is_cancelled(client: Client) -> None:
    # The director's own timer notices the start time, because the test does not call `reschedule`.
    await client.create(await client.token(), start_at=time_from_now(client, 2_000))
    cup = await client.until(lambda tournament: tournament.state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED)
    assert cup.reason == "too few entries: got 0, expected at least 2"
    assert cup.end_time.ToMilliseconds() >= cup.start_at.ToMilliseconds()


async def test_a_start_missed_while_the_server_was_down_happens_later(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as before:
        token = await before.token()
        await before.register("ada", "bob")
        for slug in ("lonely", "cup"):
            await before.create(token, slug, start_at=time_from_now(before, HOUR))
            await before.join(token, "ada", slug)
        await before.join(token, "bob")
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as connection, connection:
        connection.execute("UPDATE tournaments SET start_at = id")
    async with client_of(tmp_path / "x.sqlite") as after:
        cup = await after.until(lambda tournament: tournament.state != tournaments_pb2.TOURNAMENT_STATE_OPEN)
        assert (cup.state, cup.games_total) == (tournaments_pb2.TOURNAMENT_STATE_RUNNING, 2)
        assert (await after.get("lonely")).reason == "too few entries: got 1, expected at least 2"


# Resuming.


async def test_resuming_is_refused_if_old_games_do_not_end_in_time(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noughts_server.runtime.tournament_play._FINISHING_SECONDS", 0.2)
    token = await client.token()
    bot = Undecided()
    async with client.online(token, "ada"), asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(play(bot, Login(client.server.address, token, "slow")))
        await client.create(token)
        await client.join(token, "ada")
        async with asyncio.timeout(PATIENCE):
            await until_online(client, "slow")
            await client.join(token, "slow")
            await client.start(token)
            await bot.was_asked.wait()
        await client.pause(token)
        refusal = await refusal_of(client.start(token))
        assert refusal.code is grpc.StatusCode.UNAVAILABLE
        assert "from before the pause are still running" in refusal.status.message
        await client.cancel(token)
        playing.cancel()


# Versions.


async def test_a_new_version_learns_which_entries_use_the_old_version(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob")
    for slug in ("cup", "plate", "over"):
        await client.create(token, slug)
        for bot in ("ada", "bob"):
            await client.join(token, bot, slug)
    await client.start(token)
    await client.start(token, "over")
    await client.cancel(token, "over")
    old = await client.first_frame(hello(version="1"), bearer(token))
    assert list(old.welcome.waits_for) == []
    new = await client.first_frame(hello(version="2"), bearer(token))
    assert list(new.welcome.waits_for) == ["tournaments/plate", "tournaments/cup"]
    # A version that is entered itself does not wait, even if another one is entered, too.
    request = tournaments_pb2.JoinTournamentRequest(name="tournaments/plate", bot="bots/ada/versions/2")
    await client.tournaments.JoinTournament(request, metadata=bearer(token))
    new = await client.first_frame(hello(version="2"), bearer(token))
    assert list(new.welcome.waits_for) == ["tournaments/cup"]


async def test_a_bot_whose_entry_uses_an_old_version_reports_it_in_one_line(client: Client) -> None:
    token = await client.token()
    await client.register("ada")
    await client.create(token)
    await client.join(token, "ada")
    events: asyncio.Queue[SessionEvent] = asyncio.Queue()
    async with asyncio.TaskGroup() as tasks:
        login = Login(client.server.address, token, "ada", "2")
        playing = tasks.create_task(play(Random(), login, events.put_nowait))
        async with asyncio.timeout(PATIENCE):
            assert str(await events.get()) == "online as bots/ada/versions/2"
            assert "entered in tournaments/cup: this one waits" in str(await events.get())
        playing.cancel()
