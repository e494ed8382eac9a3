"""Logs a bot's failures for its author: each distinct failure once with its traceback, and later only its count."""

import logging
import traceback

logger = logging.getLogger("noughts.bot")

_MOST_KINDS = 100
"""Limit of the distinct failures that are counted. All further ones count as one kind, so that memory is bounded."""

_LONGEST_WORDS = 500
"""Characters of a failure's text that are sent and compared."""


class Failures:
    """Logs failures. A repeated failure is logged again at the 10th, the 100th, the 1,000th time, and so on."""

    def __init__(self) -> None:
        self._counts: dict[object, int] = {}

    def log_failure(self, message: str, failure: BaseException) -> None:
        """Log an exception of the bot. The message names the place and the consequence."""
        frames = tuple((frame.filename, frame.lineno) for frame in traceback.extract_tb(failure.__traceback__))
        words = in_words(failure)
        self.log((frames, words), message, f", as before: {words}", failure)

    def log(self, kind: object, message: str, repeated: str = "", failure: BaseException | None = None) -> None:
        """Log a failure. `kind` identifies repetitions, whose messages continue with `repeated`."""
        if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
            kind = None
        self._counts[kind] = count = self._counts.get(kind, 0) + 1
        if count == 1:
            logger.error("%s", message, exc_info=failure)
        elif count >= 10 and str(count).strip("0") == "1":  # This is true for powers of ten.
            logger.error("%s%s (%s times so far)", message, repeated, f"{count:,}")


def in_words(failure: BaseException) -> str:
    """Return the failure as in the last line of its traceback, e.g. `IndexError: list index out of range`."""
    return " ".join("".join(traceback.format_exception_only(failure)).split())[:_LONGEST_WORDS]
