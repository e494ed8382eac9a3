"""The observer of the referee, which publishes the events of the games that clients watch.

It publishes on the bus, because in a cluster the feed is in another process. Without watchers the referee has no
observer.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from noughts_proto.v1 import feed_pb2 as pb
from noughts_referee.clock import TimeControl
from noughts_referee.game import Game
from noughts_referee.referee import Referee
from noughts_referee.work_units import GameConditions, ScheduledGame
from noughts_server.convert.times import time_control_message
from noughts_server.core.resource_names import game_name
from noughts_server.runtime.bus import Bus, listening

_LARGEST_TIME_US = 0xFFFFFFFF
"""The largest value of the message's field."""

PLAYED = "feed.played"
"""The subject of events in observed games, published as `GameEvent`."""


class ScheduledGameKey(NamedTuple):
    """A scheduled game on this server."""

    tournament: int
    """The ID in the database."""
    ordinal: int


class GameEvent(NamedTuple):
    """An event in an observed game: its start or a ply."""

    slot: ScheduledGameKey
    event: pb.WatchedGame | pb.WatchedPly


class RunningGame(NamedTuple):
    """A running game that the feed can watch."""

    slot: ScheduledGameKey
    players: frozenset[str]
    """The labels of both players."""


class WatchableGames(Protocol):
    """The running games that the feed can watch, on this machine or elsewhere."""

    def listening(self, handler: Callable[[GameEvent], None]) -> AbstractContextManager[None]:
        """Call the handler with each event in observed slots, once and in order, while the block runs."""

    def observe(self, slot: ScheduledGameKey) -> pb.WatchedGame | None:
        """Publish the events of this slot until `stop_observing` was called as often.

        Return the slot's game if it is running.
        """

    def stop_observing(self, slot: ScheduledGameKey) -> None:
        """Undo one call of `observe`."""

    def is_observed(self, slot: ScheduledGameKey) -> bool:
        """Return whether a game is running in this observed slot."""

    def running(self, tournament: int) -> Iterator[RunningGame]:
        """Yield running games of the tournament; only some of them if there are very many."""

    def count_running(self, tournament: int) -> int:
        """Return the number of running games of the tournament."""


class FeedObserver:
    """The referee's observer while any slot is observed; see `WatchableGames`."""

    def __init__(self, referee: Referee, bus: Bus) -> None:
        self._referee = referee
        self._bus = bus
        self._observed_slots: Counter[ScheduledGameKey] = Counter()
        self._observed_games: dict[int, _ObservedGame] = {}
        """The running games of observed slots, by handle."""

    def listening(self, handler: Callable[[GameEvent], None]) -> AbstractContextManager[None]:
        return listening(self._bus, PLAYED, handler)

    def observe(self, slot: ScheduledGameKey) -> pb.WatchedGame | None:
        if not self._observed_slots:
            self._referee.observer = self
        self._observed_slots[slot] += 1
        return self.snapshot(slot)

    def snapshot(self, slot: ScheduledGameKey) -> pb.WatchedGame | None:
        """Return the game of an observed slot if it is running."""
        for game in self._referee.running(slot.tournament):
            if game.slot.ordinal == slot.ordinal:
                return _game_message(self._observed_games.setdefault(game.handle, _ObservedGame(game)))
        return None

    def stop_observing(self, slot: ScheduledGameKey) -> None:
        self._observed_slots[slot] -= 1
        if self._observed_slots[slot] > 0:
            return
        del self._observed_slots[slot]
        self._observed_games = {handle: game for handle, game in self._observed_games.items() if game.slot != slot}
        if not self._observed_slots:
            self._referee.observer = None

    def is_observed(self, slot: ScheduledGameKey) -> bool:
        return any(observed.slot == slot for observed in self._observed_games.values())

    def running(self, tournament: int) -> Iterator[RunningGame]:
        for game in self._referee.running(tournament):
            slot, labels = game.slot, game.conditions.labels
            players = frozenset((labels[slot.first], labels[slot.second]))
            yield RunningGame(ScheduledGameKey(tournament, slot.ordinal), players)

    def count_running(self, tournament: int) -> int:
        return self._referee.count_running(tournament)

    # Called by the referee.

    def note_start(self, game: Game) -> None:
        # This runs for every game of the server while there are watchers. A plain tuple is faster than an equal
        # ScheduledGameKey.
        if (game.conditions.tournament, game.slot.ordinal) in self._observed_slots:
            observed = self._observed_games[game.handle] = _ObservedGame(game)
            self._bus.publish(PLAYED, GameEvent(observed.slot, _game_message(observed)))

    def note_answers(self, games: Sequence[int], plies: Sequence[int], scores: Sequence[tuple[int, float]]) -> None:
        games_with_answers = self._observed_games.keys() & games
        if not games_with_answers:
            return
        score_by_answer = {(games[row], plies[row]): score for row, score in scores}
        for handle in games_with_answers:
            observed = self._observed_games[handle]
            game = observed.game
            # An answer that came too late or lost the game is not a ply.
            if len(game.moves) > observed.plies:
                observed.plies = len(game.moves)
                ply = observed.plies - 1
                score = score_by_answer.get((handle, ply))
                if score is not None:
                    observed.scores[ply] = score
                score = None if observed.withholds else score
                self._bus.publish(PLAYED, GameEvent(observed.slot, _ply_message(game, score)))

    def note_ends(self, games: Sequence[Game]) -> None:
        if self._observed_games:
            for game in games:
                observed = self._observed_games.pop(game.handle, None)
                if observed is not None and observed.withholds:
                    observed.withholds = False
                    if observed.scores:
                        self._bus.publish(PLAYED, GameEvent(observed.slot, _game_message(observed)))


class _ObservedGame:
    __slots__ = ("game", "plies", "scores", "slot", "withholds")

    def __init__(self, game: Game) -> None:
        self.game = game
        self.slot = ScheduledGameKey(game.conditions.tournament, game.slot.ordinal)
        self.plies = len(game.moves)
        """The number of published plies."""
        self.scores = dict(game.scores or {})
        """The mover's scores by ply since the first observation, or all of them if the tournament stores scores."""
        self.withholds = game.conditions.timed and not game.conditions.live_scores
        """Whether scores are not published before the end of the game, because they would help the opponent."""


def waiting_game(conditions: GameConditions, slot: ScheduledGame) -> pb.WatchedGame:
    """Return the message for a game that has not begun."""
    message = pb.WatchedGame(name=game_name(conditions.name, slot.ordinal), variant=conditions.variant.name)
    message.first, message.second = conditions.labels[slot.first], conditions.labels[slot.second]
    message.time.CopyFrom(time_control_message(conditions.time))
    if conditions.own_times:
        message.first_time.CopyFrom(time_control_message(conditions.limits[slot.first] or TimeControl()))
        message.second_time.CopyFrom(time_control_message(conditions.limits[slot.second] or TimeControl()))
    message.state = pb.GAME_STATE_WAITING
    return message


def set_time_factor(message: pb.WatchedGame, time_factor: float, limits: Sequence[TimeControl | None]) -> None:
    """Set the factor by which the times of a game are multiplied, and the limits that it therefore has."""
    first, second = limits
    message.time_factor = time_factor
    message.first_time.CopyFrom(time_control_message(first or TimeControl()))
    message.second_time.CopyFrom(time_control_message(second or TimeControl()))


def set_clocks(message: pb.WatchedGame | pb.WatchedPly, first_us: int | None, second_us: int | None) -> None:
    """Set the clocks of the message; None for a side without a limit."""
    if first_us is not None:
        message.first_clock_us = first_us
    if second_us is not None:
        message.second_clock_us = second_us


def _game_message(observed: _ObservedGame) -> pb.WatchedGame:
    game = observed.game
    message = waiting_game(game.conditions, game.slot)
    if game.time_factor is not None:
        set_time_factor(message, game.time_factor, game.limits)
    message.state = pb.GAME_STATE_RUNNING
    message.moves.extend(game.moves)
    message.times_us.extend(game.times_us)
    first_us, second_us = _clocks(game)
    set_clocks(message, first_us, second_us)
    add_scores(message, {} if observed.withholds else observed.scores)
    return message


def add_scores(message: pb.WatchedGame, scores: Mapping[int, float]) -> None:
    """Add the scores by ply, in order, and the last one of each side."""
    message.scores.update(scores)
    for ply, score in scores.items():
        if ply % 2:
            message.second_score = score
        else:
            message.first_score = score


def _clocks(game: Game) -> tuple[int | None, int | None]:
    """Return the clocks of the two sides; None for a side without a limit."""
    first, second = (None if game.time_of(side) is None else game.left_us[side] for side in (0, 1))
    return first, second


def _ply_message(game: Game, score: float | None) -> pb.WatchedPly:
    ply = len(game.moves) - 1
    name = game_name(game.conditions.name, game.slot.ordinal)
    # The last time can belong to an answer without a move (a resignation or a timeout).
    time_us = min(game.times_us[ply], _LARGEST_TIME_US)
    message = pb.WatchedPly(game=name, ply=ply, cell=game.moves[ply], time_us=time_us, score=score)
    first_us, second_us = _clocks(game)
    set_clocks(message, first_us, second_us)
    return message
