"""Programs that the tests run: compilers, a browser, Helm, a proxy. A test without its program fails or is skipped."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.browser_program import BrowserProgram, find_browser
from tests.support.helm_program import find_helm
from tests.support.root import ROOT

NOT_TRIED = "not tried: "
"""The beginning of the reason for which a test without its tool is skipped; the run ends with a list of these."""
_COMPILERS = {"cc": ("cc", "gcc", "clang"), "c++": ("c++", "g++", "clang++")}
# One level of optimisation for all, because Zig builds its runtime once per level. Checks for undefined behaviour
# would add a runtime of megabytes. The C library's headers of Zig are newer than C99.
_ZIG_OPTIONS = {
    "cc": ("-O2", "-fno-sanitize=undefined", "-Wno-c11-extensions"),
    "c++": ("-O2", "-fno-sanitize=undefined", "-nostdlib++"),  # the examples in C++ need no library of it
}


def compiler(language: str) -> tuple[str, ...]:
    """The command of a compiler for `cc` or `c++`: this machine's, or else Zig's from the packages of the tests."""
    for name in _COMPILERS[language]:
        if program := shutil.which(name):
            return (program,)
    return (*zig(), language, *_ZIG_OPTIONS[language])


def zig() -> tuple[str, ...]:
    """The command of Zig, which comes with the packages of the tests."""
    for place in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"):
        os.environ.setdefault(place, str(ROOT / "build" / "zig"))
    return (sys.executable, "-m", "ziglang")


def build_go(source: Path, program: Path) -> None:
    """Compile a Go program. Without optimisation, a new clone compiles the packages of Go in half the time."""
    cache = {"GOCACHE": str(ROOT / "build" / "go"), "GOTOOLCHAIN": "local"}
    run(program_of("go", "go"), "build", "-gcflags=all=-N -l", "-o", program, source, env={**os.environ, **cache})


def cargo() -> str:
    """The path of cargo. Without cargo the test is skipped, or fails if `NOUGHTS_REQUIRE` contains `rust`."""
    if program := shutil.which("cargo"):
        return program
    if "rust" in os.environ.get("NOUGHTS_REQUIRE", "").split(","):
        pytest.fail("no cargo here, and NOUGHTS_REQUIRE asks for Rust; install Rust 1.78 or newer")
    pytest.skip(f"{NOT_TRIED}the examples in Rust; no cargo here")


def program_of(language: str, *names: str) -> str:
    """The path of a program that runs or compiles a language: the first of these names that this machine has.

    Without any, the test is skipped, or fails if `NOUGHTS_REQUIRE` contains the language.
    """
    own_programs = str(Path(sys.executable).parent)
    for name in names:
        if program := shutil.which(name, path=f"{own_programs}{os.pathsep}{os.environ.get('PATH', '')}"):
            return program
    if language in os.environ.get("NOUGHTS_REQUIRE", "").split(","):
        pytest.fail(f"no {names[0]} here, and NOUGHTS_REQUIRE asks for {language}")
    pytest.skip(f"{NOT_TRIED}the examples in {language}; no {names[0]} here")


def browser_program() -> BrowserProgram:
    """The browser that the tests drive. Without a browser the test fails; `make test` fetches one first."""
    program = find_browser()
    if program is None:
        pytest.fail("no browser here; `make browser` fetches one, or set NOUGHTS_BROWSER to the program of a Chromium")
    return program


def helm() -> Path:
    """Return helm. Without helm the test is skipped, or fails if `NOUGHTS_REQUIRE` contains `helm`."""
    if program := find_helm():
        return program
    if "helm" in os.environ.get("NOUGHTS_REQUIRE", "").split(","):
        pytest.fail("no helm here, and NOUGHTS_REQUIRE asks for it; run `make helm`")
    pytest.skip(f"{NOT_TRIED}the Helm chart; no helm here (`make helm` fetches one)")


def nginx() -> str:
    """The path of nginx. Without nginx the test is skipped, or fails if `NOUGHTS_REQUIRE` contains `nginx`."""
    if program := shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin"):
        return program
    if "nginx" in os.environ.get("NOUGHTS_REQUIRE", "").split(","):
        pytest.fail("no nginx here, and NOUGHTS_REQUIRE asks for it; install Debian's package nginx-light")
    pytest.skip(f"{NOT_TRIED}the reverse proxy; no nginx here")


def run(*command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a command, and return its stdout. If it fails, the test fails with all output of the command."""
    process = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=110, check=False)
    assert process.returncode == 0, f"{command} exited with {process.returncode}\n{process.stdout}\n{process.stderr}"
    return process.stdout
