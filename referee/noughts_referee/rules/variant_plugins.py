"""Variants from other packages: entry points of the group `noughts.variants`.

The name of an entry point is the variant's name. Its value is a `Variant` or a callable that returns one. A plugin is
imported when its variant is first used, so a broken one affects nothing else.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

from noughts_referee.rules.cells import MOST_COLUMNS
from noughts_referee.rules.variant import Variant, VariantError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "noughts.variants"

# A longer name would not fit into the columns that hold it.
_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
_MOST_CELLS = 900
"""The cells of the largest board of the project's own variants: 30x30."""


@cache
def installed(group: str) -> "dict[str, tuple[EntryPoint, ...]]":
    """Return a group's plugins by name, found once per process. Packages installed later need a restart."""
    # The import is slow, and most programs never use a plugin.
    from importlib.metadata import entry_points

    points: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=group):
        points[point.name] = (*points.get(point.name, ()), point)
    return points


def plugin_names() -> tuple[str, ...]:
    """Return the names of plugin variants, in alphabetical order. The project's own names take precedence."""
    return tuple(sorted(installed(GROUP)))


def plugin_package(name: str) -> str:
    """Return the name of the package that adds the variant; if there are several, separated by commas."""
    return ", ".join(sorted({point.dist.name if point.dist else "a package" for point in installed(GROUP)[name]}))


def plugin_variant(name: str) -> Variant:
    """Create the plugin's variant. Raises VariantError, which names the package, if that fails."""
    try:
        return _load(name, installed(GROUP)[name])
    except Exception as error:
        reason = error if isinstance(error, _PluginError) else f"it failed with {type(error).__name__}: {error}"
        raise VariantError(name, f"a working plugin; the one from {plugin_package(name)} fails: {reason}") from error


class _PluginError(Exception):
    """An error in a plugin."""


def _load(name: str, points: "tuple[EntryPoint, ...]") -> Variant:
    if not _NAME.fullmatch(name):
        raise _PluginError("a name has up to 63 lowercase letters, digits and hyphens, and begins with a letter")
    if len(points) > 1:
        raise _PluginError("several packages use the name; uninstall all but one")
    loaded = points[0].load()
    variant = loaded() if callable(loaded) else loaded
    if not isinstance(variant, Variant):
        raise _PluginError(f"it gives {variant!r:.80}, not a noughts_referee.rules.Variant")
    if variant.name != name:
        raise _PluginError(f"its variant is called {variant.name!r}")
    _check(variant)
    return variant


def _check(variant: Variant) -> None:
    """Raise _PluginError unless games of the variant can be played to an end."""
    if min(variant.columns, variant.rows, variant.layers) < 1 or variant.cells > _MOST_CELLS:
        raise _PluginError(f"a board has 1 to {_MOST_CELLS} cells")
    if variant.columns > MOST_COLUMNS:
        raise _PluginError(f"a board has at most {MOST_COLUMNS} columns")
    if not variant.lines or not all(0 < line <= variant.full for line in variant.lines):
        raise _PluginError("`lines` must have at least one line, each a non-empty set of cells of the board")
    if not all(line in variant.lines and 0 <= ends <= variant.full for line, ends in variant.beside.items()):
        raise _PluginError("`beside` must map lines to cells of the board")
    if len(variant.supports) != variant.cells:
        raise _PluginError(f"`supports` must have a set for each of the {variant.cells} cells")
    occupied = 0
    while occupied != variant.full:
        free = variant.playable(variant.full & ~occupied, occupied)
        if not free:
            raise _PluginError("`supports` leaves cells that can never be played")
        occupied |= free
    if not variant.can_move(0, 0, 0):
        raise _PluginError("`forbids` leaves the first side no move")
