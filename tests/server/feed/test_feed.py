"""The live feed of a real server, watched over the network while real bots play."""

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from noughts_proto.transport import CLIENT_OPTIONS
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import feed_pb2_grpc, tournaments_pb2, types_pb2
from noughts_server.core.limits import Limits
from noughts_server.feed.channel import FeedSettings
from noughts_server.feed.game_channel import GameChannel
from noughts_server.feed.stored import read_game
from noughts_server.feed.tournament_channel import TournamentsChannel
from noughts_server.runtime.bus import listening
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.runtime.tournament_play import CHANGED
from tests.support.client import refusal_of
from tests.support.loopback import wait_until

from .cinema import CUP, GAME, WatchedServer, watched_server


class ObserverOfReferee:
    """Reads the referee's present observer; mypy would take an attribute read in the test for constant."""

    def __init__(self, referee: Any) -> None:
        self._referee = referee

    def now(self) -> object:
        return self._referee.observer


async def test_few_channels_read_their_tables_in_one_interval(
    cinema: WatchedServer, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slugs = [f"open-{number}" for number in range(6)]
    for slug in slugs:
        await cinema.client.create(token, slug)
    feed, reads = cinema.client.server.feed, list[list[str]]()
    tick, read = TournamentsChannel.tick, TournamentsChannel._read

    async def noting_read(self: TournamentsChannel) -> None:
        reads[-1].append(str(self._slug))
        await read(self)

    monkeypatch.setattr(TournamentsChannel, "_read", noting_read)
    feed.settings = replace(feed.settings, interval=60.0, reading=1e-9)
    async with AsyncExitStack() as open_channels:
        reads.append([])
        channels = [(await open_channels.enter_async_context(feed.watching(f"tournaments/{slug}"))) for slug in slugs]
        assert len(channels) == len(slugs)
        for _ in range(40):
            reads.append([])
            feed._reading_time.left = 1e-9
            for channel in sorted(feed._channels.values(), key=lambda channel: channel.read_at):
                await tick(channel)  # type: ignore[arg-type]  # all have this class
    assert max(map(len, reads[1:])) == 1
    assert {slug for read_slugs in reads[1:] for slug in read_slugs} == set(slugs)


# One game.


async def test_a_late_joiner_gets_the_moves_so_far_and_then_every_ply(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=True, games_per_pair=1):
        early = cinema.watch(GAME)
        await early.read_message()
        for _ in range(3):
            cinema.gate.release()
        while len(early.view.games[GAME].moves) < 3:
            await early.read_message()
        late = cinema.watch(GAME)
        snapshot = (await late.read_message()).snapshot.games[0]
        assert (list(snapshot.moves), snapshot.state) == ([0, 1, 2], pb.GAME_STATE_RUNNING)
        assert {snapshot.first, snapshot.second} == {"ada", "bob"}
        for _ in range(6):
            cinema.gate.release()
        await late.read_to_the_end()
        await early.read_to_the_end()
        stored = await cinema.game()
        # First free cells in turn: X completes the column 0, 3, 6 with ply 6.
        assert late.plies() == [(3, 3), (4, 4), (5, 5), (6, 6)]
        assert early.plies() == list(enumerate(stored.moves))
        for game in (early.view.games[GAME], late.view.games[GAME]):
            assert list(game.moves) == list(stored.moves)
            assert list(game.times_us) == list(stored.times_us)
            assert (game.result, game.termination) == (stored.result, stored.termination)
            assert game.state == pb.GAME_STATE_ENDED


async def test_an_opening_is_on_the_board_before_the_first_published_ply(cinema: WatchedServer, token: str) -> None:
    openings = tournaments_pb2.Openings(kind="list", text="8 7\n")
    async with cinema.playing(token, gated=True, games_per_pair=1, openings=openings):
        early = cinema.watch(GAME)
        await early.read_message()
        while not early.view.games or not early.view.games[GAME].moves:
            await early.read_message()
        assert list(early.view.games[GAME].moves) == [8, 7]
        for _ in range(9):
            cinema.gate.release()
        await early.read_to_the_end()
        stored = await cinema.game()
        assert (list(stored.moves[:3]), stored.opening_plies) == ([8, 7, 0], 2)
        assert early.plies() == list(enumerate(stored.moves))[2:]
        assert list(early.view.games[GAME].moves) == list(stored.moves)


async def test_very_short_games_are_seen_ply_by_ply_from_the_start(cinema: WatchedServer, token: str) -> None:
    await cinema.client.register("ada", "bob")
    await cinema.client.create(token, games_per_pair=40, concurrency=4)
    for name in ("ada", "bob"):
        await cinema.client.join(token, name)
    await cinema.client.start(token)
    watching = [cinema.watch(f"{CUP}/games/{number}") for number in range(1, 41)]
    for watcher in watching:
        snapshot = (await watcher.read_message()).snapshot.games[0]
        assert (snapshot.state, list(snapshot.moves)) == (pb.GAME_STATE_WAITING, [])
    async with cinema.client.online(token, "ada", "bob"):
        for number, each in enumerate(watching, start=1):
            await each.read_to_the_end()
            stored = await cinema.game(number)
            assert each.plies(stored.name) == list(enumerate(stored.moves))
            assert each.view.games[stored.name].result == stored.result


async def test_each_ply_has_the_clocks(cinema: WatchedServer, token: str) -> None:
    time = types_pb2.TimeControl(move_us=30_000_000, bank_us=60_000_000, increment_us=1_000_000)
    async with cinema.playing(token, gated=True, games_per_pair=1, time=time):
        watching = cinema.watch(GAME)
        snapshot = (await watching.read_message()).snapshot.games[0]
        assert snapshot.time == time
        for _ in range(9):
            cinema.gate.release()
        await watching.read_to_the_end()
        plies = [ply for message in watching.messages for ply in message.increments.plies]
        assert plies[0].second_clock_us == 60_000_000
        assert plies[0].first_clock_us == 61_000_000 - plies[0].time_us
        assert plies[1].second_clock_us == 61_000_000 - plies[1].time_us
        # Read from the store, the clocks are the same.
        stored = await cinema.client.server.store.read(partial(read_game, slug="cup", ordinal=1))
        assert stored.message == watching.view.games[GAME]


@pytest.mark.parametrize("opening", ["8", "8 7", "8 7 5"])
async def test_stored_clocks_after_an_opening_equal_the_live_ones(
    cinema: WatchedServer, token: str, opening: str
) -> None:
    time = types_pb2.TimeControl(bank_us=10_000_000, increment_us=2_000_000)
    openings = tournaments_pb2.Openings(kind="list", text=f"{opening}\n")
    async with cinema.playing(token, gated=True, games_per_pair=1, time=time, openings=openings):
        watching = cinema.watch(GAME)
        await watching.read_message()
        for _ in range(9):
            cinema.gate.release()
        await watching.read_to_the_end()
        stored = await cinema.client.server.store.read(partial(read_game, slug="cup", ordinal=1))
        assert stored.message == watching.view.games[GAME]


async def test_sides_with_times_of_their_own_have_their_own_clocks(cinema: WatchedServer, token: str) -> None:
    move = types_pb2.TimeControl(move_us=30_000_000)
    own_times = {
        "ada": types_pb2.TimeControl(bank_us=60_000_000, increment_us=1_000_000),
        "bob": types_pb2.TimeControl(),
    }
    async with cinema.playing(token, gated=True, games_per_pair=1, time=move, own_times=own_times):
        watching = cinema.watch(GAME)
        snapshot = (await watching.read_message()).snapshot.games[0]
        assert (snapshot.time, snapshot.first_time, snapshot.second_time) == (move, own_times["ada"], own_times["bob"])
        assert (snapshot.first_clock_us, snapshot.HasField("second_clock_us")) == (60_000_000, False)
        for _ in range(9):
            cinema.gate.release()
        await watching.read_to_the_end()
        plies = [ply for message in watching.messages for ply in message.increments.plies]
        assert plies[1].first_clock_us == plies[0].first_clock_us == 61_000_000 - plies[0].time_us
        assert not any(ply.HasField("second_clock_us") for ply in plies)
        # Read from the store, all of it is the same.
        later_watcher = await cinema.watch(GAME).read_to_the_end()
        assert later_watcher.view.games[GAME] == watching.view.games[GAME]
        stored = await cinema.game()
        assert (stored.first_time, stored.second_time) == (own_times["ada"], own_times["bob"])


async def test_a_result_is_published_only_after_it_is_stored(cinema: WatchedServer, token: str) -> None:
    committed: list[int] = []

    def add_ordinals(report: Any) -> None:
        committed.extend(game.ordinal for game in report.games)

    async with cinema.playing(token, gated=True, games_per_pair=1):
        watching = cinema.watch(GAME)
        await watching.read_message()
        unsubscribe = cinema.client.server.bus.subscribe(COMMITTED, add_ordinals)
        for _ in range(9):
            cinema.gate.release()
        while watching.view.games[GAME].state != pb.GAME_STATE_ENDED:
            message = await watching.read_message()
            assert bool(message.increments.ends) <= bool(committed)
        unsubscribe()
        assert (await cinema.game()).result == watching.view.games[GAME].result


async def test_a_finished_game_is_one_snapshot_and_the_end(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=False, games_per_pair=1):
        await cinema.client.until(lambda cup: cup.games_done == 1)
    watching = await cinema.watch(GAME).read_to_the_end()
    stored = await cinema.game()
    assert watching.kinds() == ["snapshot"]
    game = watching.view.games[GAME]
    assert (list(game.moves), game.result) == (list(stored.moves), stored.result)


async def test_a_game_of_a_cancelled_tournament_ends_void(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=True, games_per_pair=2):
        watching = cinema.watch(GAME)
        await watching.read_message()
        await cinema.client.cancel(token)
        await watching.read_to_the_end()
        assert watching.view.games[GAME].result == types_pb2.RESULT_VOID
    # A later watcher gets the same end.
    assert (await cinema.watch(GAME).read_to_the_end()).view.games[GAME].result == types_pb2.RESULT_VOID


async def test_a_change_of_another_tournament_does_not_hide_a_cancellation(cinema: WatchedServer, token: str) -> None:
    bus = cinema.client.server.bus

    def change_another(tournament: int) -> None:
        if tournament != 999:
            bus.publish(CHANGED, 999)

    async with cinema.playing(token, gated=True, games_per_pair=2):
        watching = cinema.watch(GAME)
        await watching.read_message()
        # This listener runs after that of the feed, and so before the feed reads the database again.
        with listening(bus, CHANGED, change_another):
            await cinema.client.cancel(token)
        await watching.read_to_the_end()
        assert watching.view.games[GAME].result == types_pb2.RESULT_VOID


# Resuming a stream.


async def test_resuming_sends_what_was_missed_and_nothing_twice(cinema: WatchedServer, token: str) -> None:
    async with cinema.playing(token, gated=True, games_per_pair=1):
        first, other = cinema.watch(GAME), cinema.watch(GAME)
        await first.read_message()
        await other.read_message()
        for _ in range(2):
            cinema.gate.release()
        while len(first.view.games[GAME].moves) < 2:
            await first.read_message()
        first.call.cancel()
        for _ in range(2):
            cinema.gate.release()
        while len(other.view.games[GAME].moves) < 4:
            await other.read_message()
        second = cinema.watch(GAME, first.sequence, first.epoch)
        second.view, second.sequence = first.view, first.sequence
        for _ in range(5):
            cinema.gate.release()
        await second.read_to_the_end()
        assert set(second.kinds()) == {"increments"}
        assert first.plies() + second.plies() == list(enumerate((await cinema.game()).moves))


@pytest.mark.parametrize("sequence, other_epoch", [(0, 1), (99, 0)])
async def test_unknown_sequence_numbers_lead_to_a_resync(
    cinema: WatchedServer, token: str, sequence: int, other_epoch: int
) -> None:
    async with cinema.playing(token, gated=True, games_per_pair=1):
        first_watcher = cinema.watch(GAME)
        await first_watcher.read_message()
        second_watcher = cinema.watch(GAME, sequence, first_watcher.epoch ^ other_epoch)
        await second_watcher.read_message()
        await second_watcher.read_message()
        assert second_watcher.kinds() == ["resync", "snapshot"]
        assert second_watcher.messages[0].resync.reason == pb.Resync.REASON_NOT_KEPT
        assert second_watcher.epoch == first_watcher.epoch == cinema.client.server.feed.epoch


# Slow watchers.


@pytest.mark.long
async def test_a_watcher_that_never_reads_resyncs_and_delays_no_game(tmp_path: Path) -> None:
    settings = FeedSettings(interval=0.001, buffered_frames=50)
    # A small window, so that the network buffers few of the unread messages.
    options = (*CLIENT_OPTIONS, ("grpc.http2.lookahead_bytes", 1024), ("grpc.http2.bdp_probe", 0))
    async with watched_server(tmp_path / "x.sqlite", settings) as cinema:
        token = await cinema.client.token()
        address = cinema.client.server.address
        async with grpc.aio.insecure_channel(address, options=options) as channel:
            async with cinema.playing(token, gated=False, games_per_pair=1000, concurrency=8):
                lazy = WatchedServer(cinema.client, feed_pb2_grpc.FeedServiceStub(channel)).watch(CUP)
                await lazy.read_message()
                reader = await cinema.watch(CUP).read_to_the_end()
                assert reader.view.tournaments[CUP].games_done == 1000
            await lazy.read_to_the_end()
            reasons = [message.resync.reason for message in lazy.messages if message.HasField("resync")]
            # One resync, or a second one if the network had buffered the first.
            assert reasons in ([pb.Resync.REASON_FELL_BEHIND], [pb.Resync.REASON_FELL_BEHIND] * 2)
            assert lazy.messages[-1].sequence == reader.sequence
            assert lazy.view.tournaments == reader.view.tournaments


# Refused watchers and missing resources.


@pytest.mark.parametrize(
    "name, reason",
    [
        ("tournaments/nowhere", "NOT_FOUND"),
        ("tournaments/nowhere/games/1", "NOT_FOUND"),
        ("tournaments/cup/games/3", "NOT_FOUND"),
        ("tournaments/cup/games/0", "NOT_FOUND"),
        ("tournaments/cup/games/x", "INVALID_ARGUMENT"),
        ("cup", "INVALID_ARGUMENT"),
        ("", "INVALID_ARGUMENT"),
    ],
)
async def test_unknown_names_are_refused(cinema: WatchedServer, token: str, name: str, reason: str) -> None:
    async with cinema.playing(token, gated=True, games_per_pair=2):
        assert (await refusal_of(cinema.watch(name).call.read())).reason == reason
    assert cinema.client.server.feed.counts.watchers == 0


async def test_one_watcher_too_many_is_refused_until_another_leaves(tmp_path: Path) -> None:
    async with watched_server(tmp_path / "x.sqlite", FeedSettings(interval=0.02), limits=Limits(watchers=1)) as cinema:
        first = cinema.watch("featured")
        await first.read_message()
        refusal = await refusal_of(cinema.watch("featured").call.read())
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
        first.call.cancel()
        await wait_until(lambda: not cinema.client.server.feed.counts.watchers)
        await cinema.watch("featured").read_message()


async def test_a_stopping_server_ends_its_streams_as_unavailable(tmp_path: Path) -> None:
    async with watched_server(tmp_path / "x.sqlite") as cinema:
        watching = cinema.watch("featured")
        await watching.read_message()
        cinema.client.server.feed.close()
        refusal = await refusal_of(watching.call.read())
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        assert (await refusal_of(cinema.watch("featured").call.read())).reason == "DRAINING"


async def test_the_referee_is_observed_only_while_somebody_watches(tmp_path: Path) -> None:
    async with watched_server(tmp_path / "x.sqlite", FeedSettings(interval=0.01, linger=0)) as cinema:
        token = await cinema.client.token()
        async with cinema.playing(token, gated=True, games_per_pair=10):
            observers = ObserverOfReferee(cinema.client.server.referee)
            assert observers.now() is None
            watching = cinema.watch(CUP)
            while not watching.view.games:
                await watching.read_message()
            assert observers.now() is not None
            watching.call.cancel()
            await wait_until(lambda: observers.now() is None)


async def test_an_error_of_the_feed_ends_its_streams_but_no_game(
    cinema: WatchedServer, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cinema.playing(token, gated=True, games_per_pair=1):
        watching = cinema.watch(GAME)
        await watching.read_message()
        while watching.view.games[GAME].state != pb.GAME_STATE_RUNNING:
            await watching.read_message()

        def failing_handler(self: GameChannel, *event: object) -> None:
            raise RuntimeError("a fault of ours")

        monkeypatch.setattr(GameChannel, "handle_event", failing_handler)
        for _ in range(9):
            cinema.gate.release()
        refusal = await refusal_of(watching.call.read())
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "UNAVAILABLE")
        await cinema.client.until(lambda cup: cup.games_done == 1)
        monkeypatch.undo()
        resumed_watcher = await cinema.watch(GAME, watching.sequence, watching.epoch).read_to_the_end()
        assert list(resumed_watcher.view.games[GAME].moves) == list((await cinema.game()).moves)
