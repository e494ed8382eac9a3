"""Start an interpreter of Noughts itself: never with modules of the working folder, never with secrets.

Everything that starts Python uses `python`, and every child that needs no more gets `environment`. A test refuses any
other use of `sys.executable`.
"""

import os
import sys
from collections.abc import Iterable

_KEPT = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "NO_COLOR", "TMPDIR"),
        *("VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"),
        *("PYTHONPATH", "PYTHONHOME", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
        *("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"),
    }
)
"""Environment variables that an interpreter needs to run and write text. Others can be secret and are dropped."""


def python(*words: str) -> list[str]:
    """Return the command that runs this interpreter.

    `-P`: the working folder and the folder of a script are no place to import from. Anyone can have put files there
    with names of the standard library.
    """
    return [sys.executable, "-P", *words]


def environment(*, keeping: Iterable[str] = (), **more: str) -> dict[str, str]:
    """Return the variables of a child: ours that every interpreter needs, those named in `keeping`, and `more`."""
    kept = _KEPT.union(keeping)
    ours = {name: value for name, value in os.environ.items() if name in kept or name.startswith("LC_")}
    if path := ours.pop("PYTHONPATH", ""):
        # An empty entry is the working folder, which can be another one for the child.
        ours["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, filter(None, path.split(os.pathsep))))
    return ours | more
