"""The reference bots by name: the one table for specs, help texts and lists."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from noughts_bots.reference.caching_bot import CachingBot


@dataclass(frozen=True, slots=True)
class Option:
    """An option after a reference bot's name: `name=value`."""

    name: str
    expected: str
    """The allowed values in words, e.g. `1..9`."""
    read: Callable[[str], Any]
    """Parses the text of a value. Raises ValueError or KeyError for an invalid text."""
    required: bool = False
    """Whether there is no default."""


@dataclass(frozen=True, slots=True)
class ReferenceBot:
    name: str
    place: str
    """Its class as `MODULE:CLASS` in `noughts_bots.reference`, imported when such a bot is created."""
    description: str
    options: tuple[Option, ...] = ()
    """They are passed to the class by name."""

    @property
    def bot(self) -> "type[CachingBot]":
        module, _, name = self.place.partition(":")
        return cast("type[CachingBot]", getattr(import_module(f"noughts_bots.reference.{module}"), name))

    @property
    def syntax(self) -> str:
        """The form of its spec, e.g. `pascal[:level=0..1]`."""
        needed, free = (
            ",".join(f"{option.name}={option.expected}" for option in self.options if option.required is required)
            for required in (True, False)
        )
        if needed:
            return f"{self.name}:{needed}[,{free}]" if free else f"{self.name}:{needed}"
        return f"{self.name}[:{free}]" if free else self.name


def _whole_number(name: str, allowed: range) -> Option:
    expected = f"{allowed[0]}..{allowed[-1]}"

    def read(text: str) -> int:
        number = int(text)
        if number not in allowed:
            raise ValueError(f"{number} is not one of {expected}")
        return number

    return Option(name, expected, read)


def _yes_or_no(name: str) -> Option:
    return Option(name, "true|false", {"true": True, "false": False}.__getitem__)


_DEPTHS = range(1, 10)
_FILE = Option("file", "FILE", lambda text: Path(text).expanduser(), required=True)

_TABLE = (
    ReferenceBot("random", "random_:Random", "a random free cell"),
    ReferenceBot("first-free", "first_free:FirstFree", "the lowest free cell"),
    ReferenceBot(
        "three-stage",
        "three_stage:ThreeStage",
        "wins if it can, otherwise blocks, otherwise takes the lowest free cell",
    ),
    ReferenceBot(
        "coursework",
        "coursework:Coursework",
        "a random cell, but not the last one (level 1); before that the centre, a win or a block (level 2, default)",
        (_whole_number("level", range(1, 3)),),
    ),
    ReferenceBot(
        "pascal",
        "pascal:Pascal",
        "rates cells as a person would; random, weighted by rating (level 0) or among the best (level 1, default)",
        (_whole_number("level", range(2)),),
    ),
    ReferenceBot(
        "nextstep",
        "nextstep:NextStep",
        "looks `depth` plies ahead (default: 9 on 3x3, less on larger boards); random among the best",
        (_whole_number("depth", _DEPTHS),),
    ),
    ReferenceBot(
        "minimax",
        "minimax:Minimax",
        "searches to the end, or `depth` plies; takes the first best cell; prefers fast wins only with faster=true",
        (_yes_or_no("faster"), _whole_number("depth", _DEPTHS)),
    ),
    ReferenceBot(
        "fives",
        "fives:Fives",
        "adds up what each run of k cells open to one side gives to its free cells; random among the best",
    ),
    ReferenceBot(
        "table",
        "table:Table",
        "ratings from a file (`noughts bot table build`): random by rating (level 0) or among the best (level 1)",
        (_FILE, _whole_number("level", range(2))),
    ),
    ReferenceBot(
        "learner",
        "learner:Learner",
        "a table that `noughts bot learn` has trained; random among the best; learns further only if learn=true",
        (_FILE, _yes_or_no("learn")),
    ),
    ReferenceBot(
        "threats",
        "threats.bot:ThreatsBot",
        "searches threats and moves as long as its clock allows (without one: 4,000 positions per move)",
        (_whole_number("nodes", range(1, 10_000_001)),),
    ),
)

REFERENCE_BOTS = {row.name: row for row in _TABLE}
