"""Build the WebAssembly module of the search of Connect Four from its source in Zig.

python tools/build_column_search.py           write the module
python tools/build_column_search.py --check   build it elsewhere; exit 1 if it differs from the committed one

Zig comes with the packages of the development environment. Its version is locked, so every build has the same bytes.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "bots/noughts_bots/reference/columns/column_search.zig"
MODULE = SOURCE.with_suffix(".wasm")
_CACHES = ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")


def build() -> bytes:
    """Return the module. Raises CalledProcessError if Zig refuses the source."""
    caches = {name: os.environ.get(name, str(ROOT / "build" / "zig")) for name in _CACHES}
    with TemporaryDirectory() as folder:
        module = Path(folder, MODULE.name)
        command = [
            *(sys.executable, "-m", "ziglang", "build-exe", SOURCE.name),
            *("-target", "wasm32-freestanding", "-O", "ReleaseFast", "-fstrip"),
            # It is a library: no main function, and its exported functions stay.
            *("-fno-entry", "-rdynamic", f"-femit-bin={module}"),
        ]
        subprocess.run(command, cwd=SOURCE.parent, env={**os.environ, **caches}, check=True)
        return module.read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the WebAssembly module of the search of Connect Four.")
    parser.add_argument("--check", action="store_true", help="compare with the committed module")
    module = build()
    if not parser.parse_args().check:
        MODULE.write_bytes(module)
    elif module != MODULE.read_bytes():
        raise SystemExit(f"{MODULE.relative_to(ROOT)} differs from what its source gives. Fix: python {sys.argv[0]}")


if __name__ == "__main__":
    main()
