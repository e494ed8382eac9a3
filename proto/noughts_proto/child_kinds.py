"""The kinds of bots that the referee starts itself, as child players: the only list of them.

Bot specs are read by it, launchers start by it, hosts load by it. To add a kind, add its row; if it is hosted, also
the module `noughts_bots.hosts.NAME` with `load(target, options) -> Bot`. docs/reference/faults.md has a column for
each.
"""

from enum import StrEnum
from typing import Literal, NamedTuple


class ChildKind(NamedTuple):
    """The start of bots of one kind."""

    name: str
    """The word before the target in a spec: `py:./my_bot.py:MyBot`."""
    target: Literal["class", "file", "command"]
    """The form of the target: `FILE.py:CLASS`, `FILE.py` if it has one bot, `MODULE:CLASS` or a name from a package;
    a file; or a program and its arguments as in a shell, which may start other programs. Files that it names may be
    read by the child."""
    hosted: bool
    """Whether a Python process of ours loads it, by `noughts_bots.hosts`; else the target itself speaks frames."""
    in_scratch: bool = False
    """Whether its working folder is an empty one of its own, with or without a lock; else it is so behind the lock."""
    speaks_frames: bool = True
    """Whether frames come out of its process; else it speaks lines of its own."""
    keeps_clock: bool = False
    """Whether it is an engine that gets its limits and keeps its own clock, up to the last millisecond."""
    takes_fuel: bool = False
    """Whether fuel can limit what it computes for a move."""
    options: tuple[str, ...] | None = None
    """The options that it knows; None: whatever is loaded knows them."""

    @property
    def starts_programs(self) -> bool:
        """Whether it is a program, which may start others."""
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
"""The option of every hosted kind that names the variants of its bot, separated by spaces: not the bot's own option."""

CHILD_KINDS = {
    kind.name: kind
    for kind in (
        ChildKind("py", "class", hosted=True),
        ChildKind("dll", "file", hosted=True),
        ChildKind("wasm", "file", hosted=True, takes_fuel=True),
        ChildKind("gomocup", "command", hosted=False, in_scratch=True, speaks_frames=False, keeps_clock=True),
        ChildKind("lines", "command", hosted=True, options=(VARIANTS,)),
        ChildKind("gtp", "command", hosted=True, keeps_clock=True, options=(VARIANTS,)),
        ChildKind("exec", "command", hosted=False, options=("dial", "frames")),
    )
}


NOT_LOADED = 1
"""The exit code of a host that cannot load what its spec names; the last line of its standard error says why."""


def child_kind(name: str) -> ChildKind:
    """The kind of that name. Raises ValueError."""
    if name not in CHILD_KINDS:
        raise ValueError(f"got kind {name!r}, expected one of {', '.join(CHILD_KINDS)}")
    return CHILD_KINDS[name]


def module_and_class(target: str) -> tuple[str, str]:
    """Split a target that is a class; the class is empty if only a file is named, the module of a package's bot."""
    if target.endswith(".py"):
        return target, ""
    where, _, name = target.rpartition(":")
    return where, name
