"""Bots of other packages: entry points of the group `noughts.bots`. Finding them imports none of them."""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "noughts.bots"


class InstalledBot(NamedTuple):
    name: str
    """Its spec is `py:NAME`."""
    package: str
    version: str
    summary: str
    """The package's description of itself on one line; can be empty."""


@cache
def found() -> "dict[str, tuple[EntryPoint, ...]]":
    """Return the installed bots by name, found once per process. Packages installed later need a restart."""
    # The import is slow, and most programs never need it.
    from importlib.metadata import entry_points

    by_name: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=GROUP):
        by_name[point.name] = (*by_name.get(point.name, ()), point)
    return by_name


def installed_bots() -> list[InstalledBot]:
    """Return the bots from installed packages by name. A name in two packages appears twice."""
    return [InstalledBot(name, *_package(point)) for name, points in sorted(found().items()) for point in points]


def _package(point: "EntryPoint") -> tuple[str, str, str]:
    """Return the name, version and summary of the package."""
    if point.dist is None:
        return "a package", "", ""
    return point.dist.name, point.dist.version, " ".join((point.dist.metadata["Summary"] or "").split())
