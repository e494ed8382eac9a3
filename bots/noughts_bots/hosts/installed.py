"""Bots that other packages bring: entry points of the group `noughts.bots`. Looking them up imports none of them."""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "noughts.bots"


class InstalledBot(NamedTuple):
    """A bot that an installed package brings."""

    name: str
    """Its spec is `py:NAME`."""
    package: str
    version: str
    """Of the package."""
    summary: str
    """What the package says about itself, on one line; may be empty."""


@cache
def found() -> "dict[str, tuple[EntryPoint, ...]]":
    """What is installed, by name. It is looked up once: a package that is installed later wants a new process."""
    # It takes a while to load, and most programs never ask.
    from importlib.metadata import entry_points

    by_name: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=GROUP):
        by_name[point.name] = (*by_name.get(point.name, ()), point)
    return by_name


def installed_bots() -> list[InstalledBot]:
    """The bots of installed packages, by name; one that two packages bring is there twice."""
    return [InstalledBot(name, *_package(point)) for name, points in sorted(found().items()) for point in points]


def _package(point: "EntryPoint") -> tuple[str, str, str]:
    """Name, version and summary of the package that brings it."""
    if point.dist is None:
        return "a package", "", ""
    return point.dist.name, point.dist.version, " ".join((point.dist.metadata["Summary"] or "").split())
