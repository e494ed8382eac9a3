"""The version of this software."""

from functools import cache
from pathlib import Path

from noughts_proto.releases import installed_version

_COMMIT_FILE = Path(__file__).with_name("commit.txt")
"""A file that `hatch_build.py` adds to a wheel that is built from a checkout."""


@cache
def software_version() -> str:
    """Return the installed version; between releases with the commit, e.g. 1.2.0.dev0+0a1b2c3d4e5f."""
    installed = installed_version("noughts")
    if not installed:
        return "0+unknown"
    if "dev" not in installed or not _COMMIT_FILE.is_file():
        return installed
    return f"{installed}+{_COMMIT_FILE.read_text(encoding='utf-8').strip()}"
