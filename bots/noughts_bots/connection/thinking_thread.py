"""The thread in which a slow bot thinks while the event loop talks to the referee, and the test of slowness: `Pace`."""

import asyncio
import contextlib
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# A thought is one call of `choose`, `choose_batch` or `choose_arrays`.
LONG_SECONDS = 0.020
_VERY_LONG_SECONDS = 0.5
_MOST_WAITS = 2


@dataclass(kw_only=True, eq=False)
class Pace:
    """Whether a bot is slow, according to the duration of each of its thoughts. Times are seconds.

    A thought of 20 ms or more is long. Then the processor time of its thread decides:

    - 20 ms or more: the bot computes for long, and is slow at once.
    - Less: either the machine had no free processor, or the bot waits (it sleeps, or calls another service), which must
      not block the event loop. One thought cannot distinguish the two. Therefore two such thoughts are tolerated,
      unless one takes half a second. The third makes the bot slow.

    After a thousand answers in a row without a long thought the bot is fast again, and tolerated thoughts are
    forgotten. Each time that it becomes fast again, the required number doubles.
    """

    wall: Callable[[], float] = time.perf_counter
    """A clock that never stops."""
    processor: Callable[[], float] = time.thread_time
    """A clock that runs only while the calling thread uses a processor."""
    answers_to_recover: int = 1_000
    """The number of quick answers after which the bot is fast again."""
    slow: bool = field(default=False, init=False)
    _quick: int = field(default=0, init=False)
    _waits: int = field(default=0, init=False)

    def watch(self, thought: Callable[[], None], answers: int = 1) -> None:
        """Run a thought with this number of answers, and judge its duration."""
        before, spent = self.wall(), self.processor()
        thought()
        took = self.wall() - before
        if took >= LONG_SECONDS:
            self.long_thought(took, self.processor() - spent)
        else:
            self.quick_answers(answers)

    def long_thought(self, wall: float, processor: float) -> None:
        """Record a thought of LONG_SECONDS or more, with its duration by both clocks."""
        self._quick = 0
        if processor < LONG_SECONDS:
            self._waits += 1
        if processor >= LONG_SECONDS or wall >= _VERY_LONG_SECONDS or self._waits > _MOST_WAITS:
            self.slow = True

    def quick_answers(self, count: int) -> None:
        """Record answers without a long thought."""
        self._quick += count
        if self._quick < self.answers_to_recover:
            return
        self._quick = self._waits = 0
        if self.slow:
            self.slow = False
            self.answers_to_recover *= 2


class Work:
    """A session's tasks for the thinker."""

    def __init__(self) -> None:
        self.wakeup = asyncio.Event()
        """Set on the loop when a task is done."""
        self.over = False
        """Whether no more tasks will be added."""
        self.open = 0
        self.failure: BaseException | None = None

    def done(self, failure: BaseException | None) -> None:
        """Record that a task is done or has failed. Call it on the loop."""
        self.open -= 1
        if self.failure is None:
            self.failure = failure
        self.wakeup.set()


class Thinker:
    """The thread of a slow bot. It outlives sessions, so that the bot never has two thoughts at the same time."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.pace = pace or Pace()
        """The bot's pace over all its sessions."""
        self._open = 0
        self._thread: threading.Thread | None = None
        self._loop = asyncio.get_running_loop()
        self._tasks: queue.SimpleQueue[tuple[Callable[[], None], Work] | None] = queue.SimpleQueue()

    def __enter__(self) -> "Thinker":
        return self

    def __exit__(self, *_: object) -> None:
        self._tasks.put(None)

    @property
    def idle(self) -> bool:
        """Whether the thread has nothing to do. Only then can the bot think elsewhere."""
        return not self._open

    def put(self, task: Callable[[], None], work: Work) -> None:
        """Queue a task. The first one starts the thread."""
        if self._thread is None:
            # The loop waits for the interpreter while the bot thinks. The default, 5 ms, is too long for a message.
            sys.setswitchinterval(0.0005)
            self._thread = threading.Thread(target=self._run, name="noughts-bot", daemon=True)
            self._thread.start()
        self._open += 1
        work.open += 1
        self._tasks.put((task, work))

    def _done(self, work: Work, failure: BaseException | None) -> None:
        self._open -= 1
        work.done(failure)

    def _run(self) -> None:
        while (entry := self._tasks.get()) is not None:
            task, work = entry
            failure: BaseException | None = None
            try:
                task()
            except BaseException as error:
                failure = error
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits for this
                self._loop.call_soon_threadsafe(self._done, work, failure)
