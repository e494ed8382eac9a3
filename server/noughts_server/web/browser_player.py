"""A person as a bot whose moves come from a browser."""

import asyncio
import time

from noughts_bots.sdk.bot import Bot, GameEnd, GameInfo, Resign
from noughts_referee.rules import Position, cell_name
from noughts_server.web.upstream import Failure

_TIMEOUT_SECONDS = 10.0
"""Timeout for messages that the server normally sends at once: the start of a game, and a request for a move."""


class BrowserPlayer(Bot):
    """A person as a bot whose moves come from a browser."""

    max_games = 1
    accepts_challenges = False

    def __init__(self) -> None:
        self.game: GameInfo | None = None
        self.game_end: GameEnd | None = None
        self.last_move_time = time.monotonic()
        """The time of the last move or, before the first one, of the start of the game."""
        self.moves: list[int] = []
        """The moves of the game that this bot knows."""
        self._position: Position | None = None
        self._answer: asyncio.Future[int] | None = None
        self._is_resigning = False
        self._changed = asyncio.Event()

    # Events from the server.

    def start(self, game: GameInfo) -> None:
        if self.game is None or game.name != self.game.name:
            self.game = game
            self.game_end = None
            self._is_resigning = False
            self.moves = []
            self.last_move_time = time.monotonic()
        self._cancel_request()
        self._wake()

    async def choose(self, position: Position) -> int:
        if self._is_resigning:
            raise Resign
        self._position = position.copy()
        self.moves = list(position.moves)
        self._answer = asyncio.get_running_loop().create_future()
        self._wake()
        return await self._answer

    def end(self, game: GameInfo, end: GameEnd) -> None:
        if self.game is not None and game.name == self.game.name:
            self.game_end = end
            self.moves = list(end.moves)
            self._cancel_request()
            self._wake()

    # Actions of the person.

    async def move(self, cell: int, ply: int) -> None:
        """Play the cell as ply number `ply` of the game, counted from 0. Raises Failure."""
        answer, position = await self._wait_for_request(ply)
        if cell not in position.free:
            raise Failure(409, _reason_against(position, cell))
        self._answer = None
        self.last_move_time = time.monotonic()
        self.moves.append(cell)
        answer.set_result(cell)

    async def position_to_move(self, ply: int) -> Position:
        """Return the position in which the person has to play ply number `ply`. Raises Failure."""
        _, position = await self._wait_for_request(ply)
        return position.copy()

    def resign(self) -> None:
        """Resign the game, now or at the next move."""
        self._is_resigning = True
        if self._answer is not None:
            self._answer.set_exception(Resign())
            self._answer = None

    async def wait_for_game(self, game: str) -> None:
        """Return when the game with this name has begun. Raises TimeoutError."""
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            while self.game is None or self.game.name != game:
                await self._changed.wait()

    async def _wait_for_request(self, ply: int) -> tuple["asyncio.Future[int]", Position]:
        """Return the server's request for this ply, and the position. Raises Failure.

        Wait for it, because the browser can know the opponent's move before this bot does.
        """
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                while self.game_end is None:
                    if self._answer is not None and self._position is not None and self._position.ply >= ply:
                        break
                    await self._changed.wait()
        except TimeoutError:
            raise Failure(409, "It is not your turn.") from None
        if self.game_end is not None or self._answer is None or self._position is None:
            raise Failure(409, "This game is over.", "Begin a new one.")
        if self._position.ply != ply:
            raise Failure(409, "The game has moved on since then.")
        return self._answer, self._position

    def _cancel_request(self) -> None:
        """Cancel the open request for a move."""
        if self._answer is not None:
            self._answer.cancel()
            self._answer = None

    def _wake(self) -> None:
        """Wake the tasks that wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()


def _reason_against(position: Position, cell: int) -> str:
    """Return the reason why the side to move cannot play this cell."""
    variant = position.variant
    stones = position.own | position.opponent
    if not 0 <= cell < variant.cells:
        return f"There is no cell {cell}."
    name = cell_name(variant, cell)
    if stones & (1 << cell):
        return f"{name} is taken."
    kind = position.forbidden(cell)
    return f"{name} is forbidden here: {kind}." if kind else f"{name}: stones fall to the lowest free cell."
