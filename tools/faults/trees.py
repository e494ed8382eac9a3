"""Copies of the repository in which faults are tried."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.faults.fault import Fault

ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("proto", "referee", "bots", "server")


@dataclass(frozen=True, slots=True)
class Tree:
    """A work tree of the newest commit. Its packages are imported before those that are installed."""

    path: Path

    def environment(self) -> dict[str, str]:
        """Return the variables of a process that imports the packages of this tree."""
        return {**os.environ, "PYTHONPATH": os.pathsep.join(str(self.path / package) for package in _PACKAGES)}

    @contextmanager
    def faulty(self, fault: Fault) -> Iterator[None]:
        """Put the fault into the tree inside the block."""
        file = self.path / fault.file
        text = file.read_text(encoding="utf-8")
        file.write_text(fault.changed(text), encoding="utf-8")
        try:
            yield
        finally:
            file.write_text(text, encoding="utf-8")


@contextmanager
def work_tree() -> Iterator[Tree]:
    """Make a temporary work tree that exists inside the block; it shares what `make` has built."""
    with tempfile.TemporaryDirectory(prefix="noughts-faults-") as folder:
        Path(folder).chmod(0o755)  # sandboxed children have users of their own
        path = Path(folder) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(path), "HEAD")
        try:
            built = ROOT / "build"
            (path / "build").mkdir(exist_ok=True)
            for entry in built.iterdir() if built.is_dir() else ():
                (path / "build" / entry.name).symlink_to(entry)
            handbook = ROOT / "server/noughts_server/web/handbook"
            if handbook.is_dir():
                shutil.copytree(handbook, path / handbook.relative_to(ROOT))
            yield Tree(path)
        finally:
            _git("worktree", "remove", "--force", str(path))


def commit() -> str:
    """Return the short hash of the commit whose code is tested."""
    return _git("rev-parse", "--short", "HEAD")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
