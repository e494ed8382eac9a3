"""The reference bots by name: `registry.json`, the one table for specs, help texts and lists."""

import json
from collections.abc import Callable, Iterator
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


def _option(name: str, allowed: Any) -> Option:
    """Return an option. `allowed` are its least and largest number, `true|false`, or `FILE` for a required path."""
    if allowed == "FILE":
        return Option(name, allowed, lambda text: Path(text).expanduser(), required=True)
    if allowed == "true|false":
        return Option(name, allowed, {"true": True, "false": False}.__getitem__)
    least, most = allowed

    def read(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise ValueError(f"{number} is not one of {least}..{most}")
        return number

    return Option(name, f"{least}..{most}", read)


def _read_table() -> Iterator[ReferenceBot]:
    table: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text())
    for name, row in table.items():
        options = tuple(_option(option, allowed) for option, allowed in row.get("options", {}).items())
        yield ReferenceBot(name, row["place"], row["description"], options)


REFERENCE_BOTS = {row.name: row for row in _read_table()}
