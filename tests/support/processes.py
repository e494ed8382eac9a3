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

from typer.testing import Result

from tests.support.command_line import invoked
from tests.support.tools import run

PROGRAM = (sys.executable, "-m", "noughts_server.cli")
Returned = TypeVar("Returned")


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without settings of Noughts, and with these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NOUGHTS_")}
    return {**kept, **variables}


class Started(subprocess.Popen[str]):
    """A process whose lines may be read before `communicate`, which of itself loses what was read ahead of them."""

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        """Return its output from now on; one that has not ended in time is killed."""
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
    """`noughts`, or another program, with these arguments; gone after the block."""
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


def said(arguments: Sequence[str], env: Mapping[str, str], *, code: int = 0) -> "subprocess.CompletedProcess[str]":
    """Return the output of `noughts` with these arguments; the test fails unless it exits with `code`."""
    done = subprocess.run(
        [*PROGRAM, *arguments], env=dict(env), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


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


def told(arguments: Sequence[str], env: Mapping[str, str], *, code: int = 0, stdin: str | None = None) -> Result:
    """Return the output of `noughts` with these arguments in this process; fail unless it exits with `code`."""
    changes = {name: env.get(name) for name in {*os.environ, *env}}
    return invoked(arguments, code=code, stdin=stdin, env=changes)


def asked(line: str, env: Mapping[str, str]) -> Any:
    """The JSON that a command prints; in this process, because tests ask much and often."""
    return json.loads(told([*line.split(), "--format", "json"], env).stdout)


def asked_apart(line: str, env: Mapping[str, str]) -> Any:
    """The JSON that a command prints, in a process of its own."""
    return json.loads(said([*line.split(), "--format", "json"], env).stdout)


def first_line(process: "subprocess.Popen[str]") -> str:
    """The first line that the process prints; the test fails if it ends without one."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.stderr.read() if process.stderr else ""
    return line


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Return the exit code and stderr of a process after a request to stop."""
    _, errors = process.communicate(timeout=30)
    return process.returncode, errors


def eventually(
    ask: Callable[[], Returned], wanted: Callable[[Returned], object] = bool, seconds: float = 120
) -> Returned:
    """The first answer that is wanted. Asks again until then: another process changes what it is about."""
    deadline = time.monotonic() + seconds
    while not wanted(answer := ask()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
    return answer
