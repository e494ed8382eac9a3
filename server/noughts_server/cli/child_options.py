"""How programs and plugins are run: options of every command that starts some."""

from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_bots.gomocup.options import read_size
from noughts_referee.children.child_settings import ChildSettings
from noughts_server.cli.errors import UsageProblem
from noughts_server.launching.launcher import Locking

START_SECONDS = ChildSettings().start
"""The usual `--start-timeout`."""
RequireLockOption = Annotated[
    bool,
    Option(
        "--require-lock", help="Play nothing unless programs and plugins can be locked in completely on this machine."
    ),
]
NoLockOption = Annotated[
    bool, Option("--no-lock", help="Run programs and plugins without the lock: they may do whatever you may.")
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
    bool, Option("--affinity", help="Give each process of a program or plugin a core of its own, in turn.")
]
MemoryOption = Annotated[
    str,
    Option(
        "--memory",
        metavar="SIZE",
        help="Memory of each process of a program or plugin behind the lock: MiB as in `512`, or `2g`.",
    ),
]
LogOption = Annotated[
    Path | None,
    Option("--log", metavar="DIR", help="All that Gomocup engines are told and say, with times: a file for each game."),
]
MessagesOption = Annotated[
    Path | None,
    Option(
        "--messages",
        metavar="FILE",
        help="What Gomocup engines say besides moves, a line (JSON) each: game, ply, bot, line.",
    ),
]


def read_memory(text: str, option: str = "--memory") -> int:
    """Bytes from `512` (MiB) or `2g`; 0 for an empty text."""
    try:
        return read_size(text) if text else 0
    except ValueError:
        raise UsageProblem(f"{option} {text!r}: expected MiB as in `512`, or `2g`") from None


def read_locking(*, require_lock: bool, no_lock: bool) -> Locking:
    """What is asked of the lock of child players. Raises UsageProblem for both at once."""
    if require_lock and no_lock:
        raise UsageProblem("--require-lock: got --no-lock beside it, expected one of the two")
    return Locking.REQUIRED if require_lock else Locking.OFF if no_lock else Locking.USUAL
