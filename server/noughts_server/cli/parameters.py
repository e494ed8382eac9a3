"""How commands declare their parameters: in annotations, for whatever reads the command line.

`Annotated[int, Option("--games", min=1, metavar="N", help="Games in all.")]`. The parameter's default is the option's.
"""

from dataclasses import dataclass
from enum import Enum


class Completes(Enum):
    """What a shell may offer for a parameter."""

    VARIANT = "variants that can be played"
    SPEC = "bots of this machine"
    BOT = "bots of the server"
    OPPONENT = "the same, as specs"
    TOURNAMENT = "tournaments of the server"
    SCHEDULE = "formats of tournaments"
    OPENINGS = "what games can begin with"


class Option:
    """`--name VALUE`; `--name` alone for a bool, `--name/--no-name` for one that can be switched off as well."""

    def __init__(
        self,
        *names: str,
        help: str,  # as it is called everywhere
        metavar: str | None = None,
        min: float | None = None,
        max: float | None = None,
        show_default: bool = True,
        panel: str | None = None,
        completes: Completes | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.min = min
        self.max = max
        self.show_default = show_default
        self.panel = panel
        """The heading under which the help shows it; None is with the others."""
        self.completes = completes


@dataclass(frozen=True, slots=True)
class Argument:
    """What is known by its place."""

    metavar: str
    help: str
    show_default: bool = True
    completes: Completes | None = None
