"""Errors of the command line, with a message, a hint and an exit code. `explanations` prints them."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from noughts_proto.errors import FAILED as FAILED
from noughts_proto.errors import USAGE, ExplainedError

INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells."""

_SYSTEM_HINTS = {
    errno.ENOSPC: "Free some space on that disk, or choose another place.",
    errno.EDQUOT: "Delete some of your files on that disk, or choose another place.",
    errno.EFBIG: "Raise the limit on the size of files, e.g. with `ulimit -f unlimited`.",
    errno.EROFS: "That disk is read-only. Choose another place.",
    errno.EACCES: "Change its permissions, or choose another place.",
    errno.EMFILE: "Raise the limit of open files, e.g. with `ulimit -n 65536`.",
    errno.ENOENT: "Check the path.",
    errno.EISDIR: "That is a folder. Name a file.",
    errno.ENOTDIR: "Check the path: a part of it is a file.",
}
"""Advice for errors of the operating system."""


class Problem(ExplainedError):
    """An error for the user: what is wrong, and what to do next."""


class UsageProblem(Problem):
    """The command line itself is wrong."""

    exit_code = USAGE


@contextmanager
def problems_with(
    subject: str, *kinds: type[Exception], raises: type[Problem] = UsageProblem, expected: str = "", hint: str = ""
) -> Iterator[None]:
    """Raise a problem with the subject, e.g. an option, for an error of these kinds in the `with` block."""
    try:
        yield
    except kinds as error:
        reason = error.strerror if isinstance(error, OSError) else error
        hint = hint or (system_hint(error) if isinstance(error, OSError) else "")
        raise raises(f"{subject}: {reason}{expected and f', expected {expected}'}", hint) from error


def system_hint(error: OSError) -> str:
    """Return advice for an error of the operating system."""
    return _SYSTEM_HINTS.get(error.errno or 0, "Check the path." if error.filename else "")
