"""Settings of the connection that both ends must agree on.

A server disconnects a client that pings more often than it allows (GOAWAY, "too many pings"). Therefore the settings of
both sides are here.
"""

PROTOCOL = 1
"""The version of PlayService.Play's frames that this package describes."""

TOKEN_KEY = "authorization"
"""Metadata key of `Bearer TOKEN`."""
GUEST_KEY = "x-noughts-visitor"
"""Metadata key of the address of the visitor for whom a website calls. It counts only with the website's own token."""
SITE_KEY = "x-noughts-site"
"""Metadata key of a website's own token with the scope `site`, in the calls that it makes for its visitors."""
VERSION_KEY = "x-noughts-version"
"""Metadata key of the version of Noughts of a website, next to its token."""

DEFAULT_SERVER = "127.0.0.1:7450"
"""The default address at which a server listens, and to which bots and commands connect."""
SERVER_VARIABLE = "NOUGHTS_SERVER"
"""The variable with the server of a bot or a command: HOST:PORT, or several with commas."""
TOKEN_VARIABLE = "NOUGHTS_TOKEN"
"""The variable with the token of a bot's owner."""
TICKET_VARIABLE = "NOUGHTS_TICKET"
"""The variable with the ticket of a bot that a referee has started. It replaces the token for one login."""

_PING_EVERY_MS = 10_000
_PING_TIMEOUT_MS = 5_000
_LARGEST_FRAME = 8 * 1024 * 1024
"""Bytes of a message of the server."""
_LARGEST_REQUEST = 2 * 1024 * 1024
"""Bytes of a message of a client."""

CLIENT_OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.keepalive_time_ms", _PING_EVERY_MS),
    ("grpc.keepalive_timeout_ms", _PING_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", _LARGEST_FRAME),
    ("grpc.max_send_message_length", _LARGEST_REQUEST),
    # After a restart of the server, a bot must not wait up to two minutes, which is gRPC's default.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    # This option is the time limit of one attempt to connect. Default of gRPC: 20 s.
    ("grpc.min_reconnect_backoff_ms", 5_000),
)

SERVER_OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.keepalive_time_ms", _PING_EVERY_MS),
    ("grpc.keepalive_timeout_ms", _PING_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", _PING_EVERY_MS // 2),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_receive_message_length", _LARGEST_REQUEST),
    ("grpc.max_send_message_length", _LARGEST_FRAME),
    # No compression: a kilobyte could unpack to megabytes.
    ("grpc.compression_enabled_algorithms_bitset", 1),
    # The limit of TCP, TLS and the start of HTTP/2 together, and that of a connection without calls.
    ("grpc.server_handshake_timeout_ms", 5_000),
    ("grpc.max_connection_idle_ms", 60_000),
    ("grpc.max_metadata_size", 8 * 1024),
    ("grpc.absolute_max_metadata_size", 16 * 1024),
    ("grpc.http2.max_ping_strikes", 2),
    ("grpc.http2.bdp_probe", 0),
    # Limits of the calls that the event loop has not handled yet.
    ("grpc.server.max_pending_requests", 1_000),
    ("grpc.server.max_pending_requests_hard_limit", 2_000),
    # Two servers on one port would each get half of the bots.
    ("grpc.so_reuseport", 0),
)


def addresses_of(text: str) -> list[str]:
    """Return the addresses in `HOST:PORT,HOST:PORT`."""
    return [address.strip() for address in text.split(",")]
