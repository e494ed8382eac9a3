"""Games and trials of submitted bots are charged to the processor time of their owner."""

import asyncio
import os
from pathlib import Path

import pytest

from noughts_bots import Bot, Move, Position
from noughts_proto.v1 import games_pb2, types_pb2
from noughts_referee.children.watch import nice_above_own, processor_seconds
from noughts_server.core.errors import LimitReached
from noughts_server.core.limits import Limits
from noughts_server.hosting import submitted
from noughts_server.hosting.processor_time import ProcessorTime
from noughts_server.store.people.tokens import create_owner
from tests.server.hosting.submitting import ALL_SCOPES, BOT_TEMPLATE, RANDOM_BOT, hosting, online_bots, submit, wait_for
from tests.support.client import client_of, refusal_of
from tests.support.loopback import wait_until


@pytest.mark.at_length
async def test_bots_of_an_owner_without_processor_time_left_do_not_play(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(processor_seconds=6)) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        slow = BOT_TEMPLATE.format(
            "return sum(range(3_000_000 if position.variant.rows == 15 else 9)) and position.free[0]"
        )
        await submit(client, token, "slow", slow)
        await submit(client, token, "mine", RANDOM_BOT)
        await client.create(token, games_per_pair=1000, variant="gomoku")
        for bot in ("slow", "mine"):
            await client.join(token, bot)
        await client.start(token)
        await wait_for(lambda: online_bots(client), lambda names: not names)
        await wait_until(lambda: not submitted_bots.playing())
        assert (await client.get()).games_done < 1000


DAY_MS = 86_400_000


class Waiting(Bot):
    """Plays the first free cell once the test opens the gate."""

    def __init__(self) -> None:
        self.was_asked, self.gate = asyncio.Event(), asyncio.Event()

    async def choose(self, position: Position) -> int | Move:
        self.was_asked.set()
        await self.gate.wait()
        return position.free[0]


async def test_running_games_wait_for_the_processor_time_of_the_next_day(tmp_path: Path) -> None:
    # Without a reconnect timeout, a bot that connects itself loses its games as soon as it disconnects.
    async with hosting(tmp_path, limits=Limits(processor_seconds=100), reconnect_timeout=0.0) as (
        client,
        submitted_bots,
    ):
        store, processor_time, ada = client.server.store, submitted_bots._time, Waiting()
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "mine", RANDOM_BOT)
        async with client.online(token, "ada", bot=ada):
            await client.create(token, games_per_pair=1)
            for bot in ("mine", "ada"):
                await client.join(token, bot)
            await client.start(token)
            await ada.was_asked.wait()
            (playing,) = submitted_bots.playing()
            processor_time.charge(playing.owner_id, 100)
            await processor_time.save()
            await wait_until(lambda: not submitted_bots.playing())
            tomorrow = store.now_ms() + DAY_MS
            store.now_ms = lambda: tomorrow
            ada.gate.set()
            cup = await client.until(lambda cup: cup.games_done == 1)
        assert all(not row.withdraw_reason for row in cup.standings)
        (game,) = (await client.games.ListGames(games_pb2.ListGamesRequest(parent="tournaments/cup"))).games
        assert game.termination in (types_pb2.TERMINATION_LINE, types_pb2.TERMINATION_BOARD_FULL)


THREADED_BOT = """
import threading
from noughts_bots import Bot

def spin():
    while True:
        pass

class Mine(Bot):
    def choose(self, position):
        if threading.active_count() == 1:
            threading.Thread(target=spin, daemon=True).start()
        return position.free[0]
"""


@pytest.mark.at_length
async def test_a_bot_that_computes_in_its_opponents_time_has_low_priority(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(processor_seconds=100)) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "restless", THREADED_BOT)
        waiting = BOT_TEMPLATE.format(
            "import time; time.sleep(60 if position.variant.rows == 15 else 0); return position.free[0]"
        )
        await submit(client, token, "slow", waiting)
        await client.create(token, games_per_pair=2, variant="gomoku", concurrency=1)
        for bot in ("restless", "slow"):
            await client.join(token, bot)
        await client.start(token)
        await wait_until(
            lambda: sorted(map(niceness, submitted_bots._playing.values())) == [nice_above_own(0), nice_above_own(15)]
        )
        charged = submitted_bots._time._used.total()
        await wait_until(lambda: submitted_bots._time._used.total() > charged)


def niceness(playing: "submitted._Playing") -> int:
    return os.getpriority(os.PRIO_PROCESS, playing.process.started.pid) if playing.process else -1


async def test_processor_time_after_the_last_check_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hosting(tmp_path, limits=Limits(processor_seconds=100)) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        await submit(client, token, "restless", THREADED_BOT)
        async with client.online(token, "ada"):
            await client.create(token, games_per_pair=1000, variant="gomoku")
            for bot in ("restless", "ada"):
                await client.join(token, bot)
            before = submitted_bots._time._used.total()
            await client.start(token)
            await wait_until(lambda: any(playing.process for playing in submitted_bots._playing.values()))
            [playing] = submitted_bots._playing.values()
            assert playing.process is not None
            process = playing.process.started
            # On a busy machine, the bot has its low priority, and computes for less than 0.2 s between two checks.
            monkeypatch.setattr("noughts_server.hosting.submitted._TICK_SECONDS", 3600.0)
            await wait_until(lambda: processor_seconds(process.pid) > playing.seconds + 0.2)
    assert process.processor_seconds > 0.2
    charged = (submitted_bots._time._used.total() - before) / 1000
    assert charged == pytest.approx(process.processor_seconds, abs=0.05)


@pytest.mark.at_length
async def test_bots_that_crash_between_checks_are_charged(tmp_path: Path) -> None:
    async with hosting(tmp_path, limits=Limits(processor_seconds=2)) as (client, submitted_bots):
        token = await client.token("alice", *ALL_SCOPES)
        busy = "sum(range(6_000_000)) and __import__('os')._exit(1)"
        crashing = BOT_TEMPLATE.format(f"return {busy} if len(position.moves) > 3 else position.free[0]")
        await submit(client, token, "crashing", crashing, variant="mnk:2,2,2")
        await submit(client, token, "mine", RANDOM_BOT)
        await client.create(token, games_per_pair=1000, variant="gomoku", concurrency=1)
        for bot in ("crashing", "mine"):
            await client.join(token, bot)
        await client.start(token)
        await wait_for(lambda: online_bots(client), lambda names: not names)
        await wait_until(lambda: not submitted_bots.playing())
        assert 1 <= (await client.get()).games_done < 100


@pytest.mark.at_length
async def test_refused_trials_stay_charged_after_a_restart(tmp_path: Path) -> None:
    for was_restarted in (False, True):
        async with hosting(tmp_path, limits=Limits(processor_seconds=1)) as (client, _):
            token = await client.token("alice", *ALL_SCOPES)
            busy = BOT_TEMPLATE.format("sum(range(100_000_000)); raise ValueError('too late')")
            assert was_restarted or "too late" in (await refusal_of(submit(client, token, "mine", busy))).trailing
            assert "processor time" in (await refusal_of(submit(client, token, "mine", RANDOM_BOT))).trailing
            await submit(client, await client.token("bob", *ALL_SCOPES), f"other-{was_restarted}", RANDOM_BOT)


async def test_processor_time_is_counted_over_all_servers_for_one_day(tmp_path: Path) -> None:
    now_ms, limits = 20_000 * DAY_MS, Limits(processor_seconds=2)
    async with client_of(tmp_path / "x.sqlite") as client:
        store = client.server.store
        owner = await store.write(lambda connection: create_owner(connection, "alice"))
        store.now_ms = lambda: now_ms
        one, other = ProcessorTime(store, limits), ProcessorTime(store, limits)
        one.charge(owner, 1.5)
        await one.save()
        other.charge(owner, 0.5)
        assert not other.is_spent(owner)
        await other.save()
        assert (one.is_spent(owner), other.is_spent(owner), other.is_saved) == (False, True, True)
        await one.save()
        with pytest.raises(LimitReached, match="3 is more than the limit of 2"):
            one.check(owner)
        now_ms += DAY_MS
        await one.save()
        assert not one.is_spent(owner)


async def test_time_charged_by_another_call_counts_while_it_is_saved(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        store = client.server.store
        owner = await store.write(lambda connection: create_owner(connection, "alice"))
        processor_time = ProcessorTime(store, Limits(processor_seconds=2))
        processor_time.charge(owner, 3)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(5):
                tasks.create_task(processor_time.save())
        assert processor_time.is_spent(owner)
