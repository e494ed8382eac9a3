"""The allowed system calls are enough for the runtimes of languages: threads, files, programs, clocks."""

import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from noughts_referee.children.launcher import ChildCommand
from noughts_referee.children.sandbox_launcher import SandboxLauncher
from tests.support.node import NODE
from tests.support.root import ROOT
from tests.support.tools import NOT_TRIED, build_go, cargo, compiler, run

from .drive import wait_for_outcome

_SOURCES = ROOT / "tests" / "support" / "children" / "runtimes"
_MEMORY = 3 << 30


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that children of other users can read."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def c_plus_plus(folder: Path) -> list[str]:
    run(*compiler("c++"), "-std=c++17", "-pthread", _SOURCES / "busy.cpp", "-o", folder / "busy")
    return [str(folder / "busy")]


def go(folder: Path) -> list[str]:
    build_go(_SOURCES / "busy.go", folder / "busy")
    return [str(folder / "busy")]


def rust(folder: Path) -> list[str]:
    run(Path(cargo()).with_name("rustc"), "-O", "-o", folder / "busy", _SOURCES / "busy.rs")
    return [str(folder / "busy")]


def javascript(folder: Path) -> list[str]:
    shutil.copy(_SOURCES / "busy.mjs", folder)
    return [str(NODE), str(folder / "busy.mjs")]


def java(folder: Path) -> list[str]:
    compiler_of_java, program = shutil.which("javac"), shutil.which("java")
    if not compiler_of_java or not program:
        pytest.skip(f"{NOT_TRIED}programs in Java; no javac here")
    run(compiler_of_java, "-d", folder, _SOURCES / "Busy.java")
    return [program, "-Xmx200m", "-cp", str(folder), "Busy"]


def python(folder: Path) -> list[str]:
    shutil.copy(_SOURCES / "busy.py", folder)
    return [sys.executable, str(folder / "busy.py")]


@pytest.mark.parametrize(
    "build",
    [c_plus_plus, javascript, python, *(pytest.param(each, marks=pytest.mark.at_length) for each in (go, rust, java))],
    ids=lambda build: build.__name__,
)
async def test_program_of_each_language_runs_in_the_sandbox(build: Callable[[Path], list[str]], folder: Path) -> None:
    command = ChildCommand("exec", shlex.join(build(folder)), memory_bytes=_MEMORY)
    launcher = SandboxLauncher("noughts_bots.hosts.warm:main")
    try:
        outcome = await wait_for_outcome(await launcher.start(command))
    finally:
        await launcher.close()
    assert (outcome.code, outcome.out.split()[:2], outcome.err) == (0, ["4", "here"], ""), outcome
