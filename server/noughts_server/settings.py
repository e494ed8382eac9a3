"""The operator's settings of a server. `noughts serve` sets them from its options."""

from dataclasses import dataclass, field
from pathlib import Path

from noughts_proto.security import Identity
from noughts_proto.transport import DEFAULT_SERVER
from noughts_referee.clock import HEARTBEAT_SECONDS, MARGIN_US, NETWORK_CAP_US, RECONNECT_TIMEOUT_SECONDS
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.core.limits import Limits
from noughts_server.core.registration import Registration
from noughts_server.core.trace_settings import TraceSettings
from noughts_server.feed.channel import FeedSettings
from noughts_server.runtime.recorder import STORE_SECONDS
from noughts_server.store.tunings import LEASE_MS


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The operator's settings of a server. Times in seconds unless the name says otherwise."""

    listen: str = DEFAULT_SERVER
    database: str | None = None
    """An SQLAlchemy URL or a path; None: the default database of this user."""
    bus: BusSettings | None = None
    """The bus of the server's cluster; None: the server is in no cluster, and plays all games itself."""
    machine: str = ""
    """The name of this machine, whose games are compared with those of others; empty: they are not."""
    speed: float | None = None
    """The speed of this machine, for games whose times are scaled (`machine_speed`); None: measure it at the start."""
    margin_us: int = MARGIN_US
    """Microseconds by which a move can exceed its limit, to allow for transport."""
    network_cap_us: int = NETWORK_CAP_US
    """Microseconds of network time of a move that a remote bot is not charged for."""
    reconnect_timeout: float = RECONNECT_TIMEOUT_SECONDS
    """Reconnect timeout: a bot loses its games after this time without a connection."""
    heartbeat: float = HEARTBEAT_SECONDS
    store_wait_seconds: float = STORE_SECONDS
    """Time for which a server that stops waits for an unavailable database."""
    reflection: bool = True
    """Whether callers can list the services and their messages (`grpc.reflection`)."""
    identity: Identity | None = None
    """The server's certificate; None: no TLS."""
    client_authorities: Path | None = None
    """Only clients with a certificate issued by these authorities can connect."""
    metrics: str | None = None
    """HOST:PORT for Prometheus; None: off."""
    trace: TraceSettings | None = None
    """Where traces of slow moves are sent; None: nowhere. In a cluster, the referees trace."""
    resumes_play: bool = True
    """Whether the server resumes tournaments that are running in the database, and starts scheduled ones."""
    inactivity_timeout: float = 0.0
    """Inactivity timeout: an entry that keeps its games waiting for this long is withdrawn; 0: never."""
    rate_own_games: bool = True
    """Whether games between bots of one owner are rated. With them, an owner can reach any rating."""
    answer_seconds: float = 10.0
    """Time in which a caller must read an answer, or a message of a stream, before its connection is reset."""
    limits: Limits = field(default_factory=Limits)
    """Limits of clients."""
    explorer: bool = True
    """Whether the openings of games are counted and shown."""
    puzzle_search: bool = True
    """Whether games are searched for puzzles."""
    analysis: bool = True
    """Whether games are analysed on request."""
    tuning_lease: float = LEASE_MS / 1000
    """The time after which the games of a silent worker of a tuning are given to another worker."""
    private_webhooks: bool = False
    """Whether webhooks can be on this machine and in its local networks."""
    registration: Registration = Registration.CLOSED
    """Whether newcomers can register without the help of the operator."""
    proxies: tuple[str, ...] = ()
    """Addresses of trusted reverse proxies, which report the address of each client."""
    feed: FeedSettings = field(default_factory=FeedSettings)
    """Limits of the live feed."""
