"""A log filter for repeated errors. A caller that repeats a failing request must not fill the log with tracebacks."""

import logging
import time
from collections.abc import Callable
from traceback import walk_tb

_AGAIN_SECONDS = 3600.0
"""Seconds after which the same error is logged again."""
_MOST_KINDS = 1_000
"""Limit of the remembered kinds of errors."""
_Kind = tuple[type[BaseException], tuple[tuple[str, int], ...]]
"""The type of an error, and the files and lines of its traceback."""


class RepeatedErrors(logging.Filter):
    """Remembers the errors that were logged in the last hour. As a filter, it drops further records of them."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now` is a monotonic clock in seconds."""
        super().__init__()
        self._now = now
        self._logged: dict[_Kind, float] = {}

    def is_new(self, error: BaseException) -> bool:
        """Return whether to log the error, and remember it if so."""
        kind = _kind(error)
        now = self._now()
        if now - self._logged.get(kind, float("-inf")) < _AGAIN_SECONDS:
            return False
        if len(self._logged) >= _MOST_KINDS:
            self._logged.clear()
        self._logged[kind] = now
        return True

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        return error is None or self.is_new(error)


def _kind(error: BaseException) -> _Kind:
    frames = walk_tb(error.__traceback__)
    return type(error), tuple((frame.f_code.co_filename, line) for frame, line in frames)
