"""Tables of commands: the members of a group, in the order of its help. They do not import the commands' modules."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command, which is imported when it is used."""

    place: str
    """Its function as `MODULE:FUNCTION`."""
    summary: str
    """The line in the help of its group: the first sentence of the function's docstring."""


@dataclass(frozen=True, slots=True)
class Group:
    """Commands that share their first words."""

    summary: str
    example: str
    """Commands and what they print, for its help; a test runs them."""
    panels: Mapping[str, Mapping[str, "Command | Group"]]
    """The members by heading of the help and by name."""


FORMER_NAMES = "Former names"
"""Members under this heading work, but no help lists them."""
