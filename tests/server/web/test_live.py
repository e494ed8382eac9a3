"""Live events: every ply in order, one subscription upstream, and a snapshot for those who missed something."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest

from noughts_proto.security import Dialling
from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.testing import ServerUnderTest
from noughts_server.web.event_streams import Hub, LiveSettings, Stream, Watcher
from noughts_server.web.upstream import Failure, Upstream
from tests.support.processes import eventually
from tests.support.site import PATIENCE, Site, live_game

NAME = "tournaments/cup/games/1"
WON = (0, 3, 1, 4, 2)


def parsed(event: bytes) -> tuple[str, str, Any]:
    """Kind, number and content."""
    fields = dict(line.partition(": ")[::2] for line in event.decode().splitlines())
    return fields["event"], fields.get("id", ""), json.loads(fields["data"])


def stream(**limits: Any) -> Stream:
    """A stream without a server that knows a game without moves."""
    made = Stream(NAME, Upstream("127.0.0.1:1", Dialling()), LiveSettings(**limits), {})
    game = pb.WatchedGame(name=NAME, variant="tictactoe", first="a", second="b", state=pb.GAME_STATE_RUNNING)
    made.take(pb.WatchResponse(epoch=10, sequence=0, snapshot=pb.WatchSnapshot(games=[game])))
    return made


def ply(number: int, score: float | None = None) -> pb.WatchResponse:
    told = pb.WatchedPly(game=NAME, ply=number, cell=number, score=score)
    return pb.WatchResponse(epoch=10, sequence=number + 1, increments=pb.Increments(plies=[told]))


async def read(watcher: Watcher, number: int) -> list[tuple[str, str, Any]]:
    """Wait for so many events."""
    found = []
    async with asyncio.timeout(PATIENCE):
        events: AsyncIterator[bytes] = watcher.events()
        async for event in events:
            found.append(parsed(event))
            if len(found) == number:
                break
    return found


def test_a_watcher_sees_a_game_from_its_snapshot_to_its_end(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game, site.events(f"/api/v1/{game.name}/events") as events:
        snapshot = events.until("snapshot").told["games"][0]
        assert (snapshot["first"], snapshot["second"], snapshot["state"]) == ("First", "Second", "running")
        assert snapshot["board"] == {
            "columns": 3,
            "rows": 3,
            "layers": 1,
            "gravity": False,
            "names": ["a", "b", "c"],
            "look": "marks",
            "stars": [],
        }
        game.play(*WON)
        plies: list[int] = []
        ended: list[Any] = []
        while (event := events.next()) is not None and event.kind != "over":
            plies += [each["cell"] for each in event.told["plies"]]
            ended += event.told["ends"]
        assert plies == list(WON)
        (end,) = ended
        assert (end["result"], end["termination"], end["winning_cells"]) == ("1-0", "line", [0, 1, 2])
        assert event is not None
        assert events.next() is None


def test_many_watchers_of_a_game_cost_one_subscription_upstream(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game, ExitStack() as stack:
        watching = [stack.enter_context(site.events(f"/api/v1/{game.name}/events")) for _ in range(20)]
        for events in watching:
            events.until("snapshot")
        assert site.hub.watchers == 20
        assert site.get("/api/v1/status").document["watchers"] == 1
        game.play(*WON)
        for events in watching:
            ends: list[Any] = []
            while not ends:
                ends = events.until("increments").told["ends"]
            assert ends[0]["result"] == "1-0"
    eventually(lambda: site.hub.watchers == 0)


def test_who_comes_back_is_told_what_was_missed_and_no_more(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game:
        path = f"/api/v1/{game.name}/events"
        with site.events(path) as events:
            events.until("snapshot")
            game.play(0)
            # An increment can also say something else, such as that a bot has taken its place.
            while not (seen := events.until("increments")).told["plies"]:
                pass
            game.play(3)
            while not events.until("increments").told["plies"]:
                pass
        with site.events(path, Last_Event_ID=seen.number) as events:
            missed = events.next()
            assert missed is not None
            assert (missed.kind, [each["cell"] for each in missed.told["plies"]]) == ("increments", [3])
        with site.events(path, Last_Event_ID="abc-7") as events:
            again = events.next()
            assert again is not None
            assert (again.kind, again.told["games"][0]["moves"]) == ("snapshot", [0, 3])
        game.play(1, 4, 2)


async def test_who_reads_too_slowly_is_given_a_snapshot_instead_of_what_waits() -> None:
    follow = stream(buffered=3)
    watcher, other = follow.join(""), follow.join("")
    assert [kind for kind, _, _ in await read(other, 1)] == ["snapshot"]
    for number in range(5):
        follow.take(ply(number))
        await read(other, 1)
    ((kind, number_told, told),) = await read(watcher, 1)
    assert (kind, number_told, told["games"][0]["moves"]) == ("snapshot", "a-5", [0, 1, 2, 3, 4])
    follow.take(ply(5))
    for each in (watcher, other):
        ((kind, number_told, told),) = await read(each, 1)
        assert (kind, number_told, told["plies"][0]["cell"]) == ("increments", "a-6", 5)


class Connection(asyncio.WriteTransport):
    """A transport whose bytes are sent when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.unsent = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return False


async def test_events_stay_in_order_while_an_earlier_one_is_being_sent() -> None:
    follow = stream()
    connection = Connection()
    events = follow.join("", connection).events()

    async def number() -> str:
        return parsed(await anext(events))[1]

    assert await number() == "a-0"
    follow.take(ply(0))
    assert await number() == "a-1"
    assert connection.written == []
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(number())
        await asyncio.sleep(0)
        follow.take(ply(1))
        assert [parsed(chunk.split(b"\r\n")[1])[1] for chunk in connection.written] == ["a-2"]
        connection.unsent = 1
        follow.take(ply(2))
        connection.unsent = 0
        follow.take(ply(3))
    assert (waiting.result(), await number(), len(connection.written)) == ("a-3", "a-4", 1)


async def test_late_comers_are_told_the_scores_of_plies_before() -> None:
    follow = stream()
    for number in range(3):
        follow.take(ply(number, number / 2))
    ((_, _, told),) = await read(follow.join(""), 1)
    assert told["games"][0]["scores"] == {"0": 0.0, "1": 0.5, "2": 1.0}


async def test_what_is_no_longer_kept_is_replaced_by_a_snapshot() -> None:
    follow = stream(kept=2)
    for number in range(4):
        follow.take(ply(number))
    assert [kind for kind, _, _ in await read(follow.join("a-2"), 2)] == ["increments", "increments"]
    for unknown in ("a-1", "a-99", "b-3", "a", "a-", "-", "a-x", "a-²", "a-" + "9" * 5_000):
        assert [kind for kind, _, _ in await read(follow.join(unknown), 1)] == ["snapshot"], unknown


async def test_a_silent_stream_says_now_and_then_that_it_is_there(server: ServerUnderTest) -> None:
    async with asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        hub = Hub(upstream, tasks, LiveSettings(heartbeat=0.05))
        found = []
        async with asyncio.timeout(PATIENCE), hub.watching("featured") as watcher:
            async for event in watcher.events():
                found.append(event)
                if len(found) == 4:
                    break
        hub.close()
        await upstream.close()
    assert found[0].startswith(b"id: ")
    assert found[1:] == [b": still here\n\n"] * 3


async def test_a_server_that_is_restarted_is_away_then_back_with_a_snapshot(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/noughts.db"
    async with asyncio.TaskGroup() as tasks:
        async with running_server(ServerSettings(listen="127.0.0.1:0", database=database)) as first:
            address = first.address
            upstream = Upstream(address, Dialling())
            hub = Hub(upstream, tasks, LiveSettings(first_wait=0.05, longest_wait=0.2))
            watching = hub.watching("featured")
            watcher = await watching.__aenter__()
            ((kind, before, _),) = await read(watcher, 1)
            assert kind == "snapshot"
        ((kind, _, told),) = await read(watcher, 1)
        assert kind == "away"
        assert told["hint"]
        async with running_server(ServerSettings(listen=address, database=database)):
            (back, (kind, after, _)) = await read(watcher, 2)
            assert (back[0], kind) == ("back", "snapshot")
            assert before.partition("-")[0] != after.partition("-")[0]
            await watching.__aexit__(None, None, None)
            hub.close()
        await upstream.close()


async def test_nobody_watched_is_followed_no_longer(server: ServerUnderTest) -> None:
    async with asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        hub = Hub(upstream, tasks, LiveSettings(linger=0.01))
        async with hub.watching("featured"):
            assert hub.followed == 1
        async with asyncio.timeout(PATIENCE):
            while hub.followed:  # noqa: ASYNC110  # nobody tells of it
                await asyncio.sleep(0.01)
        hub.close()
        await upstream.close()


async def test_there_are_only_so_many_watchers(server: ServerUnderTest) -> None:
    async with asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        hub = Hub(upstream, tasks, LiveSettings(most_streams=1))
        async with hub.watching("featured"):
            with pytest.raises(Failure, match="1 browsers are already watching") as caught:
                await hub.watching("featured").__aenter__()
        assert caught.value.status == 503
        hub.close()
        await upstream.close()


async def test_address_that_follows_most_makes_room_for_others(server: ServerUnderTest, cup: str) -> None:
    def watching(address: str, game: int) -> AbstractAsyncContextManager[Watcher]:
        return hub.watching(f"{cup}/games/{game}", address)

    async with asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        hub = Hub(upstream, tasks, LiveSettings(most_followed=3))
        async with AsyncExitStack() as open_streams:
            for game in (1, 2, 3):
                await open_streams.enter_async_context(watching("192.0.2.1", game))
            await open_streams.enter_async_context(watching("192.0.2.2", 4))
            assert hub.followed == 3
            with pytest.raises(Failure, match="3 games and tournaments are already being followed"):
                await watching("192.0.2.2", 5).__aenter__()
        hub.close()
        await upstream.close()
