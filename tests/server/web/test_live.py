"""Live events: every ply in order, one subscription to the server, and snapshots for watchers that missed events."""

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
from tests.support.patience import PATIENCE
from tests.support.processes import eventually
from tests.support.site import Site, live_game

NAME = "tournaments/cup/games/1"
WINNING_CELLS = (0, 3, 1, 4, 2)


def parse_event(event: bytes) -> tuple[str, str, Any]:
    """Return the kind, the id and the data of an event."""
    fields = dict(line.partition(": ")[::2] for line in event.decode().splitlines())
    return fields["event"], fields.get("id", ""), json.loads(fields["data"])


def stream_of_new_game(**limits: Any) -> Stream:
    """Return a stream that has no server, but has got the snapshot of a game without moves."""
    new_stream = Stream(NAME, Upstream("127.0.0.1:1", Dialling()), LiveSettings(**limits), {})
    game = pb.WatchedGame(name=NAME, variant="tictactoe", first="a", second="b", state=pb.GAME_STATE_RUNNING)
    new_stream.take(pb.WatchResponse(epoch=10, sequence=0, snapshot=pb.WatchSnapshot(games=[game])))
    return new_stream


def ply(number: int, score: float | None = None) -> pb.WatchResponse:
    """Return the message of the feed about the ply with this number, on the cell with the same number."""
    watched_ply = pb.WatchedPly(game=NAME, ply=number, cell=number, score=score)
    return pb.WatchResponse(epoch=10, sequence=number + 1, increments=pb.Increments(plies=[watched_ply]))


async def read_events(watcher: Watcher, number: int) -> list[tuple[str, str, Any]]:
    """Wait for `number` events, and return them."""
    events_read = []
    async with asyncio.timeout(PATIENCE):
        events: AsyncIterator[bytes] = watcher.events()
        async for event in events:
            events_read.append(parse_event(event))
            if len(events_read) == number:
                break
    return events_read


def test_a_watcher_sees_a_game_from_its_snapshot_to_its_end(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game, site.events(f"/api/v1/{game.name}/events") as events:
        snapshot = events.until("snapshot").data["games"][0]
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
        game.play(*WINNING_CELLS)
        plies: list[int] = []
        ended: list[Any] = []
        while (event := events.next()) is not None and event.kind != "over":
            plies += [ply_data["cell"] for ply_data in event.data["plies"]]
            ended += event.data["ends"]
        assert plies == list(WINNING_CELLS)
        (end,) = ended
        assert (end["result"], end["termination"], end["winning_cells"]) == ("1-0", "line", [0, 1, 2])
        assert event is not None
        assert events.next() is None


def test_many_watchers_of_a_game_cost_one_subscription_upstream(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game, ExitStack() as stack:
        streams = [stack.enter_context(site.events(f"/api/v1/{game.name}/events")) for _ in range(20)]
        for events in streams:
            events.until("snapshot")
        assert site.hub.watchers == 20
        # The website may still follow what other pages have shown, each with one subscription.
        eventually(lambda: site.get("/api/v1/status").document["watchers"] == site.hub.followed)
        assert site.hub.followed < len(streams)
        game.play(*WINNING_CELLS)
        for events in streams:
            ends: list[Any] = []
            while not ends:
                ends = events.until("increments").data["ends"]
            assert ends[0]["result"] == "1-0"
    eventually(lambda: site.hub.watchers == 0)


def test_reconnected_watcher_gets_the_missed_events_or_a_snapshot(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game:
        path = f"/api/v1/{game.name}/events"
        with site.events(path) as events:
            events.until("snapshot")
            game.play(0)
            # Increments without plies report other changes, for example that a bot has reconnected.
            while not (last_seen := events.until("increments")).data["plies"]:
                pass
            game.play(3)
            while not events.until("increments").data["plies"]:
                pass
        with site.events(path, Last_Event_ID=last_seen.number) as events:
            missed = events.next()
            assert missed is not None
            assert missed.kind == "increments"
            assert [ply_data["cell"] for ply_data in missed.data["plies"]] == [3]
        with site.events(path, Last_Event_ID="abc-7") as events:
            snapshot = events.next()
            assert snapshot is not None
            assert (snapshot.kind, snapshot.data["games"][0]["moves"]) == ("snapshot", [0, 3])
        game.play(1, 4, 2)


async def test_slow_watcher_gets_a_snapshot_instead_of_waiting_events() -> None:
    stream = stream_of_new_game(buffered=3)
    watcher, other = stream.join(""), stream.join("")
    assert [kind for kind, _, _ in await read_events(other, 1)] == ["snapshot"]
    for number in range(5):
        stream.take(ply(number))
        await read_events(other, 1)
    ((kind, event_id, data),) = await read_events(watcher, 1)
    assert (kind, event_id, data["games"][0]["moves"]) == ("snapshot", "a-5", [0, 1, 2, 3, 4])
    stream.take(ply(5))
    for joined in (watcher, other):
        ((kind, event_id, data),) = await read_events(joined, 1)
        assert (kind, event_id, data["plies"][0]["cell"]) == ("increments", "a-6", 5)


class Connection(asyncio.WriteTransport):
    """A transport whose number of unsent bytes the test sets."""

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
    stream = stream_of_new_game()
    connection = Connection()
    events = stream.join("", connection).events()

    async def next_id() -> str:
        return parse_event(await anext(events))[1]

    assert await next_id() == "a-0"
    stream.take(ply(0))
    assert await next_id() == "a-1"
    assert connection.written == []
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(next_id())
        await asyncio.sleep(0)
        stream.take(ply(1))
        assert [parse_event(chunk.split(b"\r\n")[1])[1] for chunk in connection.written] == ["a-2"]
        connection.unsent = 1
        stream.take(ply(2))
        connection.unsent = 0
        stream.take(ply(3))
    assert (waiting.result(), await next_id(), len(connection.written)) == ("a-3", "a-4", 1)


async def test_snapshot_for_a_late_watcher_has_the_scores_of_earlier_plies() -> None:
    stream = stream_of_new_game()
    for number in range(3):
        stream.take(ply(number, number / 2))
    ((_, _, data),) = await read_events(stream.join(""), 1)
    assert data["games"][0]["scores"] == {"0": 0.0, "1": 0.5, "2": 1.0}


async def test_watcher_gets_a_snapshot_if_missed_events_are_no_longer_kept() -> None:
    stream = stream_of_new_game(kept=2)
    for number in range(4):
        stream.take(ply(number))
    assert [kind for kind, _, _ in await read_events(stream.join("a-2"), 2)] == ["increments", "increments"]
    for last_event_id in ("a-1", "a-99", "b-3", "a", "a-", "-", "a-x", "a-²", "a-" + "9" * 5_000):
        assert [kind for kind, _, _ in await read_events(stream.join(last_event_id), 1)] == ["snapshot"], last_event_id


async def test_a_silent_stream_sends_heartbeats(server: ServerUnderTest) -> None:
    async with asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        hub = Hub(upstream, tasks, LiveSettings(heartbeat=0.05))
        chunks = []
        async with asyncio.timeout(PATIENCE), hub.watching("featured") as watcher:
            async for event in watcher.events():
                chunks.append(event)
                if len(chunks) == 4:
                    break
        hub.close()
        await upstream.close()
    assert chunks[0].startswith(b"id: ")
    assert chunks[1:] == [b": still here\n\n"] * 3


async def test_a_server_that_is_restarted_is_away_then_back_with_a_snapshot(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/noughts.db"
    async with asyncio.TaskGroup() as tasks:
        async with running_server(ServerSettings(listen="127.0.0.1:0", database=database)) as first:
            address = first.address
            upstream = Upstream(address, Dialling())
            hub = Hub(upstream, tasks, LiveSettings(first_wait=0.05, longest_wait=0.2))
            watching = hub.watching("featured")
            watcher = await watching.__aenter__()
            ((kind, before, _),) = await read_events(watcher, 1)
            assert kind == "snapshot"
        ((kind, _, data),) = await read_events(watcher, 1)
        assert kind == "away"
        assert data["hint"]
        async with running_server(ServerSettings(listen=address, database=database)):
            (back, (kind, after, _)) = await read_events(watcher, 2)
            assert (back[0], kind) == ("back", "snapshot")
            assert before.partition("-")[0] != after.partition("-")[0]
            await watching.__aexit__(None, None, None)
            hub.close()
        await upstream.close()


async def test_a_stream_without_watchers_is_closed(server: ServerUnderTest) -> None:
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


async def test_the_number_of_watchers_is_limited(server: ServerUnderTest) -> None:
    async with asyncio.TaskGroup() as tasks:
        upstream = Upstream(server.address, Dialling())
        hub = Hub(upstream, tasks, LiveSettings(most_streams=1))
        async with hub.watching("featured"):
            with pytest.raises(Failure, match="1 browsers are already watching") as caught:
                await hub.watching("featured").__aenter__()
        assert caught.value.status == 503
        hub.close()
        await upstream.close()


async def test_address_that_follows_the_most_games_makes_room_for_others(server: ServerUnderTest, cup: str) -> None:
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


def test_live_game_has_no_analysis(server: ServerUnderTest, site: Site) -> None:
    with live_game(server, site) as game:
        answer = site.get(f"/{game.name}/analysis")
        game.play(*WINNING_CELLS)
    assert answer.status == 404
    assert "There is no analysis" in answer.text
