"""`noughts` as real processes, and its commands in this one."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil
from typer.testing import Result

from tests.support.command_line import invoke
from tests.support.patience import PATIENCE
from tests.support.tools import run

PROGRAM = (sys.executable, "-m", "noughts_server.cli")
Returned = TypeVar("Returned")


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without settings of Noughts, and with these."""
    own_variables = {name: value for name, value in os.environ.items() if not name.startswith("NOUGHTS_")}
    return {**own_variables, **variables}


class Started(subprocess.Popen[str]):
    """A process from whose output a test can read lines before it calls `communicate`.

    The method of `Popen` would lose the text that Python has read ahead into its buffer.
    """

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end of the process, and return the rest of its output; kill it at the timeout (seconds)."""
        assert input is None
        assert self.stdout is not None
        assert self.stderr is not None
        with ThreadPoolExecutor(2) as pool:
            out, err = pool.submit(self.stdout.read), pool.submit(self.stderr.read)
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            return out.result(), err.result()


@contextmanager
def started(
    arguments: Sequence[str], env: Mapping[str, str], program: Sequence[str] = PROGRAM
) -> Iterator["subprocess.Popen[str]"]:
    """Start `noughts`, or another program, with these arguments; kill it at the end of the block."""
    process = Started(
        [*program, *arguments],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def run_noughts(
    arguments: Sequence[str], env: Mapping[str, str], *, code: int = 0
) -> "subprocess.CompletedProcess[str]":
    """Run `noughts` in a process of its own, and return its output; fail unless it exits with `code`."""
    process = subprocess.run(
        [*PROGRAM, *arguments], env=dict(env), capture_output=True, text=True, timeout=60, check=False
    )
    assert process.returncode == code, f"{arguments}: {process.returncode}\n{process.stdout}\n{process.stderr}"
    return process


def install_package(example: Path, folder: Path) -> None:
    """Builds a package and installs it for real, without an index, in `folder`."""
    with tempfile.TemporaryDirectory() as outside:  # what the build leaves behind must not lie in the tree
        source = shutil.copytree(example, Path(outside, "source"))
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
        run(*pip, "--no-index", "--no-deps", "--no-build-isolation", "--target", folder, source)


def with_packages(folder: Path) -> dict[str, str]:
    """The environment of a user who has installed the packages of this folder."""
    variables = environment()
    return {**variables, "PYTHONPATH": f"{folder}:{variables.get('PYTHONPATH', '')}".rstrip(":")}


def run_here(arguments: Sequence[str], env: Mapping[str, str], *, code: int = 0, stdin: str | None = None) -> Result:
    """Run `noughts` in this process, and return its output; fail unless it exits with `code`."""
    changes = {name: env.get(name) for name in {*os.environ, *env}}
    return invoke(arguments, code=code, stdin=stdin, env=changes)


def json_of(line: str, env: Mapping[str, str]) -> Any:
    """Run a command in this process, which is fast, and return the JSON that it prints."""
    return json.loads(run_here([*line.split(), "--format", "json"], env).stdout)


def json_of_process(line: str, env: Mapping[str, str]) -> Any:
    """Run a command in a process of its own, and return the JSON that it prints."""
    return json.loads(run_noughts([*line.split(), "--format", "json"], env).stdout)


def first_line(process: "subprocess.Popen[str]") -> str:
    """The first line that the process prints; the test fails if it ends without one."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.stderr.read() if process.stderr else ""
    return line


def exit_code_and_errors(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Wait until a process that was asked to stop has ended, and return its exit code and stderr."""
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


def children_that_run(module: str) -> list[psutil.Process]:
    """Return the children of this process that run a Python module.

    A child that has ended, or has just been forked, has no command line and is not among them.
    """
    children = psutil.process_iter(["ppid", "cmdline"])
    own = [child for child in children if child.info["ppid"] == os.getpid()]
    return [child for child in own if module in (child.info["cmdline"] or ())]


def eventually(
    ask: Callable[[], Returned], accepts: Callable[[Returned], object] = bool, seconds: float = 120
) -> Returned:
    """Call `ask` again and again until `wanted` accepts its result, and return that result.

    For states that another process or thread changes. Fails after `seconds`.
    """
    deadline = time.monotonic() + seconds
    while not accepts(answer := ask()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
    return answer
