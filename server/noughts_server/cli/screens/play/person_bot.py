"""A person on a server: a bot whose moves come from the screen."""

import asyncio
from collections.abc import Callable
from functools import partial

from noughts_bots.sdk.bot import Bot, GameEnd, GameInfo, Resign
from noughts_referee.rules import Outcome, Position
from noughts_server.cli.screens.clocks import Clocks
from noughts_server.cli.screens.play.controllers import GameController
from noughts_server.cli.screens.play.hints import Hint
from noughts_server.cli.screens.play.match import ActionRefused, Match, Participant
from noughts_server.core.plain_text import printable

_SHOWN_SECONDS = 3.0
"""Seconds for which the end of a game is shown if the next one has already begun."""


class OnlineGameController(GameController):
    """A person against an opponent from the server. Everything runs on one event loop."""

    message_after_game = ""

    def __init__(self, match: Match, waiting: str) -> None:
        super().__init__(match)
        self.person = Person(self)
        self.ended_games = 0
        """The number of games that have ended."""
        self.challenge_wanted: asyncio.Event | None = None
        """Set when the person wants to challenge again; None if the game is not from the person's challenge."""
        self.can_challenge_again = False
        """Whether all games of the challenge are over."""
        self._waiting = waiting
        """The message before the first game."""
        self._game = ""
        self._clocks: Clocks | None = None
        self._answer: asyncio.Future[int] | None = None
        self._is_leaving = False
        self._has_resigned = False
        """Whether the resigned game is over: the next one may have begun, and must not be resigned."""
        self._held_events: list[Callable[[], None]] | None = None
        """The events since the end of the last game, while that end is shown; None at other times."""

    # Events of the session.

    def handle(self, action: Callable[[], None]) -> None:
        """Handle an event now, or after the display of the last game's end."""
        if self._held_events is not None:
            self._held_events.append(action)
        else:
            action()
            self.on_change()

    def start_game(self, game: GameInfo) -> None:
        """Start a game, unless it is the current one sent again after a reconnect."""
        if self._has_resigned or game.name == self._game:
            return
        self._game = game.name
        # The notice is out of date: it explained how to be challenged, or reported a lost connection.
        self.notice = ""
        self.match.variant = game.variant
        # A name from another user must not send control characters to the terminal.
        name = printable(game.opponent)
        self.match.players = (self.match.players[0], Participant(name, person=False))
        self.match.begin(first=game.side)
        self._clocks = Clocks((game.time, game.opponent_time), running=game.side)

    def start_turn(self, moves: list[int], clocks: tuple[float, float], answer: "asyncio.Future[int]") -> None:
        """Start the person's turn."""
        if self._has_resigned:
            return
        self.match.moves = moves
        if self._clocks is not None:
            self._clocks.start_turn(*clocks)
        self._answer = answer
        if self._is_leaving:
            self._resign()

    def end_game(self, game: GameInfo, end: GameEnd) -> None:
        """End the current game; its final position stays on the screen for a while."""
        if game.name != self._game:
            return
        self.match.moves = list(end.moves)
        self.match.end(Outcome(end.result, end.termination))
        self._answer = None
        self.ended_games += 1
        if self._clocks is not None:
            self._clocks.stop()
        if self._is_leaving:
            self._has_resigned = True
            self.leave()
            return
        self._held_events = []
        asyncio.get_running_loop().call_later(_SHOWN_SECONDS, self._show_next_game)

    def _show_next_game(self) -> None:
        """Handle the events that arrived while the end of the last game was shown."""
        held_events = self._held_events or []
        self._held_events = None
        for action in held_events:
            self.handle(action)

    # Actions of the person.

    def play(self, cell: int) -> None:
        if self._held_events:
            self._show_next_game()
            raise ActionRefused("That was the previous game; this is the next one.")
        if not self._game:
            raise ActionRefused("No game has started yet.")
        if self.match.ended is not None:
            raise ActionRefused("The game is over.")
        if self._answer is None or self._answer.done():
            raise ActionRefused(f"Wait: {self.match.players[1].name} is to move.")
        landing = self.match.play(cell)
        self._answer.set_result(landing)
        self._answer = None
        if self._clocks is not None:
            self._clocks.end_turn()
        self.on_change()

    def undo(self) -> None:
        raise ActionRefused("On a server you cannot take back a move.")

    async def hint(self) -> Hint | None:
        raise ActionRefused("On a server there are no hints.")

    def new(self) -> None:
        self._show_next_game()
        if self._running:
            raise ActionRefused("This game is not over; q resigns it.")
        if self.challenge_wanted is None or not self.can_challenge_again:
            raise ActionRefused("The next game starts automatically.")
        self.challenge_wanted.set()

    def ask_to_leave(self) -> str:
        self._show_next_game()
        return "Resign this game and leave? y/n" if self._running and not self._is_leaving else ""

    def give_up(self) -> None:
        if not self._running or self._is_leaving:
            self.leave()
            return
        self._is_leaving = True
        self.notice = "You resign when it is your turn; q leaves immediately."
        self._resign()
        self.on_change()

    def _resign(self) -> None:
        """Resign if it is the person's turn."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Resign())
        self._answer = None

    # State.

    @property
    def _running(self) -> bool:
        """Whether there is a game that could be resigned."""
        return bool(self._game) and self.match.ended is None

    @property
    def has_begun(self) -> bool:
        return bool(self._game)

    @property
    def status(self) -> str:
        return "" if self._game else self._waiting

    @property
    def clocks(self) -> tuple[str, str] | None:
        if self._clocks is None or not self._clocks.is_limited:
            return None
        return self._clocks.text(0), self._clocks.text(1)


class Person(Bot):
    """The bot that connects the session to the screen."""

    max_games = 1

    def __init__(self, controller: OnlineGameController) -> None:
        self._controller = controller

    def start(self, game: GameInfo) -> None:
        self._controller.handle(partial(self._controller.start_game, game))

    async def choose(self, position: Position) -> int:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        clocks = (position.own_clock_us / 1e6, position.opponent_clock_us / 1e6)
        self._controller.handle(partial(self._controller.start_turn, position.moves.copy(), clocks, answer))
        return await answer

    def end(self, game: GameInfo, end: GameEnd) -> None:
        self._controller.handle(partial(self._controller.end_game, game, end))
