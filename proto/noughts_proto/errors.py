"""The root of all errors that a user can act on. Any other exception is a defect of the program."""

from typing import ClassVar

FAILED, USAGE = 1, 2
"""Exit codes of a command that such an error ends: it failed, or the command line was wrong."""


class ExplainedError(Exception):
    """An error that says what failed and why, and how to fix it. The command line prints all of them in one place."""

    exit_code: ClassVar[int] = FAILED
    message: str
    """The sentence: what failed, and why. Also the text of the exception, unless a class says otherwise."""
    hint: str
    """A sentence with advice; empty if there is none."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def as_sentence(text: str) -> str:
    """Return a phrase with a capital letter and a full stop."""
    end = "" if text.endswith((".", "?")) or not text else "."
    return f"{text[:1].upper()}{text[1:]}{end}"
