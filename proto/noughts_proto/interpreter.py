"""Start a Python interpreter without modules of the working folder and without secrets in its environment.

All code that starts Python uses `python`, and gives it `environment` unless it needs more variables. A test refuses any
other use of `sys.executable`.
"""

import os
import sys
from collections.abc import Iterable

_KEPT = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TERM",
        "COLUMNS",
        "NO_COLOR",
        "TMPDIR",
        "VIRTUAL_ENV",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "SYSTEMROOT",
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONUTF8",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONPYCACHEPREFIX",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
    }
)
"""Environment variables that an interpreter needs to run and write text. Others can be secret and are dropped."""


def python(*words: str) -> list[str]:
    """Return the command that runs this interpreter.

    With `-P`, Python does not import from the working folder or the folder of a script. Files there can have names of
    the standard library.
    """
    return [sys.executable, "-P", *words]


def environment(*, keeping: Iterable[str] = (), **more: str) -> dict[str, str]:
    """Return the variables of a child: those of `_KEPT`, locale variables, those named in `keeping`, and `more`."""
    names = _KEPT.union(keeping)
    variables = {name: value for name, value in os.environ.items() if name in names or name.startswith("LC_")}
    if path := variables.pop("PYTHONPATH", ""):
        # An empty entry is the working folder, which can be another one for the child.
        variables["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, filter(None, path.split(os.pathsep))))
    return variables | more
