"""Prove the values of positions of running games for `--adjudicate exact`, in one process.

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
_AT_ONCE = 4
"""Positions that the process has at once: enough to keep it busy. More would delay other tournaments."""
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
        self._sent: deque[_Position] = deque()
        """The positions that the process has, in the order of its answers."""
        self._wake = asyncio.Event()
        self._process: Process | None = None
        referee.prove = self._prove

    async def run(self) -> None:
        """Prove the positions of the referee until cancelled."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._open or self._sent:
                    await self._conclude_next()
        finally:
            await self._end_process()

    def _prove(self, games: Sequence[Game]) -> None:
        """Take games that wait for a proof; see `Referee.prove`."""
        concluded = []
        for game in games:
            position = (base_name(game.conditions.variant.name), game.own, game.opponent, game.ply & 1)
            if position in self._known:
                concluded.append((game, game.ply, self._known[position]))
            elif position in self._waiting:
                self._waiting[position].append((game, game.ply))
            else:
                self._waiting[position] = [(game, game.ply)]
                questions = self._open.setdefault(game.conditions.tournament, deque())
                questions.append(_Question(position, tuple(game.moves)))
                self._wake.set()
        if concluded:
            self._referee.conclude(concluded)

    async def _conclude_next(self) -> None:
        """Read the next answer, and conclude the games that wait for it. After a failure of the process, the positions
        that were sent count as not proven.

        Later positions do not delay a game.
        """
        try:
            await self._ask()
            value = await self._answer()
        except (TimeoutError, ValueError, OSError) as error:
            await self._end_process()
            logger.error("proofs_failed", positions=len(self._sent), reason=f"{type(error).__name__}: {error}")
            concluded, self._sent = [*self._sent], deque()
            value = None
        else:
            concluded = [self._sent.popleft()]
            if len(self._known) > _MOST_KNOWN:
                self._known.clear()
            self._known[concluded[0]] = value
        waiting = [each for position in concluded for each in self._waiting.pop(position)]
        self._referee.conclude([(game, ply, value) for game, ply in waiting])

    async def _ask(self) -> None:
        """Send positions to the process, one of each tournament in turn. Start the process if necessary. Raises
        OSError.
        """
        questions = []
        while self._open and len(self._sent) < _AT_ONCE:
            tournament = next(iter(self._open))
            open_questions = self._open.pop(tournament)
            position, moves = open_questions.popleft()
            if open_questions:
                self._open[tournament] = open_questions  # now the last one
            self._sent.append(position)
            questions.append(question(position[0], moves))
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *COMMAND, env=ENVIRONMENT, stdin=PIPE, stdout=PIPE, start_new_session=True
            )
        assert self._process.stdin is not None
        self._process.stdin.write(b"".join(questions))

    async def _answer(self) -> int | None:
        """Return the value of the first position that was sent.

        Raises TimeoutError if the process is silent for too long, and ValueError if it has ended.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(_LONGEST_SECONDS):
            return answer(await self._process.stdout.readline())

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()
