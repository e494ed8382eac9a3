"""What stands behind the screen: a match and whoever sits at its other side.

A `Seating` owns the match; the screen shows it and hands on what the person does.
"""

import asyncio
from collections.abc import Callable
from typing import ClassVar

from noughts_bots.bot import GameEnd, GameInfo
from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.thinking_thread import Thinker, Work
from noughts_server.play.hints import Adviser, Hint, scored
from noughts_server.play.match import Match, PlayedGame, Refused


class Seating:
    """Two people at one keyboard; with a bot or a server at the other side it is a subclass."""

    after_a_game: ClassVar[str] = "n begins a new game."
    """What to say when a game is over."""

    def __init__(self, match: Match) -> None:
        self.match = match
        self.changed: Callable[[], None] = lambda: None
        """Called when there is something new to see; the screen sets it."""
        self.leave: Callable[[], None] = lambda: None
        """Closes the screen, which sets it."""
        self.notice = ""
        """A line about the connection or the like; empty when all is well."""
        self.scores: dict[int, float] = {}
        """What a bot thought of its move at a ply, on its own scale."""
        self._adviser: Adviser | None = None

    async def run(self) -> None:
        """Runs beside the screen, until it is cancelled."""

    def play(self, cell: int) -> None:
        """The person plays this cell. Raises Refused."""
        self.match.play(cell)
        self.changed()

    def undo(self) -> None:
        """Takes back to the person's last turn. Raises Refused."""
        self.match.undo()
        self.changed()

    def new(self) -> None:
        """A new game. Raises Refused."""
        self.match.begin()
        self.changed()

    async def hint(self) -> Hint | None:
        """What a reference bot would play now; None if something was played meanwhile. Raises Refused."""
        match = self.match
        if match.ended is not None:
            raise Refused("The game is over: n begins a new one.")
        asked = match.game_seed, list(match.moves)
        self._adviser = self._adviser or Adviser()
        hint = await self._adviser.hint(match.position)
        return hint if asked == (match.game_seed, list(match.moves)) else None

    def ask_to_leave(self) -> str:
        """What to ask before leaving; empty when nothing would be lost."""
        return ""

    def give_up(self) -> None:
        """Leaves for good."""
        self.leave()

    def close(self) -> None:
        """The screen has closed."""

    @property
    def status(self) -> str:
        """What there is to say instead of whose turn it is; empty when nothing."""
        return ""

    @property
    def clocks(self) -> tuple[str, str] | None:
        """What the players' clocks show; None where there are none."""
        return None


class BotSeating(Seating):
    """A person against a bot in this process, which thinks in a thread of its own."""

    def __init__(self, match: Match, bot: CachingBot, move_us: int = 0) -> None:
        super().__init__(match)
        self._bot = bot
        self._move_us = move_us
        """What the bot may think about a move, in microseconds; 0: as long as it likes."""
        self._moved = asyncio.Event()
        self._told = 0
        """How many games the bot has been told the end of."""

    async def run(self) -> None:
        """The bot's side: answers whenever it is its turn. Raises what the bot raises."""
        with Thinker() as thinker:
            while True:
                self._moved.clear()
                if self._is_bots_turn():
                    asked = self._asked_about()
                    cell, score = await self._think(thinker)
                    # Taken back, or a new game: what was thought about is not on the board any more.
                    if self._is_bots_turn() and self._asked_about() == asked:
                        if score is not None:
                            self.scores[len(self.match.moves)] = score
                        self.match.play(cell)
                        self.changed()
                else:
                    await self._moved.wait()

    def _is_bots_turn(self) -> bool:
        match = self.match
        return match.ended is None and not match.players[match.turn].person

    def _asked_about(self) -> tuple[int, list[int]]:
        return self.match.game_seed, list(self.match.moves)

    async def _think(self, thinker: Thinker) -> tuple[int, float | None]:
        position = self.match.position
        position.own_clock_us = position.opponent_clock_us = position.limit_us = self._move_us
        work, chosen, over = Work(), list[tuple[int, float | None]](), self.match.played.copy()

        def think() -> None:
            self._tell(over)
            chosen.append(scored(self._bot, position))

        thinker.put(think, work)
        await work.wakeup.wait()
        if work.failure is not None:
            raise work.failure
        return chosen[0]

    def close(self) -> None:
        """The screen has closed: tells the bot of the games that it has not heard of, the one on the board included."""
        self._tell(self.match.games)

    def _tell(self, games: list[PlayedGame]) -> None:
        """Has the bot hear how these games ended: whatever learns from its games learns from those with people, too.

        A game that is still on the board can be taken back; it is none of them before the next one begins.
        """
        for number, game in enumerate(games[self._told :], start=self._told + 1):
            self._told = number
            info = GameInfo(f"games/{number}", self.match.variant, 1 - game.first, self.match.players[0].name)
            self._bot.start(info)
            self._bot.end(info, GameEnd(*game.outcome, game.moves))

    def play(self, cell: int) -> None:
        if self._is_bots_turn():
            raise Refused(f"Wait: {self.match.players[self.match.turn].name} is to move.")
        super().play(cell)
        self._moved.set()

    async def hint(self) -> Hint | None:
        if self._is_bots_turn():
            raise Refused(f"Wait: {self.match.players[self.match.turn].name} is to move.")
        return await super().hint()

    def undo(self) -> None:
        super().undo()
        self.scores = {ply: score for ply, score in self.scores.items() if ply < len(self.match.moves)}
        self._moved.set()

    def new(self) -> None:
        super().new()
        self.scores = {}
        self._moved.set()
