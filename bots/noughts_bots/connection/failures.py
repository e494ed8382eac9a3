"""Reports of a bot's failures for its author: each distinct failure once with its traceback, then its count."""

import logging
import traceback

logger = logging.getLogger("noughts.bot")

_MOST_KINDS = 100
"""The largest number of distinct failures, so that failures that all differ do not fill the memory."""

_LONGEST_WORDS = 500
"""Characters of a failure that are sent, kept and counted."""


class Failures:
    """Logs failures. A repeated failure is logged again at the 10th, the 100th, the 1,000th time, and so on."""

    def __init__(self) -> None:
        self._counts: dict[object, int] = {}

    def tell(self, what: str, failure: BaseException) -> None:
        """Log a failure of the bot. `what` is the message: the place, and the consequence."""
        frames = tuple((frame.filename, frame.lineno) for frame in traceback.extract_tb(failure.__traceback__))
        words = in_words(failure)
        self.note((frames, words), what, f", as before: {words}", failure)

    def note(self, kind: object, what: str, again: str = "", failure: BaseException | None = None) -> None:
        """Log a fault of the bot. `kind` identifies repetitions, whose text continues with `again`."""
        if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
            kind = None
        self._counts[kind] = count = self._counts.get(kind, 0) + 1
        if count == 1:
            logger.error("%s", what, exc_info=failure)
        elif count >= 10 and str(count).strip("0") == "1":  # a power of ten
            logger.error("%s%s (%s times so far)", what, again, f"{count:,}")


def in_words(failure: BaseException) -> str:
    """Return the last line of the traceback, e.g. `IndexError: list index out of range`."""
    return " ".join("".join(traceback.format_exception_only(failure)).split())[:_LONGEST_WORDS]
