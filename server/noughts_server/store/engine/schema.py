"""The tables, in SQL that SQLite and PostgreSQL share. Times are milliseconds since 1970 in UTC.

- Slots and units are computed (`competition`), not rows, so a tournament of 100 million games starts at once. Only
  pairings that follow from results, or that an extension added, are rows (`pairings`).
- `pair_scores` and `entry_scores` are written in the transaction that stores their games, so standings and crosstables
  never read games. The same transaction writes `bot_scores` and `meetings`, so that pages of a bot take the same time
  however many tournaments it has played.
- `rating_runs` is the log of the ratings.
- `outbox` is written in the transaction of the change that its events report.
- `explorer_moves` and `accuracies` are written after the games, by a task of their own (`runtime.explorer`), and so are
  `puzzles` (`runtime.puzzles`).
"""

from enum import IntEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
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
    event,
    false,
    text,
)

from noughts_referee.rules import CONCEDED_FAULT, FORFEITS, Termination

REVISION = "0049"
"""The newest migration; the revision that a database of this version of Noughts has."""
SILENCE_MS = 5_000
"""The milliseconds without a heartbeat after which a node is considered dead, if its heartbeats were never late."""
LONGEST_SILENCE_MS = 30_000
"""The silence limit of the slowest node."""
LONGEST_REASON = 200
"""Limit of the characters of a stored reason of a withdrawal, cancellation, pause or stop."""


class TournamentState(IntEnum):
    """The state of a tournament; values equal those of the protocol's enum."""

    OPEN = 1
    RUNNING = 2
    PAUSED = 3
    FINISHED = 4
    CANCELLED = 5

    def __str__(self) -> str:
        return self.name.lower()


class Kind(IntEnum):
    """The purpose of a tournament."""

    ORGANISED = 1
    CHALLENGE = 2
    """A few unrated games between two bots; lists omit it by default."""
    TEST = 3
    """A match that tests one bot version against another; lists omit it by default."""


class TuningState(IntEnum):
    """The state of a tuning; values equal those of the protocol's enum."""

    RUNNING = 1
    FINISHED = 2

    def __str__(self) -> str:
        return self.name.lower()


_NAMES = {kind: f"{kind}_%(table_name)s_%(column_0_N_name)s" for kind in ("fk", "uq", "ix")}
metadata = MetaData(naming_convention={"pk": "pk_%(table_name)s", **_NAMES})

# SQLite assigns row numbers only if the type of the key is exactly INTEGER (64 bits there).
_Key = BigInteger().with_variant(Integer, "sqlite")


owners = Table(
    "owners",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("name", String(63), nullable=False, unique=True),
    # See `confusable_names`.
    Column("skeleton", String(63), nullable=False, server_default=""),
    # The invitation by which the owner registered; null: by none.
    Column("invitation_id", BigInteger),
    # The tournament that the owner's first bot will enter; null: none, or it has entered.
    Column("first_tournament", String(63)),
    Index(None, "skeleton"),
    Index(None, "invitation_id"),
)

invitations = Table(
    "invitations",
    metadata,
    Column("id", _Key, primary_key=True),
    # The part of the secret by which the row is found. It alone permits nothing.
    Column("selector", String(12), nullable=False, unique=True),
    # SHA-256 of the whole secret.
    Column("hash", LargeBinary(32), nullable=False),
    Column("label", String(200), nullable=False),
    # The scopes of the tokens, separated by spaces.
    Column("scopes", String(400), nullable=False),
    # The tournament that the first bot of each new owner enters; null: none.
    Column("tournament", String(63)),
    Column("uses", Integer, nullable=False),
    Column("used", Integer, nullable=False, server_default="0"),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    # The token that created it over the network; null: created on the server's machine.
    Column("made_by", BigInteger),
    Index(None, "made_by"),
)

# Keys that all servers of a cluster share.
server_keys = Table(
    "server_keys",
    metadata,
    Column("purpose", String(40), primary_key=True),
    Column("key", LargeBinary(32), nullable=False),
)

# Challenges whose proofs of work newcomers have used to register, until they expire.
solved_challenges = Table(
    "solved_challenges",
    metadata,
    # SHA-256 of the challenge.
    Column("hash", LargeBinary(32), primary_key=True),
    Column("expires_at", BigInteger, nullable=False),
    Index(None, "expires_at"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("owner_id", ForeignKey("owners.id"), nullable=False),
    Column("label", String(200), nullable=False),
    # SHA-256 of the secret, which has enough entropy to need no slow hash.
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column("last_used_at", BigInteger),
    # Its scopes, separated by spaces; see `store.people.scopes`.
    Column("scopes", String(400), nullable=False, server_default="play organise"),
    Column("expires_at", BigInteger),
    # The token that created it over the network; null: created on the server's machine.
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
    # A retired bot keeps its name and its history but plays no more.
    Column("retired_at", BigInteger),
    # Whether the owner lets organisers enter it in their tournaments.
    Column("open_to_organisers", Boolean, nullable=False, server_default=false()),
    # Whether other owners can test their bots against it.
    Column("open_to_tests", Boolean, nullable=False, server_default=false()),
    # What its owner says about it, and a page of it; empty: nothing.
    Column("description", String(500), nullable=False, server_default=""),
    Column("link", String(200), nullable=False, server_default=""),
    # The known rating of a bot that anchors rating lists; null for other bots.
    Column("anchor", Float),
    Index(None, "owner_id"),
    Index(None, "retired_at"),
)

# Every present and former name of a bot. A name stays reserved for its owner.
bot_names = Table(
    "bot_names",
    metadata,
    Column("name", String(63), primary_key=True),
    # See `confusable_names`.
    Column("skeleton", String(63), nullable=False),
    Column("owner_id", ForeignKey("owners.id"), nullable=False),
    # When a bot was given this name instead of another; null: it was registered with it.
    Column("renamed_at", BigInteger),
    Index(None, "skeleton"),
    Index(None, "owner_id", "renamed_at"),
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

# Bots that were submitted as files. Equal programs are stored once, even from different owners.
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
    # For Python: FILE.py:CLASS.
    Column("entry", String(400), nullable=False),
    Column("file_name", String(200), nullable=False),
    Column("submitted_at", BigInteger, nullable=False),
    # The variants that it declared in its trial; empty: all. NULL in rows of version 1.0: unknown.
    Column("variants", JSON(none_as_null=True)),
    # Whether it declined challenges in its trial.
    Column("declines_challenges", Boolean, nullable=False, server_default=false()),
    Index(None, "owner_id", "submitted_at"),
    Index(None, "program_id"),
)

UNEXPLORED = text(f"kind = {int(Kind.ORGANISED)} AND explored < folded")
"""A condition on `tournaments`: some games are not in `explorer_moves` yet. Literal SQL, as `LOST_BY_FAULT` is."""

MOST_SEARCHED = 10_000
"""The ordinal of the last game of a tournament that is searched for puzzles."""
UNSEARCHED = text(f"kind = {int(Kind.ORGANISED)} AND searched < folded AND searched < {MOST_SEARCHED}")
"""A condition on `tournaments`: some games were not searched for puzzles yet."""

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
    # Unsigned 64 bits, stored as signed (`seeds.signed` and `stored_seed`).
    Column("seed", BigInteger, nullable=False),
    Column("rated", Boolean(create_constraint=False), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("ended_at", BigInteger),
    # Both are 0 until the start.
    Column("games_total", BigInteger, nullable=False),
    Column("games_done", BigInteger, nullable=False),
    # Slots of a unit: unit `u` holds the ordinals from `u * unit_games + 1`.
    Column("unit_games", Integer, nullable=False),
    # Every slot up to this ordinal has its game; in a cancelled tournament, some have none. In rated tournaments those
    # games are rated.
    Column("folded", BigInteger, nullable=False),
    # A Kind.
    Column("kind", SmallInteger, nullable=False, server_default="1"),
    Column("entries_min", Integer, nullable=False, server_default="2"),
    Column("entries_max", Integer, nullable=False, server_default="4096"),
    # The join window and the scheduled start; null: open since the creation, open until the start, started by hand.
    Column("join_from", BigInteger),
    Column("join_until", BigInteger),
    Column("start_at", BigInteger),
    # The reason why it was cancelled or paused, if not by its owner, or why a running tournament is not played.
    Column("reason", String(LONGEST_REASON)),
    # Time controls of single entries by label, as text: {"Slow": "180/30+0"}. Null: all have the same.
    Column("own_times", JSON(none_as_null=True)),
    # Rarely used settings: see `tournament_options`. Null: none.
    Column("options", JSON(none_as_null=True)),
    # The entries and games a pair from which its slots are computed, if an extension has added some since; null: all.
    Column("base_entries", Integer),
    Column("base_games_per_pair", Integer),
    # A SeedKind: the origin of the seed.
    Column("seed_kind", SmallInteger, nullable=False, server_default="0"),
    # Whether games between bots of one owner are rated.
    Column("own_rated", Boolean(create_constraint=False), nullable=False, server_default="1"),
    # The games of slots up to this ordinal are in `explorer_moves` and `accuracies`; at most `folded`.
    Column("explored", BigInteger, nullable=False, server_default="0"),
    # The counts of a match's statistics: see `StoredMatch`. Null: not a match, or no game is stored.
    Column("match_counts", JSON(none_as_null=True)),
    # If play has stopped while it is running: when the next attempt is due. Null: when the reason is over.
    Column("retry_at", BigInteger),
    # Whether the bots of one other owner can move a rating by at most `elo.MOST_MOVED` points.
    Column("bounded", Boolean(create_constraint=False), nullable=False, server_default=false()),
    # The games of slots up to this ordinal were searched for puzzles.
    Column("searched", BigInteger, nullable=False, server_default="0"),
    # The time of its last pause. Null: an older version paused it, or an extension has set it to paused since.
    Column("paused_at", BigInteger),
    Index(None, "state"),
    Index(None, "kind"),
    # The index has all columns that its queries read. Otherwise SQLite could prefer the index of all kinds.
    Index(
        "ix_tournaments_unexplored",
        "kind",
        "explored",
        "folded",
        sqlite_where=UNEXPLORED,
    ),
    Index("ix_tournaments_unsearched", "kind", "searched", "folded", sqlite_where=UNSEARCHED),
)

# Tournaments that repeat: see `store.tournaments.leagues`.
leagues = Table(
    "leagues",
    metadata,
    Column("id", _Key, primary_key=True),
    # The ID of its first season.
    Column("slug", String(63), nullable=False, unique=True),
    Column("owner_id", ForeignKey("owners.id"), nullable=False),
    Column("interval_ms", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # The time at which the league stopped, and the reason if its owner did not request it. Null: it continues.
    Column("stopped_at", BigInteger),
    Column("stop_reason", String(LONGEST_REASON)),
)

seasons = Table(
    "seasons",
    metadata,
    Column("league_id", ForeignKey("leagues.id"), primary_key=True, autoincrement=False),
    # Counts from 1.
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("tournament_id", ForeignKey("tournaments.id"), nullable=False, unique=True),
)

# Before the start, numbers only give the order of joining, with gaps after withdrawals. From the start on they count
# from 0 without gaps and never change.
entries = Table(
    "entries",
    metadata,
    Column("tournament_id", ForeignKey("tournaments.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("bot_version_id", ForeignKey("bot_versions.id"), nullable=False),
    Column("label", String(80), nullable=False),
    # The time of a withdrawal after the start, and the reason if its owner did not request it. It gets no new pairings.
    Column("withdrawn_at", BigInteger),
    Column("withdrawn_reason", String(LONGEST_REASON)),
    # The bot of the version, to find the tournaments of a bot with any number of versions.
    Column("bot_id", BigInteger, nullable=False, server_default="0"),
    # In a ladder: whether its bot is offline, so that it gets no new pairings. See `follow_presence`.
    Column("absent", Boolean(create_constraint=False), nullable=False, server_default=false()),
    UniqueConstraint("tournament_id", "label"),
    Index(None, "bot_id", "tournament_id", "number"),
)

entries_with_bots = entries.join(bot_versions).join(bots)

# Slots that do not follow from their ordinals: those of rounds paired by results, and of extensions. The transaction
# that stores the games from which they follow writes them; they never change. Their ordinals follow the computed ones.
pairings = Table(
    "pairings",
    metadata,
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("first_entry", Integer, nullable=False),
    Column("second_entry", Integer, nullable=False),
    # The number, from 0, of the pair of games: two games on one opening, with sides swapped.
    Column("encounter", BigInteger, nullable=False),
    # Counts from 1; 0: outside any round.
    Column("round", Integer, nullable=False),
    Index(None, "tournament_id", "first_entry", "ordinal"),
    Index(None, "tournament_id", "second_entry", "ordinal"),
    sqlite_with_rowid=False,
)

# Entries without an opponent in a round, which got the points of all games of a pairing.
byes = Table(
    "byes",
    metadata,
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("entry", Integer, primary_key=True, autoincrement=False),
)

# The attempt of the last claim of a unit; no row: never claimed.
units = Table(
    "units",
    metadata,
    Column("tournament_id", ForeignKey("tournaments.id"), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("attempt", Integer, nullable=False),
    # In a cluster: the referee that plays it (`nodes.name`); null: none, or not in a cluster.
    Column("holder", String(80)),
    # In a cluster: its number of slots when all of them were played. Extensions can add more.
    Column("played", Integer, nullable=False, server_default="0"),
    # In a cluster: the names of its holders that were lost since its last progress and did not return. Null: none.
    Column("lost", JSON(none_as_null=True)),
    # In a cluster, at the last claim: its number of stored games, the journaled plies of its other games, the
    # database's time.
    Column("games", BigInteger, nullable=False, server_default="0"),
    Column("plies", BigInteger, nullable=False, server_default="0"),
    Column("claimed_at", BigInteger, nullable=False, server_default="0"),
    # Claims look for units that are not complete.
    Index("ix_units_open", "tournament_id", "played", "number"),
)

# The live servers and referees of a cluster.
nodes = Table(
    "nodes",
    metadata,
    Column("name", String(80), primary_key=True),
    # A NodeKind.
    Column("kind", SmallInteger, nullable=False),
    # Times are by the database's clock, because the machines' clocks can differ.
    Column("started_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    # Its capacity: concurrent games of bots that it starts itself.
    Column("seats", Integer, nullable=False),
    # The kinds of submitted bots that it runs, separated by commas.
    Column("accepts", String(40), nullable=False, server_default=""),
    # The milliseconds without a heartbeat after which other nodes consider it dead.
    Column("silence_ms", Integer, nullable=False, server_default=str(SILENCE_MS)),
    # When it started, or returned after it was considered dead.
    Column("joined_at", BigInteger, nullable=False, server_default="0"),
    # The release of Noughts that it runs; empty in rows of nodes before 1.2.
    Column("version", String(80), nullable=False, server_default=""),
    # The speed of its machine, see `noughts_referee.machine_speed`; 0: unknown.
    Column("speed", Float(53), nullable=False, server_default="0"),
)

# What the games of each machine show, to find machines on which bots play worse. See `store.games.machines`.
machine_scores = Table(
    "machine_scores",
    metadata,
    # The host name, as in the names of nodes.
    Column("machine", String(64), primary_key=True),
    # The time of its first commit.
    Column("since", BigInteger, nullable=False),
    # The time of its last commit.
    Column("seen_at", BigInteger, nullable=False),
    # All its games, and those that a bot lost through its own fault.
    Column("games", BigInteger, nullable=False),
    Column("faults", BigInteger, nullable=False),
    # The games whose result could be expected, and of their favourites the points, the expected points, and the sum of
    # the squared differences of each game.
    Column("compared", BigInteger, nullable=False),
    Column("points", Float(53), nullable=False),
    Column("expected", Float(53), nullable=False),
    Column("squares", Float(53), nullable=False),
)

_RESIGNED = int(Termination.RESIGNED)
LOST_BY_FAULT = text(
    f"termination IN ({', '.join(str(int(each)) for each in sorted(FORFEITS))})"
    f" AND (termination <> {_RESIGNED} OR fault IS NOT NULL)"
)
"""A condition on `games`, equal to `is_fault`. It is literal SQL because SQLite cannot match parameters to the index.

The list of terminations is apart, so that a query can look them up in the index.
"""

STOPPED = text(f"fault = '{CONCEDED_FAULT}'")
"""A condition on `games`: the organiser stopped them, so its bots lost them. Literal SQL, as `LOST_BY_FAULT` is."""

# Stored in the order of its key (SQLite: without rowid), which is the order of exports and of the rating. There is no
# foreign key: at 100,000 games a second, checking one would cost as much as storing them.
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
    # Why the loser lost through its own fault, if known: a phrase that follows "it".
    Column("fault", Text),
    # How many of the moves were on the board when the game began: a given opening, or stones by agreement.
    Column("opening_plies", SmallInteger, nullable=False, server_default="0"),
    # Time allowed for moves beyond the clock; NULL in games without clocks and in those of older servers.
    Column("allowances", LargeBinary),
    # The mover's score of each ply; NULL if the tournament does not keep them, or if no bot has sent one.
    Column("scores", LargeBinary),
    # The bots' comments by ply, packed; NULL if the tournament does not keep them, or if no bot has sent one.
    Column("comments", LargeBinary),
    # What the bots' searches reported by ply, packed; NULL like comments.
    Column("thoughts", LargeBinary),
    # The number by which the times of both sides were multiplied; NULL if the tournament does not scale times.
    Column("time_factor", Float(53)),
    # Finds the few faults among very many games.
    Index(
        "ix_games_faults",
        "tournament_id",
        # SQLite has no statistics here, so it uses the index only if it fits a query better than the key.
        "termination",
        "ordinal",
        sqlite_where=LOST_BY_FAULT,
    ),
    Index("ix_games_stopped", "tournament_id", "ordinal", sqlite_where=STOPPED),
    sqlite_with_rowid=False,
)

# Unfinished games of long time controls, as of the last move that was committed. The transaction that stores the game
# deletes its row. The sides are those after an opening agreement.
journal = Table(
    "journal",
    metadata,
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("first_entry", Integer, nullable=False),
    Column("second_entry", Integer, nullable=False),
    Column("moves", LargeBinary, nullable=False),
    Column("times", LargeBinary, nullable=False),
    # The clocks after the last move; 0 for a side without a limit.
    Column("first_clock_us", BigInteger, nullable=False),
    Column("second_clock_us", BigInteger, nullable=False),
    Column("opening_plies", SmallInteger, nullable=False),
    Column("scores", LargeBinary),
    Column("comments", LargeBinary),
    Column("thoughts", LargeBinary),
    Column("time_factor", Float(53)),
    sqlite_with_rowid=False,
)

# Details of a side that failed: why its process ended, and its output to stderr. Most games have none.
game_notes = Table(
    "game_notes",
    metadata,
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    # 0: the first mover, 1: the second.
    Column("side", SmallInteger, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
)

# From the first mover's point of view. Void games do not count.
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

# Sums of `pair_scores`, so that standings need not read all pairs; no row: no game yet.
entry_scores = Table(
    "entry_scores",
    metadata,
    Column("tournament_id", ForeignKey("tournaments.id"), primary_key=True),
    Column("entry", Integer, primary_key=True, autoincrement=False),
    Column("wins", BigInteger, nullable=False),
    Column("draws", BigInteger, nullable=False),
    Column("losses", BigInteger, nullable=False),
)

# Sums of `pair_scores` by bots and variant, over all tournaments.
bot_scores = Table(
    "bot_scores",
    metadata,
    Column("first_bot", BigInteger, primary_key=True, autoincrement=False),
    Column("second_bot", BigInteger, primary_key=True, autoincrement=False),
    Column("variant", String(63), primary_key=True),
    Column("wins", BigInteger, nullable=False),
    Column("draws", BigInteger, nullable=False),
    Column("losses", BigInteger, nullable=False),
    Index(None, "second_bot"),
    sqlite_with_rowid=False,
)

# The tournaments in which two bots have played a game against each other, void games included. `one_bot` has the
# smaller key; two versions of one bot are the same bot twice.
meetings = Table(
    "meetings",
    metadata,
    Column("one_bot", BigInteger, primary_key=True, autoincrement=False),
    Column("other_bot", BigInteger, primary_key=True, autoincrement=False),
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

rating_lists = Table(
    "rating_lists",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("variant", String(63), nullable=False),
    Column("time_class", String(16), nullable=False),
    # The largest rating difference that a winner has overcome.
    Column("upset", Integer, nullable=False, server_default="0"),
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
    # The order of a leaderboard.
    Index(None, "list_id", "rating", "bot_id"),
    Index(None, "bot_id"),
)

# A bot's rating after some of its rated games: about 32 points for each doubling of their number (`elo.next_point`).
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

LARGE_MOVE = 300
"""The operator sees moves of at least this many rating points."""
LARGE_MOVES = text(f"(moved >= {LARGE_MOVE} OR moved <= {-LARGE_MOVE})")
"""A condition on `rating_moves`: moves that the operator should check. Literal SQL, as `LOST_BY_FAULT` is."""

# The points by which games with the bots of another owner have moved a bot's rating, in `bounded` tournaments.
rating_moves = Table(
    "rating_moves",
    metadata,
    Column("list_id", ForeignKey("rating_lists.id"), primary_key=True),
    Column("bot_id", ForeignKey("bots.id"), primary_key=True),
    Column("owner_id", ForeignKey("owners.id"), primary_key=True),
    Column("moved", Float(53), nullable=False),
    Index("ix_rating_moves_large", "moved", sqlite_where=LARGE_MOVES),
    sqlite_with_rowid=False,
)

# The log of the ratings. A row means: the slots first_ordinal .. first_ordinal + games - 1 were folded, in this order,
# as rating_seq first_seq, first_seq + 1, and so on. No game needs to be written twice, and the log stays small.
# Slots without a rated game (void, or not played before the tournament was cancelled) leave their number unused.
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

# The games with a move in a position (see `openings.canonical_positions`) of one list, by result.
explorer_moves = Table(
    "explorer_moves",
    metadata,
    Column("list_id", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    # The cell on the canonical board; -1: the game ended in this position.
    Column("move", SmallInteger, primary_key=True, autoincrement=False),
    Column("result", SmallInteger, primary_key=True, autoincrement=False),
    Column("games", Integer, nullable=False),
    Column("tournament_id", BigInteger, nullable=False),
    Column("ordinal", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# How accurately the bots of a list played (see `noughts_bots.reference.accuracy`); written with `explorer_moves`.
accuracies = Table(
    "accuracies",
    metadata,
    Column("list_id", BigInteger, primary_key=True, autoincrement=False),
    Column("bot_id", BigInteger, primary_key=True, autoincrement=False),
    Column("judged_games", BigInteger, nullable=False),
    Column("decisions", BigInteger, nullable=False),
    Column("blunders", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Positions of games in which exactly one move wins, or wins by continuous fours (see
# `noughts_bots.reference.puzzles`). A tournament has each position at most once.
puzzles = Table(
    "puzzles",
    metadata,
    # Without the rule of the opening.
    Column("variant", String(63), primary_key=True),
    # See `openings.canonical_positions`.
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, nullable=False),
    # The number of moves of the game before the position.
    Column("ply", SmallInteger, nullable=False),
    # The moves from the position to the win.
    Column("line", LargeBinary, nullable=False),
    # How many of these moves are the winner's.
    Column("moves", SmallInteger, nullable=False),
    Column("exact", Boolean, nullable=False),
    # See `PuzzleKind`.
    Column("kind", SmallInteger, nullable=False, server_default="1"),
    Index("ix_puzzles_order", "variant", "moves", "position", "tournament_id"),
    Index("ix_puzzles_tournament", "tournament_id"),
    sqlite_with_rowid=False,
)

# Analyses of games, one document each; see `store.games.analyses`.
analyses = Table(
    "analyses",
    metadata,
    Column("tournament_id", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False),
    Column("document", JSON, nullable=False),
    sqlite_with_rowid=False,
)

# Processor time of an owner's submitted bots on a day, on all machines together. The day counts from 1970, in UTC.
processor_times = Table(
    "processor_times",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("owner_id", ForeignKey("owners.id"), primary_key=True),
    Column("milliseconds", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("owner_id", ForeignKey("owners.id"), nullable=False, index=True),
    Column("url", String(400), nullable=False),
    Column("format", String(16), nullable=False),
    # In plain text, because the server signs with it.
    Column("secret", String(64), nullable=False),
    # Names of events, separated by spaces; empty: all.
    Column("events", String(400), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # When the last request ended, or the latest time at which it will end.
    Column("tried_at", BigInteger, nullable=False),
    # Failed requests since the last success.
    Column("failures", BigInteger, nullable=False),
    # Events that were dropped because too many waited.
    Column("dropped", BigInteger, nullable=False),
    # Why the last request failed.
    Column("problem", String(400)),
)

# Undelivered events. An event is written in the transaction of the change that it reports.
outbox = Table(
    "outbox",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("webhook_id", ForeignKey("webhooks.id"), nullable=False, index=True),
    # Unlike a key, an ID is never used again.
    Column("delivery", String(32), nullable=False),
    Column("event", String(40), nullable=False),
    Column("document", JSON, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# Tunings whose games workers play: see `store.tunings`.
tunings = Table(
    "tunings",
    metadata,
    Column("id", _Key, primary_key=True),
    Column("slug", String(63), nullable=False, unique=True),
    Column("owner_id", ForeignKey("owners.id"), nullable=False),
    # A TuningState.
    Column("state", SmallInteger, nullable=False),
    # The spec of the bot with `$NAME` for each parameter. No server runs it.
    Column("bot", Text, nullable=False),
    # A list of documents; see `store.tunings`.
    Column("parameters", JSON, nullable=False),
    Column("iterations", Integer, nullable=False),
    # Pairs of games in an iteration.
    Column("pairs", Integer, nullable=False),
    # Unsigned 64 bits, stored as signed.
    Column("seed", BigInteger, nullable=False),
    # JSON texts by name, which are compared when a worker joins.
    Column("conditions", JSON, nullable=False),
    Column("iterations_done", Integer, nullable=False),
    # The values of the parameters after these iterations.
    Column("course_values", JSON, nullable=False),
    # Games of these iterations that the bot lost by a fault.
    Column("lost_by_fault", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Index(None, "owner_id", "state"),
)

# The iterations of tunings that are complete.
tuning_iterations = Table(
    "tuning_iterations",
    metadata,
    Column("tuning_id", ForeignKey("tunings.id"), primary_key=True, autoincrement=False),
    # Counts from 1.
    Column("iteration", Integer, primary_key=True, autoincrement=False),
    # From the point of view of the set of values `plus`.
    Column("wins", Integer, nullable=False),
    Column("draws", Integer, nullable=False),
    Column("losses", Integer, nullable=False),
    # The values of the parameters after the iteration.
    Column("course_values", JSON, nullable=False),
    sqlite_with_rowid=False,
)

# The claimed games of the present iteration and of the one before, so that a repeated report is recognised.
tuning_parts = Table(
    "tuning_parts",
    metadata,
    Column("tuning_id", ForeignKey("tunings.id"), primary_key=True, autoincrement=False),
    Column("iteration", Integer, primary_key=True, autoincrement=False),
    # Counts from 0.
    Column("first_pair", Integer, primary_key=True, autoincrement=False),
    Column("pairs", Integer, nullable=False),
    # The key of the last claim. The results of earlier claims do not count.
    Column("claim", String(32), nullable=False),
    # The name of the worker that has it.
    Column("worker", String(64), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    # The results; null: not reported.
    Column("wins", Integer),
    Column("draws", Integer),
    Column("losses", Integer),
    Column("lost_by_fault", Integer),
    sqlite_with_rowid=False,
)

# The workers of tunings, by the names that they choose.
tuning_workers = Table(
    "tuning_workers",
    metadata,
    Column("tuning_id", ForeignKey("tunings.id"), primary_key=True, autoincrement=False),
    Column("name", String(64), primary_key=True),
    Column("seen_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Answers of requests, for clients that repeat one.
requests = Table(
    "requests",
    metadata,
    Column("token_id", ForeignKey("tokens.id"), primary_key=True),
    Column("request_id", String(64), primary_key=True),
    Column("method", String(80), nullable=False),
    Column("body_hash", LargeBinary(32), nullable=False),
    Column("answer", String(400), nullable=False),
    # 0: the version that stored the row did not record the time.
    Column("created_at", BigInteger, nullable=False, server_default="0"),
)


@event.listens_for(metadata, "before_create")
def _share_conditions(metadata: MetaData, connection: Connection, **_: Any) -> None:
    """Give partial indexes their condition on PostgreSQL, too.

    The argument `postgresql_where` would load SQLAlchemy's PostgreSQL dialect in each process that uses SQLite.
    """
    if connection.dialect.name == "postgresql":
        for table in metadata.tables.values():
            for index in table.indexes:
                index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
