"""What goes wrong on the command line: one clear message on stderr and an exit code.

A traceback is for faults of this program only.

Errors of the other packages are raised as they are; `explain` knows them all and puts them into words.
"""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Self

from noughts_server.cli.texts import sections

FAILED = 1
USAGE = 2
INTERRUPTED = 130

_BROUGHT_BY = {
    "server": (
        "sqlalchemy", "alembic", "grpc_health", "grpc_reflection", "platformdirs", "prometheus_client", "structlog",
    ),
    "play": ("textual",),
    "charts": ("jinja2", "pygal"),
    "web": ("starlette", "uvicorn"),
    "cluster": ("nats", "psycopg"),
    "wasm": ("wasmtime",),
    "llm": ("openai",),
    "mcp": ("mcp",),
    "parquet": ("pyarrow",),
}  # fmt: skip
"""The packages that each of our extras brings; the first one tells whether it is there."""
NO_TOKEN = (
    "token: got none, expected one in NOUGHTS_TOKEN, --token-file or --token",
    "The server's operator can create one: noughts token create --owner NAME",
)
_REFUSAL_HINTS = {
    "UNAUTHENTICATED": "The server's operator creates tokens: noughts token create --owner NAME",
    "UNIMPLEMENTED": "Is that a Noughts server? Check --server.",
}
_OPTIONS = {
    "name": "NAME", "anchors": "--anchor", "draw_after": "--draw-after", "games_per_pair": "--games",
    "join_from": "--join-from", "join_until": "--join-until", "label": "--label", "openings": "--openings",
    "own_times": "--time-of", "rounds": "--rounds", "scopes": "--scope", "start_at": "--start-at", "sprt": "--sprt",
    "new_version": "NEW", "base_version": "BASE",
    "time_class": "--time-class", "title": "--title", "variant": "--variant",
}  # fmt: skip
"""The argument or option of each field of a request that users can set."""


class Problem(Exception):
    """Something to tell the user: what is wrong, and what to do next."""

    exit_code = FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @classmethod
    def of(cls, name: str, /, **values: object) -> Self:
        """Return the problem of this name in `problems.txt`: a line with the message, and one with the hint."""
        message, _, hint = sections("problems.txt")[name].partition("\n")
        return cls(message.format(**values), hint.format(**values))


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


@contextmanager
def problems_with(
    subject: str, *kinds: type[Exception], raises: type[Problem] = UsageProblem, expected: str = "", hint: str = ""
) -> Iterator[None]:
    """Raise a problem with the subject, e.g. an option, for an error of these kinds in the `with` block."""
    try:
        yield
    except kinds as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise raises(f"{subject}: {why}{expected and f', expected {expected}'}", hint) from error


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
    return _explain_system(error) or _explain_call(error) or _explain_known(error)


def require_extra(line: str, extra: str) -> None:
    """Raises a Problem if the extra that the command on this line needs is not installed."""
    if not has_extra(extra):
        raise _missing(line, _BROUGHT_BY[extra][0], extra)


def has_extra(extra: str) -> bool:
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
    return Problem(f"{line}: package {package} is missing; it comes with noughts[{extra}]", hint)


_KNOWN: dict[str, type[Problem]] = {
    "noughts_bots.errors.BotError": UsageProblem,
    "noughts_bots.errors.BotFault": Problem,  # it shows when the bot plays: the command line was right
    "noughts_proto.security.SecurityProblem": Problem,
    "noughts_referee.children.sandbox.LockIncomplete": Problem,
    "noughts_referee.clock.TimeControlError": UsageProblem,
    "noughts_referee.rules.position.PositionError": UsageProblem,
    "noughts_referee.rules.variant.VariantError": UsageProblem,
    "noughts_server.errors.BadDatabaseUrl": UsageProblem,
    "noughts_server.errors.InvalidArgument": UsageProblem,
    "noughts_server.errors.NoughtsError": Problem,
    "noughts_server.launching.relay.PlayerFailed": Problem,
    "noughts_server.launching.relay.PlayerRefused": UsageProblem,
    "noughts_server.leagues.course.LeagueProblem": Problem,
    "noughts_server.local.plan.LocalError": Problem,
    "noughts_server.local.plan.SpecRefused": UsageProblem,
    "noughts_server.records.formats.FormatError": UsageProblem,
}
"""How to report errors that need no other text, by qualified name, so that nothing is imported for it.

An entry also covers subclasses.
"""


def _explain_known(error: BaseException) -> Problem | None:
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    kind = next((_KNOWN[name] for name in names if name in _KNOWN), None)
    if kind is None:
        return None
    advice = getattr(error, "advice", "")
    return kind(str(error).removesuffix(f"; {advice}"), getattr(error, "hint", "") or _sentence(advice))


def _explain_call(error: BaseException) -> Problem | None:
    """What comes over the network. An error can only be of a module that is loaded, so none is loaded for this."""
    if "noughts_server.client.failures" in sys.modules:
        from noughts_server.client.failures import CallFailed

        if isinstance(error, CallFailed):
            if error.code.name == "INVALID_ARGUMENT":
                return UsageProblem(_in_options(error.message), error.hint)
            return Problem(*NO_TOKEN) if error.token_missing else Problem(error.message, error.hint)
    if "noughts_bots.stream" in sys.modules:
        from noughts_bots.stream import BotRefused, NeverConnected

        if isinstance(error, NeverConnected):
            return Problem(
                str(error), "Check that the server is running at that address, or wait longer: --connect-timeout 5m."
            )
        if isinstance(error, BotRefused):
            from noughts_proto.error_details import error_info

            info = error_info(error.__cause__)
            hint = info.metadata.get("hint", "") if info else ""
            hint = hint or _REFUSAL_HINTS.get(error.code.name, "")
            return Problem(f"the server refused the bot: {error}", hint)
    return None


def _in_options(message: str) -> str:
    """Return a server's message with the option in place of the request's field."""
    field, colon, rest = message.partition(": got ")
    return f"{_OPTIONS.get(field.rpartition('.')[2], field)}{colon}{rest}"


def _explain_system(error: BaseException) -> Problem | None:
    """Files, sockets, and names of files."""
    if isinstance(error, UnicodeEncodeError):
        # Arguments come as text in which each byte that is not UTF-8 is a lone surrogate.
        return UsageProblem(f"{error.object!r}: got a name that is not UTF-8", "Rename the file, or use another name.")
    if not isinstance(error, OSError) or error.errno == errno.EPIPE:
        return None  # a closed pipe ends the program without a word, as it should
    subject = f"{error.filename}: " if error.filename else ""
    return Problem(f"{subject}{error.strerror or error}")


def _sentence(text: str) -> str:
    end = "" if text.endswith((".", "?")) or not text else "."
    return f"{text[:1].upper()}{text[1:]}{end}"
