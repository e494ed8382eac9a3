"""The table of the bots that come with Noughts, for specs, help texts and lists."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from noughts_bots.sdk.built_in_bot import BuiltInBot

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True)
class Option:
    """An option in the spec of a built-in bot: `name=value`."""

    name: str
    expected: str
    """The allowed values in words, e.g. `1..9`."""
    read: Callable[[str], Any]
    """Parses the text of a value. Raises ValueError or KeyError for an invalid text."""
    required: bool = False
    """Whether there is no default."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A kind of bot that comes with Noughts."""

    name: str
    class_path: str
    """Its class as `MODULE:CLASS`, relative to `noughts_bots.reference`. Only `bot` imports it."""
    description: str
    options: tuple[Option, ...] = ()
    """The options of its specs. The class gets the values as keyword arguments."""
    label_option: str = ""
    """If its specs have the form `NAME{key=value}:`, the option whose value is the default label; otherwise empty."""

    @property
    def bot(self) -> "type[BuiltInBot]":
        """Return the class, and import its module."""
        return cast("type[BuiltInBot]", getattr(import_module(self.module), self.class_path.partition(":")[2]))

    @property
    def module(self) -> str:
        """Return the name of the module with its class."""
        return resolve_name(f".{self.class_path.partition(':')[0]}", __package__)

    @property
    def syntax(self) -> str:
        """The form of its spec, e.g. `pascal[:level=0..1]`."""
        required_options = _syntax_of(option for option in self.options if option.required)
        free_options = _syntax_of(option for option in self.options if not option.required)
        if self.label_option:
            return f"{self.name}{{{required_options}[,{free_options}]}}:"
        if required_options:
            optional = f"[,{free_options}]" if free_options else ""
            return f"{self.name}:{required_options}{optional}"
        return f"{self.name}[:{free_options}]" if free_options else self.name


def _syntax_of(options: Iterable[Option]) -> str:
    return ",".join(f"{option.name}={option.expected}" for option in options)


def _file(name: str, *, required: bool = False) -> Option:
    return Option(name, "FILE", lambda text: Path(text).expanduser(), required)


def _text(name: str, expected: str, *, required: bool = False) -> Option:
    return Option(name, expected, str, required)


def _word(name: str, *words: str) -> Option:
    return Option(name, "|".join(words), {word: word for word in words}.__getitem__)


def _true_or_false(name: str) -> Option:
    return Option(name, "true|false", {"true": True, "false": False}.__getitem__)


def _off_or_on(name: str) -> Option:
    return Option(name, "off|on", {"off": False, "on": True}.__getitem__)


def _integer(name: str, least: int, most: int, *, required: bool = False) -> Option:
    return Option(name, f"{least}..{most}", lambda text: _within(int(text), least, most), required)


def _decimal(name: str, least: float, most: float) -> Option:
    return Option(name, f"{least}..{most}", lambda text: _within(float(text), least, most))


def _within(number: _Number, least: _Number, most: _Number) -> _Number:
    if not least <= number <= most:
        raise ValueError(f"{number} is not one of {least}..{most}")
    return number


_REFERENCE_BOTS = (
    BuiltIn(
        name="random",
        class_path="random_:Random",
        description="a random free cell",
    ),
    BuiltIn(
        name="first-free",
        class_path="first_free:FirstFree",
        description="the lowest free cell",
    ),
    BuiltIn(
        name="three-stage",
        class_path="three_stage:ThreeStage",
        description="wins if it can, otherwise blocks, otherwise takes the lowest free cell",
    ),
    BuiltIn(
        name="coursework",
        class_path="coursework:Coursework",
        description=(
            "a random cell, but not the last one (level 1); before that the centre, a win or a block (level 2, default)"
        ),
        options=(_integer("level", 1, 2),),
    ),
    BuiltIn(
        name="pascal",
        class_path="pascal:Pascal",
        description=(
            "rates cells as a person would; random, weighted by rating (level 0) or among the best (level 1, default)"
        ),
        options=(_integer("level", 0, 1),),
    ),
    BuiltIn(
        name="nextstep",
        class_path="nextstep:NextStep",
        description="looks `depth` plies ahead (default: 9 on 3x3, less on larger boards); random among the best",
        options=(_integer("depth", 1, 9),),
    ),
    BuiltIn(
        name="minimax",
        class_path="minimax:Minimax",
        description=(
            "searches to the end, or `depth` plies; takes the first best cell; prefers fast wins only with faster=true"
        ),
        options=(
            _true_or_false("faster"),
            _integer("depth", 1, 9),
        ),
    ),
    BuiltIn(
        name="perfect",
        class_path="perfect:Perfect",
        description="plays the best value of a solved variant; random among the shortest wins or the longest losses",
    ),
    BuiltIn(
        name="fives",
        class_path="fives:Fives",
        description="adds up what each run of k cells open to one side gives to its free cells; random among the best",
    ),
    BuiltIn(
        name="table",
        class_path="table:Table",
        description=(
            "ratings from a file (`noughts bot table build`): random by rating (level 0) or among the best (level 1)"
        ),
        options=(
            _file("file", required=True),
            _integer("level", 0, 1),
        ),
    ),
    BuiltIn(
        name="learner",
        class_path="learner:Learner",
        description=(
            "a table that `noughts bot learn` has trained; random among the best; learns further only if learn=true"
        ),
        options=(
            _file("file", required=True),
            _true_or_false("learn"),
        ),
    ),
    BuiltIn(
        name="threats",
        class_path="threats.bot:ThreatsBot",
        description="searches threats and moves as long as its clock allows (without one: 4,000 positions per move)",
        options=(_integer("nodes", 1, 10_000_000),),
    ),
    BuiltIn(
        name="level",
        class_path="levels.bot:LevelBot",
        description="plays at a chosen strength, in steps of 100 Elo; 1000 plays at random; errs like a weaker player",
        options=(_integer("elo", 1000, 2900, required=True),),
    ),
)

_LANGUAGE_MODEL = BuiltIn(
    name="llm",
    class_path=".language_models.player:LanguageModel",
    description="a language model at an endpoint that speaks OpenAI's protocol (extra `llm`)",
    options=(
        _text("model", "NAME", required=True),
        _text("url", "URL"),
        _text("key_env", "VAR"),
        _file("prompt"),
        _word("answer", "schema", "tool", "text"),
        _integer("rethink", 0, 9),
        _decimal("temperature", 0.0, 2.0),
        _integer("seed", 0, 2**63 - 1),
        _word("memory", "none", "game"),
        _word("hints", "none", "legal"),
        _off_or_on("scramble"),
        _decimal("timeout", 0.1, 86400.0),
        _decimal("wait", 0.0, 86400.0),
        _decimal("input_price", 0.0, 1000000.0),
        _decimal("output_price", 0.0, 1000000.0),
    ),
    label_option="model",
)

REFERENCE_BOTS = {bot.name: bot for bot in _REFERENCE_BOTS}
BUILT_IN_KINDS = {bot.name: bot for bot in (_LANGUAGE_MODEL,)}
"""Other built-in bots, by the kind in their specs. Only their authors' processes run them, never a server."""
