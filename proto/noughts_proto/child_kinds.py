"""The only list of the kinds of bots that the referee starts itself, as child players.

The parser of bot specs, the launchers and the hosts use it. To add a kind, add its row, and for a hosted kind also the
module `noughts_bots.hosts.NAME` with `load(target, options) -> Bot`. docs/reference/faults.md has a column for each
kind.
"""

from enum import StrEnum
from typing import Literal, NamedTuple


class ChildKind(NamedTuple):
    """How bots of one kind are started."""

    name: str
    """The word before the target in a spec: `py:./my_bot.py:MyBot`."""
    target: Literal["class", "file", "command"]
    """The form of the target: `FILE.py:CLASS`, `FILE.py` if it has one bot, `MODULE:CLASS` or a name from a package;
    a file; or a program and its arguments as in a shell, which can start other programs. The child can read files that
    the target names."""
    hosted: bool
    """Whether a Python process (`noughts_bots.hosts`) loads it. If not, the target itself is the program."""
    in_scratch: bool = False
    """Whether it runs in its own empty folder also without the sandbox. In the sandbox every kind does."""
    speaks_frames: bool = True
    """Whether its process writes frames. If not, it writes lines of another protocol."""
    keeps_clock: bool = False
    """Whether it is an engine that gets its limits, keeps its own clock and can use all of its time."""
    takes_fuel: bool = False
    """Whether fuel can limit its computation for a move."""
    options: tuple[str, ...] | None = None
    """The options that it knows; None: the loaded bot decides."""

    @property
    def starts_programs(self) -> bool:
        """Whether it is a program, which can start other programs."""
        return self.target == "command"


class Speech(StrEnum):
    """The way in which a program that is not a plugin communicates with the referee."""

    FRAMES = "frames"
    """On standard input and output, each message after its length."""
    JSON = "json"
    """On standard input and output as JSON, one message per line (option `frames=json`)."""
    STREAM = "stream"
    """On a stream that it opens itself (option `dial=true`)."""


VARIANTS = "variants"
"""The option of every hosted kind with the variants of the bot, separated by spaces. The bot itself does not get it."""

CHILD_KINDS = {
    kind.name: kind
    for kind in (
        ChildKind("py", "class", hosted=True),
        ChildKind("dll", "file", hosted=True),
        ChildKind("wasm", "file", hosted=True, takes_fuel=True),
        ChildKind("gomocup", "command", hosted=False, in_scratch=True, speaks_frames=False, keeps_clock=True),
        ChildKind("lines", "command", hosted=True, options=(VARIANTS,)),
        ChildKind("gtp", "command", hosted=True, keeps_clock=True, options=(VARIANTS, "analysis")),
        ChildKind("exec", "command", hosted=False, options=("dial", "frames")),
    )
}


NOT_LOADED = 1
"""The exit code of a host that cannot load what its spec names; the last line of its standard error says why."""


def child_kind(name: str) -> ChildKind:
    """Return the kind with this name. Raises ValueError."""
    if name not in CHILD_KINDS:
        raise ValueError(f"got kind {name!r}, expected one of {', '.join(CHILD_KINDS)}")
    return CHILD_KINDS[name]


def module_and_class(target: str) -> tuple[str, str]:
    """Split a target that is a class into module and class.

    The class is empty for a file without a class, and the module is empty for the name of a package's bot.
    """
    if target.endswith(".py"):
        return target, ""
    where, _, name = target.rpartition(":")
    return where, name
