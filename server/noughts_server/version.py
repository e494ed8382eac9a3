"""The version of this software."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def software_version() -> str:
    """The installed version of Noughts."""
    try:
        return version("noughts")
    except PackageNotFoundError:
        return "0+unknown"
