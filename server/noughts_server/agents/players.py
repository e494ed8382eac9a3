"""Agents at the board: each player is a bot in this process whose moves come from the tool `play`."""

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from noughts_bots.bot import GameEnd, GameInfo
from noughts_bots.session import Login
from noughts_referee.rules import Position, Result, cell_name, cell_names, in_words
from noughts_server.agents.tools import Backend, Caller
from noughts_server.board_geometry import board_text
from noughts_server.web.documents import Document
from noughts_server.web.play_rooms import BrowserPlayer, log_in
from noughts_server.web.upstream import Failure

_LAST_MOVES = 6
_CLOCKS = {"you": "Your clock", "opponent": "The opponent's clock"}
_MOST_TOLD = 100
_MOST, _TOKEN_MOST = 64, 4
"""Players at a time: all, and those of one token."""
_IDLE_SECONDS = 600.0

Bot = Annotated[str, Field(min_length=1, max_length=63, description="Name of your player, e.g. `my-agent`")]
Seconds = Annotated[int, Field(ge=0, le=60, description="How long to wait at most")]


class AgentPlayer(BrowserPlayer):
    """An agent as a bot: one game at a time."""

    accepts_challenges = True

    def __init__(self) -> None:
        super().__init__()
        self.finished: deque[Document] = deque(maxlen=_MOST_TOLD)
        """The ends of games that the agent has not been told of."""
        self.disconnected = False
        self._asked = 0.0

    @property
    def question(self) -> Position | None:
        """The position that waits for a move."""
        return self._position if self._answer is not None else None

    @property
    def clock_us(self) -> int:
        """The agent's clock now; 0 without a limit."""
        asked = self.question.own_clock_us if self.question else 0
        return max(1, asked - int(1e6 * (time.monotonic() - self._asked))) if asked else 0

    async def choose(self, position: Position) -> int:
        self._asked = time.monotonic()
        return await super().choose(position)

    def end(self, game: GameInfo, end: GameEnd) -> None:
        super().end(game, end)
        winner = {Result.FIRST_WINS: 0, Result.SECOND_WINS: 1}.get(end.result)
        outcome = "void" if end.result is Result.VOID else "draw"
        self.finished.append(
            {
                "game": game.name,
                "outcome": outcome if winner is None else "win" if winner == game.side else "loss",
                "termination": str(end.termination),
                "moves": cell_names(game.variant, end.moves),
            }
        )

    def disconnect(self) -> None:
        """End all waiting."""
        self.disconnected = True
        self._happened()

    async def news(self, seconds: float) -> None:
        """Return when the agent is to move, a game has ended or the player is gone, at the latest after this time."""
        try:
            async with asyncio.timeout(seconds):
                while self.question is None and not self.finished and not self.disconnected:
                    await self._changed.wait()
        except TimeoutError:
            pass


@dataclass(eq=False)
class _Seat:
    name: str
    player: AgentPlayer = field(default_factory=AgentPlayer)
    session: "asyncio.Task[None] | None" = None
    """None until the server has accepted the player."""
    seen: float = field(default_factory=time.monotonic)
    """When a tool last used it."""


class Players:
    """The players of all agents, by token and name."""

    def __init__(self, backend: Backend, tasks: asyncio.TaskGroup, idle: float = _IDLE_SECONDS) -> None:
        """A player that no tool has used for `idle` seconds is disconnected."""
        self._backend, self._tasks, self._idle = backend, tasks, idle
        self._seats: dict[tuple[str, str], _Seat] = {}
        self.tools = (self.connect_player, self.wait_for_turn, self.play, self.disconnect_player)

    async def connect_player(self, caller: Caller, bot: Bot) -> Document:
        """Connect a bot of yours whose moves you choose. Then create a challenge or join a tournament, and play.

        It plays one game at a time and accepts challenges. It is disconnected after ten minutes without a tool call.
        """
        token, upstream = self._backend.token(caller), self._backend.upstream
        if not token:
            raise Failure(401, "the call has no token", "Set a token with the scope `play`.")
        await upstream.ask("tokens.GetToken", token, name="tokens/self")
        if (token, bot) in self._seats:
            raise Failure(409, f"{bot} is connected already", "Call wait_for_turn.")
        if len(self._seats) >= _MOST or sum(each == token for each, _ in self._seats) >= _TOKEN_MOST:
            reason = f"at most {_TOKEN_MOST} players of a token can be connected, and {_MOST} in all"
            raise Failure(429, f"{bot} was not connected: {reason}", "Call disconnect_player for another one.")
        seat = self._seats[token, bot] = _Seat(bot)
        try:
            seat.session = await log_in(
                seat.player, Login(upstream.address, token, bot, "1", upstream.dialling), self._tasks
            )
        except BaseException:
            del self._seats[token, bot]
            raise
        idle = self._tasks.create_task(self._disconnect_idle(seat, seat.session))

        def over(session: "asyncio.Task[None]") -> None:
            idle.cancel()
            seat.player.disconnect()
            del self._seats[token, bot]

        seat.session.add_done_callback(over)
        return {"bot": f"bots/{bot}", "online": True, "next": "create_challenge or join_tournament, then wait_for_turn"}

    async def disconnect_player(self, caller: Caller, bot: Bot) -> Document:
        """Disconnect a player. If it does not come back, it loses its running games."""
        session = self._seat(caller, bot).session
        if session is not None:
            session.cancel()
            await asyncio.wait([session])
        return {"bot": f"bots/{bot}", "online": False}

    async def wait_for_turn(self, caller: Caller, bot: Bot, seconds: Seconds = 30) -> Document:
        """Wait until your player is to move or a game of it has ended; show the board, the last moves and the clocks.

        The answer also has the ends of games since the last call. If nothing happened in time, call it again.
        """
        seat = self._seat(caller, bot)
        await seat.player.news(seconds)
        return _state(self._seat(caller, bot))

    async def play(
        self,
        caller: Caller,
        bot: Bot,
        move: Annotated[str, Field(max_length=10, description="A cell, e.g. `b2`, or `resign`")],
        seconds: Seconds = 30,
    ) -> Document:
        """Play a cell, then wait as wait_for_turn does. An illegal cell is refused, and costs only time."""
        seat = self._seat(caller, bot)
        player, position = seat.player, seat.player.question
        if position is None:
            raise Failure(409, f"it is not the turn of {bot}", "Call wait_for_turn.")
        if move == "resign":
            player.resign()
        else:
            cells = {cell_name(position.variant, cell): cell for cell in range(position.variant.cells)}
            if move not in cells:
                raise Failure(400, f"move {move!r}: expected a cell of the board, e.g. {next(iter(cells))}, or resign")
            await player.move(cells[move], position.ply)
        await player.news(seconds)
        return _state(self._seat(caller, bot))

    def close(self) -> None:
        """Disconnect all players, and end all waiting."""
        for seat in self._seats.values():
            seat.player.disconnect()
            if seat.session is not None:
                seat.session.cancel()

    def _seat(self, caller: Caller, bot: str) -> _Seat:
        seat = self._seats.get((self._backend.token(caller), bot))
        if seat is None:
            raise Failure(404, f"{bot} is not connected as your player", "Call connect_player.")
        seat.seen = time.monotonic()
        return seat

    async def _disconnect_idle(self, seat: _Seat, session: "asyncio.Task[None]") -> None:
        while (left := seat.seen + self._idle - time.monotonic()) > 0:  # noqa: ASYNC110  # there is no event
            await asyncio.sleep(left)
        session.cancel()


def _state(seat: _Seat) -> Document:
    """Return what the agent must know, as data and as text; each end of a game appears once."""
    bot, player = seat.name, seat.player
    finished = list(player.finished)
    player.finished.clear()
    lines = [
        f"{end['game']} is over: {end['outcome']} ({in_words(end['termination'])}). Moves: {end['moves']}."
        for end in finished
    ]
    told: Document = {"bot": f"bots/{bot}", "your_turn": False, "game": None, "finished": finished}
    game, position = player.game, player.question
    if game is None or (player.ended is not None and position is None):
        lines.append("No game is running.")
    elif position is None:
        told["game"] = game.name
        lines.append(f"{game.name}: the opponent {game.opponent} is to move.")
    else:
        moves = [cell_name(game.variant, cell) for cell in position.moves]
        clocks = {"you": player.clock_us, "opponent": position.opponent_clock_us}
        told |= {"your_turn": True, "game": game.name, "variant": game.variant.name, "you": "XO"[game.side]}
        told |= {"opponent": game.opponent, "moves": moves, "position": str(position)}
        told["clocks_ms"] = {side: clock // 1000 for side, clock in clocks.items() if clock} or None
        lines += [
            f"{game.name}, {game.variant.name}: you are {'XO'[game.side]} against {game.opponent}. Your move.",
            board_text(position),
            f"Last moves: {' '.join(moves[-_LAST_MOVES:]) or 'none'}",
            *(f"{_CLOCKS[side]}: {clock / 1e6:.1f} s" for side, clock in clocks.items() if clock),
        ]
    return {**told, "text": "\n".join(lines)}
