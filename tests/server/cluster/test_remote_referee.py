"""A server of a cluster drops messages of referees that are wrong or too many, and recovers."""

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.frame_connection import WireSettings
from noughts_server.cluster import remote_referee
from noughts_server.cluster.codecs import REFEREES, TO_REFEREE, TO_SERVER
from noughts_server.cluster.dropped_messages import DroppedMessages
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.runtime.bus import MemoryBus
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.sessions import Sessions
from noughts_server.store.engine.database import Store
from tests.support.databases import make_database
from tests.support.patience import PATIENCE


async def test_referee_must_repeat_its_games_after_too_many_messages_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_referee, "_MOST_WAITING_BYTES", 10_000)
    bus, repeat_requested = MemoryBus(), asyncio.Event()

    def on_answers(answers: pb.ClusterAnswers) -> None:
        if answers.bots[0].lost:
            repeat_requested.set()

    bus.subscribe(f"{TO_REFEREE}:far", on_answers)
    store = await Store.open(make_database(tmp_path / "league.sqlite"))
    remote = RemoteReferee(store, bus, "here", margin_us=0)
    remote.player(5)
    sessions = Sessions(remote, bus, WireSettings())
    asks = pb.ClusterAsks(referee="far")
    asks.bots.add(version=5).starts.add(tournament=99, game=[1], first=[0], second=[1])
    with capture_logs() as logged:
        async with asyncio.timeout(PATIENCE), running(remote.run(sessions.wire)):
            await asyncio.sleep(0)  # by now it listens to the bus
            bus.publish(REFEREES, pb.RefereePresence(referee="far"))
            for _ in range(1_000):
                bus.publish(f"{TO_SERVER}:here", asks)
            await repeat_requested.wait()
    await store.close()
    assert [line["error"] for line in logged if "dropped" in line["event"]] == [
        "too many requests are waiting for the database"
    ]


def test_dropped_messages_are_logged_every_ten_seconds() -> None:
    now = [0.0]
    dropped = DroppedMessages(lambda: now[0])
    with capture_logs() as logged:
        for _ in range(641):
            dropped.add(error="wrong")
            now[0] += 1 / 64
    assert [line["messages"] for line in logged] == [1, 640]
