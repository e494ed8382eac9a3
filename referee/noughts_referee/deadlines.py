"""The open questions of one connection: when each was written, and its deadline.

A question is a ply of a game. Its clock runs from when its frame is written until its answer arrives, even if the
connection is lost in between. If the player is away or does not acknowledge frames, the clock starts at the time the
question would have been written.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from noughts_referee.game import Game, Outbox, Player
from noughts_referee.monotonic import Now
from noughts_referee.stalls import LEAST_US, Stalls

_LOOK_AGAIN_US = 2 * LEAST_US
"""The time for which a late question waits after a stall, because its answer can have arrived without being read."""

Overdue = tuple[int, int, int]
"""Game, ply, microseconds since the question was sent."""


class PendingTurns:
    """The open questions to one player. Times are microseconds."""

    def __init__(self, player: Player, overdue: Callable[[list[Overdue]], None], now: Now, stalls: Stalls) -> None:
        """`overdue` is called with questions past their limit and the player's time margin.

        After one of the `stalls`, `overdue` is called a little later, because an answer can wait to be read.
        """
        self._player = player
        self._stalls = stalls
        self._overdue = overdue
        self._now = now
        # Most frames are answered in one piece and in order, so a frame is one entry. If its answers come in another
        # way, its questions move to `_written`, one entry each.
        self._frames: deque[tuple[int, list[int], list[int]]] = deque()
        """Frames in the order written: time, games, plies."""
        self._written: dict[int, int] = {}
        """The times at which the last question of each game was written."""
        self._resent: set[int] = set()
        """Games in the outbox whose question was written to an earlier stream. Their clocks run."""
        self._waiting_since: dict[int, tuple[int, int]] = {}
        """By game, the ply of a timed question that waits for the player, and the start of the wait."""
        self._searched: tuple[Outbox, int] = (player.outbox, 0)
        """The outbox last searched for waiting questions, and the number of questions searched."""
        self._limits = _Limits(self._over, now)

    def hold(self, free_until: int = 0) -> None:
        """Start the clocks of questions in the outbox (at `free_until` if that is later).

        The player is away or does not acknowledge frames. Without this it would gain thinking time, because it can read
        the opponent's move in the public feed.
        """
        outbox = self._player.outbox
        searched, count = self._searched
        timed = outbox.turns_timed[count if searched is outbox else 0 :] + outbox.openings
        self._searched = outbox, len(outbox.turns_timed)
        since = max(self._now(), free_until)
        deadlines = []
        for game in timed:
            handle, ply = game.handle, game.ply
            if game.mover is not self._player or game.time is None or handle in self._resent:
                continue
            if self._waiting_since.get(handle, (None,))[0] != ply:
                self._waiting_since[handle] = ply, since
                deadlines.append((since + self._allowed(game) + self._player.network_us, handle, ply))
        if deadlines:
            self._limits.set(deadlines)

    def record_written(self, games: list[int], plies: list[int], timed: list[Game]) -> None:
        """Record that a frame with these questions is written now. `timed` are its games with clocks."""
        now = self._now()
        if not timed and not self._resent:
            self._frames.append((now, games, plies))
            return
        written = self._written
        written.update((game, now) for game in games if game not in self._resent)
        self._resent.difference_update(games)
        for game, ply in zip(games, plies, strict=True) if self._waiting_since else ():
            waiting_ply, since = self._waiting_since.pop(game, (None, now))
            if waiting_ply == ply:
                written[game] = min(now, since)
        deadlines = [
            (written[game.handle] + self._allowed(game) + self._player.network_us, game.handle, game.ply)
            for game in timed
            if game.handle in written and game.time is not None
        ]
        self._limits.set(deadlines)

    def record_answers(self, games: list[int], plies: list[int], arrived: int) -> list[int]:
        """Stop the clocks of answered questions. Return each thinking time in microseconds; 0 without a question."""
        frames = self._frames
        if frames and frames[0][1] == games and frames[0][2] == plies:
            return [max(0, arrived - frames.popleft()[0])] * len(games)
        self._spread()
        self._limits.remove_answered(games, plies)
        written = self._written
        if self._waiting_since:
            # A bot that reads the public feed can answer a question before it receives it.
            for game, ply in zip(games, plies, strict=True):
                waiting_ply, since = self._waiting_since.get(game, (None, arrived))
                if waiting_ply == ply:
                    written[game] = min(arrived, since)
        # The bot can answer again after a wrong or late answer, so the question stays until the game's next question.
        times_us = [max(0, arrived - written.get(game, arrived)) for game in games]
        if network_us := self._player.network_us:
            times_us = [
                max(0, took - network_us) if took and self._is_timed(game) else took
                for game, took in zip(games, times_us, strict=True)
            ]
        return times_us

    def forget(self, games: Iterable[Game]) -> None:
        if self._written or self._resent or self._waiting_since:
            for game in games:
                self._resent.discard(game.handle)
                self._waiting_since.pop(game.handle, None)
                self._written.pop(game.handle, None)
                self._limits.drop(game.handle)

    def carry_over(self, rejoin: Callable[[], None]) -> None:
        """Move to the player's new stream. `rejoin` refills its outbox.

        Questions that were written or held keep their time. Questions that still waited in the outbox have used none.
        """
        self._spread()
        waiting = self._outbox_games() - self._resent
        running = self._player.games
        self._written = {game: at for game, at in self._written.items() if game in running and game not in waiting}
        self._waiting_since = {
            game: held for game, held in self._waiting_since.items() if game in waiting and game in running
        }
        rejoin()
        self._resent = {game for game in self._outbox_games() if game in self._written}

    def resume_clock(self, game: Game, took_us: int) -> None:
        """Set the age of a game's question, in microseconds, that another connection has already asked."""
        since = self._now() - took_us
        self._waiting_since[game.handle] = game.ply, since
        if game.time is not None:
            deadline = since + self._allowed(game) + self._player.network_us
            self._limits.set([(deadline, game.handle, game.ply)])

    def release(self) -> dict[int, int]:
        """Forget all questions. Return for each open question with a clock its age in microseconds, by game."""
        now = self._now()
        self._spread()
        since = {**self._written, **{game: held for game, (_, held) in self._waiting_since.items()}}
        running = self._player.games
        player = self._player
        ages = {
            handle: now - at
            for handle, at in since.items()
            if handle in running and running[handle].mover is player and running[handle].time is not None
        }
        self._limits.stop()
        self._frames.clear()
        self._written.clear()
        self._waiting_since.clear()
        self._resent.clear()
        return ages

    def stop(self) -> None:
        self._limits.stop()

    def _outbox_games(self) -> set[int]:
        """Return the games whose questions are in the outbox."""
        outbox = self._player.outbox
        return {*outbox.turn_game, *(game.handle for game in outbox.openings)}

    def _spread(self) -> None:
        """Move the questions of whole frames to `_written`, one entry each."""
        running = self._player.games
        while self._frames:
            at, games, _ = self._frames.popleft()
            self._written.update((game, at) for game in games if game in running)

    def _over(self, questions: list[tuple[int, int]]) -> None:
        """Check questions (game, ply) whose deadline has passed.

        Report those that are overdue, and watch the others again.
        """
        now = self._now()
        read_until = self._stalls.arrival_time(now)
        overdue, later = [], []
        for handle, ply in questions:
            waiting_ply, since = self._waiting_since.get(handle, (None, now))
            at = since if waiting_ply == ply else self._written.get(handle)
            game = self._player.games.get(handle)
            if at is None or game is None or game.time is None:
                continue
            limit = at + self._player.network_us + self._allowed(game)
            if now < limit and game.ply == ply:
                later.append((limit, handle, ply))
            elif read_until < limit and game.ply == ply:
                self._stalls.excused += 1
                later.append((now + _LOOK_AGAIN_US, handle, ply))
            else:
                overdue.append((handle, ply, max(0, now - at - self._player.network_us)))
        if later:
            self._limits.set(later)
        if overdue:
            self._overdue(overdue)

    def _allowed(self, game: Game) -> int:
        """Return the shortest time that exceeds the limit of the current move."""
        return game.limit_us() + game.margin_us(self._player) + 1

    def _is_timed(self, handle: int) -> bool:
        game = self._player.games.get(handle)
        return game is not None and game.time is not None


class _Limits:
    """The deadlines of all open questions, watched by one timer for the earliest. Times are microseconds."""

    __slots__ = ("_deadlines", "_now", "_over", "_timer", "_timer_us")

    def __init__(self, over: Callable[[list[tuple[int, int]]], None], now: Now) -> None:
        self._over = over
        self._now = now
        self._deadlines: dict[int, tuple[int, int]] = {}
        """Game -> (deadline, ply)."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_us = 0

    def set(self, deadlines: list[tuple[int, int, int]]) -> None:
        """Watch these deadlines: (time, game, ply)."""
        self._deadlines.update((game, (at, ply)) for at, game, ply in deadlines)
        self._watch()

    def remove_answered(self, games: list[int], plies: list[int]) -> None:
        deadlines = self._deadlines
        if deadlines:
            for game, ply in zip(games, plies, strict=True):
                if game in deadlines and deadlines[game][1] == ply:
                    del deadlines[game]

    def drop(self, game: int) -> None:
        self._deadlines.pop(game, None)

    def stop(self) -> None:
        self._deadlines.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _watch(self) -> None:
        if not self._deadlines:
            return
        earliest = min(deadline for deadline, _ in self._deadlines.values())
        if self._timer is not None:
            if self._timer_us <= earliest:
                return
            self._timer.cancel()
        self._timer_us = earliest
        delay = max(0, earliest - self._now()) / 1e6
        self._timer = asyncio.get_running_loop().call_later(delay, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = self._now()
        passed = sorted((deadline, game, ply) for game, (deadline, ply) in self._deadlines.items() if deadline <= now)
        for _, game, _ in passed:
            del self._deadlines[game]
        if passed:
            self._over([(game, ply) for _, game, ply in passed])
        self._watch()
