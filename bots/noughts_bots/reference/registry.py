"""The bots that come with Noughts: `registry.json`, the one table for specs, help texts and lists."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from noughts_bots.built_in_bot import BuiltInBot


@dataclass(frozen=True, slots=True)
class Option:
    """An option in the spec of such a bot: `name=value`."""

    name: str
    expected: str
    """The allowed values in words, e.g. `1..9`."""
    read: Callable[[str], Any]
    """Parses the text of a value. Raises ValueError or KeyError for an invalid text."""
    required: bool = False
    """Whether there is no default."""


@dataclass(frozen=True, slots=True)
class BuiltIn:
    name: str
    place: str
    """Its class as `MODULE:CLASS`, relative to `noughts_bots.reference`, imported when such a bot is created."""
    description: str
    options: tuple[Option, ...] = ()
    """They are passed to the class by name."""
    label: str = ""
    """For a kind with specs like `NAME{key=value}:`: the option after which a bot without a label is named."""

    @property
    def bot(self) -> "type[BuiltInBot]":
        module, _, name = self.place.partition(":")
        return cast("type[BuiltInBot]", getattr(import_module(f".{module}", __package__), name))

    @property
    def syntax(self) -> str:
        """The form of its spec, e.g. `pascal[:level=0..1]`."""
        needed, free = (
            ",".join(f"{option.name}={option.expected}" for option in self.options if option.required is required)
            for required in (True, False)
        )
        if self.label:
            return f"{self.name}{{{needed}[,{free}]}}:"
        if needed:
            return f"{self.name}:{needed}[,{free}]" if free else f"{self.name}:{needed}"
        return f"{self.name}[:{free}]" if free else self.name


_WORDS = {"true": True, "on": True, "false": False, "off": False}


def _option(name: str, allowed: Any, required: bool) -> Option:
    """Return an option. `allowed` are its least and largest number, words as in `off|on`, `FILE`, or any text."""
    if allowed == "FILE":
        return Option(name, allowed, lambda text: Path(text).expanduser(), required)
    if isinstance(allowed, str) and "|" not in allowed:
        return Option(name, allowed, str, required)
    expected = allowed if isinstance(allowed, str) else f"{allowed[0]}..{allowed[1]}"

    def read(text: str) -> Any:
        if isinstance(allowed, str):
            return {word: _WORDS.get(word, word) for word in allowed.split("|")}[text]
        number = type(allowed[0])(text)
        if not allowed[0] <= number <= allowed[1]:
            raise ValueError(f"{number} is not one of {expected}")
        return number

    return Option(name, expected, read, required)


def _read_table() -> Iterator[BuiltIn]:
    table: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text())
    for name, row in table.items():
        allowed, required = row.get("options", {}).items(), row.get("required", ())
        options = tuple(_option(option, values, option in required) for option, values in allowed)
        yield BuiltIn(name, row["place"], row["description"], options, row.get("label", ""))


REFERENCE_BOTS = {row.name: row for row in _read_table() if not row.label}
BUILT_IN_KINDS = {row.name: row for row in _read_table() if row.label}
"""Other bots, by the kind in their specs: only their authors' processes run them, never a server."""
