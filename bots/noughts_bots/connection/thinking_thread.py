"""The thread in which a slow bot thinks while the event loop exchanges frames, and the test of slowness (`Pace`)."""

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
"""The duration of a long thought."""
_VERY_LONG_SECONDS = 0.5
"""The duration of a thought that makes the bot slow in any case."""
_MOST_WAITS = 2
"""The number of long thoughts with little processor time that are tolerated."""


@dataclass(kw_only=True, eq=False)
class Pace:
    """Decides whether a bot is slow, by the duration of its thoughts. Times are in seconds.

    A thought of 20 ms or more is long. The processor time of its thread then decides:

    - 20 ms or more: the bot computes for long, and is slow at once.
    - Less: either the machine had no free processor, or the bot waits (it sleeps, or calls another service). A bot that
      waits must not block the event loop. One thought cannot distinguish the two. So two such thoughts are tolerated,
      unless one takes half a second. The third one makes the bot slow.

    After a thousand answers in a row without a long thought, the bot is fast again, and earlier tolerated thoughts do
    not count any more. Each time that the bot becomes fast again, the required number of answers doubles.
    """

    wall: Callable[[], float] = time.perf_counter
    """A clock of elapsed time."""
    processor: Callable[[], float] = time.thread_time
    """A clock that runs only while the calling thread uses a processor."""
    answers_to_recover: int = 1_000
    """The number of quick answers after which the bot is fast again."""
    slow: bool = field(default=False, init=False)
    _quick: int = field(default=0, init=False)
    _waits: int = field(default=0, init=False)

    def watch(self, thought: Callable[[], None], answers: int = 1) -> None:
        """Run a thought with this number of answers, and judge its duration."""
        wall_before = self.wall()
        processor_before = self.processor()
        thought()
        duration = self.wall() - wall_before
        if duration >= LONG_SECONDS:
            self.record_long_thought(duration, self.processor() - processor_before)
        else:
            self.record_quick_answers(answers)

    def record_long_thought(self, wall: float, processor: float) -> None:
        """Record a thought of LONG_SECONDS or more, with its duration by both clocks."""
        self._quick = 0
        if processor < LONG_SECONDS:
            self._waits += 1
        if processor >= LONG_SECONDS or wall >= _VERY_LONG_SECONDS or self._waits > _MOST_WAITS:
            self.slow = True

    def record_quick_answers(self, count: int) -> None:
        """Record answers without a long thought."""
        self._quick += count
        if self._quick < self.answers_to_recover:
            return
        self._quick = self._waits = 0
        if self.slow:
            self.slow = False
            self.answers_to_recover *= 2


class Work:
    """The tasks that a session has given to the thinker."""

    def __init__(self) -> None:
        self.wakeup = asyncio.Event()
        """Set on the event loop when a task is done or the session has something to send."""
        self.is_complete = False
        """Whether the session gives no more tasks to the thinker."""
        self.unfinished = 0
        """The number of unfinished tasks."""
        self.failure: BaseException | None = None
        """The error of the first task that failed."""

    def record_end(self, failure: BaseException | None) -> None:
        """Record that a task is done or has failed. Call it on the event loop."""
        self.unfinished -= 1
        if self.failure is None:
            self.failure = failure
        self.wakeup.set()


class Thinker:
    """The thread of a slow bot. All sessions of a bot share it, so that it never has two thoughts at the same time."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.pace = pace or Pace()
        """The bot's pace over all its sessions."""
        self._unfinished_tasks = 0
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
        return not self._unfinished_tasks

    def put(self, task: Callable[[], None], work: Work) -> None:
        """Queue a task. The first one starts the thread."""
        if self._thread is None:
            # While the bot thinks, the event loop waits for the interpreter up to this interval. The default of 5 ms
            # would delay messages too much.
            sys.setswitchinterval(0.0005)
            self._thread = threading.Thread(target=self._run, name="noughts-bot", daemon=True)
            self._thread.start()
        self._unfinished_tasks += 1
        work.unfinished += 1
        self._tasks.put((task, work))

    def _record_end(self, work: Work, failure: BaseException | None) -> None:
        self._unfinished_tasks -= 1
        work.record_end(failure)

    def _run(self) -> None:
        while (entry := self._tasks.get()) is not None:
            task, work = entry
            failure: BaseException | None = None
            try:
                task()
            except BaseException as error:
                failure = error
            with contextlib.suppress(RuntimeError):  # the event loop is closed, so no session needs the result
                self._loop.call_soon_threadsafe(self._record_end, work, failure)
