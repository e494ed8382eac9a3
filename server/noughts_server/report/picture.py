"""A picture in a page, with its alternative text."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup


class Picture(NamedTuple):
    svg: Markup
    alternative: str
    """The content, for readers who cannot see it."""
    caption: str
    legend: Sequence[str] = ()
    """The names of its series, in order."""
