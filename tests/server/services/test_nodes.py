"""Admins list the nodes of a server, and what the games of its machines show."""

from functools import partial
from pathlib import Path

import grpc

from noughts_proto.transport import SITE_KEY, VERSION_KEY
from noughts_proto.v1 import status_pb2 as pb
from noughts_proto.v1.cluster_pb2 import RefereePresence
from noughts_server.core.version import software_version
from noughts_server.monitoring.counters import Counters
from noughts_server.monitoring.prometheus import ClusterMetrics, HeartbeatMetrics
from noughts_server.runtime.machine import host_name
from noughts_server.services.status import StatusServicer
from noughts_server.services.websites import Websites
from noughts_server.store.nodes import Node, NodeKind, beat
from tests.server.monitoring.test_metrics import IdleReferee
from tests.support.arena import open_arena
from tests.support.client import bearer, client_of, refusal_of


async def test_a_server_without_a_cluster_is_a_single_node(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        listing = client.status.FindNodes
        organiser = bearer(await client.token("alice"))
        refusal = await refusal_of(listing(pb.FindNodesRequest(), metadata=organiser))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")
        admin = bearer(await client.token("root", "admin"))
        answer = await listing(pb.FindNodesRequest(), metadata=admin)
    (node,) = answer.nodes
    assert (node.kind, node.machine, node.version) == (pb.NODE_KIND_SERVER, host_name(), software_version())
    assert node.speed > 0
    assert 0.25 <= node.time_factor <= 4
    assert not answer.machines


async def test_nodes_of_a_cluster_have_their_heartbeats_and_games(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        referee = Node("referee-far.example-7-abc", NodeKind.REFEREE, 4, version="1.2", speed=0.5)
        for node in (referee, Node("server-here-1-def", NodeKind.SERVER, 0, version="1.2")):
            await arena.store.write(partial(beat, node=node, first=True))
        presence = RefereePresence(referee=referee.name, games_in_flight=3)
        status = StatusServicer(
            address="",
            store=arena.store,
            sessions=None,  # type: ignore[arg-type]  # this call does not use them
            referee=None,  # type: ignore[arg-type]
            counters=None,  # type: ignore[arg-type]
            feed_counts=None,  # type: ignore[arg-type]
            problems={},
            accepts=(),
            speed=0.0,
            websites=Websites(),
            presences={referee.name: presence},
        )
        answer = await status.FindNodes(pb.FindNodesRequest(), None)  # type: ignore[arg-type]
    server, far = answer.nodes
    assert (server.kind, server.machine, server.HasField("speed")) == (pb.NODE_KIND_SERVER, "here", False)
    assert (far.machine, far.version, far.games_in_flight) == ("far.example", "1.2", 3)
    assert (far.speed, far.time_factor, far.silence_limit_seconds) == (0.5, 2.0, 5.0)


def test_delays_of_heartbeats_are_a_histogram() -> None:
    counters = Counters(IdleReferee())  # type: ignore[arg-type]
    for silent_seconds in (0.9, 1.003, 1.4, 31.0):
        counters.count_heartbeat(silent_seconds)
    (family,) = HeartbeatMetrics(counters).collect()
    samples = {(sample.name, sample.labels.get("le")): sample.value for sample in family.samples}
    assert samples["noughts_heartbeat_delay_seconds_bucket", "0.01"] == 2
    assert samples["noughts_heartbeat_delay_seconds_bucket", "0.5"] == 3
    assert samples["noughts_heartbeat_delay_seconds_count", None] == 4


async def test_gauges_of_a_cluster_have_no_samples_before_the_first_refresh(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        metrics = ClusterMetrics(store=arena.store, referees={})
        assert not [sample for family in metrics.collect() for sample in family.samples]
        await arena.store.write(partial(beat, node=Node("referee-here-1-abc", NodeKind.REFEREE, 4), first=True))
        await metrics.refresh()
        samples = {
            (sample.name, *sample.labels.values()): sample.value
            for family in metrics.collect()
            for sample in family.samples
        }
    assert samples["noughts_units_open",] == 0
    assert (samples["noughts_nodes", "referee"], samples["noughts_nodes", "server"]) == (1, 0)


async def test_websites_that_called_lately_are_nodes(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite") as client:
        site = ((SITE_KEY, await client.token("club", "site")), (VERSION_KEY, "1.2"))
        admin = bearer(await client.token("root", "admin"))
        await client.status.GetStatus(pb.GetStatusRequest(), metadata=site)
        nodes = (await client.status.FindNodes(pb.FindNodesRequest(), metadata=admin)).nodes
    (website,) = (node for node in nodes if node.kind == pb.NODE_KIND_WEBSITE)
    assert (website.name, website.version, website.machine) == ("website-club", "1.2", "127.0.0.1")


def test_website_without_a_call_for_ten_minutes_is_not_listed() -> None:
    now = 0.0
    websites = Websites(lambda: now)
    websites.note_call("club", "192.0.2.1", "1.2")
    now = 500.0
    websites.note_call("club", "192.0.2.1", "1.3")
    ((website, uptime_seconds, silent_seconds),) = websites.recent()
    assert (website.version, uptime_seconds, silent_seconds) == ("1.3", 500.0, 0.0)
    now = 1_101.0
    assert websites.recent() == []
