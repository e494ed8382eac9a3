"""Solve many positions with all processors: the first ones in this process, the others in several processes.

A few positions are solved before a process has started. The answers come in the order of the questions. A process
(`solving_process`) gets questions as lines of JSON, and prints the answers.
"""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import islice
from queue import Queue
from threading import Thread
from typing import NamedTuple

from noughts_bots.reference.analysis import Analyst
from noughts_bots.reference.exact import Verdict
from noughts_proto.interpreter import environment, python
from noughts_referee.rules import Position, Variant, parse_variant

_SOLVED_HERE = 16
"""Positions that this process solves before it starts others."""
_READ_AHEAD = 64
"""Positions for each process that are read ahead."""


class Question(NamedTuple):
    """A position as text (see `Position.parse`), and the limits of the search (see `Analyst`)."""

    variant: str
    position: str
    effort: int
    nodes: int


def verdicts(questions: Iterable[Question]) -> Iterator[tuple[Question, Verdict | None]]:
    """Yield each question with the value of its position, as soon as it and those before it are known.

    The value is None if no solver reaches the position. Reads `questions` in another thread, a bounded number ahead.
    If `questions` raises an error, it is raised after the answers to the questions before it.
    """
    remaining = iter(questions)
    for question in islice(remaining, _SOLVED_HERE):
        yield question, answer(question)
    first = next(remaining, None)
    if first is None:
        return
    with ExitStack() as stack:
        processes = [stack.enter_context(_Process()) for _ in range(os.cpu_count() or 1)]
        yield from _in_processes(first, remaining, processes)


def answer(question: Question) -> Verdict | None:
    """Return the value of the position for the side to move; None if no solver reaches it. Raises PositionError."""
    variant = parse_variant(question.variant)
    analyst = _analyst(variant, question.nodes)
    analyst.allow(question.effort)
    return verdict(Position.parse(variant, question.position), analyst)


def verdict(position: Position, analyst: Analyst) -> Verdict | None:
    """Return the value, also of a position in which the game is over: its distance is 0."""
    outcome = position.outcome()
    if outcome is None:
        return analyst.verdict(position)
    if outcome.winner is None:
        return Verdict(0, None, ())
    return Verdict(1 if outcome.winner == position.side else -1, 0, ())


@cache
def _analyst(variant: Variant, nodes: int) -> Analyst:
    return Analyst(variant, effort=0, nodes=nodes)


class _Process:
    """A process that answers questions in their order. It ends with the `with` block."""

    def __enter__(self) -> "_Process":
        self._process = subprocess.Popen(
            python("-m", "noughts_server.local.solving_process"),
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C must reach only the command, which then ends this process.
            start_new_session=True,
        )
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, question: Question) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()

    def read_answer(self) -> Verdict | None:
        """Wait for the next answer. Raises RuntimeError if the process has ended, which is a defect of Noughts."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("a process that solves positions has ended")
        fields = json.loads(line)
        if fields is None:
            return None
        result, plies, best, exact = fields
        return Verdict(result, plies, tuple(best), exact)


def _in_processes(
    first: Question, others: Iterator[Question], processes: list[_Process]
) -> Iterator[tuple[Question, Verdict | None]]:
    """Yield the answers of the processes, which take turns.

    A thread reads the questions, so that an answer does not wait for the next question.
    """
    waiting: Queue[tuple[Question, _Process] | Exception | None] = Queue(len(processes) * _READ_AHEAD)

    def read() -> None:
        try:
            number = 0
            question: Question | None = first
            while question is not None:
                process = processes[number % len(processes)]
                process.ask(question)
                waiting.put((question, process))
                number += 1
                question = next(others, None)
            waiting.put(None)
        except Exception as error:
            waiting.put(error)

    Thread(target=read, name="noughts-positions", daemon=True).start()
    while (entry := waiting.get()) is not None:
        if isinstance(entry, Exception):
            raise entry
        question, process = entry
        yield question, process.read_answer()
