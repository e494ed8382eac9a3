"""The rater folds each tournament's stored games into the ratings, strictly in the order of their slots.

Games finish in any order. A game counts when every slot before it has its game. Ratings therefore depend only on the
games, not on concurrency or on the order of commits.

`FoldingState` is a cache, so that a commit does not have to read all data again. Each transaction first compares the
cache with a few numbers of the database, and reads the parts that differ. A transaction that fails leaves the cache
unconfirmed, and the next transaction reads all data again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, func, select, update

from noughts_referee.clock import TimeControl
from noughts_referee.rules import ON_THE_BOARD, Result
from noughts_server.competition.elo import Rating, first_rating, next_point, rate_game
from noughts_server.store.engine.bulk import in_batches, upsert
from noughts_server.store.engine.schema import (
    bots,
    entries,
    entries_with_bots,
    games,
    rating_history,
    rating_lists,
    rating_moves,
    rating_runs,
    ratings,
    tournaments,
)
from noughts_server.store.pairing.ladders import StoredLadder
from noughts_server.store.pairing.matches import StoredMatch
from noughts_server.store.people.webhooks import report_event

EntryResult = tuple[int, int, int]
"""First entry, second entry, result."""

HistoryRow = tuple[int, int, int, float, int]
"""A row of `rating_history`: list, bot, number of games, rating, time in milliseconds since 1970."""

_LEAST_UPSET = 100
"""Points by which the loser's rating must exceed the winner's for a game to be reported as an upset."""

# Built once, because every commit needs them and building takes longer than executing.
_NEWEST_RUN = select(rating_runs).order_by(rating_runs.c.first_seq.desc()).limit(1)
_STORED_AMONG = select(games.c.ordinal).where(
    games.c.tournament_id == bindparam("tournament"), games.c.ordinal.in_(bindparam("ordinals", expanding=True))
)
_STORED_AFTER = (
    select(games.c.ordinal, games.c.first_entry, games.c.second_entry, games.c.result)
    .where(games.c.tournament_id == bindparam("tournament"), games.c.ordinal > bindparam("after"))
    .order_by(games.c.ordinal)
    .limit(bindparam("most"))
)
_READ_AT_ONCE = 1_000
_TOURNAMENTS = select(tournaments).where(tournaments.c.id.in_(bindparam("ids", expanding=True)))


@dataclass(slots=True)
class Progress:
    """The progress of a tournament when it was last read or changed."""

    tournament_id: int
    folded: int
    games_done: int
    beyond: dict[int, EntryResult] | None
    """The stored games behind the first gap, by ordinal.

    None: other processes store games of the tournament too, so only the database has them all. Reading them for each
    commit would take the longer, the more processes play.
    """
    bots: tuple[int, ...]
    """The bot of each entry."""
    owners: tuple[int, ...] | None
    """The owner of each entry's bot, if games between bots of one owner are not rated."""
    bounded: bool
    """Whether the bots of one other owner can move a rating by at most `elo.MOST_MOVED` points."""
    rating_list: int | None
    """The key of the list; None if the tournament is not rated."""
    met: set[tuple[int, int]] = field(default_factory=set)
    """Pairs of bots that are in `meetings` already, the smaller key first."""

    def stored_among(self, connection: Connection, ordinals: Collection[int]) -> Collection[int]:
        """Return the ordinals of stored games: all of those behind the first gap that occur in `ordinals`."""
        if self.beyond is not None:
            return self.beyond
        stored: set[int] = set()
        for batch in in_batches(ordinals):
            keys = {"tournament": self.tournament_id, "ordinals": batch}
            stored.update(connection.scalars(_STORED_AMONG, keys))
        return stored

    def add(self, connection: Connection, fresh: Mapping[int, EntryResult]) -> list[EntryResult]:
        """Count games that this transaction has stored. Return those from the first gap to the next one, in order."""
        self.games_done += len(fresh)
        run: list[EntryResult] = []
        if self.beyond is not None:
            self.beyond.update(fresh)
            while (score := self.beyond.pop(self.folded + len(run) + 1, None)) is not None:
                run.append(score)
        elif self.folded + 1 in fresh:
            for ordinal, score in _stored_after(connection, self.tournament_id, self.folded):
                if ordinal != self.folded + len(run) + 1:
                    break
                run.append(score)
            if self.games_done == self.folded + len(run):
                self.beyond = {}
        return run

    def drop_later(self, connection: Connection, last: int) -> list[EntryResult]:
        """Forget the games behind the first gap that come after the slot `last`, and return them."""
        if self.beyond is None:
            dropped = [score for _, score in _stored_after(connection, self.tournament_id, max(last, self.folded))]
        else:
            later = [ordinal for ordinal in self.beyond if ordinal > last]
            dropped = [self.beyond.pop(ordinal) for ordinal in later]
        self.games_done -= len(dropped)
        return dropped


class FoldingState:
    """The rater's cache between transactions, shared by all writers of a process."""

    def __init__(self) -> None:
        self.next_seq = 0
        """The next number of the ratings log, as of the cached ratings."""
        self.ladders: dict[int, StoredLadder] = {}
        """The ladders, by tournament."""
        self.matches: dict[int, StoredMatch] = {}
        """The matches, by tournament."""
        self._progress: dict[int, Progress] = {}
        self._ratings: dict[int, dict[int, Rating]] = {}
        self._confirmed = True

    def begin(self) -> None:
        """Prepare for a transaction, which changes the cache. If the last one was not confirmed, clear the cache."""
        if not self._confirmed:
            self.ladders.clear()
            self.matches.clear()
            self._progress.clear()
            self._ratings.clear()
        self._confirmed = False

    def confirm(self) -> None:
        """Keep the changes of the last transaction. Call this only after its commit."""
        self._confirmed = True

    def progress(self, connection: Connection, tournament: Row[Any]) -> Progress:
        """Return the progress of a tournament; `tournament` is its row in this transaction."""
        progress = self._progress.get(tournament.id)
        if progress is None:
            progress = self._progress[tournament.id] = _read_progress(connection, tournament)
        elif progress.folded != tournament.folded or progress.games_done != tournament.games_done:
            # Another process has stored or folded games.
            progress.folded, progress.games_done = tournament.folded, tournament.games_done
            progress.beyond = {} if progress.games_done == progress.folded else None
        return progress

    def ratings(self, connection: Connection, list_id: int, bots: Iterable[int], next_seq: int) -> dict[int, Rating]:
        """Return the ratings of a list, at least of these bots.

        `next_seq` is the next number of the log before this transaction.
        """
        if next_seq != self.next_seq:
            # A cancellation or another server has folded games.
            self._ratings.clear()
            self.next_seq = next_seq
        cached = self._ratings.setdefault(list_id, {})
        missing = [bot for bot in bots if bot not in cached]
        cached.update(_read_ratings(connection, list_id, missing))
        return cached

    def forget(self, tournament_id: int) -> None:
        """Delete the cached data of a tournament that has ended."""
        self._progress.pop(tournament_id, None)
        self.ladders.pop(tournament_id, None)
        self.matches.pop(tournament_id, None)


class Ledger:
    """The ratings within one transaction: read, fold, write back."""

    def __init__(self, connection: Connection, state: FoldingState, *, now_ms: int) -> None:
        self._connection = connection
        self._state = state
        self._changed: dict[tuple[int, int], Rating] = {}
        """The changed ratings, by list and bot."""
        self._now_ms = now_ms
        self._history: list[HistoryRow] = []
        self._bounded: set[tuple[int, int, int]] = set()
        """List, bot, and the owner of an opponent, for each bounded move of a rating."""
        self._head: Row[Any] | None = connection.execute(_NEWEST_RUN).one_or_none()
        self._read_seq = self._head.first_seq + self._head.games if self._head else 1
        self._next_seq = self._read_seq

    def fold(self, tournament_id: int, progress: Progress, span: int, scores: Sequence[EntryResult]) -> None:
        """Rate the next `span` slots of a rated tournament, in which `scores` were played, and log them."""
        list_id = progress.rating_list
        if list_id is None or not span:
            return

        def record(bot: int, rating: Rating) -> None:
            self._history.append((list_id, bot, rating.games, rating.rating, self._now_ms))

        playing = {progress.bots[entry] for score in set(scores) for entry in score[:2]}
        rated = self._state.ratings(self._connection, list_id, playing, self._read_seq)
        self._changed |= {(list_id, bot): rated[bot] for bot in playing}
        if len(scores) == span:
            self._note_upset(list_id, tournament_id, progress, rated, scores)
        rate_scores(scores, progress.bots, rated, record, progress.owners, bounded=progress.bounded)
        if progress.bounded and progress.owners is not None:
            for first, second, _ in set(scores):
                self._bounded.add((list_id, progress.bots[first], progress.owners[second]))
                self._bounded.add((list_id, progress.bots[second], progress.owners[first]))
        self._log(list_id, tournament_id, progress.folded + 1, span)

    def store(self) -> None:
        """Write the changed ratings and their history."""
        # Void games, and games of a bot against itself, change nothing.
        rows = [rating_row(list_id, bot, rating) for (list_id, bot), rating in self._changed.items() if rating.games]
        write_ratings(self._connection, rows)
        moves = [
            (list_id, bot, owner, self._changed[list_id, bot].moved[owner])
            for list_id, bot, owner in sorted(self._bounded)
            if owner in self._changed[list_id, bot].moved
        ]
        write_moves(self._connection, moves)
        # The order of the key, so that the rows of a bot are written together.
        write_history(self._connection, sorted(self._history))
        if self._next_seq != self._read_seq:
            self._state.next_seq = self._next_seq

    def _note_upset(
        self,
        list_id: int,
        tournament_id: int,
        progress: Progress,
        rated: dict[int, Rating],
        scores: Sequence[EntryResult],
    ) -> None:
        """Report the win over the largest rating difference, if it is a record of its list.

        The ratings are those of the last commit. Only rated games that were decided on the board count, because
        withdrawn and absent bots lose games without a move.
        """
        most = _LEAST_UPSET
        upset: EntryResult | None = None
        owners = progress.owners
        for score in set(scores):
            first, second, result = score
            of_one_owner = owners is not None and owners[first] == owners[second]
            if result in (Result.FIRST_WINS, Result.SECOND_WINS) and not of_one_owner:
                first_wins = result == Result.FIRST_WINS
                winner_rating = rated[progress.bots[first if first_wins else second]]
                loser_rating = rated[progress.bots[second if first_wins else first]]
                margin = int(loser_rating.rating - winner_rating.rating)
                if margin > most and not winner_rating.provisional and not loser_rating.provisional:
                    most = margin
                    upset = score
        if upset is None:
            return
        first, second, result = upset
        span = games.c.ordinal.between(progress.folded + 1, progress.folded + len(scores))
        game = select(func.min(games.c.ordinal)).where(
            games.c.tournament_id == tournament_id,
            span,
            games.c.first_entry == first,
            games.c.second_entry == second,
            games.c.result == result,
            games.c.termination.in_(ON_THE_BOARD),
        )
        is_record = (rating_lists.c.id == list_id, rating_lists.c.upset < most, game.scalar_subquery().is_not(None))
        if not self._connection.execute(update(rating_lists).where(*is_record).values(upset=most)).rowcount:
            return
        winner, loser = (first, second) if result == Result.FIRST_WINS else (second, first)
        statement = select(entries.c.number, entries.c.label).where(
            entries.c.tournament_id == tournament_id, entries.c.number.in_((winner, loser))
        )
        labels = {row.number: row.label for row in self._connection.execute(statement)}
        facts = {"winner": labels[winner], "loser": labels[loser], "rating_difference": most}
        number = self._connection.scalar(game)
        report_event(self._connection, "upset.record", tournament_id, self._now_ms, game=number, **facts)

    def _log(self, list_id: int, tournament_id: int, first_ordinal: int, span: int) -> None:
        head = self._head
        first_seq = self._next_seq
        if head and head.tournament_id == tournament_id and head.first_ordinal + head.games == first_ordinal:
            # This extends the newest run, so that a tournament that plays alone has one row after any number of
            # commits.
            first_seq, first_ordinal = head.first_seq, head.first_ordinal
        run = (first_seq, list_id, tournament_id, first_ordinal, span)
        upsert(self._connection, rating_runs, [run], add=("games",))
        # A second tournament in the same transaction must not extend the run of the first.
        self._head = None
        self._next_seq += span


def rate_scores(
    scores: Iterable[EntryResult],
    bots: Sequence[int],
    rated: dict[int, Rating],
    on_point: Callable[[int, Rating], None],
    owners: Sequence[int] | None = None,
    *,
    bounded: bool = False,
) -> None:
    """Rate games in order, except games of a bot against itself and, with `owners`, those between bots of one owner.

    If `bounded`, `Rating.limit_change` limits how much the bots of one other owner can move a rating, except anchors.
    `on_point` is called with a bot and its rating whenever its history gets a point.
    """
    by_entry: dict[int, Rating] = {}
    for first, second, result in scores:
        try:
            first_rating, second_rating = by_entry[first], by_entry[second]
        except KeyError:
            first_rating = by_entry[first] = rated[bots[first]]
            second_rating = by_entry[second] = rated[bots[second]]
        if first_rating is not second_rating and (owners is None or owners[first] != owners[second]):
            first_before, second_before = first_rating.rating, second_rating.rating
            rate_game(first_rating, second_rating, result)
            if bounded and owners is not None:
                # Nobody can lift a rating with an anchor, because the anchor's own rating is fixed.
                if not second_rating.anchored:
                    first_rating.limit_change(owners[second], first_before)
                if not first_rating.anchored:
                    second_rating.limit_change(owners[first], second_before)
            # After a void game the number of games is unchanged and below `due`.
            if first_rating.games == first_rating.due:
                first_rating.due = next_point(first_rating.due)
                on_point(bots[first], first_rating)
            if second_rating.games == second_rating.due:
                second_rating.due = next_point(second_rating.due)
                on_point(bots[second], second_rating)


def fold_rest(connection: Connection, tournament_id: int, *, now_ms: int) -> None:
    """Rate the stored games of a cancelled tournament behind its first gap; skip slots without a game."""
    state = FoldingState()
    row = tournament_rows(connection, [tournament_id])[tournament_id]
    progress = state.progress(connection, row)
    waiting = progress.beyond
    if not waiting:
        return
    last = max(waiting)
    ledger = Ledger(connection, state, now_ms=now_ms)
    scores = list(waiting.values())
    ledger.fold(tournament_id, progress, last - progress.folded, scores)
    ledger.store()
    connection.execute(update(tournaments).where(tournaments.c.id == tournament_id).values(folded=last))


def tournament_rows(connection: Connection, tournament_ids: Iterable[int]) -> dict[int, Row[Any]]:
    """Return the rows that `FoldingState.progress` takes, by key."""
    return {row.id: row for row in connection.execute(_TOURNAMENTS, {"ids": list(tournament_ids)})}


def bots_of(connection: Connection, tournament_id: int) -> tuple[int, ...]:
    """Return the bot of each entry of a started tournament, by entry number."""
    return _by_entry(connection, tournament_id, bots.c.id)


def owners_of(connection: Connection, tournament: Row[Any]) -> tuple[int, ...] | None:
    """Return the owner of each entry's bot, by entry number; None if games between bots of one owner are rated."""
    return None if tournament.own_rated else _by_entry(connection, tournament.id, bots.c.owner_id)


def _by_entry(connection: Connection, tournament_id: int, column: ColumnElement[int]) -> tuple[int, ...]:
    statement = select(column).select_from(entries_with_bots).where(entries.c.tournament_id == tournament_id)
    return tuple(connection.scalars(statement.order_by(entries.c.number)))


def write_ratings(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    """Insert or overwrite ratings."""
    upsert(connection, ratings, rows, replace=("rating", "games", "wins", "draws", "losses"))


def write_moves(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    """Insert or overwrite the moves of ratings: list, bot, owner of the opponents, points."""
    upsert(connection, rating_moves, rows, replace=("moved",))


def write_history(connection: Connection, rows: list[HistoryRow]) -> None:
    """Insert or overwrite points of rating histories."""
    upsert(connection, rating_history, rows, replace=("rating", "at"))


def _read_progress(connection: Connection, tournament: Row[Any]) -> Progress:
    time = TimeControl(tournament.move_us, tournament.bank_us, tournament.increment_us)
    return Progress(
        tournament_id=tournament.id,
        folded=tournament.folded,
        games_done=tournament.games_done,
        beyond=dict(_stored_after(connection, tournament.id, tournament.folded)),
        bots=bots_of(connection, tournament.id),
        owners=owners_of(connection, tournament),
        bounded=tournament.bounded,
        rating_list=list_key(connection, tournament.variant, time.time_class) if tournament.rated else None,
    )


def _stored_after(connection: Connection, tournament_id: int, ordinal: int) -> Iterator[tuple[int, EntryResult]]:
    """Yield the stored games after a slot, by ordinal and ascending. Reads only as many as are used, and some more."""
    while True:
        keys = {"tournament": tournament_id, "after": ordinal, "most": _READ_AT_ONCE}
        rows = connection.execute(_STORED_AFTER, keys).all()
        for row in rows:
            yield row.ordinal, (row.first_entry, row.second_entry, row.result)
        if len(rows) < _READ_AT_ONCE:
            return
        ordinal = rows[-1].ordinal


def list_key(connection: Connection, variant: str, time_class: str) -> int | None:
    """Return the key of a rating list; None if it is unknown."""
    statement = select(rating_lists.c.id).where(
        rating_lists.c.variant == variant, rating_lists.c.time_class == time_class
    )
    key: int | None = connection.execute(statement).scalar()
    return key


def _read_ratings(connection: Connection, list_id: int, bot_ids: list[int]) -> dict[int, Rating]:
    anchors = anchors_of(connection, bot_ids)
    by_bot = {bot: first_rating(anchors.get(bot)) for bot in bot_ids}
    for batch in in_batches(bot_ids):
        stored_ratings = select(ratings).where(ratings.c.list_id == list_id, ratings.c.bot_id.in_(batch))
        for row in connection.execute(stored_ratings):
            by_bot[row.bot_id] = Rating(
                rating=row.rating,
                games=row.games,
                wins=row.wins,
                draws=row.draws,
                losses=row.losses,
                anchored=row.bot_id in anchors,
            )
        moves = rating_moves.c
        columns = select(moves.bot_id, moves.owner_id, moves.moved)
        for bot, owner, moved in connection.execute(columns.where(moves.list_id == list_id, moves.bot_id.in_(batch))):
            by_bot[bot].moved[owner] = moved
    return by_bot


def anchors_of(connection: Connection, bot_ids: Iterable[int]) -> dict[int, float]:
    """Return the known ratings of those of the bots that have one."""
    anchors: dict[int, float] = {}
    for batch in in_batches(list(bot_ids)):
        known = select(bots.c.id, bots.c.anchor).where(bots.c.id.in_(batch), bots.c.anchor.is_not(None))
        anchors.update((row.id, row.anchor) for row in connection.execute(known))
    return anchors


def rating_row(list_id: int, bot: int, rating: Rating) -> tuple[int, int, float, int, int, int, int]:
    return (list_id, bot, rating.rating, rating.games, rating.wins, rating.draws, rating.losses)
