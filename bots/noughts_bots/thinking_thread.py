"""The thread of a slow bot: it thinks there, while the event loop keeps talking to the referee.

And the rule by which a bot is slow (`Pace`).
"""

import asyncio
import contextlib
import queue
import sys
import threading
import time
from collections.abc import Callable

# A thought is one call of `choose`, or of `choose_batch`.
LONG_SECONDS = 0.020
_VERY_LONG_SECONDS = 0.5
_MOST_WAITS = 2
_QUICK_ANSWERS = 1_000


class Pace:
    """Whether a bot is slow, judged by how long each of its thoughts took. Times are seconds.

    A thought is long from 20 ms on. What it is by then decides:

    - 20 ms of its thread's processor time: the bot works hard, and is slow at once.
    - Less: either the machine had no processor for it, which says nothing of the bot, or the bot waits for something
      (it sleeps, or asks somebody else), which must not stop the event loop for ever. Nobody can tell the two apart by
      one thought. So two of them are pardoned, unless one takes half a second; the third makes the bot slow.

    After a thousand answers in a row without a long thought the bot is quick again, and what was pardoned is forgotten.
    Each time that it turns out slow once more, it takes twice as many.
    """

    def __init__(
        self,
        *,
        wall: Callable[[], float] = time.perf_counter,
        processor: Callable[[], float] = time.thread_time,
        quick_answers: int = _QUICK_ANSWERS,
    ) -> None:
        """`wall` is a clock that never stops, `processor` one that runs while the calling thread has a processor."""
        self.slow = False
        self.wall = wall
        self.processor = processor
        self._wanted = quick_answers
        self._quick = 0
        self._waits = 0

    def watch(self, thought: Callable[[], None], answers: int = 1) -> None:
        """Has the bot think about so many questions, and judges it by that."""
        before, spent = self.wall(), self.processor()
        thought()
        took = self.wall() - before
        if took >= LONG_SECONDS:
            self.long_thought(took, self.processor() - spent)
        else:
            self.quick_answers(answers)

    def long_thought(self, wall: float, processor: float) -> None:
        """A thought of LONG_SECONDS or more: how long by either clock."""
        self._quick = 0
        if processor < LONG_SECONDS:
            self._waits += 1
        if processor >= LONG_SECONDS or wall >= _VERY_LONG_SECONDS or self._waits > _MOST_WAITS:
            self.slow = True

    def quick_answers(self, count: int) -> None:
        """So many answers without a long thought."""
        self._quick += count
        if self._quick < self._wanted:
            return
        self._quick = self._waits = 0
        if self.slow:
            self.slow = False
            self._wanted *= 2


class Work:
    """What a session has given its thinker to do."""

    def __init__(self) -> None:
        self.wakeup = asyncio.Event()
        """Set on the loop when something is done."""
        self.over = False
        """Nothing will be added: whoever waits for what is done need not wait for more."""
        self.open = 0
        """How much is not done yet."""
        self.failure: BaseException | None = None

    def done(self, failure: BaseException | None) -> None:
        """On the loop: something is done, or has failed for good."""
        self.open -= 1
        self.failure = self.failure or failure
        self.wakeup.set()


class Thinker:
    """The thread of a slow bot. It outlives sessions: the bot never has to think about two things at once."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.pace = pace or Pace()
        """Of the bot, over all its sessions."""
        self._open = 0
        """How much of what was queued is not done yet, whoever queued it."""
        self._thread: threading.Thread | None = None
        self._loop = asyncio.get_running_loop()
        self._tasks: queue.SimpleQueue[tuple[Callable[[], None], Work] | None] = queue.SimpleQueue()

    def __enter__(self) -> "Thinker":
        return self

    def __exit__(self, *_: object) -> None:
        self._tasks.put(None)

    @property
    def idle(self) -> bool:
        """Whether the thread has nothing to do: only then may the bot think elsewhere."""
        return not self._open

    def put(self, task: Callable[[], None], work: Work) -> None:
        """Queues a task behind those already there; the first one starts the thread."""
        if self._thread is None:
            # The loop waits for the interpreter while the bot thinks; 5 ms, the default, is long for a message.
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
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
                self._loop.call_soon_threadsafe(self._done, work, failure)
