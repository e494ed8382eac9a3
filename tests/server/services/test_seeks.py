"""Bots that seek rated games are paired, within the limits of their owners."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import grpc
import pytest

from noughts_bots.connection.events import Online, SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.random_ import Random
from noughts_bots.sdk.bot import Bot
from noughts_proto.v1 import bots_pb2, leaderboards_pb2, play_pb2, tournaments_pb2
from noughts_proto.v1.types_pb2 import Seek, TimeControl
from noughts_server.core.limits import Limits
from tests.support.client import Client, bearer, client_of, hello, refusal_of
from tests.support.patience import PATIENCE

from .players import Undecided

FAST = Seek(variant="tictactoe", time=TimeControl(move_us=5_000_000))


@asynccontextmanager
async def seeking(
    client: Client, name: str, seek: Seek = FAST, owner: str = "", bot: Bot | None = None
) -> AsyncIterator[None]:
    """A bot of an owner of its own that seeks games while the block runs."""
    token = await client.token(owner or f"owner-{name}")
    news: asyncio.Queue[SessionEvent] = asyncio.Queue()
    login = Login(client.server.address, token, name, seek=seek)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(play(bot or Random(), login, news.put_nowait))
        try:
            assert isinstance(await asyncio.wait_for(news.get(), PATIENCE), Online)
            yield
        finally:
            task.cancel()


async def sought(client: Client, number: int) -> Sequence[tournaments_pb2.Tournament]:
    """Wait until this number of pairings is over, and return all, the newest first."""
    request = tournaments_pb2.ListTournamentsRequest(challenges=True)
    async with asyncio.timeout(PATIENCE):
        while True:
            pairings = (await client.tournaments.ListTournaments(request)).tournaments
            ended = [each for each in pairings if each.state == tournaments_pb2.TOURNAMENT_STATE_FINISHED]
            if len(ended) >= number:
                return pairings
            await asyncio.sleep(0.05)


async def seekers(client: Client) -> Sequence[bots_pb2.Bot]:
    return (await client.bots.ListBots(bots_pb2.ListBotsRequest(seeking_only=True))).bots


async def test_bots_that_seek_play_two_rated_games_at_once(client: Client) -> None:
    async with seeking(client, "ada"), seeking(client, "bob"):
        [pairing] = await sought(client, 1)
        assert (pairing.rated, pairing.own_rated, pairing.games_done, pairing.owner) == (True, False, 2, "site")
        assert pairing.title in ("ada - bob", "bob - ada")
        request = leaderboards_pb2.ListBotRatingsRequest(bot="bots/ada")
        [rating] = (await client.leaderboards.ListBotRatings(request)).ratings
        assert rating.row.games == 2
        assert [(bot.name, bot.seek.variant, bot.seek.time.move_us) for bot in await seekers(client)] == [
            ("bots/ada", "tictactoe", 5_000_000),
            ("bots/bob", "tictactoe", 5_000_000),
        ]
    async with asyncio.timeout(PATIENCE):
        while True:
            if not await seekers(client):
                break
            await asyncio.sleep(0.05)


async def test_bots_of_one_owner_and_other_wishes_are_not_paired(client: Client) -> None:
    slow = Seek(variant="tictactoe", time=TimeControl(move_us=6_000_000))
    async with seeking(client, "ada", owner="one"), seeking(client, "ben", owner="one"), seeking(client, "cy", slow):
        async with seeking(client, "zoe"):
            pairings = await sought(client, 1)
        assert all("zoe" in pairing.title for pairing in pairings)


async def test_owners_have_a_limit_of_pairings_a_day(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", limits=Limits(seeks=2)) as client, AsyncExitStack() as stack:
        for name in ("ada", "bob", "cleo"):
            await stack.enter_async_context(seeking(client, name))
        assert len(await sought(client, 3)) == 3
        # All pairs have met, and each owner has had two pairings.
        await stack.enter_async_context(seeking(client, "dora"))
        await stack.enter_async_context(seeking(client, "emil"))
        newest, *_ = await sought(client, 4)
        assert newest.title in ("dora - emil", "emil - dora")


async def test_games_of_a_bot_that_leaves_end_and_nobody_can_cancel_them(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", reconnect_timeout=0.2) as client:
        leaver = Undecided()
        async with seeking(client, "bob"):
            async with seeking(client, "ada", bot=leaver), asyncio.timeout(PATIENCE):
                await leaver.was_asked.wait()
                request = tournaments_pb2.ListTournamentsRequest(challenges=True)
                [pairing] = (await client.tournaments.ListTournaments(request)).tournaments
                for owner in ("owner-ada", "owner-bob"):
                    cancel = tournaments_pb2.CancelTournamentRequest(name=pairing.name)
                    call = client.tournaments.CancelTournament(cancel, metadata=bearer(await client.token(owner)))
                    assert (await refusal_of(call)).code is grpc.StatusCode.PERMISSION_DENIED
            async with asyncio.timeout(PATIENCE):
                while True:
                    get = tournaments_pb2.GetTournamentRequest(name=pairing.name)
                    ended = (await client.tournaments.GetTournament(get)).tournament
                    if ended.state in (
                        tournaments_pb2.TOURNAMENT_STATE_CANCELLED,
                        tournaments_pb2.TOURNAMENT_STATE_FINISHED,
                    ):
                        break
                    await asyncio.sleep(0.05)
        rows = {row.label: row for row in ended.standings}
        assert rows["ada"].losses >= 1
        assert rows["bob"].losses == 0


@pytest.mark.parametrize(
    "seek, words",
    [
        (Seek(time=FAST.time), "variant"),
        (Seek(variant="tictactoe"), "with a clock"),
        (Seek(variant="chess", time=FAST.time), "chess"),
        (Seek(variant="connect4", time=FAST.time), "one of its variants"),
        (Seek(variant="tictactoe", time=TimeControl(move_us=3_600_000_000)), "60"),
    ],
)
async def test_wrong_wishes_are_refused_at_the_login(client: Client, seek: Seek, words: str) -> None:
    frame = hello(seek=seek, variants=["tictactoe"])
    refusal = await refusal_of(client.first_frame(frame, bearer(await client.token())))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert words in refusal.status.message
    assert isinstance(frame, play_pb2.PlayRequest)
