"""A person on a server: a bot whose moves come from the screen."""

import asyncio
from collections.abc import Callable
from functools import partial

from noughts_bots.sdk.bot import Bot, GameEnd, GameInfo, Resign
from noughts_referee.rules import Outcome, Position
from noughts_server.cli.screens.clocks import Clocks
from noughts_server.cli.screens.play.hints import Hint
from noughts_server.cli.screens.play.match import Match, Participant, Refused
from noughts_server.cli.screens.play.opponents import Seating
from noughts_server.core.plain_text import printable

_SHOWN_SECONDS = 3.0
"""Seconds for which the end of a game is shown if the next one has already begun."""


class OnlineSeating(Seating):
    """A person against an opponent from the server. Everything runs on one event loop."""

    after_a_game = ""

    def __init__(self, match: Match, waiting: str) -> None:
        super().__init__(match)
        self.person = Person(self)
        self.ends = 0
        self.again: asyncio.Event | None = None
        """Set when the person wants to challenge again; None if the game is not from the person's challenge."""
        self.may_go_again = False
        """Whether all games of the challenge are over."""
        self._waiting = waiting
        """The message before the first game."""
        self._game = ""
        self._clocks: Clocks | None = None
        self._answer: asyncio.Future[int] | None = None
        self._leaving = False
        self._left = False
        """Whether the resigned game is over: the next one may have begun, and must not be resigned."""
        self._held: list[Callable[[], None]] | None = None
        """While the end of a game is shown: the events since then."""

    # Events of the session.

    def happened(self, action: Callable[[], None]) -> None:
        """Handle an event now, or after the display of the last game's end."""
        if self._held is not None:
            self._held.append(action)
        else:
            action()
            self.changed()

    def begun(self, game: GameInfo) -> None:
        """Start a game, unless it is the current one sent again after a reconnect."""
        if self._left or game.name == self._game:
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

    def asked(self, moves: list[int], clocks: tuple[float, float], answer: "asyncio.Future[int]") -> None:
        """Start the person's turn."""
        if self._left:
            return
        self.match.moves = moves
        if self._clocks is not None:
            self._clocks.asked(*clocks)
        self._answer = answer
        if self._leaving:
            self._resign()

    def over(self, game: GameInfo, end: GameEnd) -> None:
        if game.name != self._game:
            return
        self.match.moves = list(end.moves)
        self.match.end(Outcome(end.result, end.termination))
        self._answer = None
        self.ends += 1
        if self._clocks is not None:
            self._clocks.stop()
        if self._leaving:
            self._left = True
            self.leave()
            return
        self._held = []
        asyncio.get_running_loop().call_later(_SHOWN_SECONDS, self._go_on)

    def _go_on(self) -> None:
        held = self._held or []
        self._held = None
        for action in held:
            self.happened(action)

    # Actions of the person.

    def play(self, cell: int) -> None:
        if self._held:
            self._go_on()
            raise Refused("That was the previous game; this is the next one.")
        if not self._game:
            raise Refused("No game has started yet.")
        if self.match.ended is not None:
            raise Refused("The game is over.")
        if self._answer is None or self._answer.done():
            raise Refused(f"Wait: {self.match.players[1].name} is to move.")
        rest = self.match.play(cell)
        self._answer.set_result(rest)
        self._answer = None
        if self._clocks is not None:
            self._clocks.answered()
        self.changed()

    def undo(self) -> None:
        raise Refused("On a server you cannot take back a move.")

    async def hint(self) -> Hint | None:
        raise Refused("On a server there are no hints.")

    def new(self) -> None:
        self._go_on()
        if self._running:
            raise Refused("This game is not over; q resigns it.")
        if self.again is None or not self.may_go_again:
            raise Refused("The next game starts automatically.")
        self.again.set()

    def ask_to_leave(self) -> str:
        self._go_on()
        return "Resign this game and leave? y/n" if self._running and not self._leaving else ""

    def give_up(self) -> None:
        if not self._running or self._leaving:
            self.leave()
            return
        self._leaving = True
        self.notice = "You resign when it is your turn; q leaves immediately."
        self._resign()
        self.changed()

    def _resign(self) -> None:
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
        if self._clocks is None or not self._clocks.limited:
            return None
        return self._clocks.shown(0), self._clocks.shown(1)


class Person(Bot):
    """The bot that connects the session to the screen."""

    max_games = 1

    def __init__(self, seating: OnlineSeating) -> None:
        self._seating = seating

    def start(self, game: GameInfo) -> None:
        self._seating.happened(partial(self._seating.begun, game))

    async def choose(self, position: Position) -> int:
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        clocks = (position.own_clock_us / 1e6, position.opponent_clock_us / 1e6)
        self._seating.happened(partial(self._seating.asked, position.moves.copy(), clocks, answer))
        return await answer

    def end(self, game: GameInfo, end: GameEnd) -> None:
        self._seating.happened(partial(self._seating.over, game, end))
