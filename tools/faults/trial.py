"""One fault, and the tests that may notice it."""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import IO, NamedTuple

from tools.faults.fault import Fault, present
from tools.faults.trees import Tree

_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py(?:::.+?)?)(?: - |$)", re.MULTILINE)
_PASSED, _FAILED, _NO_TESTS = 0, 1, 5
_POLL_SECONDS = 0.2
_MOST_IGNORED = 20
"""If more arguments than this leave out tests that fail anyway, the stage ends."""
_TRIES = 2
"""Number of times that a test must fail with the fault and pass without it before it counts as finding it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tests are run."""

    text: str = ""
    """Paths of tests, which are run instead of those that a fault names, or an expression of marks; empty: all."""
    everything: bool = False
    """Whether all tests are run in the end."""
    limit_seconds: float = 3600.0
    """The time limit of one run of pytest. It does not count as finding the fault."""

    def stages(self, fault: Fault, root: Path) -> Iterator[tuple[str, list[str]]]:
        """Yield the name of each stage with its arguments for pytest, fast ones first."""
        words = shlex.split(self.text)
        if words and all((root / word.partition("::")[0]).exists() for word in words):
            yield "selection", ["-n", "2", *words]
            return
        marks = ["-m", self.text] if self.text else []
        yield "near", ["-n", "0", *marks, *present(root, fault.near)]
        yield "wider", ["-n", "2", *marks, *present(root, fault.wider)]
        if self.everything:
            yield "all", ["-n", "2", "--dist", "worksteal", *marks, "tests"]


class Verdict(NamedTuple):
    """Whether tests have found a fault."""

    fault: str
    found: bool
    stage: str = ""
    """`near`, `wider`, `all` or `selection`."""
    test: str = ""
    """The first test that failed with the fault, and passed without it."""
    processor_seconds: float = 0.0
    """Sum over all runs until a test found the fault."""
    note: str = ""
    """A remark, such as a time-out."""


class _Run(NamedTuple):
    code: int | None
    """None if the time limit ended it."""
    failures: list[str]
    processor_seconds: float
    last_words: str


class Stopped(Exception):
    """The user has stopped the script."""


STOP = Event()
"""Ends all runs of pytest, which Ctrl+C does not reach."""


def try_fault(fault: Fault, tree: Tree, selection: Selection, *, near_only: bool = False) -> Verdict:
    """Run tests with the fault, stage by stage, until one of them notices it."""
    spent = 0.0
    notes: list[str] = []
    for stage, arguments in selection.stages(fault, tree.path):
        ignored: list[str] = []
        while True:
            with tree.faulty(fault):
                run = _pytest(tree, ["-x", *ignored, *arguments], selection.limit_seconds)
            spent += run.processor_seconds
            for test in run.failures:
                if _depends(test, fault, tree, selection.limit_seconds):
                    return Verdict(
                        fault=fault.name,
                        found=True,
                        stage=stage,
                        test=test,
                        processor_seconds=round(spent, 1),
                        note="; ".join(notes),
                    )
                ignored += ["--deselect", test]
                notes.append(f"{test} also fails without the fault, or not every time")
            if not run.failures or len(ignored) > _MOST_IGNORED:
                break
        if run.code is None:
            notes.append(f"{stage}: no end within {selection.limit_seconds:.0f} s")
        elif run.code not in (_PASSED, _FAILED, _NO_TESTS) or (run.code == _FAILED and not run.failures):
            notes.append(f"{stage}: exit code {run.code}: {run.last_words}")
        if near_only:
            break
    return Verdict(fault=fault.name, found=False, processor_seconds=round(spent, 1), note="; ".join(notes))


def _depends(test: str, fault: Fault, tree: Tree, limit_seconds: float) -> bool:
    """Return whether a test passes without the fault, and fails with it again."""
    for _ in range(_TRIES):
        if _pytest(tree, ["-n", "0", test], limit_seconds).code == _PASSED:
            break
    else:
        return False
    with tree.faulty(fault):
        return any(_pytest(tree, ["-n", "0", test], limit_seconds).code == _FAILED for _ in range(_TRIES))


def _pytest(tree: Tree, arguments: Sequence[str], limit_seconds: float) -> _Run:
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", *arguments]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            command,
            cwd=tree.path,
            env=tree.environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        code, seconds = _wait(process, limit_seconds)
        text = _read(output)
    lines = [line for line in text.splitlines() if line.strip()]
    return _Run(code, _FAILURE.findall(text), seconds, lines[-1][:200] if lines else "")


def _wait(process: "subprocess.Popen[bytes]", limit_seconds: float) -> tuple[int | None, float]:
    """Return the exit code (None after the time limit) and the processor time of a process and its children."""
    end = time.monotonic() + limit_seconds
    is_late = False
    while True:
        is_stopped = STOP.is_set()
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid and is_stopped:
            raise Stopped
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            code = None if is_late else process.returncode
            return code, usage.ru_utime + usage.ru_stime
        if is_stopped or (not is_late and time.monotonic() > end):
            is_late = True
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def _read(output: IO[str]) -> str:
    output.seek(0)
    return output.read()
