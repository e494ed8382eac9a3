"""StatusService: the state of the server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from noughts_proto.v1 import status_pb2 as pb
from noughts_proto.v1 import status_pb2_grpc
from noughts_proto.v1.cluster_pb2 import RefereePresence
from noughts_referee.machine_speed import time_factor
from noughts_referee.referee_protocols import RefereeCounts
from noughts_server.convert.times import timestamp
from noughts_server.core.errors import DatabaseUnavailable
from noughts_server.core.natural_order import natural_key
from noughts_server.core.version import software_version
from noughts_server.feed.channel import FeedCounts
from noughts_server.monitoring.counters import Counters
from noughts_server.runtime.machine import host_name
from noughts_server.runtime.sessions import Sessions
from noughts_server.runtime.tournament_play import stop_reason
from noughts_server.services.access import Access, Context, open_to
from noughts_server.services.answers import answer_in_turn
from noughts_server.services.websites import CallingWebsite, Websites
from noughts_server.store.engine.database import Store
from noughts_server.store.games.machines import MachineScore, machines
from noughts_server.store.nodes import Member, members
from noughts_server.store.tournaments.tournaments import Tournament, running_tournaments

_MOST_ROWS = 100


@dataclass(eq=False)
class StatusServicer(status_pb2_grpc.StatusServiceServicer):
    """Reports the state of the server's parts: games, bots, running tournaments, watchers and the database."""

    address: str
    store: Store
    sessions: Sessions
    referee: RefereeCounts
    counters: Counters
    feed_counts: FeedCounts
    problems: Mapping[int, str]
    """The reasons why tournaments are stopped, by database key."""
    accepts: Sequence[str]
    """Kinds of bots that can be submitted."""
    speed: float
    """The speed of this machine; 0 if the server plays no games."""
    websites: Websites
    presences: Mapping[str, RefereePresence] | None
    """The last presence of each referee of the cluster, by name; None without a cluster."""

    @open_to(Access.ADMIN, reads=True)
    async def FindNodes(self, request: pb.FindNodesRequest, context: Context) -> pb.FindNodesResponse:
        live, scores = await answer_in_turn(self.store, lambda connection: (members(connection), machines(connection)))
        nodes = [self._node(member) for member in live] if self.presences is not None else [self._only_node()]
        nodes += [_website_node(*website) for website in self.websites.recent()]
        return pb.FindNodesResponse(nodes=nodes, machines=list(map(_machine, scores)))

    def _node(self, member: Member) -> pb.Node:
        presence = (self.presences or {}).get(member.name)
        node = pb.Node(
            name=member.name,
            kind=member.kind.value,  # type: ignore[arg-type]  # equal values
            machine=member.host,
            version=member.version,
            uptime_seconds=member.seconds,
            silent_seconds=member.silent_seconds,
            silence_limit_seconds=member.silence_seconds,
            games_in_flight=0 if presence is None else presence.games_in_flight,
            units=member.units,
        )
        _add_speed(node, member.speed)
        return node

    def _only_node(self) -> pb.Node:
        machine = host_name()
        node = pb.Node(
            name=f"server-{machine}",
            kind=pb.NODE_KIND_SERVER,
            machine=machine,
            version=software_version(),
            uptime_seconds=self.counters.uptime,
            games_in_flight=self.referee.count_running(),
        )
        _add_speed(node, self.speed)
        return node

    @open_to(Access.ANYONE)
    async def GetStatus(self, request: pb.GetStatusRequest, context: Context) -> pb.GetStatusResponse:
        referee, counters = self.referee, self.counters
        try:
            running = await answer_in_turn(self.store, running_tournaments)
            size = await self.store.size_bytes()
        except DatabaseUnavailable:
            running, size = [], self.store.last_size_bytes  # `database_trouble` reports the problem
        outage = self.store.outage
        games_of_bots = self.sessions.games_of_online()
        busiest_first = sorted(games_of_bots, key=lambda name: (-games_of_bots[name], natural_key(name)))
        games_per_second, plies_per_second = counters.rates()
        response = pb.GetStatusResponse(
            version=software_version(),
            address=self.address,
            accepts=self.accepts,
            uptime_seconds=counters.uptime,
            draining=counters.draining,
            games=counters.games,
            plies=referee.plies,
            games_per_second=games_per_second,
            plies_per_second=plies_per_second,
            plies_history=counters.plies_history(),
            games_in_flight=referee.count_running(),
            slots_queued=referee.count_queued(),
            bots_online=len(games_of_bots),
            bots=[
                pb.OnlineBot(bot_version=name, games_in_flight=games_of_bots[name])
                for name in busiest_first[:_MOST_ROWS]
            ],
            tournaments=[self._running(tournament) for tournament in running[:_MOST_ROWS]],
            watchers=self.feed_counts.watchers,
            commit_seconds=counters.commits.worst,
            loop_lag_seconds=counters.lag.worst,
            stalls=referee.stalls.count,
            stalled_seconds=referee.stalls.total_us / 1e6,
            excused=referee.stalls.excused,
            database_bytes=size,
            database_trouble="" if outage is None else outage.problem,
        )
        response.start_time.FromDatetime(counters.started)
        return response

    def _running(self, tournament: Tournament) -> pb.RunningTournament:
        return pb.RunningTournament(
            name=tournament.name,
            games_done=tournament.games_done,
            games_total=tournament.games_total,
            games_in_flight=self.referee.count_running(tournament.id),
            games_per_second=self.counters.tournament_rate(tournament.id),
            problem=stop_reason(tournament, self.problems, self.store.outage),
            retry_time=timestamp(tournament.retry_at),
        )


def _website_node(website: CallingWebsite, uptime_seconds: float, silent_seconds: float) -> pb.Node:
    return pb.Node(
        name=f"website-{website.owner}",
        kind=pb.NODE_KIND_WEBSITE,
        machine=website.address,
        version=website.version,
        uptime_seconds=uptime_seconds,
        silent_seconds=silent_seconds,
    )


def _add_speed(node: pb.Node, speed: float) -> None:
    if speed:
        node.speed, node.time_factor = speed, time_factor(speed)


def _machine(score: MachineScore) -> pb.Machine:
    machine = pb.Machine(
        name=score.machine,
        games=score.games,
        faults=score.faults,
        compared=score.compared,
        score=score.score,
        expected_score=score.expected,
        residual=score.residual,
        residual_error95=score.error95,
        stands_out=score.stands_out,
    )
    machine.since.FromMilliseconds(score.since)
    return machine
