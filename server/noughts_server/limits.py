"""What one caller may have at most, and how often: every bound on strangers, each with its default.

The table in docs/how-to/operations.md names them all; a test compares. `noughts serve --limit NAME=NUMBER` changes one.
"""

from dataclasses import dataclass, fields, replace

from noughts_server.errors import LONG_SECONDS, InvalidArgument, LimitReached

ABSENCE_SECONDS = 600.0
"""How long an entry may keep the games of others waiting, unless an operator has said otherwise."""
BURST_SECONDS = 10
"""What is bounded by the second may come all at once after a rest of so many seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a server. An address is an IPv4 address, or an IPv6 network of 64 bits.

    The first two are kept by gRPC itself, which closes or holds back what is more; the others refuse.
    """

    server_connections: int = 4_000
    """Connections of the whole server; one more is closed at once."""
    connection_calls: int = 256
    """Calls at once on one connection, open streams included; more wait at the caller's end."""
    address_connections: int = 256
    """Connections from one address with a call under way."""
    address_calls: int = 1_000
    """Calls at once from one address, open streams included."""
    address_rate: int = 500
    """Calls a second from one address."""
    address_bytes: int = 1_000_000
    """Bytes a second in requests without a token from one address; each message counts 1,000 more."""
    address_watchers: int = 500
    """Streams of the feed to one address."""
    address_strangers: int = 50
    """Calls without a token from one address that are being read or answered at once, open streams aside."""
    strangers: int = 100
    """The same from all addresses: a request may take 2 MiB."""
    watchers: int = 1_000
    """Streams of the feed in all."""
    token_calls: int = 1_000
    """Calls at once with one token, open streams included."""
    token_rate: int = 200
    """Calls a second with one token."""
    token_bytes: int = 16_000_000
    """Bytes a second in requests and frames with one token; each message counts 1,000 more."""
    sessions: int = 500
    """Bots that are logged in at once with one token."""
    bots: int = 500
    """Bots of one owner, retired ones included."""
    versions: int = 2_000
    """Versions of all bots of one owner."""
    tournaments: int = 200
    """Tournaments of one owner that are not over, challenges aside."""
    submissions: int = 30
    """Bots that one owner submits within an hour, refused ones included."""
    owner_uploads: int = 2
    """Bots that one owner submits at the same time."""
    submission_bytes: int = 8 << 20
    """Bytes of a submitted bot."""
    submitted_bytes: int = 100 << 20
    """Bytes of all submitted bots of one owner, each file once."""
    processor_seconds: int = 20_000
    """Seconds of processor time that one owner's submitted bots may use in a day (UTC), trials included."""
    tokens: int = 1_000
    """Tokens of one owner that are neither revoked nor expired."""
    challenges: int = 10
    """Open challenges of one owner."""
    bot_challenges: int = 2
    """Open challenges of one bot, made by it or to it."""

    def of(self, name: str) -> int:
        """The bound called `name`."""
        limit: int = getattr(self, name)
        return limit

    def check(self, name: str, subject: str, so_far: int, *, retry_seconds: float = LONG_SECONDS) -> None:
        """Raises LimitReached when so many are there already; `name` is that of a bound."""
        limit = self.of(name)
        if so_far >= limit:
            raise LimitReached(name, subject, got=so_far + 1, limit=limit, retry_seconds=retry_seconds)

    def changed(self, **chosen: int) -> "Limits":
        """With other bounds, by their names. Raises InvalidArgument."""
        known = {field.name for field in fields(self)}
        for name, number in chosen.items():
            if name not in known:
                raise InvalidArgument.of("limit", name, ", ".join(sorted(known)))
            if not 1 <= number <= _MOST:
                raise InvalidArgument.of(f"limit {name}", number, f"1 to {_MOST:,}")
        return replace(self, **chosen)


_MOST = 1_000_000_000
