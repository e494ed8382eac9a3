"""The tables. Plain SQL that SQLite and PostgreSQL share; moments are milliseconds since 1970 in UTC.

- Slots and units are arithmetic (`competition`), not rows: a tournament of 100 million games starts at once. Only
  pairings that follow from results, or were added to a tournament later, are rows (`pairings`).
- `pair_scores` and `entry_scores` are written in the transaction of the games that they count: standings
  and crosstables never read games.
- `rating_runs` is the log of the ratings: see there.
"""

from enum import IntEnum

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from noughts_referee.rules import FAULTS

REVISION = "0014"
"""The newest migration: what a database of this version of Noughts is stamped with."""


class TournamentState(IntEnum):
    """Values equal those of the protocol's enum."""

    OPEN = 1
    RUNNING = 2
    PAUSED = 3
    FINISHED = 4
    CANCELLED = 5

    def __str__(self) -> str:
        return self.name.lower()


class Kind(IntEnum):
    """What a tournament is for."""

    ORGANISED = 1
    CHALLENGE = 2
    """A few unrated games between two bots; lists leave it out unless asked."""


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

# SQLite numbers rows by itself only when the key is exactly INTEGER (64 bits there).
_Key = BigInteger().with_variant(Integer, "sqlite")

owners = Table(
    "owners", metadata, Column("id", _Key, primary_key=True), Column("name", String(63), nullable=False, unique=True)
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("owner_id", ForeignKey("owners.id"), nullable=False),
    Column("label", String(200), nullable=False),
    # SHA-256 of the secret, which is random enough that no slow hash is needed.
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("last_used_at", BigInteger),
    # What it permits, words separated by spaces; see `store.scopes`.
    Column("scopes", String(400), nullable=False, server_default="play organise"),
    Column("expires_at", BigInteger),
    # The token that made it over the network; null: made at the server's machine.
    Column("made_by", BigInteger),
    Index(None, "made_by"),
)

bots = Table(
    "bots",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("name", String(63), nullable=False, unique=True),
    Column("owner_id", ForeignKey("owners.id"), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # A retired bot keeps its name and its past, and plays no more.
    Column("retired_at", BigInteger),
    Index(None, "owner_id"),
    Index(None, "retired_at"),
)

bot_versions = Table(
    "bot_versions",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("bot_id", ForeignKey("bots.id"), nullable=False),
    Column("version", String(63), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("bot_id", "version"),
)

# Bots that were handed in as files. Programs are kept once, whoever handed them in.
programs = Table(
    "programs",
    metadata,
    Column("id", _Key, primary_key=True),
    # SHA-256 of the content.
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("size", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

submissions = Table(
    "submissions",
    metadata,
    Column("bot_version_id", ForeignKey("bot_versions.id"), primary_key=True, autoincrement=False),
    Column("program_id", ForeignKey("programs.id"), nullable=False),
    Column("owner_id", ForeignKey("owners.id"), nullable=False),
    Column("kind", String(16), nullable=False),
    # Of Python: FILE.py:CLASS.
    Column("entry", String(400), nullable=False),
    Column("file_name", String(200), nullable=False),
    Column("submitted_at", BigInteger, nullable=False),
    Index(None, "owner_id", "submitted_at"),
    Index(None, "program_id"),
)

tournaments = Table(
    "tournaments",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("slug", String(63), nullable=False, unique=True),
    Column("title", String(200), nullable=False),
    Column("owner_id", ForeignKey("owners.id"), nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("variant", String(63), nullable=False),
    Column("move_us", BigInteger, nullable=False),
    Column("bank_us", BigInteger, nullable=False),
    Column("increment_us", BigInteger, nullable=False),
    Column("schedule", SmallInteger, nullable=False),
    Column("games_per_pair", Integer, nullable=False),
    Column("concurrency", Integer, nullable=False),
    # Unsigned 64 bits, kept as signed (`seeds.signed` and `stored_seed`).
    Column("seed", BigInteger, nullable=False),
    Column("rated", Boolean(create_constraint=False), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("ended_at", BigInteger),
    # All zero until the start.
    Column("games_total", BigInteger, nullable=False),
    Column("games_done", BigInteger, nullable=False),
    # Slots of a unit: unit `u` holds the ordinals from `u * unit_games + 1`.
    Column("unit_games", Integer, nullable=False),
    # Every slot up to this ordinal has its game; in rated tournaments those are the games that count already.
    Column("folded", BigInteger, nullable=False),
    # 1: organised; 2: a challenge, which lists leave out unless asked.
    Column("kind", SmallInteger, nullable=False, server_default="1"),
    Column("entries_min", Integer, nullable=False, server_default="2"),
    Column("entries_max", Integer, nullable=False, server_default="4096"),
    # The join window, and the scheduled start; null: from the creation on, until the start, by hand.
    Column("join_from", BigInteger),
    Column("join_until", BigInteger),
    Column("start_at", BigInteger),
    # Why it was cancelled, where that was not its owner's wish.
    Column("reason", String(200)),
    # Times of single entries by label, as text: {"Slow": "180/30+0"}. Null: none has its own.
    Column("own_times", JSON(none_as_null=True)),
    # What few tournaments have: see `tournament_options`. Null: nothing of it.
    Column("options", JSON(none_as_null=True)),
    # The entries and games a pair that the arithmetic part of its slots is made for, where some have been added since;
    # null: all of them.
    Column("base_entries", Integer),
    Column("base_games_per_pair", Integer),
    # A SeedKind: how it came about, and what follows from it.
    Column("seed_kind", SmallInteger, nullable=False, server_default="0"),
    # Whether games between bots of one owner are rated.
    Column("own_rated", Boolean(create_constraint=False), nullable=False, server_default="1"),
    Index(None, "state"),
    Index(None, "kind"),
)

# Before the start numbers only give the order of joining (gaps where somebody withdrew); from the start on they
# count from 0 without gaps and never change.
entries = Table(
    "entries",
    metadata,
    Column("tournament_id", ForeignKey("tournaments.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("bot_version_id", ForeignKey("bot_versions.id"), nullable=False),
    Column("label", String(80), nullable=False),
    # When it left a tournament that had begun, and why where that was not its owner's wish; it gets no new pairings.
    Column("withdrawn_at", BigInteger),
    Column("withdrawn_reason", String(200)),
    UniqueConstraint("tournament_id", "label"),
    # From a bot to its tournaments.
    Index(None, "bot_version_id", "tournament_id", "number"),
)

# Slots that do not follow from their ordinals: of rounds that were paired by results, and of extensions. Written in the
# transaction from whose games they follow, and never changed. Ordinals go on where the arithmetic part ends.
pairings = Table(
    "pairings",
    metadata,
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("first_entry", Integer, nullable=False),
    Column("second_entry", Integer, nullable=False),
    # Games of one encounter, sides alternating, have one number; it counts from 0.
    Column("encounter", BigInteger, nullable=False),
    # From 1; 0: of no round.
    Column("round", Integer, nullable=False),
    Index(None, "tournament_id", "first_entry", "ordinal"),
    Index(None, "tournament_id", "second_entry", "ordinal"),
    sqlite_with_rowid=False,
)

# Who had no opponent in a round, and got the points of all games of an encounter for it.
byes = Table(
    "byes",
    metadata,
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("entry", Integer, primary_key=True, autoincrement=False),
)

# The attempt under which a unit was claimed last; no row: never.
units = Table(
    "units",
    metadata,
    Column("tournament_id", ForeignKey("tournaments.id"), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("attempt", Integer, nullable=False),
    # In a cluster: the referee that plays it (`nodes.name`); null: none, or a server that is alone.
    Column("holder", String(80)),
    # In a cluster: how many slots it had when all of them were played. Extensions may give it more.
    Column("played", Integer, nullable=False, server_default="0"),
    # How many of its holders were lost with it.
    Column("deaths", SmallInteger, nullable=False, server_default="0"),
)

# The servers and referees of a cluster, while they live.
nodes = Table(
    "nodes",
    metadata,
    Column("name", String(80), primary_key=True),
    # A NodeKind.
    Column("kind", SmallInteger, nullable=False),
    # Moments by the clock of the database: those of the machines may differ.
    Column("started_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    # Games of bots of its own that it plays at once.
    Column("seats", Integer, nullable=False),
)

LOST_BY_FAULT = text(f"termination IN ({', '.join(str(int(each)) for each in sorted(FAULTS))})")
"""Of `games`. In words, not with parameters: only so does SQLite see that an index has just these rows."""

# Stored in the order of its key (SQLite: without rowid), which is the order in which it is exported and rated.
# No foreign key: at 100,000 games a second checking one would cost as much as storing them.
games = Table(
    "games",
    metadata,
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("attempt", Integer, nullable=False),
    Column("first_entry", Integer, nullable=False),
    Column("second_entry", Integer, nullable=False),
    Column("result", SmallInteger, nullable=False),
    Column("termination", SmallInteger, nullable=False),
    Column("moves", LargeBinary, nullable=False),
    Column("times", LargeBinary, nullable=False),
    Column("ended_at", BigInteger, nullable=False),
    # Why the loser lost, if by its own doing and anything is known of it: a phrase that follows "it".
    Column("fault", Text),
    # How many of the moves were on the board when the game began.
    Column("opening_plies", SmallInteger, nullable=False, server_default="0"),
    # What moves were allowed beyond the clocks; NULL in games without clocks, and in those of older servers.
    Column("allowances", LargeBinary),
    # Few games, and looked for among very many.
    Index(
        "ix_games_faults",
        "tournament_id",
        # Without statistics SQLite takes the index only where it fits better than the key.
        "termination",
        "ordinal",
        sqlite_where=LOST_BY_FAULT,
        postgresql_where=LOST_BY_FAULT,
    ),
    sqlite_with_rowid=False,
)

# Games of long time controls that are being played, after the last move that was committed: a row goes in the
# transaction in which the game is stored. The sides are those that the players have agreed on.
journal = Table(
    "journal",
    metadata,
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("first_entry", Integer, nullable=False),
    Column("second_entry", Integer, nullable=False),
    Column("moves", LargeBinary, nullable=False),
    Column("times", LargeBinary, nullable=False),
    # What the clocks showed after the last move; 0 of a side without a limit.
    Column("first_clock_us", BigInteger, nullable=False),
    Column("second_clock_us", BigInteger, nullable=False),
    Column("opening_plies", SmallInteger, nullable=False),
    sqlite_with_rowid=False,
)

# What is worth keeping of a side that failed: why its process ended, and what it wrote to stderr. Most games have none.
game_notes = Table(
    "game_notes",
    metadata,
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    # 0: the first mover, 1: the second.
    Column("side", SmallInteger, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
)

# From the first mover's point of view. Void games count nowhere.
pair_scores = Table(
    "pair_scores",
    metadata,
    Column("tournament_id", ForeignKey("tournaments.id"), primary_key=True),
    Column("first_entry", Integer, primary_key=True, autoincrement=False),
    Column("second_entry", Integer, primary_key=True, autoincrement=False),
    Column("wins", BigInteger, nullable=False),
    Column("draws", BigInteger, nullable=False),
    Column("losses", BigInteger, nullable=False),
)

# The sums of `pair_scores`, so that standings need not read all pairs; no row: no game yet.
entry_scores = Table(
    "entry_scores",
    metadata,
    Column("tournament_id", ForeignKey("tournaments.id"), primary_key=True),
    Column("entry", Integer, primary_key=True, autoincrement=False),
    Column("wins", BigInteger, nullable=False),
    Column("draws", BigInteger, nullable=False),
    Column("losses", BigInteger, nullable=False),
)

rating_lists = Table(
    "rating_lists",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("variant", String(63), nullable=False),
    Column("time_class", String(16), nullable=False),
    UniqueConstraint("variant", "time_class"),
)

ratings = Table(
    "ratings",
    metadata,
    Column("list_id", ForeignKey("rating_lists.id"), primary_key=True),
    Column("bot_id", ForeignKey("bots.id"), primary_key=True),
    Column("rating", Float(53), nullable=False),
    Column("games", BigInteger, nullable=False),
    Column("wins", BigInteger, nullable=False),
    Column("draws", BigInteger, nullable=False),
    Column("losses", BigInteger, nullable=False),
    # A leaderboard is read in this order.
    Index(None, "list_id", "rating", "bot_id"),
    Index(None, "bot_id"),
)

# A bot's rating after some of its rated games: some 32 points for each doubling of their number (`elo.next_point`).
rating_history = Table(
    "rating_history",
    metadata,
    Column("list_id", ForeignKey("rating_lists.id"), primary_key=True),
    Column("bot_id", ForeignKey("bots.id"), primary_key=True),
    Column("games", BigInteger, primary_key=True, autoincrement=False),
    Column("rating", Float(53), nullable=False),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# The log of the ratings. One row: the slots first_ordinal .. first_ordinal + games - 1 were folded, in this order, as
# rating_seq first_seq, first_seq + 1, and so on. So no game needs to be written twice, and the log stays small.
# Slots without a rated game (void, or not played when the tournament was cancelled) keep their number unused.
rating_runs = Table(
    "rating_runs",
    metadata,
    Column("first_seq", BigInteger, primary_key=True, autoincrement=False),
    Column("list_id", ForeignKey("rating_lists.id"), nullable=False),
    Column("tournament_id", ForeignKey("tournaments.id"), nullable=False),
    Column("first_ordinal", BigInteger, nullable=False),
    Column("games", BigInteger, nullable=False),
    Index(None, "tournament_id", "first_ordinal"),
)

# What was answered to requests that may come again.
requests = Table(
    "requests",
    metadata,
    Column("token_id", ForeignKey("tokens.id"), primary_key=True),
    Column("request_id", String(64), primary_key=True),
    Column("method", String(80), nullable=False),
    Column("body_hash", LargeBinary(32), nullable=False),
    Column("answer", String(400), nullable=False),
    # 0: by a version that did not write it down.
    Column("created_at", BigInteger, nullable=False, server_default="0"),
)
