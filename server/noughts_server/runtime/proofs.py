"""The judge of `--adjudicate exact`: proves the values of the positions of running games, in one process.

Only the games of such tournaments wait for it. The work for each position is bounded, and its result depends on the
position only, so games end alike at any concurrency.
"""

import asyncio
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import structlog

from noughts_referee.game import Game
from noughts_referee.referee import Referee
from noughts_referee.rules import base_name
from noughts_server.runtime.proof_process import COMMAND, ENVIRONMENT, answer, question

logger = structlog.get_logger("noughts.proofs")

_MOST_KNOWN = 1 << 16
"""Values that are remembered: some tens of megabytes."""
_AT_ONCE = 32
"""Positions that the process gets at once."""
_LONGEST_SECONDS = 120.0
"""The time for one position after which the process is ended, and its positions count as not proven."""
_Position = tuple[str, int, int, int]
"""The variant, the stones of the side to move and of the other side, and the parity of the ply."""


class _Question(NamedTuple):
    position: _Position
    moves: tuple[int, ...]
    """Moves that lead to the position."""


class Proofs:
    """Gives the values of positions to a referee; `run` does the work."""

    def __init__(self, referee: Referee) -> None:
        self._referee = referee
        self._known: dict[_Position, int | None] = {}
        self._waiting: dict[_Position, list[tuple[Game, int]]] = {}
        """Games and plies that wait for the value of a position."""
        self._open: dict[int, deque[_Question]] = {}
        """The positions to prove by tournament. Tournaments take turns, so that none waits for a large one."""
        self._wake = asyncio.Event()
        self._process: Process | None = None
        referee.prove = self._prove

    async def run(self) -> None:
        """Prove the positions of the referee until cancelled."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while batch := self._next_batch():
                    await self._conclude(batch)
        finally:
            await self._end_process()

    def _prove(self, games: Sequence[Game]) -> None:
        """Take games that wait for a proof; see `Referee.prove`."""
        known = []
        for game in games:
            position = (base_name(game.conditions.variant.name), game.own, game.opponent, game.ply & 1)
            if position in self._known:
                known.append((game, game.ply, self._known[position]))
            elif position in self._waiting:
                self._waiting[position].append((game, game.ply))
            else:
                self._waiting[position] = [(game, game.ply)]
                questions = self._open.setdefault(game.conditions.tournament, deque())
                questions.append(_Question(position, tuple(game.moves)))
                self._wake.set()
        if known:
            self._referee.conclude(known)

    def _next_batch(self) -> list[_Question]:
        """Return the next positions: one of each tournament in turn."""
        batch: list[_Question] = []
        while self._open and len(batch) < _AT_ONCE:
            tournament = next(iter(self._open))
            questions = self._open.pop(tournament)
            batch.append(questions.popleft())
            if questions:
                self._open[tournament] = questions  # now the last one
        return batch

    async def _conclude(self, batch: Sequence[_Question]) -> None:
        """Prove these positions and conclude their games. After a failure they count as not proven."""
        values: list[int | None] = [None] * len(batch)
        try:
            values = await self._values([question(position[0], moves) for position, moves in batch])
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            self._known.update((position, value) for (position, _), value in zip(batch, values, strict=True))
        except (TimeoutError, ValueError, OSError) as error:
            await self._end_process()
            logger.error("proofs_failed", positions=len(batch), reason=f"{type(error).__name__}: {error}")
        concluded = []
        for (position, _), value in zip(batch, values, strict=True):
            concluded += [(game, ply, value) for game, ply in self._waiting.pop(position)]
        self._referee.conclude(concluded)

    async def _values(self, questions: Sequence[bytes]) -> list[int | None]:
        """Return the values from the process, which is started if it does not run.

        Raises OSError, TimeoutError if it is silent for too long, and ValueError if it has ended.
        """
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *COMMAND, env=ENVIRONMENT, stdin=PIPE, stdout=PIPE, start_new_session=True
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(questions))
        values = []
        for _ in questions:
            async with asyncio.timeout(_LONGEST_SECONDS):
                values.append(answer(await process.stdout.readline()))
        return values

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()
