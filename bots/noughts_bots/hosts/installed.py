"""Bots of installed packages: entry points of the group `noughts.bots`. The search imports none of them."""

from typing import TYPE_CHECKING, NamedTuple

from noughts_referee.rules.variant_plugins import installed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "noughts.bots"


class InstalledBot(NamedTuple):
    """A bot of an installed package."""

    name: str
    """The name in its spec, `py:NAME`."""
    package: str
    version: str
    summary: str
    """The package's description of itself on one line; can be empty."""


def installed_bots() -> list[InstalledBot]:
    """Return the bots from installed packages by name. A name in two packages appears twice."""
    by_name = sorted(installed(GROUP).items())
    return [InstalledBot(name, *_package(point)) for name, points in by_name for point in points]


def _package(point: "EntryPoint") -> tuple[str, str, str]:
    """Return the name, version and summary of the package."""
    if point.dist is None:
        return "a package", "", ""
    return point.dist.name, point.dist.version, " ".join((point.dist.metadata["Summary"] or "").split())
