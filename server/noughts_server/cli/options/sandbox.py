"""Options of every command that starts programs and plugins: their sandbox, processes and memory."""

from dataclasses import dataclass
from typing import Annotated

from typer import Option

from noughts_bots.gomocup.options import read_size
from noughts_referee.children.child_settings import ChildSettings
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.times import Seconds, seconds_option
from noughts_server.launching.launcher import SandboxMode

START_SECONDS = Seconds(ChildSettings().start)
"""The usual `--start-timeout`."""
StartTimeoutOption = Annotated[
    float,
    seconds_option(
        "--start-timeout",
        least=0.1,
        most=3600,
        help="Time limit for a program or plugin to start",
        rich_help_panel="Players",
    ),
]
ProcessesOption = Annotated[
    int,
    Option(
        "--processes",
        metavar="K",
        min=0,
        max=1024,
        show_default=False,
        help="Processes per program or plugin. Default: 1 per game, at most 1 per core",
        rich_help_panel="Players",
    ),
]
AffinityOption = Annotated[
    bool | None,
    Option(
        "--affinity/--no-affinity",
        show_default=False,
        help="Pin each sandboxed process to a core, or pin none. Default: one core per game",
        rich_help_panel="Players",
    ),
]


def read_memory(text: str, option: str = "--memory") -> int:
    """Return the bytes of `512` (MiB) or `2g`; 0 for an empty text."""
    try:
        return read_size(text) if text else 0
    except ValueError:
        raise UsageProblem(f"{option} {text!r}: expected a size such as `512` (MiB) or `2g`") from None


@dataclass(frozen=True)
class SandboxOptions:
    """The options that require, permit or turn off the sandbox of programs and plugins."""

    require_lock: Annotated[
        bool,
        Option(
            "--require-lock",
            help="Refuse to play unless this machine supports the complete sandbox",
            rich_help_panel="Players",
        ),
    ] = False
    no_lock: Annotated[
        bool,
        Option(
            "--no-lock",
            help="Run programs and plugins without a sandbox, with your own permissions",
            rich_help_panel="Players",
        ),
    ] = False

    @property
    def sandbox_mode(self) -> SandboxMode:
        """Return how child players are sandboxed. Raises UsageProblem for both options at once."""
        if self.require_lock and self.no_lock:
            raise UsageProblem("--require-lock: got --no-lock as well, expected one of the two")
        if self.require_lock:
            return SandboxMode.REQUIRED
        return SandboxMode.OFF if self.no_lock else SandboxMode.USUAL


MemoryOption = Annotated[
    str,
    Option(
        "--memory",
        metavar="SIZE",
        help="Memory limit of each sandboxed process: MiB (`512`) or `2g`",
        rich_help_panel="Players",
    ),
]
