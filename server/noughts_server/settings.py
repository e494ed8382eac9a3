"""The operator's settings of a server: addresses, limits, periods. `noughts serve` sets them from its options."""

from dataclasses import dataclass, field
from pathlib import Path

from noughts_proto.security import Identity
from noughts_proto.transport import DEFAULT_SERVER
from noughts_referee.clock import GRACE_SECONDS, HEARTBEAT_SECONDS, MARGIN_US, NETWORK_CAP_US
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.core.limits import Limits
from noughts_server.feed.channel import FeedSettings
from noughts_server.runtime.recorder import STORE_SECONDS


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The operator's settings of a server. Times in seconds unless the name says otherwise."""

    listen: str = DEFAULT_SERVER
    database: str | None = None
    """An SQLAlchemy URL or a path; None is the default database of this user."""
    bus: BusSettings | None = None
    """The bus of the cluster that it belongs to; None: it is alone, and plays all games itself."""
    margin_us: int = MARGIN_US
    """Microseconds by which a move can exceed its limit, to allow for transport."""
    network_cap_us: int = NETWORK_CAP_US
    """Microseconds of network time for each move of a remote bot that are not charged to it."""
    grace: float = GRACE_SECONDS
    """Reconnect timeout: a bot without a connection loses its games after it."""
    heartbeat: float = HEARTBEAT_SECONDS
    store_patience: float = STORE_SECONDS
    """Time for which a server that stops waits for an unavailable database."""
    reflection: bool = True
    """Whether callers may ask which services there are and what their messages look like (`grpc.reflection`)."""
    identity: Identity | None = None
    """The server's certificate; None speaks plaintext."""
    client_authorities: Path | None = None
    """Only clients with a certificate issued by these authorities can connect."""
    metrics: str | None = None
    """HOST:PORT for Prometheus; None is off."""
    resumes_play: bool = True
    """Whether what was running when the database was last open is played on, and what is scheduled starts."""
    absence: float = 0.0
    """Inactivity timeout: an entry can keep games without a clock waiting for this long; 0: for ever."""
    rate_own_games: bool = True
    """Whether games between bots of one owner are rated; an owner can have any rating by them."""
    answer_seconds: float = 10.0
    """Time in which a caller must read an answer, or a message of a stream, before its connection is reset."""
    limits: Limits = field(default_factory=Limits)
    """Bounds on what callers may have and do."""
    explorer: bool = True
    """Whether the openings of games are counted and shown."""
    puzzle_search: bool = True
    """Whether games are searched for puzzles."""
    private_webhooks: bool = False
    """Whether webhooks can be on this machine and in its local networks."""
    proxies: tuple[str, ...] = ()
    """Addresses of reverse proxies, which are believed who has called them."""
    feed: FeedSettings = field(default_factory=FeedSettings)
    """Limits of the live feed."""
