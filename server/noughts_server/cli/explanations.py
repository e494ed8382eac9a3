"""Prints errors: one clear message on stderr and an exit code. Only defects of this program print a traceback.

Errors of the other packages are an ExplainedError, too; `explain` puts some of them into the words of the command line.
"""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from noughts_proto.errors import USAGE, ExplainedError
from noughts_server.cli.errors import INTERRUPTED, Problem, UsageProblem, system_hint
from noughts_server.cli.extras import explain_missing_package

_REFUSAL_HINTS = {
    "UNAUTHENTICATED": "The server's operator creates tokens: noughts token create --owner NAME",
    "UNIMPLEMENTED": "Is that a Noughts server? Check --server.",
}

_OPTIONS = {
    "name": "NAME",
    "adjudicate": "--adjudicate",
    "anchors": "--anchor",
    "draw": "--draw",
    "draw_after": "--draw-after",
    "games_per_pair": "--games",
    "join_from": "--join-from",
    "join_until": "--join-until",
    "label": "--label",
    "margin_ms": "--margin",
    "openings": "--openings",
    "own_times": "--time-of",
    "resign": "--resign",
    "rounds": "--rounds",
    "scale_time": "--scale-time",
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
        problem = explain_missing_package(error, line) or explain(error)
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


def _explain_known(error: BaseException) -> Problem | None:
    """Explain an error of our other packages that a user can fix."""
    from noughts_referee.rules import InvalidInput

    if isinstance(error, ExplainedError):
        kind = UsageProblem if error.exit_code == USAGE else Problem
        return kind(error.message, error.hint)
    # The rules import only the standard library, so their errors have another root.
    return UsageProblem(str(error)) if isinstance(error, InvalidInput) else None


def _explain_call(error: BaseException) -> Problem | None:
    """Explain an error of a call. It loads no client: an error's module is loaded if the error occurs."""
    if "noughts_server.client.failures" in sys.modules:
        from noughts_server.client.failures import CallFailed

        if isinstance(error, CallFailed):
            if error.code.name == "INVALID_ARGUMENT":
                return UsageProblem(_with_option_names(error.message), error.hint)
            if error.lacks_token:
                from noughts_server.cli.connection import NO_TOKEN

                return Problem(*NO_TOKEN)
            return Problem(error.message, error.hint)
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
        return None  # A reader such as `head` has closed the pipe: `app.run` ends the program without a message.
    subject = f"{error.filename}: " if error.filename else ""
    return Problem(f"{subject}{error.strerror or error}", system_hint(error))
