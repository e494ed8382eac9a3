"""Errors of a bot before it plays. The text of each error has what was given, what is expected, and advice.

BotError
├── BotSpecError      an invalid spec, or an unknown bot or option
│   └── BotRefusal    a bot that its host cannot load: the text of a BotSpecError in another process
├── VariantRefused    a bot that does not play the variant
├── BotFault          a bot in its own process that ends, is silent, or sends an invalid answer
└── TableError        a table file that is missing, in use or invalid
"""

import difflib
from collections.abc import Iterable

from noughts_proto.errors import FAILED, USAGE, ExplainedError, as_sentence


class BotError(ExplainedError, ValueError):
    """A bot that cannot be provided as requested. The text of the exception ends with the advice."""

    exit_code = USAGE

    def __init__(self, subject: str, got: str, expected: str, advice: str) -> None:
        super().__init__(f"{subject}: got {got}, expected {expected}", as_sentence(advice))
        self.subject = subject
        """The subject of the error, e.g. `bot 'nextstep', option depth`."""
        self.got = got
        self.expected = expected
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}"


class BotSpecError(BotError):
    """An invalid spec, or an unknown bot or option."""


class VariantRefused(BotError):
    """A bot that does not play the variant."""


class BotFault(BotError):
    """A bot in its own process that ends, is silent, or sends an invalid answer."""

    exit_code = FAILED  # not USAGE, because the command line is valid


class BotRefusal(BotSpecError):
    """A bot that its host cannot load: the text of a BotSpecError in another process."""

    def __init__(self, text: str) -> None:
        ExplainedError.__init__(self, text)
        self.subject, _, rest = text.partition(": got ")
        self.got, _, rest = rest.partition(", expected ")
        self.expected, _, self.advice = rest.rpartition("; ")
        self.message = text.removesuffix(f"; {self.advice}")
        self.hint = as_sentence(self.advice)
        self._text = text

    def __str__(self) -> str:
        return self._text


class TableError(BotError):
    """A table file that is missing, in use or invalid."""


def did_you_mean(got: str, known: Iterable[str], *, before: str = "") -> str:
    """Return a question with the closest known name, prefixed with `before`; empty if no name is close."""
    close = difflib.get_close_matches(got, list(known), n=1)
    return f"did you mean {before}{close[0]}?" if close else ""
