"""The observer of the referee, which watches only the games that a client wants to see.

It publishes on the bus, because in a cluster the feed is in another process. Without watchers it is detached.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from noughts_proto.v1 import feed_pb2 as pb
from noughts_referee.clock import TimeControl
from noughts_referee.game import Game
from noughts_referee.referee import Referee
from noughts_referee.work_units import GameConditions, Slot
from noughts_server.convert.times import time_control_message
from noughts_server.core.resource_names import game_name
from noughts_server.runtime.bus import Bus, listening

PLAYED = "feed.played"
"""The subject of events in followed games, published as `GameEvent`."""


class SlotKey(NamedTuple):
    tournament: int
    """The store's key."""
    ordinal: int


class GameEvent(NamedTuple):
    """An event in a followed game: its begin, or a ply."""

    slot: SlotKey
    event: pb.WatchedGame | pb.WatchedPly


class Observed(Protocol):
    """The running games that the feed can watch, on this machine or elsewhere."""

    def listening(self, handler: Callable[[GameEvent], None]) -> AbstractContextManager[None]:
        """Call the handler with each event in wanted slots, once and in order, while the block runs."""

    def want(self, slot: SlotKey) -> pb.WatchedGame | None:
        """Publish the events of this slot until `unwant` was called as often. Return its game if that is running."""

    def unwant(self, slot: SlotKey) -> None:
        """Undo one `want`."""

    def follows(self, slot: SlotKey) -> bool:
        """Return whether a game is running in this slot, which is wanted."""

    def running(self, tournament: int) -> Iterator[SlotKey]:
        """Yield the slots of the tournament with running games; of very many, only some."""

    def in_flight(self, tournament: int) -> int:
        """Return the number of running games of the tournament."""


class FeedObserver:
    """The referee's observer while any slot is wanted; see `Observed`."""

    def __init__(self, referee: Referee, bus: Bus) -> None:
        self._referee = referee
        self._bus = bus
        self._wanted: Counter[SlotKey] = Counter()
        self._following: dict[int, _Followed] = {}
        """The running games that are wanted, by handle."""

    def listening(self, handler: Callable[[GameEvent], None]) -> AbstractContextManager[None]:
        return listening(self._bus, PLAYED, handler)

    def want(self, slot: SlotKey) -> pb.WatchedGame | None:
        if not self._wanted:
            self._referee.observer = self
        self._wanted[slot] += 1
        return self.snapshot(slot)

    def snapshot(self, slot: SlotKey) -> pb.WatchedGame | None:
        """Return the game of a wanted slot if it is running."""
        for game in self._referee.running(slot.tournament):
            if game.slot.ordinal == slot.ordinal:
                return _game_message(self._following.setdefault(game.handle, _Followed(game)))
        return None

    def unwant(self, slot: SlotKey) -> None:
        self._wanted[slot] -= 1
        if self._wanted[slot] > 0:
            return
        del self._wanted[slot]
        self._following = {handle: game for handle, game in self._following.items() if game.slot != slot}
        if not self._wanted:
            self._referee.observer = None

    def follows(self, slot: SlotKey) -> bool:
        return any(followed.slot == slot for followed in self._following.values())

    def running(self, tournament: int) -> Iterator[SlotKey]:
        return (SlotKey(tournament, game.slot.ordinal) for game in self._referee.running(tournament))

    def in_flight(self, tournament: int) -> int:
        return self._referee.in_flight(tournament)

    # Called by the referee.

    def began(self, game: Game) -> None:
        # Every game of the server comes here while there are watchers; a plain tuple is equal and faster to make.
        if (game.conditions.tournament, game.slot.ordinal) in self._wanted:
            followed = self._following[game.handle] = _Followed(game)
            self._bus.publish(PLAYED, GameEvent(followed.slot, _game_message(followed)))

    def answered(self, games: Sequence[int], plies: Sequence[int], scores: Sequence[tuple[int, float]]) -> None:
        followed_games = self._following.keys() & games
        if not followed_games:
            return
        given = {(games[row], plies[row]): score for row, score in scores}
        for handle in followed_games:
            followed = self._following[handle]
            game = followed.game
            # An answer that came too late or lost the game is not a ply.
            if len(game.moves) > followed.plies:
                followed.plies = len(game.moves)
                ply = followed.plies - 1
                score = given.get((handle, ply))
                if score is not None:
                    followed.scores[ply] = score
                score = None if followed.withholds else score
                self._bus.publish(PLAYED, GameEvent(followed.slot, _ply_message(game, score)))

    def ended(self, games: Sequence[Game]) -> None:
        if self._following:
            for game in games:
                followed = self._following.pop(game.handle, None)
                if followed is not None and followed.withholds:
                    followed.withholds = False
                    if followed.scores:
                        self._bus.publish(PLAYED, GameEvent(followed.slot, _game_message(followed)))


class _Followed:
    __slots__ = ("game", "plies", "scores", "slot", "withholds")

    def __init__(self, game: Game) -> None:
        self.game = game
        self.slot = SlotKey(game.conditions.tournament, game.slot.ordinal)
        self.plies = len(game.moves)
        """The number of plies that followers know."""
        self.scores = dict(game.scores or {})
        """The mover's scores by ply, since the game is followed; all of them if they are stored."""
        self.withholds = game.conditions.timed and not game.conditions.live_scores
        """Whether scores are still secret, because they would help the opponent."""


def waiting_game(conditions: GameConditions, slot: Slot) -> pb.WatchedGame:
    """Return a game that has not begun."""
    message = pb.WatchedGame(name=game_name(conditions.name, slot.ordinal), variant=conditions.variant.name)
    message.first, message.second = conditions.labels[slot.first], conditions.labels[slot.second]
    message.time.CopyFrom(time_control_message(conditions.time))
    if conditions.own_times:
        message.first_time.CopyFrom(time_control_message(conditions.limits[slot.first] or TimeControl()))
        message.second_time.CopyFrom(time_control_message(conditions.limits[slot.second] or TimeControl()))
    message.state = pb.GAME_STATE_WAITING
    return message


def tell_clocks(message: pb.WatchedGame | pb.WatchedPly, first_us: int | None, second_us: int | None) -> None:
    """Set the two clocks; None for a side without a limit."""
    if first_us is not None:
        message.first_clock_us = first_us
    if second_us is not None:
        message.second_clock_us = second_us


def _game_message(followed: _Followed) -> pb.WatchedGame:
    game = followed.game
    message = waiting_game(game.conditions, game.slot)
    message.state = pb.GAME_STATE_RUNNING
    message.moves.extend(game.moves)
    message.times_us.extend(game.times_us)
    first_us, second_us = _clocks(game)
    tell_clocks(message, first_us, second_us)
    tell_scores(message, {} if followed.withholds else followed.scores)
    return message


def tell_scores(message: pb.WatchedGame, scores: Mapping[int, float]) -> None:
    """Add the scores by ply, in order, and the last one of each side."""
    message.scores.update(scores)
    for ply, score in scores.items():
        setattr(message, "second_score" if ply & 1 else "first_score", score)


def _clocks(game: Game) -> tuple[int | None, int | None]:
    """Return the clocks of the two sides; None for a side without a limit."""
    first, second = (None if game.time_of(side) is None else game.left_us[side] for side in (0, 1))
    return first, second


def _ply_message(game: Game, score: float | None) -> pb.WatchedPly:
    ply = len(game.moves) - 1
    # A resignation or a timeout adds a time without a move, but then the game got no ply.
    name = game_name(game.conditions.name, game.slot.ordinal)
    took = min(game.times_us[ply], 0xFFFFFFFF)
    message = pb.WatchedPly(game=name, ply=ply, cell=game.moves[ply], time_us=took, score=score)
    first_us, second_us = _clocks(game)
    tell_clocks(message, first_us, second_us)
    return message
