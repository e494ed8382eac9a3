"""The installed versions of packages, read from the names of their metadata folders.

Loading `importlib.metadata` takes longer than all other imports of `noughts --help`.
"""

import os
import sys
from contextlib import suppress


def installed_version(package: str) -> str:
    """Return the version of a package, e.g. "1.80.0"; empty if it is not installed."""
    for place in sys.path:
        with suppress(OSError):
            for name in os.listdir(place or "."):
                if name.startswith(f"{package}-") and name.endswith(".dist-info"):
                    return name.removeprefix(f"{package}-").removesuffix(".dist-info")
    # Packages can also be in an archive, or have metadata of another form.
    from importlib.metadata import PackageNotFoundError, version

    with suppress(PackageNotFoundError):
        return version(package)
    return ""
