"""The game behind the screen: a `GameController` owns the match, and the screen shows it and forwards actions to it."""

import asyncio
from typing import ClassVar

from noughts_bots.connection.thinking_thread import Thinker
from noughts_bots.sdk.bot import GameEnd, GameInfo
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_server.cli.screens.board_layout import LOST, WON
from noughts_server.cli.screens.play.hints import Adviser, Hint, choose_with_score, compute_in_thread
from noughts_server.cli.screens.play.match import ActionRefused, Match, PlayedGame
from noughts_server.cli.screens.play.status_line import score_rows, status
from noughts_server.cli.screens.shown_game import MoveSource, ShownGame, ShownPlayer


class GameController(MoveSource):
    """A person's games: two persons at one keyboard. Subclasses have a bot or a server as the opponent."""

    message_after_game: ClassVar[str] = "n begins a new game."
    """The message after a game."""

    def __init__(self, match: Match) -> None:
        super().__init__()
        self.match = match
        self.scores: dict[int, float] = {}
        """A bot's score of its move, on its own scale, by ply."""
        self._adviser: Adviser | None = None

    @property
    def game(self) -> ShownGame:
        match = self.match
        clocks = self.clocks
        rows = score_rows(match)
        (_, first_wins), _draws, (_, second_wins) = rows
        wins = (first_wins, second_wins)

        def player(number: int) -> ShownPlayer:
            return ShownPlayer(
                name=match.players[number].name,
                mark=match.marks[number],
                clock=None if clocks is None else clocks[number],
                wins=wins[number],
            )

        ended = match.ended
        person_won = ended is not None and ended.winner is not None and match.players[ended.winner].person
        return ShownGame(
            variant=match.variant,
            caption=f"game {len(match.played) + 1}",
            players=(player(match.first), player(1 - match.first)),
            moves=tuple(match.moves),
            status=self.status or status(match),
            over=ended is not None,
            tally=rows,
            scores=self.scores,
            winning=match.winning,
            winning_colour=WON if person_won else LOST,
            forbidden=match.forbidden,
        )

    def play(self, cell: int) -> None:
        """Play this cell for the person. Raises ActionRefused."""
        self.match.play(cell)
        self.on_change()

    def undo(self) -> None:
        """Return to the person's last turn. Raises ActionRefused."""
        self.match.undo()
        self.on_change()

    def new(self) -> None:
        """Start a new game. Raises ActionRefused."""
        self.match.begin()
        self.on_change()

    async def hint(self) -> Hint | None:
        """Return a reference bot's move; None if a move was played in the meantime. Raises ActionRefused."""
        match = self.match
        if match.ended is not None:
            raise ActionRefused("The game is over: press n for a new one.")
        position_before = match.game_seed, list(match.moves)
        self._adviser = self._adviser or Adviser()
        hint = await self._adviser.hint(match.position)
        return hint if position_before == (match.game_seed, list(match.moves)) else None

    def ask_to_leave(self) -> str:
        """Return the question to ask before leaving; empty if nothing would be lost."""
        return ""

    def give_up(self) -> None:
        """Leave, even if the game or its result is lost."""
        self.leave()

    def close(self) -> None:
        """Clean up after the screen has closed."""

    @property
    def status(self) -> str:
        """The message to show instead of the player to move; empty for none."""
        return ""

    @property
    def clocks(self) -> tuple[str, str] | None:
        """The players' clocks as shown; None without clocks."""
        return None


class BotGameController(GameController):
    """A person against a bot in this process, which thinks in a thread of its own."""

    def __init__(self, match: Match, bot: BuiltInBot, move_us: int = 0) -> None:
        super().__init__(match)
        self._bot = bot
        self._move_us = move_us
        """The bot's limit for a move, in microseconds; 0: none."""
        self._has_changed = asyncio.Event()
        self._reported_games = 0
        """The number of games whose end was sent to the bot."""

    async def run(self) -> None:
        """Play the bot's moves whenever it is to move. Raises the bot's errors."""
        with Thinker() as thinker:
            while True:
                self._has_changed.clear()
                if self._is_bots_turn():
                    position = self._position_key()
                    cell, score = await self._think(thinker)
                    # After an undo or a new game, the answer is for an old position.
                    if self._is_bots_turn() and self._position_key() == position:
                        if score is not None:
                            self.scores[len(self.match.moves)] = score
                        self.match.play(cell)
                        self.on_change()
                else:
                    await self._has_changed.wait()

    def _is_bots_turn(self) -> bool:
        match = self.match
        return match.ended is None and not match.players[match.turn].person

    def _position_key(self) -> tuple[int, list[int]]:
        """Return the seed of the game and its moves, which identify the position."""
        return self.match.game_seed, list(self.match.moves)

    async def _think(self, thinker: Thinker) -> tuple[int, float | None]:
        position = self.match.position
        position.own_clock_us = position.opponent_clock_us = position.limit_us = self._move_us
        ended_games = self.match.played.copy()

        def think() -> tuple[int, float | None]:
            self._report_ends(ended_games)
            return choose_with_score(self._bot, position)

        return await compute_in_thread(thinker, think)

    def close(self) -> None:
        """Send the bot the ends of the remaining games, the current one included."""
        self._report_ends(self.match.games)

    def _report_ends(self, games: list[PlayedGame]) -> None:
        """Send the ends of these games to the bot, which may learn. A game can be undone until the next one begins."""
        for number, game in enumerate(games[self._reported_games :], start=self._reported_games + 1):
            self._reported_games = number
            # `first` is the player who moved first. The bot is player 1, so its own side is the other number.
            info = GameInfo(f"games/{number}", self.match.variant, 1 - game.first, self.match.players[0].name)
            self._bot.start(info)
            self._bot.end(info, GameEnd(game.outcome.result, game.outcome.termination, game.moves))

    def play(self, cell: int) -> None:
        if self._is_bots_turn():
            raise ActionRefused(f"Wait: {self.match.players[self.match.turn].name} is to move.")
        super().play(cell)
        self._has_changed.set()

    async def hint(self) -> Hint | None:
        if self._is_bots_turn():
            raise ActionRefused(f"Wait: {self.match.players[self.match.turn].name} is to move.")
        return await super().hint()

    def undo(self) -> None:
        super().undo()
        self.scores = {ply: score for ply, score in self.scores.items() if ply < len(self.match.moves)}
        self._has_changed.set()

    def new(self) -> None:
        super().new()
        self.scores = {}
        self._has_changed.set()
