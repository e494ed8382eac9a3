"""Errors on the command line: one clear message on stderr and an exit code.

A traceback is for faults of this program only.

Errors of the other packages are an ExplainedError, too; `explain` puts some of them into the words of the command line.
"""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from noughts_proto.errors import FAILED as FAILED
from noughts_proto.errors import USAGE, ExplainedError

INTERRUPTED = 130

NO_TOKEN = (
    "token: got none, expected one in NOUGHTS_TOKEN, --token-file or --token",
    "The server's operator can create one: noughts token create --owner NAME",
)
_REFUSAL_HINTS = {
    "UNAUTHENTICATED": "The server's operator creates tokens: noughts token create --owner NAME",
    "UNIMPLEMENTED": "Is that a Noughts server? Check --server.",
}

_EXTRAS = {
    "server": (
        "sqlalchemy",
        "alembic",
        "grpc_health",
        "grpc_reflection",
        "platformdirs",
        "prometheus_client",
        "structlog",
    ),
    "play": ("textual",),
    "charts": (
        "jinja2",
        "pygal",
    ),
    "web": (
        "starlette",
        "uvicorn",
    ),
    "cluster": (
        "nats",
        "psycopg",
    ),
    "wasm": ("wasmtime",),
    "connect4": ("bitbully_databases", "wasmtime"),
    "llm": ("openai",),
    "mcp": ("mcp",),
    "parquet": ("pyarrow",),
}
"""The packages of each extra. An extra counts as installed if its first package is."""
_OPTIONS = {
    "name": "NAME",
    "anchors": "--anchor",
    "draw_after": "--draw-after",
    "games_per_pair": "--games",
    "join_from": "--join-from",
    "join_until": "--join-until",
    "label": "--label",
    "margin_ms": "--margin",
    "openings": "--openings",
    "own_times": "--time-of",
    "rounds": "--rounds",
    "scopes": "--scope",
    "start_at": "--start-at",
    "sprt": "--sprt",
    "new_version": "NEW",
    "base_version": "BASE",
    "time_class": "--time-class",
    "title": "--title",
    "variant": "--variant",
}
"""Options and arguments, by the field of a request that they set."""
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
    """Something to tell the user: what is wrong, and what to do next."""


class UsageProblem(Problem):
    """The command line itself is wrong."""

    exit_code = USAGE


@contextmanager
def reporting(line: str = "noughts") -> Iterator[None]:
    """End the program with a message and an exit code after an error in the block that `explain` knows.

    `line` is the command as it is typed, e.g. `noughts bot run`.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        problem = _explain_missing_package(error, line) or explain(error)
        if problem is None:
            raise
        show(_with_fix(problem, line))
        raise SystemExit(problem.exit_code) from None


def _with_fix(problem: Problem, line: str) -> Problem:
    """Return the problem with a hint: for wrong usage the question at its end, or else the command's help."""
    if problem.hint or not isinstance(problem, UsageProblem):
        return problem
    message, separator, question = problem.message.rpartition("; did you mean ")
    if separator:
        return UsageProblem(message, f"Did you mean {question}")
    return UsageProblem(problem.message, f"See `{line} --help`.")


@contextmanager
def problems_with(
    subject: str, *kinds: type[Exception], raises: type[Problem] = UsageProblem, expected: str = "", hint: str = ""
) -> Iterator[None]:
    """Raise a problem with the subject, e.g. an option, for an error of these kinds in the `with` block."""
    try:
        yield
    except kinds as error:
        reason = error.strerror if isinstance(error, OSError) else error
        hint = hint or (_system_hint(error) if isinstance(error, OSError) else "")
        raise raises(f"{subject}: {reason}{expected and f', expected {expected}'}", hint) from error


def show(problem: Problem) -> None:
    """Write the problem to stderr."""
    from noughts_server.cli.printing import show_error

    show_error(problem.message, problem.hint)


def explain(error: BaseException) -> Problem | None:
    """Return the error in the words of the command line; None if it is a defect of this program."""
    if isinstance(error, Problem):
        return error
    # Task groups raise exception groups. Show the first error that can be explained.
    if isinstance(error, BaseExceptionGroup):
        problems = map(explain, error.exceptions)
        return next((problem for problem in problems if problem is not None), None)
    return _explain_system(error) or _explain_call(error) or _explain_known(error)


def require_extra(line: str, extra: str) -> None:
    """Raise Problem if the extra that a command needs is not installed; `line` is the command as it is typed."""
    if not has_extra(extra):
        raise _missing_package(line, _EXTRAS[extra][0], extra)


def has_extra(extra: str) -> bool:
    """Return whether the packages of an extra are installed."""
    return find_spec(_EXTRAS[extra][0]) is not None


def _explain_missing_package(error: BaseException, line: str) -> Problem | None:
    """Return the problem if the error is the failed import of a package that an extra brings."""
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    for extra, packages in _EXTRAS.items():
        if package in packages:
            return _missing_package(line, package, extra)
    return None


def _missing_package(line: str, package: str, extra: str) -> Problem:
    hint = f"Run this in a checkout of Noughts: pip install '.[{extra}]'"
    return Problem(f"{line}: package {package} is missing; it comes with noughts[{extra}]", hint)


def _explain_known(error: BaseException) -> Problem | None:
    """Explain an error of our other packages that a user can fix."""
    from noughts_referee.rules import InvalidInput

    if isinstance(error, ExplainedError):
        kind = UsageProblem if error.exit_code == USAGE else Problem
        return kind(error.message, error.hint)
    # The rules import the standard library only, so their errors have no root of ours.
    return UsageProblem(str(error)) if isinstance(error, InvalidInput) else None


def _explain_call(error: BaseException) -> Problem | None:
    """Explain an error of a call. It imports nothing: an error's module is loaded if the error occurs."""
    if "noughts_server.client.failures" in sys.modules:
        from noughts_server.client.failures import CallFailed

        if isinstance(error, CallFailed):
            if error.code.name == "INVALID_ARGUMENT":
                return UsageProblem(_with_option_names(error.message), error.hint)
            return Problem(*NO_TOKEN) if error.token_missing else Problem(error.message, error.hint)
    if "noughts_bots.connection.stream" in sys.modules:
        from noughts_bots.connection.stream import BotRefused

        if isinstance(error, BotRefused):
            from noughts_proto.error_details import error_info

            info = error_info(error.__cause__)
            hint = info.metadata.get("hint", "") if info else ""
            hint = hint or _REFUSAL_HINTS.get(error.code.name, "")
            return Problem(f"the server refused the bot: {error}", hint)
    return None


def _with_option_names(message: str) -> str:
    """Return a server's message with the option in place of the request's field."""
    field, colon, rest = message.partition(": got ")
    return f"{_OPTIONS.get(field.rpartition('.')[2], field)}{colon}{rest}"


def _explain_system(error: BaseException) -> Problem | None:
    """Explain an error of the operating system, e.g. about a file or a socket."""
    if isinstance(error, UnicodeEncodeError):
        # In Python's arguments, each byte that is not UTF-8 is a lone surrogate, which cannot be encoded.
        return UsageProblem(f"{error.object!r}: got a name that is not UTF-8", "Rename the file, or use another name.")
    if not isinstance(error, OSError) or error.errno == errno.EPIPE:
        return None  # a reader such as `head` has closed the pipe: `app.run` ends the program without a message
    subject = f"{error.filename}: " if error.filename else ""
    return Problem(f"{subject}{error.strerror or error}", _system_hint(error))


def _system_hint(error: OSError) -> str:
    return _SYSTEM_HINTS.get(error.errno or 0, "Check the path." if error.filename else "")
