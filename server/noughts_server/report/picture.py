"""A picture in a page, and what it says to whoever does not see it."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup


class Picture(NamedTuple):
    """SVG with its words."""

    svg: Markup
    alternative: str
    """What is to be seen."""
    caption: str
    """What it is of."""
    legend: Sequence[str] = ()
    """The names of its series, in their order."""
