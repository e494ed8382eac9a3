"""The thread of a slow bot: it thinks there, while the event loop keeps talking to the referee."""

import asyncio
import contextlib
import queue
import sys
import threading
from collections.abc import Callable


class Work:
    """What a session has given its thinker to do."""

    def __init__(self) -> None:
        self.wakeup = asyncio.Event()
        """Set on the loop when something is done."""
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

    def __init__(self) -> None:
        self.started = False
        self._loop = asyncio.get_running_loop()
        self._tasks: queue.SimpleQueue[tuple[Callable[[], None], Work] | None] = queue.SimpleQueue()

    def __enter__(self) -> "Thinker":
        return self

    def __exit__(self, *_: object) -> None:
        self._tasks.put(None)

    def start(self) -> None:
        """Starts the thread; from now on the bot thinks there and nowhere else."""
        self.started = True
        # The loop waits for the interpreter while the bot thinks; 5 ms, the default, is long for a message.
        sys.setswitchinterval(0.0005)
        threading.Thread(target=self._run, name="noughts-bot", daemon=True).start()

    def put(self, task: Callable[[], None], work: Work) -> None:
        """Queues a task behind those already there."""
        work.open += 1
        self._tasks.put((task, work))

    def _run(self) -> None:
        while (entry := self._tasks.get()) is not None:
            task, work = entry
            failure: BaseException | None = None
            try:
                task()
            except BaseException as error:
                failure = error
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
                self._loop.call_soon_threadsafe(work.done, failure)
