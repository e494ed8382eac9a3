"""Programs that the tests call, on whatever machine they run: compilers, and what may be missing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.browser_program import BrowserProgram, find_browser
from tests.support.root import ROOT

NOT_TRIED = "not tried: "
"""The beginning of a skip's reason if this machine lacks a tool; the run ends with a list of them."""
_COMPILERS = {"cc": ("cc", "gcc", "clang"), "c++": ("c++", "g++", "clang++")}
# Zig builds its runtime once for each level of optimisation, and checks for undefined behaviour bring one of megabytes.
# Its headers of the C library are newer than C99.
_ZIG_OPTIONS = {
    "cc": ("-O2", "-fno-sanitize=undefined", "-Wno-c11-extensions"),
    "c++": ("-O2", "-fno-sanitize=undefined", "-nostdlib++"),  # the examples in C++ need no library of it
}


def compiler(language: str) -> tuple[str, ...]:
    """The command that compiles `cc` or `c++`: this machine's, or Zig's, which comes with the packages of the tests."""
    for name in _COMPILERS[language]:
        if found := shutil.which(name):
            return (found,)
    return (*zig(), language, *_ZIG_OPTIONS[language])


def zig() -> tuple[str, ...]:
    """The command of Zig, which comes with the packages of the tests."""
    for place in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
        os.environ.setdefault(place, str(ROOT / "build" / "zig"))
    return (sys.executable, "-m", "ziglang")


def cargo() -> str:
    """Rust's builder. A tool that may be missing: no package brings it, so the run says that it went without.

    With `NOUGHTS_REQUIRE=rust` its absence is a failure, as that of anything else is.
    """
    if found := shutil.which("cargo"):
        return found
    if "rust" in os.environ.get("NOUGHTS_REQUIRE", "").split(","):
        pytest.fail("no cargo here, and NOUGHTS_REQUIRE asks for Rust; install Rust 1.78 or newer")
    pytest.skip(f"{NOT_TRIED}the examples in Rust; no cargo here")


def browser_program() -> BrowserProgram:
    """The browser that the tests drive; `make test` fetches one if the machine has none."""
    found = find_browser()
    if found is None:
        pytest.fail("no browser here; `make browser` fetches one, or set NOUGHTS_BROWSER to the program of a Chromium")
    return found


def nginx() -> str:
    """A reverse proxy. It may be missing as cargo may: `NOUGHTS_REQUIRE=nginx` makes that a failure."""
    if found := shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin"):
        return found
    if "nginx" in os.environ.get("NOUGHTS_REQUIRE", "").split(","):
        pytest.fail("no nginx here, and NOUGHTS_REQUIRE asks for it; install Debian's package nginx-light")
    pytest.skip(f"{NOT_TRIED}the reverse proxy; no nginx here")


def run(*command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Standard output of a command; when it fails, so does the test, with everything that it said."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, f"{command} exited with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
