"""Folders that are expensive to fill and never change, made once per run for all workers of pytest."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def make_once(temporary: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` fills once in a run of the tests; other workers wait. No test may change it."""
    base = temporary.getbasetemp()
    # The folder of a worker lies in that of the run.
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, finished = run / f"shared-{name}", run / f"shared-{name}.finished"
    with (run / f"shared-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not finished.exists():
            folder.mkdir()
            make(folder)
            finished.touch()
    return folder
