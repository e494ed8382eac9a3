"""The state of a feed that is watched. One thread brings it up to date, and another one draws it."""

import time
from collections.abc import Callable, Iterable
from threading import Lock

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.cli import printing

_ARROW_SECONDS = 4.0
"""Seconds for which an arrow shows that a bot has risen or fallen."""


class FeedState:
    """What the feed has reported so far. Readers hold `lock`."""

    def __init__(self, resource: str, get_time: Callable[[], float] = time.monotonic) -> None:
        """`get_time` is a clock in seconds, e.g. `time.monotonic`."""
        self.resource = resource
        self.view = View()
        self.lock = Lock()
        self.lost_reason = ""
        """A sentence about the lost connection; empty while connected."""
        self._get_time = get_time
        self._lost_at: float | None = None
        """The time when the connection was lost; clocks stop then because no data arrives."""
        self._moved_at: dict[str, float] = {}
        """The times when the last plies arrived, by game."""
        self._moves_in_rank: dict[tuple[str, str], tuple[bool, float]] = {}
        """Whether a rank rose or fell, and when, by tournament and label."""

    def take(self, message: pb.WatchResponse, view: View) -> None:
        """Apply a message to `view`, which replaces the view of this state."""
        now = self._get_time()
        with self.lock:
            self.lost_reason = ""
            self._lost_at = None
            for game in (*message.snapshot.games, *message.increments.games):
                self._moved_at[game.name] = now
            for ply in message.increments.plies:
                self._moved_at[ply.game] = now
            for name in message.increments.gone:
                self._moved_at.pop(name, None)
            self._note_ranks(message.increments.tournaments, view, now)
            view.take(message)
            self.view = view

    def note_lost(self, reason: str) -> None:
        """Note that the connection was lost."""
        with self.lock:
            self.lost_reason = printing.printable(f"Connection lost, trying again: {reason}")
            self._lost_at = self._lost_at or self._get_time()

    def seconds_since_move(self, game: str) -> float:
        """Return the seconds since the game's last ply, as far as they are known."""
        now = self._lost_at or self._get_time()
        return max(0.0, now - self._moved_at.get(game, now))

    def has_risen(self, tournament: str, label: str) -> bool | None:
        """Return whether the rank of an entry rose (True) or fell (False) lately; None if it did not change."""
        has_risen, change_time = self._moves_in_rank.get((tournament, label), (None, 0.0))
        return None if self._get_time() - change_time > _ARROW_SECONDS else has_risen

    def _note_ranks(self, tournaments: Iterable[pb.WatchedTournament], view: View, now: float) -> None:
        for tournament in tournaments:
            earlier = view.tournaments.get(tournament.name)
            ranks = {row.standing.label: row.rank for row in earlier.standings} if earlier else {}
            for row in tournament.standings:
                label = row.standing.label
                if ranks.get(label, row.rank) != row.rank:
                    self._moves_in_rank[tournament.name, label] = (row.rank < ranks[label], now)
