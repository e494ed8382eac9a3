"""Options that several commands share, and how their texts are read."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from noughts_proto.transport import SERVER_VARIABLE, TOKEN_VARIABLE
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.output import Format, warn
from noughts_server.cli.parameters import Completes, Option

if TYPE_CHECKING:
    from noughts_bots.specs import BotSpec
    from noughts_proto.security import Dialling
    from noughts_referee.clock import TimeControl
    from noughts_referee.rules import Variant
    from noughts_server.competition.schedule import ScheduleKind
    from noughts_server.local.launcher import Locking

DEFAULT_ADDRESS = "127.0.0.1:7450"
LARGEST_SEED = (1 << 64) - 1
_LONGEST_MARGIN_SECONDS = 60


class LogLevel(StrEnum):
    """What is worth a line."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How a record is written."""

    AUTO = "auto"
    CONSOLE = "console"
    LOGFMT = "logfmt"
    JSON = "json"


FormatOption = Annotated[Format, Option("--format", help="`text` for people, `json` for programs.", show_default=True)]
VariantOption = Annotated[
    str,
    Option(
        "--variant",
        metavar="V",
        help="`noughts variants` lists them; `mnk:M,N,K` is columns, rows, in a row.",
        completes=Completes.VARIANT,
    ),
]
OpeningOption = Annotated[
    str | None,
    Option(
        "--opening-rule",
        metavar="RULE",
        help="`pro`: X begins in the middle and goes on at least 3 cells away; `long-pro`: 4. `swap`: one puts three "
        "stones, the other takes a side; `swap2`: or puts two more.",
        show_default=False,
    ),
]
TimeOption = Annotated[
    str,
    Option(
        "--time",
        metavar="T",
        help="`none`, `60+0.5` (bank + increment, seconds), `1/move`, or both: `180/30+0` (180 s, at most 30 a move).",
    ),
]
TimeOfOption = Annotated[
    list[str] | None,
    Option(
        "--time-of",
        metavar="LABEL=T",
        help="Instead of --time for one bot, by its name in the results: `Slow=5/move`. May be given several times.",
        show_default=False,
    ),
]
ConcurrencyOption = Annotated[
    int, Option("--concurrency", min=1, max=65_536, metavar="C", help="Games in flight at most.")
]
TimeOfTwoOption = Annotated[
    list[str] | None,
    Option(
        "--time-of",
        metavar="NAME=T",
        help="Instead of --time for one of the two: `you=60+1`, or by the bot's name. May be given twice.",
        show_default=False,
    ),
]
SeedOption = Annotated[
    int | None,
    Option(
        "--seed",
        metavar="S",
        help="All chance comes from it: same seed, same games. Drawn and reported if absent.",
        show_default=False,
    ),
]
MarginOption = Annotated[
    str,
    Option("--margin", metavar="TIME", help="What a move may overstep its limit for transport: `50ms` or seconds."),
]
MarginOfOption = Annotated[
    list[str] | None,
    Option(
        "--margin-of",
        metavar="LABEL=TIME",
        help="Instead of --margin for one bot, e.g. `Slow=200ms`; may be given several times.",
        show_default=False,
    ),
]
RequireLockOption = Annotated[
    bool,
    Option(
        "--require-lock",
        help="Play nothing unless programs and plugins can be locked in completely on this machine.",
    ),
]
NoLockOption = Annotated[
    bool,
    Option("--no-lock", help="Run programs and plugins without the lock: they may do whatever you may."),
]
StartTimeoutOption = Annotated[
    float,
    Option(
        "--start-timeout",
        min=0.1,
        max=3600.0,
        metavar="SECONDS",
        help="How long a program or plugin may take to say hello; one that fails three times plays no more.",
    ),
]
ProcessesOption = Annotated[
    int,
    Option(
        "--processes",
        min=0,
        max=1024,
        metavar="K",
        help="Processes of each program or plugin. Else an engine has one for each game, but not more than cores.",
        show_default=False,
    ),
]
AffinityOption = Annotated[
    bool,
    Option("--affinity", help="Give each process of a program or plugin a core of its own, in turn."),
]
MemoryOption = Annotated[
    str,
    Option(
        "--memory",
        metavar="SIZE",
        help="Memory of each process of a program or plugin behind the lock: MiB as in `512`, or `2g`.",
        show_default=False,
    ),
]
MemoryTotalOption = Annotated[
    str,
    Option(
        "--memory-total",
        metavar="SIZE",
        help="Memory of all programs and plugins together behind the lock; else three quarters of this machine's.",
        show_default=False,
    ),
]
LogOption = Annotated[
    Path | None,
    Option(
        "--log",
        metavar="DIR",
        help="All that Gomocup engines are told and say, with times: a file for each game.",
        show_default=False,
    ),
]
MessagesOption = Annotated[
    Path | None,
    Option(
        "--messages",
        metavar="FILE",
        help="What Gomocup engines say besides moves, a line (JSON) each: game, ply, bot, line.",
        show_default=False,
    ),
]
DatabaseOption = Annotated[
    str | None,
    Option("--db", metavar="URL", help="Database: a file, or an SQLAlchemy URL.", show_default=False),
]
ResumeOption = Annotated[
    bool,
    Option("--resume", help="Goes on with the newest such run in --db; more --games or bots are added."),
]
ServerOption = Annotated[
    str | None,
    Option(
        "--server",
        metavar="HOST:PORT",
        help=f"The server; else from {SERVER_VARIABLE}, else {DEFAULT_ADDRESS}.",
        show_default=False,
    ),
]
TokenOption = Annotated[
    str | None,
    Option(
        "--token",
        metavar="TOKEN",
        help=f"Your token. Better in {TOKEN_VARIABLE} or a file: others can see it here.",
        show_default=False,
    ),
]
TokenFileOption = Annotated[
    Path | None,
    Option("--token-file", metavar="FILE", help="A file that holds the token.", show_default=False),
]
_SECURITY_PANEL = "Encryption"
TlsOption = Annotated[bool, Option("--tls", help="Encrypt; trust what the system trusts.", panel=_SECURITY_PANEL)]
CaOption = Annotated[
    Path | None,
    Option(
        "--tls-ca",
        metavar="FILE",
        help="Encrypt; trust the authorities in this file (PEM). Else from NOUGHTS_TLS_CA.",
        show_default=False,
        panel=_SECURITY_PANEL,
    ),
]
InsecureOption = Annotated[
    bool,
    Option(
        "--insecure",
        help="Send the token to another machine in plaintext: it can be read on the way.",
        panel=_SECURITY_PANEL,
    ),
]
LimitOption = Annotated[int, Option("--limit", min=1, metavar="N", help="Show at most so many.")]
GamesFileOption = Annotated[
    Path | None,
    Option("-o", "--output", metavar="FILE", help="Write a game a line (JSON), in slot order.", show_default=False),
]
TimesOption = Annotated[
    bool, Option("--times", help="With -o: add each move's thinking time (differs from run to run).")
]

EveryOption = Annotated[
    int | None,
    Option(
        "--every",
        min=1,
        metavar="N",
        help="Where there is no terminal: the score on stderr every N games, a line each.",
        show_default=False,
    ),
]
ScheduleOption = Annotated[
    str,
    Option(
        "--schedule",
        metavar="KIND",
        help="`round-robin`, `gauntlet` (the first against all), `swiss`, `knockout`, or `ladder` (until stopped).",
        completes=Completes.SCHEDULE,
    ),
]
RoundsOption = Annotated[
    int | None,
    Option(
        "--rounds",
        min=1,
        max=4_096,
        metavar="N",
        help="Rounds of a `swiss`; else log2 of the bots, rounded up.",
        show_default=False,
    ),
]
StopWhenDecidedOption = Annotated[
    bool, Option("--stop-when-decided", help="A `knockout`'s match ends as soon as nobody can catch up.")
]
DrawAfterOption = Annotated[
    int | None,
    Option(
        "--draw-after",
        min=1,
        max=100_000,
        metavar="PLIES",
        help="A game of so many plies is a draw, `adjudicated`.",
        show_default=False,
    ),
]
ForfeitAfterOption = Annotated[
    int | None,
    Option(
        "--forfeit-after",
        min=1,
        metavar="N",
        help="Who has lost N games by crashes, illegal or late moves is withdrawn.",
        show_default=False,
    ),
]
DryRunOption = Annotated[
    bool, Option("--dry-run", help="Say how many games that is, and about how long they take; play none of them.")
]
FitOption = Annotated[
    bool,
    Option("--fit", help="Also ratings from all games at once, with 95 % errors and what moving first is worth."),
]
FatalOption = Annotated[
    bool,
    Option(
        "--fatal",
        help="The first crash, illegal move, loss on time or disconnection ends the run: exit code 1.",
    ),
]


def read_variant(text: str, opening: str | None = None) -> "Variant":
    """The variant of that name, with that rule for the opening. Raises UsageProblem."""
    from noughts_referee.rules import OPENING_RULES, VariantError, parse_variant

    if opening is not None and opening not in OPENING_RULES:
        raise UsageProblem(f"--opening-rule {opening!r}: expected {' or '.join(f'`{rule}`' for rule in OPENING_RULES)}")
    try:
        return parse_variant(text if opening is None else f"{text}+{opening}")
    except VariantError as error:
        raise UsageProblem(f"--variant {error.got!r}: expected {error.expected}") from error


def read_schedule(text: str) -> "ScheduleKind":
    """How pairings are made, e.g. `round-robin`. Raises UsageProblem."""
    from noughts_server.competition.schedule import ScheduleKind

    kinds = {str(kind): kind for kind in ScheduleKind}
    if text not in kinds:
        raise UsageProblem(f"--schedule {text!r}: expected {' or '.join(f'`{name}`' for name in kinds)}")
    return kinds[text]


def check_format(kind: "ScheduleKind", games: int, *, rounds: int | None, stop_when_decided: bool) -> None:
    """Raises UsageProblem for options that the format of a tournament has no use for."""
    from noughts_server.competition.schedule import ScheduleKind

    if rounds is not None and kind is not ScheduleKind.SWISS:
        raise UsageProblem(
            f"--rounds {rounds}: got --schedule {kind}, expected `swiss`, which alone has rounds to choose"
        )
    if stop_when_decided and kind is not ScheduleKind.KNOCKOUT:
        raise UsageProblem(f"--stop-when-decided: got --schedule {kind}, expected `knockout`")
    if kind.follows_results and games % 2:
        raise UsageProblem(f"--games {games}: expected an even number: in a {kind} both bots begin equally often")


def read_time(text: str, option: str = "--time") -> "TimeControl":
    """The time control written as `text`."""
    from noughts_referee.clock import TimeControlError, parse_time_control

    try:
        return parse_time_control(text)
    except TimeControlError as error:
        raise UsageProblem(f"{option} {error.got!r}: expected {error.expected}") from error


def read_times_of(texts: list[str] | None, labels: Sequence[str] | None = None) -> "dict[str, TimeControl]":
    """The times written as `LABEL=T`, by label; `labels` are those there are, None if that is not known yet."""
    own = _by_label(texts, "--time-of", "T", labels)
    return {label: read_time(text, f"--time-of {label}") for label, text in own.items()}


def read_times_of_two(texts: list[str] | None, own: str, opponent: str) -> "dict[str, TimeControl]":
    """The same of the two bots of a challenge, by name; `you` means one's own."""
    times = read_times_of(texts, ("you", own, opponent))
    return {own if name == "you" else name: time for name, time in times.items()}


def read_margins_of(texts: list[str] | None, labels: Sequence[str]) -> dict[str, int]:
    """The margins written as `LABEL=TIME`, in microseconds, by label; `labels` are those there are."""
    own = _by_label(texts, "--margin-of", "TIME", labels)
    return {label: read_margin(text, f"--margin-of {label}") for label, text in own.items()}


def _by_label(texts: list[str] | None, option: str, value: str, labels: Sequence[str] | None) -> dict[str, str]:
    """The values of an option that is given for single bots. Raises UsageProblem, also for a bot that is not there."""
    own: dict[str, str] = {}
    for text in texts or ():
        # Labels may have a `=` of their own (`nextstep:depth=3`), values have none.
        label, _, own_value = text.rpartition("=")
        if not label:
            raise UsageProblem(f"{option} {text!r}: expected LABEL={value}, the name of a bot and what holds for it")
        if labels is not None and label not in labels:
            raise UsageProblem(
                f"{option} {text!r}: got no bot called {label!r}, expected one of {', '.join(labels)}",
                "LABEL=SPEC gives a bot a name.",
            )
        if label in own:
            raise UsageProblem(f"{option} {text!r}: got {label!r} twice, expected each bot once")
        own[label] = own_value
    return own


def read_database(text: str | None) -> str | None:
    """The address of the database; that of an SQLite file where the text is only a path."""
    if text is None or "://" in text:
        return text
    if not text.strip():
        raise UsageProblem("--db: got nothing, expected a file or an SQLAlchemy URL")
    return f"sqlite:///{Path(text).absolute()}"


def read_specs(texts: list[str]) -> "tuple[BotSpec, ...]":
    """The bots written as `texts`; they can differ from what a variant allows, which shows when they are made."""
    from noughts_bots.specs import parse_spec

    return tuple(parse_spec(text) for text in texts)


def read_margin(text: str, option: str = "--margin") -> int:
    """Microseconds from `50ms`, `0.05s` or `0.05`."""
    stripped = text.strip().lower()
    scale = 1_000
    if not stripped.endswith("ms"):
        scale = 1_000_000
    number = stripped.removesuffix("ms").removesuffix("s")
    try:
        microseconds = round(float(number) * scale)
    except (ValueError, OverflowError):
        microseconds = -1
    if not 0 <= microseconds <= _LONGEST_MARGIN_SECONDS * 1_000_000:
        raise UsageProblem(
            f"{option} {text!r}: expected milliseconds as in `50ms` or seconds as in `0.05`,"
            f" at most {_LONGEST_MARGIN_SECONDS} s"
        )
    return microseconds


def read_memory(text: str, option: str = "--memory") -> int:
    """Bytes from `512` (MiB) or `2g`; 0 for an empty text."""
    from noughts_bots.gomocup.options import read_size

    try:
        return read_size(text) if text else 0
    except ValueError:
        raise UsageProblem(f"{option} {text!r}: expected MiB as in `512`, or `2g`") from None


def read_locking(*, require_lock: bool, no_lock: bool) -> "Locking":
    """What is asked of the lock of child players. Raises UsageProblem for both at once."""
    from noughts_server.local.launcher import Locking

    if require_lock and no_lock:
        raise UsageProblem("--require-lock: got --no-lock beside it, expected one of the two")
    return Locking.REQUIRED if require_lock else Locking.OFF if no_lock else Locking.USUAL


def read_seed(seed: int | None, *, secret: bool = False) -> int:
    """The seed, or one drawn now: short enough to be typed again, or with `secret` so long that nobody finds it."""
    if seed is None:
        return secrets.randbits(64 if secret else 32)
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageProblem(f"--seed {seed}: expected 0 to {LARGEST_SEED}")
    return seed


def read_address(text: str, option: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`; an IPv6 address stands in brackets."""
    host, _, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    plain = bool(host) and not set(host) & set("[]/: @")
    if not (bracketed or plain) or not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise UsageProblem(f"{option} {text!r}: expected HOST:PORT, e.g. {DEFAULT_ADDRESS}", _address_hint(text))
    return host.strip("[]"), int(port)


def _address_hint(text: str) -> str:
    return "Leave out the scheme: it is gRPC." if "//" in text else ""


def read_server(server: str | None) -> str:
    """The address to call: the option's, the environment's or the default."""
    option = "--server"
    if server is None:
        server, option = os.environ.get(SERVER_VARIABLE) or DEFAULT_ADDRESS, SERVER_VARIABLE
    read_address(server, option)
    return server


@dataclass(frozen=True, slots=True)
class Encryption:
    """How a connection is protected: options of every command that calls a server."""

    tls: TlsOption = False
    tls_ca: CaOption = None
    insecure: InsecureOption = False


_encryption: ContextVar[Encryption] = ContextVar("encryption", default=Encryption())  # noqa: B039  # immutable


@contextmanager
def encryption(chosen: Encryption) -> Iterator[None]:
    """What `dialling` goes by inside the `with` block: every command that calls a server runs in one."""
    token = _encryption.set(chosen)
    try:
        yield
    finally:
        _encryption.reset(token)


def dialling(address: str, token: str) -> "Dialling":
    """How to connect to the server by the options; a token that could be read on the way is a SecurityProblem."""
    from noughts_proto.security import dialling_from_environment

    asked = _encryption.get()
    chosen = dialling_from_environment(tls=asked.tls, ca=asked.tls_ca, insecure=asked.insecure)
    chosen.check(address, token)
    return chosen


def read_token(token: str | None, token_file: Path | None) -> str:
    """The token to call with; empty when none is given."""
    if token is not None:
        warn(f"the token is visible to others in the process list; set {TOKEN_VARIABLE} or use --token-file.")
        return _checked_token(token, "--token")
    if token_file is not None:
        return _checked_token(_first_line(token_file), f"--token-file {token_file}")
    return _checked_token(os.environ.get(TOKEN_VARIABLE, ""), TOKEN_VARIABLE, empty=True)


def require_token(token: str | None, token_file: Path | None) -> str:
    """The token to play with, which must be given."""
    secret = read_token(token, token_file)
    if not secret:
        raise no_token()
    return secret


def no_token() -> UsageProblem:
    """What to say where a token is needed and none was given."""
    return UsageProblem(
        f"token: got none, expected one in {TOKEN_VARIABLE}, --token-file or --token",
        "The server's operator makes it: noughts token create --owner NAME",
    )


def _first_line(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").partition("\n")[0]
    except UnicodeDecodeError:
        return ""
    except OSError as error:
        raise UsageProblem(f"--token-file {file}: {error.strerror}") from error


def _checked_token(token: str, source: str, *, empty: bool = False) -> str:
    # The token itself is never shown, not even a wrong one.
    token = token.strip()
    if not (token.isascii() and token.isprintable() and " " not in token) or not (token or empty):
        raise UsageProblem(f"{source}: expected a token, one line as `noughts token create` prints it")
    return token
