"""What goes wrong with a bot, told to its author: each distinct failure once with its traceback, then its count."""

import logging
import traceback

logger = logging.getLogger("noughts.bot")

_MOST_KINDS = 100
"""Failures that are told apart; one that words each of them anew does not fill the memory."""


class Failures:
    """Logs failures. The same one again is told at the 10th, the 100th, the 1,000th time, and so on."""

    def __init__(self) -> None:
        self._counts: dict[object, int] = {}

    def tell(self, what: str, failure: BaseException) -> None:
        """The bot failed; `what` says where, and what follows from it."""
        frames = tuple((frame.filename, frame.lineno) for frame in traceback.extract_tb(failure.__traceback__))
        count = self._count((frames, in_words(failure)))
        if count == 1:
            logger.error("%s", what, exc_info=failure)
        elif _is_round(count):
            logger.error("%s, as before: %s (%s times by now)", what, in_words(failure), f"{count:,}")

    def note(self, kind: str, what: str) -> None:
        """The bot did something that it must not do; the same `kind` of it is told as failures are."""
        count = self._count(kind)
        if count == 1:
            logger.error("%s", what)
        elif _is_round(count):
            logger.error("%s (%s times by now)", what, f"{count:,}")

    def _count(self, kind: object) -> int:
        if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
            kind = None
        self._counts[kind] = count = self._counts.get(kind, 0) + 1
        return count


def in_words(failure: BaseException) -> str:
    """The failure on one line, as the last line of its traceback: `IndexError: list index out of range`."""
    return " ".join("".join(traceback.format_exception_only(failure)).split())


def _is_round(count: int) -> bool:
    return count >= 10 and str(count).strip("0") == "1"
