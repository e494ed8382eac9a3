"""Temporary folders that belong to a process."""

import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from noughts_referee.children.scratch import OwnedFolder

PREFIX = "noughts-test-"
KILLED = f"""
import os, signal
from noughts_referee.children.scratch import OwnedFolder
folder = OwnedFolder({PREFIX!r})
open(os.path.join(folder.path, "file"), "w").close()
print(folder.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder for this test, also for the processes that it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_folder_of_a_killed_process_is_removed_by_the_next_one(temporary: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    left = Path(killed.stdout.strip())
    assert left.parent == temporary
    assert (left / "file").exists()
    with closing(OwnedFolder(PREFIX)) as folder:
        assert list(temporary.iterdir()) == [Path(folder.path)]
    assert list(temporary.iterdir()) == []


def test_folder_of_a_running_process_stays(temporary: Path) -> None:
    with closing(OwnedFolder(PREFIX)) as first, closing(OwnedFolder(PREFIX)) as second:
        assert {Path(first.path), Path(second.path)} == set(temporary.iterdir())


def test_folders_of_other_names_and_links_stay(temporary: Path) -> None:
    target = temporary / "precious"
    target.mkdir()
    (target / "file").touch()
    (temporary / f"{PREFIX}link").symlink_to(target)
    OwnedFolder(PREFIX).close()
    assert (target / "file").exists()
    assert (temporary / f"{PREFIX}link").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_folder_of_another_user_stays(temporary: Path) -> None:
    other = temporary / f"{PREFIX}other"
    other.mkdir()
    os.chown(other, 12345, 12345)
    OwnedFolder(PREFIX).close()
    assert other.exists()
