"""Solves many positions with all processors: this process solves the first ones, several processes the others.

So a few positions need no other process. The answers come in the order of the questions.
"""

import os
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from itertools import islice
from multiprocessing import get_context
from queue import Queue
from threading import Thread
from typing import NamedTuple

from noughts_bots.reference.analysis import Analyst
from noughts_bots.reference.exact import Verdict
from noughts_referee.rules import Position, Variant, parse_variant

_SOLVED_HERE = 16
"""Positions that this process solves before it starts others."""
_READ_AHEAD = 64
"""Positions for each process that are read ahead."""


class Question(NamedTuple):
    """A position by its text, see `Position.parse`, and the limits of the search (see `Analyst`)."""

    variant: str
    position: str
    positions: int
    nodes: int


def verdicts(questions: Iterable[Question]) -> Iterator[tuple[Question, Verdict | None]]:
    """Yield each question with the value of its position, as soon as it and those before it are known.

    The value is None if no solver reaches the position. Reads `questions` in another thread, a bounded number ahead.
    An error of `questions` is raised in its place.
    """
    remaining = iter(questions)
    for question in islice(remaining, _SOLVED_HERE):
        yield question, answer(question)
    processes = os.cpu_count() or 1
    if processes == 1:
        for question in remaining:
            yield question, answer(question)
        return
    # Nothing of this process is copied: its threads and connections do not survive a fork.
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=_ignore_interrupts) as pool:
        try:
            yield from _ahead(remaining, pool, processes * _READ_AHEAD)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def answer(question: Question) -> Verdict | None:
    """Return the value of the position for the side to move; None if no solver reaches it. Raises PositionError."""
    variant = parse_variant(question.variant)
    analyst = _analyst(variant, question.nodes)
    analyst.allow(question.positions)
    return verdict(Position.parse(variant, question.position), analyst)


def verdict(position: Position, analyst: Analyst) -> Verdict | None:
    """Return the value of the position; None if no solver reaches it. If the game is over, the distance is 0."""
    outcome = position.outcome()
    if outcome is None:
        return analyst.verdict(position)
    if outcome.winner is None:
        return Verdict(0, None, ())
    return Verdict(1 if outcome.winner == position.side else -1, 0, ())


@cache
def _analyst(variant: Variant, nodes: int) -> Analyst:
    return Analyst(variant, positions=0, nodes=nodes)


def _ahead(
    questions: Iterator[Question], pool: ProcessPoolExecutor, most: int
) -> Iterator[tuple[Question, Verdict | None]]:
    """Yield the answers of the pool. A thread reads the questions, so that an answer does not wait for the next one."""
    waiting: Queue[tuple[Question, Future[Verdict | None]] | Exception | None] = Queue(most)

    def read() -> None:
        try:
            for question in questions:
                waiting.put((question, pool.submit(answer, question)))
            waiting.put(None)
        except Exception as error:
            waiting.put(error)

    Thread(target=read, name="noughts-positions", daemon=True).start()
    while True:
        entry = waiting.get()
        if entry is None:
            return
        if isinstance(entry, Exception):
            raise entry
        question, future = entry
        yield question, future.result()


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
