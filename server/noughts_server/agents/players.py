"""Agents that play: each player is a bot in this process whose moves come from the tool `play`."""

import asyncio
import time
from contextlib import suppress
from typing import Annotated

from pydantic import Field

from noughts_bots.connection.session import Login
from noughts_bots.sdk.bot import GameEnd, GameInfo
from noughts_proto.v1 import tokens_pb2
from noughts_referee.rules import Position, Result, cell_name, cell_names, read_cell
from noughts_server.agents.arguments import BotName, ConnectedBot, Seconds
from noughts_server.agents.tool_calls import Backend, Caller
from noughts_server.core.board_geometry import board_text
from noughts_server.web.bot_login import log_in
from noughts_server.web.browser_player import BrowserPlayer
from noughts_server.web.documents import Document
from noughts_server.web.upstream import Failure

_IDLE_SECONDS = 600.0
"""Seconds without a call after which an agent's player is removed."""
_MOST_PLAYERS = 4
"""Players of one token that can be connected at a time."""


class AgentPlayer(BrowserPlayer):
    """An agent as a bot: one game at a time."""

    accepts_challenges = True

    def __init__(self) -> None:
        super().__init__()
        self.finished: list[Document] = []
        """The ends of games that no tool has reported to the agent yet."""
        self.session: asyncio.Task[None] | None = None
        """None until the server has accepted the player."""
        self.idle: asyncio.TimerHandle | None = None
        """Ends the session if no tool uses it."""
        self._asked_at = 0.0
        """When the open question arrived, in seconds of the monotonic clock."""

    @property
    def question(self) -> Position | None:
        """The position that waits for a move; None if it is not the player's turn."""
        return self._position if self._answer is not None else None

    async def choose(self, position: Position) -> int:
        self._asked_at = time.monotonic()
        return await super().choose(position)

    def end(self, game: GameInfo, end: GameEnd) -> None:
        super().end(game, end)
        win = (Result.FIRST_WINS, Result.SECOND_WINS)[game.side]
        outcomes = {Result.DRAW: "draw", Result.VOID: "void", win: "win"}
        ending: Document = {
            "game": game.name,
            "outcome": outcomes.get(end.result, "loss"),
            "termination": str(end.termination),
            "moves": cell_names(game.variant, end.moves).split(),
        }
        self.finished.append(ending)

    def disconnected(self, session: "asyncio.Task[None]") -> None:
        """Wake the tools that wait for this player, because its session has ended."""
        self._wake()

    async def state(self, seconds: float) -> Document:
        """Wait until the agent must move or a game has ended, at most `seconds`; return the state of the player."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.question is None and not self.finished and self.session and not self.session.done():
                    await self._changed.wait()
        finished = self.finished
        self.finished = []
        state: Document = {"your_turn": False, "game": None, "finished": finished}
        game, position = self.game, self.question
        if game is None or (self.game_end is not None and position is None):
            return state
        state |= {"game": game.name, "variant": game.variant.name, "you": "XO"[game.side], "opponent": game.opponent}
        if position is None:
            return state
        used_us = int(1e6 * (time.monotonic() - self._asked_at))
        # A clock of 0 means that there is none. A clock that runs shows at least 1 ms.
        own_clock_us = max(1000, position.own_clock_us - used_us) if position.own_clock_us else 0
        clocks_us = {"you": own_clock_us, "opponent": position.opponent_clock_us}
        return state | {
            "your_turn": True,
            "moves": [cell_name(game.variant, cell) for cell in position.moves],
            "board": board_text(position).split("\n"),
            "clocks_ms": {side: clock // 1000 for side, clock in clocks_us.items() if clock} or None,
        }


class Players:
    """The players of all agents, by token and name."""

    def __init__(self, backend: Backend, tasks: asyncio.TaskGroup, idle: float = _IDLE_SECONDS) -> None:
        """A player that no tool has used for `idle` seconds is disconnected."""
        self._backend = backend
        self._tasks = tasks
        self._idle = idle
        self._players: dict[tuple[str, str], AgentPlayer] = {}
        self.tools = (self.connect_player, self.wait_for_turn, self.play, self.disconnect_player)

    async def connect_player(
        self,
        caller: Caller,
        bot: Annotated[
            BotName,
            Field(
                description=(
                    "Name of your player: a new one, or a bot of yours, which you then replace where it is online"
                )
            ),
        ],
    ) -> Document:
        """Connect a bot of yours whose moves you choose. Then create a challenge or join a tournament, and play.

        It plays one game at a time and accepts challenges. It is disconnected after ten minutes without a tool call.
        """
        token = self._backend.token(caller)
        upstream = self._backend.upstream
        await upstream.ask(upstream.tokens.GetToken, tokens_pb2.GetTokenRequest(name="tokens/self"), token)
        if (token, bot) in self._players:
            raise Failure(409, f"{bot} is connected already", "Call wait_for_turn.")
        if sum(owner == token for owner, _ in self._players) >= _MOST_PLAYERS:
            reason = f"at most {_MOST_PLAYERS} players of a token can be connected"
            raise Failure(429, f"{bot} was not connected: {reason}", "Call disconnect_player for another one.")
        player = self._players[token, bot] = AgentPlayer()
        login = Login(upstream.address, token, bot, "1", upstream.dialling)
        try:
            player.session = await log_in(player, login, self._tasks)
        except BaseException:
            del self._players[token, bot]
            raise
        player.session.add_done_callback(lambda session: self._players.pop((token, bot)))
        player.session.add_done_callback(player.disconnected)
        self._player(caller, bot)
        return {"bot": f"bots/{bot}", "online": True, "next": "create_challenge or join_tournament, then wait_for_turn"}

    async def disconnect_player(self, caller: Caller, bot: ConnectedBot) -> Document:
        """Disconnect a player. If it does not come back, it loses its running games."""
        session = self._player(caller, bot).session
        if session is not None:
            session.cancel()
            await asyncio.wait([session])
        return {"bot": f"bots/{bot}", "online": False}

    async def wait_for_turn(self, caller: Caller, bot: ConnectedBot, seconds: Seconds = 30) -> Document:
        """Wait until your player is to move or a game of it has ended; return the board, the moves and the clocks.

        The answer also has the ends of games since the last call, which the server stores a moment later. If nothing
        happened in time, call it again.
        """
        state = await self._player(caller, bot).state(seconds)
        self._player(caller, bot)  # raises Failure if it was disconnected meanwhile
        return state

    async def play(
        self,
        caller: Caller,
        bot: ConnectedBot,
        move: Annotated[str, Field(max_length=10, description="A legal cell, e.g. `b2`, or `resign`")],
        seconds: Seconds = 30,
    ) -> Document:
        """Play a cell, then wait as wait_for_turn does. An illegal cell is refused, and costs only time."""
        player = self._player(caller, bot)
        position = player.question
        if position is None:
            raise Failure(409, f"it is not the turn of {bot}", "Call wait_for_turn.")
        if move == "resign":
            player.resign()
        elif (cell := read_cell(position.variant, move)) is None:
            example = cell_name(position.variant, 0)
            raise Failure(400, f"move {move!r}: expected a cell of the board, e.g. {example}, or resign")
        else:
            await player.move(cell, position.ply)
        return await self.wait_for_turn(caller, bot, seconds)

    def close(self) -> None:
        """Disconnect all players."""
        for player in self._players.values():
            if player.session is not None:
                player.session.cancel()

    def _player(self, caller: Caller, bot: str) -> AgentPlayer:
        """Return a connected player of the caller and note its use. Raises Failure."""
        player = self._players.get((self._backend.token(caller), bot))
        if player is None or player.session is None:
            raise Failure(404, f"{bot} is not connected as your player", "Call connect_player.")
        if player.idle is not None:
            player.idle.cancel()
        player.idle = asyncio.get_running_loop().call_later(self._idle, player.session.cancel)
        return player
