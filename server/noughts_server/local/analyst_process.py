"""The process of a website's analyst: a player of any kind, which judges one position at a time.

The first line of stdin is `[spec, seconds]`, each later one `[variant, moves]`, all as JSON. The process prints
`{"gaps": [...]}` with what the sandbox lacks on this machine, then a line for each position, and ends at the end of
stdin. If the player fails, the process prints why (`failed`), and ends. It has the lowest priority, and one core, which
the processes of the player share.
"""

import asyncio
import json
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from math import isfinite
from typing import Any

from noughts_bots.connection.event_loop import run_loop
from noughts_bots.reference.specs import BotSpec, make_bot, parse_spec
from noughts_bots.sdk.bot import Move, Resign
from noughts_bots.sdk.errors import VariantRefused
from noughts_proto.errors import ExplainedError
from noughts_referee.children import kernel
from noughts_referee.children.running_child import ChildSettings
from noughts_referee.rules import Position, Thought, parse_variant
from noughts_referee.rules.thoughts import within_limits
from noughts_server.bot_check.child_session import ChildSession, child_session
from noughts_server.launching.launcher import SandboxMode, launching
from noughts_server.runtime.judging_process import yield_to_games

_REST_SECONDS = 20.0
"""The time for a move after the time to think: on a busy machine this process gets little processor time."""


class _Player(ABC):
    @abstractmethod
    async def move(self, position: Position) -> Move:
        """Return its move. Raises VariantRefused, Resign, BotFault."""


class _ReferenceBot(_Player):
    def __init__(self, spec: BotSpec) -> None:
        self._spec = spec

    async def move(self, position: Position) -> Move:
        answer: Any = make_bot(self._spec, position.variant).choose(position)
        if isinstance(answer, Awaitable):
            answer = await answer
        return answer if isinstance(answer, Move) else Move(answer)


class _Child(_Player):
    def __init__(self, session: ChildSession) -> None:
        self._session = session

    async def move(self, position: Position) -> Move:
        self._session.require(position.variant)
        return await self._session.answer(position)


async def _serve() -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    text, seconds = json.loads(await lines.readline())
    try:
        gaps: list[str] = []
        async with _player(parse_spec(text), seconds, gaps) as player:
            _print({"gaps": gaps})
            while line := await lines.readline():
                variant, moves = json.loads(line)
                _print(await _opinion(player, Position.after(parse_variant(variant), moves)))
    except ExplainedError as error:
        _print({"failed": str(error)})


@asynccontextmanager
async def _player(spec: BotSpec, seconds: float, gaps: list[str]) -> AsyncIterator[_Player]:
    """Start the player of the spec, and note the gaps of its sandbox. Raises BotFault."""
    if spec.child_kind is None:
        yield _ReferenceBot(spec)
        return
    async with (
        launching(SandboxMode.USUAL, gaps.append) as launcher,
        child_session(spec, launcher, ChildSettings(), move_seconds=seconds + _REST_SECONDS) as session,
    ):
        await session.greet()
        session.clock_us = round(seconds * 1e6)
        yield _Child(session)


async def _opinion(player: _Player, position: Position) -> dict[str, Any]:
    """Return what the player thinks of the position. Raises BotFault."""
    try:
        move = await player.move(position)
    except VariantRefused:
        # The text of the error has the paths and arguments of the operator.
        return {"refused": f"it does not play {position.variant.name}"}
    except Resign:
        return {"refused": "it resigns in this position"}
    thought = move.thought or Thought()
    bounded = within_limits(thought, position.variant.cells, position.moves) or Thought()
    return {
        "cell": move.cell,
        "score": move.score if move.score is not None and isfinite(move.score) else None,
        "depth": bounded.depth,
        "nodes": bounded.nodes,
        "pv": bounded.pv or (move.cell,),
    }


def _print(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def main() -> None:
    if kernel.is_linux():
        kernel.control_process(kernel.SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    yield_to_games()
    run_loop(_serve())


if __name__ == "__main__":
    main()
