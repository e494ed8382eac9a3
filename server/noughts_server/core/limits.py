"""Limits on what clients can use, each with its default.

docs/reference/limits.md is generated from this class. `noughts serve --set-limit NAME=NUMBER` changes a limit.
"""

from dataclasses import dataclass, fields, replace

from noughts_referee.comments import CommentLimits
from noughts_server.core.errors import LONG_SECONDS, InvalidArgument, LimitReached

INACTIVITY_TIMEOUT_SECONDS = 600.0
"""Default of the time for which an entry can keep the games of others waiting."""
BURST_SECONDS = 10
"""After this many quiet seconds a caller can use this many seconds of a limit per second at once."""
DAY_SECONDS = 86_400
"""After this many quiet seconds a caller can use all of a daily limit at once."""
DAILY = frozenset(
    {"settings_bytes", "daily_changes", "registration_attempts", "registrations", "all_registrations", "seeks"}
)
"""The daily limits, which become available again evenly over the day. Other limits with a rate are per second."""

_MOST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server. An address is an IPv4 address, or an IPv6 network of 64 bits.

    gRPC applies the first two, without an error. The server refuses calls that exceed the others.
    """

    server_connections: int = 4_000
    """Connections to the server. It closes a further one at once."""
    connection_calls: int = 256
    """Concurrent calls on one connection, including open streams. Further calls wait in the client."""
    address_connections: int = 256
    """Connections from one address that have a call in progress."""
    address_calls: int = 1_000
    """Concurrent calls from one address, including open streams."""
    address_rate: int = 500
    """Calls a second from one address."""
    address_bytes: int = 1_000_000
    """Bytes a second in requests without a token from one address. Each message counts 1,000 bytes more."""
    address_answer_bytes: int = 1_000_000
    """Bytes a second in answers without a token to one address. Each row of a list counts 1,000 bytes more."""
    address_watchers: int = 100
    """Open streams of the feed, health and reflection to one address, without a token."""
    owner_watchers: int = 250
    """Open streams of the feed, health and reflection with the tokens of one owner, including those of its website."""
    address_strangers: int = 50
    """Concurrent calls without a token from one address, excluding open streams."""
    strangers: int = 100
    """Concurrent calls without a token from all addresses, excluding open streams."""
    watchers: int = 1_000
    """Open streams of the feed, health and reflection without a token to all addresses."""
    caller_unread_bytes: int = 16 << 20
    """Bytes of answers that one address, or one owner, has not read yet. Each answer counts 32,000 bytes more."""
    unread_bytes: int = 48 << 20
    """Bytes of answers that clients have not read yet.

    Above the limit, the server resets the connections of those with the most.
    """
    token_calls: int = 1_000
    """Concurrent calls with the tokens of one owner, including open streams."""
    token_rate: int = 200
    """Calls a second with the tokens of one owner."""
    token_bytes: int = 16_000_000
    """Bytes a second in requests and frames with the tokens of one owner. Each message counts 1,000 bytes more."""
    token_answer_bytes: int = 10_000_000
    """Bytes a second in answers with the tokens of one owner. Each row of a list counts 1,000 bytes more."""
    changes: int = 50
    """Calls a second of one owner that can change something, including refused ones."""
    daily_changes: int = 100_000
    """The same in a day. What a call has stored can be there for ever."""
    sessions: int = 500
    """Bots connected with one token."""
    bots: int = 500
    """Bots of one owner, including retired ones."""
    versions: int = 2_000
    """Versions of all bots of one owner."""
    renames: int = 20
    """Renames of bots of one owner in a day."""
    tournaments: int = 200
    """Tournaments of one owner that are not over, excluding challenges."""
    settings_bytes: int = 64 << 20
    """Bytes of settings and lists of openings in tournaments, tests, challenges and tunings of one owner in a day."""
    tunings: int = 50
    """Tunings of one owner that are not finished."""
    owner_entries: int = 64
    """Entries of one owner in a tournament of another owner, and at most half of its places."""
    owner_checks: int = 8
    """Tournaments, tests and challenges of one owner whose openings are being checked, or wait for that."""
    batch_ratings: int = 8
    """Batch ratings for one owner or address that are being computed, or wait for that."""
    analyses: int = 8
    """Games that wait for their analysis for one owner or address. A visitor of a website counts as an address."""
    all_analyses: int = 256
    """The same for all."""
    submissions: int = 30
    """Bots that one owner submits within an hour, including refused ones."""
    owner_uploads: int = 2
    """Concurrent uploads of bots of one owner."""
    submission_bytes: int = 8 << 20
    """Bytes of a submitted bot."""
    submitted_bytes: int = 100 << 20
    """Bytes of all submitted bots of one owner. Each file counts once."""
    unpacked_mib: int = 1_024
    """MiB of one owner's submitted bots that are unpacked because they play, on a server or a referee."""
    all_unpacked_mib: int = 8_192
    """The same of all owners. Beyond it, further bots wait."""
    processor_seconds: int = 20_000
    """Processor seconds of one owner's submitted bots in a day (UTC), including their trials."""
    comment_bytes: int = CommentLimits().move
    """Bytes of a bot's comment on a move. A longer comment is cut and ends with `[cut]`, as for the next two limits."""
    game_comment_bytes: int = CommentLimits().game
    """Bytes of the comments in one game. Each side can use half of them."""
    running_comment_bytes: int = CommentLimits().running
    """Bytes of the comments in all running games. One bot can use a quarter of them."""
    running_thought_bytes: int = CommentLimits().running_thoughts
    """Bytes of memory of the reports of searches in all running games. One bot can use a quarter of them."""
    tokens: int = 1_000
    """Tokens of one owner that are neither revoked nor expired."""
    registration_attempts: int = 200
    """Attempts to register from one address in a day. With an invitation, only refused ones count, for each one."""
    registrations: int = 10
    """Registrations without an invitation from one address in a day."""
    all_registrations: int = 500
    """The same from all addresses."""
    proof_bits: int = 20
    """Bits of work for a registration without an invitation: 20 bits are about a million hashes."""
    webhooks: int = 10
    """Webhooks of one owner."""
    webhook_tests: int = 4
    """Concurrent tests of webhooks of one owner."""
    challenges: int = 10
    """Open challenges of one owner."""
    bot_challenges: int = 2
    """Open challenges of one bot, made by it or against it, and running or stopped tests of others against it."""
    seeks: int = 200
    """Pairings of one owner's bots that seek games, in a day. Each has two rated games."""
    guest_move_seconds: int = 60
    """Seconds for a move, of an increment and of a margin, in a challenge or test between bots of two owners."""
    guest_base_seconds: int = 3_600
    """Seconds of base time in a challenge or test between bots of two owners."""

    @property
    def comments(self) -> CommentLimits:
        """Return the limits of bots' comments."""
        return CommentLimits(
            move=self.comment_bytes,
            game=self.game_comment_bytes,
            running=self.running_comment_bytes,
            running_thoughts=self.running_thought_bytes,
        )

    def of(self, name: str) -> int:
        """Return the limit with this name."""
        limit: int = getattr(self, name)
        return limit

    def check(self, name: str, subject: str, so_far: int, *, retry_seconds: float = LONG_SECONDS) -> None:
        """Raise LimitReached if the number `so_far` has reached the limit called `name`."""
        limit = self.of(name)
        if so_far >= limit:
            raise LimitReached(name, subject, got=so_far + 1, limit=limit, retry_seconds=retry_seconds)

    def with_changes(self, **new_limits: int) -> "Limits":
        """Return these limits with some of them changed, by name. Raises InvalidArgument."""
        known = {field.name for field in fields(self)}
        for name, number in new_limits.items():
            if name not in known:
                raise InvalidArgument.of("limit", name, ", ".join(sorted(known)))
            if not 1 <= number <= _MOST:
                raise InvalidArgument.of(f"limit {name}", number, f"1 to {_MOST:,}")
        return replace(self, **new_limits)
