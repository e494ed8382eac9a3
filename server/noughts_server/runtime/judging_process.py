"""A process of the lowest priority that judges games: it reads a question from stdin as JSON and prints the answer."""

import asyncio
import json
import os
import resource
import signal
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from typing import Any

from noughts_proto.interpreter import environment
from noughts_referee.children import kernel

_ENVIRONMENT = environment()
_LOWEST_PRIORITY = 19
_LONGEST_REASON = 2_000
"""Characters at the end of the output that an error has."""


class JudgingError(Exception):
    """The process has failed. The text is the reason, with the output of the process."""

    def __init__(self, reason: str, written: str = "") -> None:
        super().__init__(f"{reason}: {written}" if written else reason)
        self.reason = reason
        """The reason without the output, which is only for the operator."""


class TookTooLongError(JudgingError):
    """The process has not answered in time, perhaps only because the machine was busy."""


class TooMuchWorkError(JudgingError):
    """The process has used the processor time of `limit_processor_time`."""


async def ask_process(command: Sequence[str], question: object, seconds: float) -> Any:
    """Return the answer of a new process. Raises JudgingError if it fails, TookTooLongError after this time."""
    process = await asyncio.create_subprocess_exec(
        *command, env=_ENVIRONMENT, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    try:
        async with asyncio.timeout(seconds):
            printed, problem = await process.communicate(json.dumps(question).encode())
        if process.returncode == 0:
            return json.loads(printed)
    except TimeoutError:
        raise TookTooLongError(f"it took more than {seconds:.0f} s") from None
    except ValueError as error:
        raise JudgingError("the process printed no answer", str(error)) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == -signal.SIGXCPU:
        raise TooMuchWorkError("it needs too much processor time")
    if process.returncode is not None and process.returncode < 0:
        raise JudgingError(f"signal {-process.returncode} ended the process")
    raise JudgingError("the process failed", problem.decode(errors="replace")[-_LONGEST_REASON:])


def take_lowest_priority() -> None:
    """Give this process the lowest priority of its session, so that it delays games little."""
    if hasattr(os, "nice"):
        os.nice(_LOWEST_PRIORITY)


def yield_to_games() -> None:
    """Give this process the lowest priority, and its session a low one. For work for which nobody waits long.

    The process must be the only one in its session. A busy machine leaves it a tenth of a core.
    """
    take_lowest_priority()
    if kernel.is_linux():
        kernel.nice_own_session()


def limit_processor_time(seconds: int) -> None:
    """End this process when it has used this processor time, also if no other process waits for the answer any more."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds if most == resource.RLIM_INFINITY else min(seconds, most), most))
