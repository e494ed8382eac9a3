"""The text files next to this module: what commands print, apart from the code that prints it."""

import pkgutil
import re
from functools import cache


@cache
def sections(file: str) -> dict[str, str]:
    """Return the sections of one of our text files, by their headings."""
    text = (pkgutil.get_data(__package__, file) or b"").decode()
    return {line: shown.strip() for line, shown in re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", text)}


def table(file: str, heading: str) -> dict[str, str]:
    """Return a section of one of our text files, each line of which has a name and a text."""
    return dict(re.findall(r"(?m)^(\S+) +(.+)$", sections(file)[heading]))
