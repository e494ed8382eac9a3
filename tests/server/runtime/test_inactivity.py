"""Inactive entries are withdrawn and lose their remaining games."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path

import pytest

from noughts_proto.v1 import play_pb2, tournaments_pb2
from noughts_referee.referee import Referee
from noughts_server.runtime.inactivity import InactivityCheck
from noughts_server.server import Server
from tests.support.client import Client, bearer, client_of, hello
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE

FINISHED = tournaments_pb2.TOURNAMENT_STATE_FINISHED


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server that waits two seconds for an entry."""
    async with client_of(tmp_path / "x.sqlite", inactivity_timeout=2.0) as opened:
        yield opened


@asynccontextmanager
async def silent_bot(client: Client, token: str, name: str) -> AsyncIterator[None]:
    """A bot that acknowledges every frame, answers heartbeats, and never moves."""
    call = client.play.Play(metadata=bearer(token))
    await call.write(hello(bot=name))

    async def listen() -> None:
        while isinstance(frame := await call.read(), play_pb2.PlayResponse):
            reply = play_pb2.PlayRequest(done_through=frame.frame)
            reply.heartbeat.id = frame.heartbeat.id
            await call.write(reply)

    assert isinstance(await call.read(), play_pb2.PlayResponse)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(listen())
        yield
        task.cancel()
    call.cancel()


def inactivity_check(server: Server, seconds: float) -> InactivityCheck:
    """A check that runs only on call."""
    assert server.play is not None
    assert isinstance(server.referee, Referee)
    return InactivityCheck(server.store, server.referee, server.director, server.play.playing, seconds=seconds)


async def check_inactivity(inactivity: InactivityCheck, count: int) -> None:
    """Run the periodic check `count` times, as `run` does once a period."""
    for _ in range(count):
        await inactivity._check_entries()


async def finished_cup(client: Client) -> tournaments_pb2.Tournament:
    async with asyncio.timeout(PATIENCE):
        return await client.until(lambda tournament: tournament.state == FINISHED)


async def test_an_absent_entry_loses_its_games_and_the_tournament_ends(client: Client) -> None:
    token = await client.token()
    await client.register("ada", "bob", "eve")
    async with client.online(token, "ada", "bob"):
        created = await client.create(token, games_per_pair=4)
        assert created.absence_limit.ToMilliseconds() == 2_000, "the tournament shows it before the start"
        for name in ("ada", "bob", "eve"):
            await client.join(token, name)
        await client.start(token)
        cup = await finished_cup(client)
    [withdrawn] = [row for row in cup.standings if row.withdraw_reason]
    assert (withdrawn.label, withdrawn.losses) == ("eve", 8)
    assert withdrawn.withdraw_reason == "was away for 2 s while its games waited"


async def test_a_silent_bot_in_all_games_is_withdrawn_and_others_play(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"), silent_bot(client, token, "eve"):
        await client.create(token, games_per_pair=40, concurrency=4)
        for name in ("eve", "ada", "bob"):
            await client.join(token, name)
        await client.start(token)
        cup = await finished_cup(client)
    rows = {row.label: row for row in cup.standings}
    assert rows["eve"].losses == 80
    assert rows["eve"].withdraw_reason == "gave no answer for 2 s while its games waited"
    assert rows["ada"].wins + rows["ada"].draws + rows["ada"].losses == 80
    assert not rows["ada"].withdraw_reason


async def test_bot_that_leaves_a_ladder_loses_its_pairing_and_can_return(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", inactivity_timeout=0, reconnect_timeout=600.0) as client:
        server = client.server
        inactivity = inactivity_check(server, seconds=600)
        token = await client.token()
        async with client.online(token, "ada", "bob"):
            async with silent_bot(client, token, "eve"):
                await client.create(token, schedule=tournaments_pb2.SCHEDULE_LADDER, games_per_pair=2)
                for name in ("eve", "ada", "bob"):
                    await client.join(token, name)
                await client.start(token)
                await wait_until(lambda: (0, (0, 0)) not in waiting_questions(server) and is_asked(server, entry=0))
            # Both games of its pairing wait for it.
            await wait_until(lambda: (0, (0, 0)) in waiting_questions(server))
            await check_inactivity(inactivity, 3)
            cup = await client.until(lambda tournament: losses_of("eve", tournament) == 2)
            assert not any(row.withdraw_reason for row in cup.standings)
            async with client.online(token, "eve"):
                await client.until(lambda tournament: games_of("eve", tournament) > 4)
            await client.cancel(token)


def is_asked(server: Server, entry: int) -> bool:
    return any(waiting == entry for waiting, _ in waiting_questions(server))


def games_of(label: str, tournament: tournaments_pb2.Tournament) -> int:
    return sum(row.wins + row.draws + row.losses for row in tournament.standings if row.label == label)


def losses_of(label: str, tournament: tournaments_pb2.Tournament) -> int:
    return sum(row.losses for row in tournament.standings if row.label == label)


async def test_entries_that_keep_playing_are_not_withdrawn(client: Client) -> None:
    token = await client.token()
    async with client.online(token, "ada", "bob"):
        await client.create(token, games_per_pair=1_000_000)
        for name in ("ada", "bob"):
            await client.join(token, name)
        await client.start(token)
        await asyncio.sleep(3)
        cup = await client.cancel(token)
    assert not any(row.withdraw_reason for row in cup.standings)


async def test_short_absences_do_not_add_up(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", inactivity_timeout=0, reconnect_timeout=0.2) as client:
        server = client.server
        inactivity = inactivity_check(server, seconds=60)
        token = await client.token()
        await client.register("ada", "eve")
        await client.create(token, games_per_pair=1_000_000)
        for name in ("ada", "eve"):
            await client.join(token, name)
        # Both bots are away at the same times, because an online bot on a busy machine can be slow to answer.
        await client.start(token)
        await wait_until(lambda: is_waiting_for_absent_bots_only(server))
        for _ in range(3):
            await check_inactivity(inactivity, 15)
            assert not [row.withdraw_reason for row in (await client.get()).standings if row.withdraw_reason]
            async with client.online(token, "ada", "eve"):
                await wait_until(lambda: not any(question == (0, 0) for _, question in waiting_questions(server)))
                await check_inactivity(inactivity, 1)
            await wait_until(lambda: is_waiting_for_absent_bots_only(server))
        await check_inactivity(inactivity, 21)
        assert any(row.withdraw_reason for row in (await client.get()).standings)


def is_waiting_for_absent_bots_only(server: Server) -> bool:
    """Return whether both entries are away, and no game waits for the return of a lost connection."""
    return sorted(question for _, question in waiting_questions(server)) == [(0, 0), (0, 0)]


def waiting_questions(server: Server) -> list[tuple[int, tuple[int, int]]]:
    """Return the entries whose games wait for them, each with its open question; (0, 0) if the bot is away."""
    assert server.play is not None
    assert isinstance(server.referee, Referee)
    tournaments = [playing.tournament for playing in server.play.playing()]
    return list(chain.from_iterable(map(server.referee.kept_waiting, tournaments)))
