"""What goes wrong on the command line: one clear message on stderr and an exit code.

A traceback is for faults of this program only.

Errors of the other packages are raised as they are; `explain` knows them all and puts them into words.
"""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

FAILED = 1
USAGE = 2
INTERRUPTED = 130


class Problem(Exception):
    """Something to tell the user: what is wrong, and what to do next."""

    exit_code = FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageProblem(Problem):
    """The command line itself is wrong."""

    exit_code = USAGE


@contextmanager
def reporting(line: str = "noughts") -> Iterator[None]:
    """An error in the `with` block that has an explanation ends the program with a message and an exit code.

    `line` is the command as it is typed, e.g. `noughts bot run`.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        problem = _explain_missing(error, line) or explain(error)
        if problem is None:
            raise
        show(problem)
        raise SystemExit(problem.exit_code) from None


def show(problem: Problem) -> None:
    """Writes the problem to stderr."""
    from noughts_server.cli.output import show_error

    show_error(problem.message, problem.hint)


def explain(error: BaseException) -> Problem | None:
    """The error in words; None when it is a fault of this program."""
    if isinstance(error, Problem):
        return error
    # What tasks raise comes in groups; the first error that can be explained is the one to show.
    if isinstance(error, BaseExceptionGroup):
        explained = map(explain, error.exceptions)
        return next((problem for problem in explained if problem is not None), None)
    return _explain_system(error) or _explain_text(error) or _explain_server(error) or _explain_call(error)


# An error can only be of a module that has been loaded: where it has not, there is nothing to load it for.


_BROUGHT_BY = {
    "server": (
        "sqlalchemy", "alembic", "grpc_health", "grpc_reflection", "platformdirs", "prometheus_client", "structlog",
    ),
    "play": ("textual",),
    "charts": ("jinja2", "pygal"),
    "web": ("starlette", "uvicorn"),
    "cluster": ("nats", "psycopg"),
    "wasm": ("wasmtime",),
}  # fmt: skip
"""The packages that each of our extras brings; the first one tells whether it is there."""


def require_extra(line: str, extra: str) -> None:
    """Raises a Problem if the extra that the command on this line needs is not installed."""
    if not has_extra(extra):
        raise _missing(line, _BROUGHT_BY[extra][0], extra)


def has_extra(extra: str) -> bool:
    """Return whether the packages of an extra are installed."""
    return find_spec(_BROUGHT_BY[extra][0]) is not None


def _explain_missing(error: BaseException, line: str) -> Problem | None:
    """A package that an extra brings, which is not installed."""
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    for extra, packages in _BROUGHT_BY.items():
        if package in packages:
            return _missing(line, package, extra)
    return None


def _missing(line: str, package: str, extra: str) -> Problem:
    hint = f"Run this in a checkout of Noughts: pip install '.[{extra}]'"
    return Problem(f"{line}: got no package {package}, expected those of noughts[{extra}]", hint)


def _explain_text(error: BaseException) -> Problem | None:
    """Variants, times, positions and specs that cannot be read."""
    if not isinstance(error, ValueError):
        return None
    if isinstance(error, UnicodeEncodeError):
        # Arguments come as text in which each byte that is not UTF-8 is a lone surrogate.
        return UsageProblem(f"{error.object!r}: got a name that is not UTF-8", "Rename the file, or use another name.")
    from noughts_bots.errors import BotError, BotFault
    from noughts_referee.clock import TimeControlError
    from noughts_referee.rules import PositionError, VariantError

    if isinstance(error, VariantError | TimeControlError | PositionError):
        return UsageProblem(str(error))
    if isinstance(error, BotError):
        # A fault shows when the bot plays: the command line was right.
        kind = Problem if isinstance(error, BotFault) else UsageProblem
        return kind(f"{error.subject}: got {error.got}, expected {error.expected}", _sentence(error.advice))
    return None


def _explain_server(error: BaseException) -> Problem | None:
    """What the server's parts raise when they run in this process."""
    if "noughts_server.errors" in sys.modules:
        from noughts_server.errors import BadDatabaseUrl, InvalidArgument, NoughtsError

        if isinstance(error, BadDatabaseUrl | InvalidArgument):
            return UsageProblem(str(error), error.hint)
        if isinstance(error, NoughtsError):
            return Problem(str(error), error.hint)
    if "noughts_server.leagues.problems" in sys.modules:
        from noughts_server.leagues.problems import LeagueProblem

        if isinstance(error, LeagueProblem):
            return Problem(error.message, error.hint)
    if "noughts_server.local.plan" in sys.modules:
        from noughts_server.local.plan import LocalError, SpecRefused

        if isinstance(error, SpecRefused):
            return UsageProblem(str(error))
        if isinstance(error, LocalError):
            return Problem(str(error))
    return None


def _explain_call(error: BaseException) -> Problem | None:
    """What comes over the network."""
    if "noughts_server.client.failures" in sys.modules:
        from noughts_server.client.failures import CallFailed

        if isinstance(error, CallFailed):
            if error.code.name == "INVALID_ARGUMENT":
                return UsageProblem(_in_options(error.message), error.hint)
            return Problem(*NO_TOKEN) if error.token_missing else Problem(error.message, error.hint)
    if "noughts_proto.security" in sys.modules:
        from noughts_proto.security import SecurityProblem

        if isinstance(error, SecurityProblem):
            return Problem(str(error), error.advice)
    if "noughts_bots.stream" in sys.modules:
        from noughts_bots.stream import BotRefused, NeverConnected

        if isinstance(error, NeverConnected):
            return Problem(
                str(error), "Check that the server runs at that address, or wait longer with --wait SECONDS."
            )
        if isinstance(error, BotRefused):
            from noughts_proto.error_details import error_info

            info = error_info(error.__cause__)
            hint = info.metadata.get("hint", "") if info else ""
            hint = hint or _REFUSAL_HINTS.get(error.code.name, "")
            return Problem(f"the server refused the bot: {error}", hint)
    if "noughts_server.launching.launcher" in sys.modules:
        from noughts_referee.children.sandbox import LockIncomplete

        if isinstance(error, LockIncomplete):
            return Problem(str(error))
    if "noughts_server.launching.relay" in sys.modules:
        from noughts_server.launching.relay import PlayerFailed, PlayerRefused

        if isinstance(error, PlayerRefused):
            return UsageProblem(str(error))
        if isinstance(error, PlayerFailed):
            return Problem(str(error))
    return None


NO_TOKEN = (
    "token: got none, expected one in NOUGHTS_TOKEN, --token-file or --token",
    "The server's operator makes it: noughts token create --owner NAME",
)
_REFUSAL_HINTS = {
    "UNAUTHENTICATED": "The server's operator makes tokens: noughts token create --owner NAME",
    "UNIMPLEMENTED": "Is that a Noughts server? Look at --server.",
}


_SAME = (
    "draw-after",
    "join-from",
    "join-until",
    "label",
    "openings",
    "rounds",
    "start-at",
    "time-class",
    "title",
    "variant",
)
_OPTIONS = {option.replace("-", "_"): f"--{option}" for option in _SAME} | {
    "name": "NAME", "anchors": "--anchor", "games_per_pair": "--games", "own_times": "--time-of", "scopes": "--scope",
}  # fmt: skip
"""The argument or option of each field of a request that users can set."""


def _in_options(message: str) -> str:
    """Return a server's message with the option in place of the request's field."""
    field, colon, rest = message.partition(": got ")
    return f"{_OPTIONS.get(field.rpartition('.')[2], field)}{colon}{rest}"


def _explain_system(error: BaseException) -> Problem | None:
    """Files and sockets."""
    if not isinstance(error, OSError) or error.errno == errno.EPIPE:
        return None  # a closed pipe ends the program without a word, as it should
    subject = f"{error.filename}: " if error.filename else ""
    return Problem(f"{subject}{error.strerror or error}")


def _sentence(text: str) -> str:
    end = "" if text.endswith((".", "?")) or not text else "."
    return f"{text[:1].upper()}{text[1:]}{end}"
