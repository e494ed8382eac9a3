"""Submitted files are examined before any of their code runs."""

import asyncio
import io
import signal
import stat
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from noughts_bots.reference.specs import BotSpec
from noughts_referee.children.launcher import ChildCommand, Launcher, Started
from noughts_server.core.errors import InvalidArgument
from noughts_server.hosting.programs import (
    UNPACKED_BYTES,
    UNPACKED_FILES,
    examine,
    examine_in_child,
    place,
    program_folder,
)
from noughts_server.launching.launcher import SandboxMode, launching

BOT = (
    "from noughts_bots import Bot\nclass Mine(Bot):\n    def choose(self, position):\n        return position.free[0]\n"
)


def zip_of(files: dict[str, bytes | str], *, mode: int = 0o644 | stat.S_IFREG) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name)
            member.external_attr, member.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return packed.getvalue()


def examine_and_place(
    kind: str, entry: str, content: bytes, folder: Path, packages: tuple[str, ...] = ()
) -> tuple[BotSpec, str]:
    entry_found = examine(kind, entry, content, folder.with_name("examined"), packages)
    return place(kind, entry_found, content, folder), entry_found


def refusal(
    content: bytes | str, folder: Path, kind: str = "py", entry: str = "", packages: tuple[str, ...] = ()
) -> str:
    with pytest.raises(InvalidArgument) as caught:
        examine(kind, entry, content.encode() if isinstance(content, str) else content, folder / "bot", packages)
    return str(caught.value)


def test_the_class_of_a_bot_is_found_in_a_python_file(tmp_path: Path) -> None:
    spec, entry = examine_and_place("py", "", BOT.encode(), tmp_path / "bot")
    assert entry == "bot.py:Mine"
    assert str(spec) == f"py:{tmp_path}/bot/bot.py:Mine"


def test_unpacking_takes_little_memory(tmp_path: Path) -> None:
    packed = zip_of({"bot.py": BOT, "weights.bin": bytes(UNPACKED_BYTES - 10_000)})
    tracemalloc.start()
    place("py", "bot.py:Mine", packed, tmp_path / "bot")
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 4 << 20
    assert (tmp_path / "bot" / "weights.bin").stat().st_size == UNPACKED_BYTES - 10_000


def test_a_folder_is_unpacked_with_its_neighbours_and_data(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "bot.py": "import tables.book\nfrom helper import Base\nclass Mine(Base): pass\n",
        "helper.py": BOT.replace("Mine", "Base"),
        "tables/book.py": "moves = [1]\n",
        "weights.bin": b"\0\1",
    }
    spec, entry = examine_and_place("py", "helper.py:Base", zip_of(files), tmp_path / "bot")
    assert entry == "helper.py:Base"
    assert (tmp_path / "bot" / "weights.bin").read_bytes() == b"\0\1"
    assert spec.kind == "py"


@pytest.mark.parametrize(
    "source, entry, complaint",
    [
        ("class Mine:\n    pass\n", "", "got '0 classes that are bots'"),
        (BOT + "class Other(Mine):\n    pass\n", "", "2 classes that are bots (Mine, Other)"),
        (BOT.replace("Mine", "M" * 90_000), "", "expected a class whose name has at most 200 characters"),
        (BOT, "other.py:Mine", "got 'no file other.py'"),
        (BOT, "../bot.py:Mine", "got 'no file ../bot.py'"),
        ("def broken(:\n", "", "bot.py: invalid syntax"),
        ("(" * 5000 + ")" * 5000, "", "expected valid Python"),
        ("\0", "", "expected valid Python"),
        ("import ctypes\n" + BOT, "", "got 'ctypes at bot.py:1'"),
        (BOT + "def late():\n    from socket import socket\n", "", "got 'socket at bot.py:6'"),
        ("import subprocess as harmless\n" + BOT, "", "subprocess at bot.py:1"),
        ("import os, multiprocessing.pool\n" + BOT, "", "multiprocessing.pool at bot.py:1"),
        ("import numpy\n" + BOT, "", "got 'numpy at bot.py:1', expected the standard library"),
    ],
)  # fmt: skip
def test_files_that_are_not_bots_or_import_too_much_are_refused(
    tmp_path: Path, source: str, entry: str, complaint: str
) -> None:
    assert complaint in refusal(source, tmp_path, entry=entry)


def test_packages_that_the_operator_lists_can_be_imported(tmp_path: Path) -> None:
    examine_and_place("py", "", ("import numpy\n" + BOT).encode(), tmp_path / "bot", ("numpy",))
    assert "expected the standard library, numpy" in refusal("import scipy\n" + BOT, tmp_path, packages=("numpy",))


@pytest.mark.parametrize(
    "name", ["../bot.py", "/etc/bot.py", "a/../../bot.py", "..\\bot.py", "C:bot.py", "a\nb.py", "x" * 300]
)
def test_paths_that_lead_out_of_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    assert "expected relative paths in the folder" in refusal(zip_of({"bot.py": BOT, name: "x"}), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"bot"}


def test_folder_named_like_a_python_file_is_allowed(tmp_path: Path) -> None:
    assert (
        examine_and_place("py", "", zip_of({"bot.py": BOT, "tables.py/data": "x"}), tmp_path / "bot")[1]
        == "bot.py:Mine"
    )


@pytest.mark.parametrize("name", ["bot.py/data", "\N{MUSICAL SYMBOL G CLEF}" * 150])
def test_refusal_of_paths_names_no_folder_of_the_server(tmp_path: Path, name: str) -> None:
    assert str(tmp_path) not in refusal(zip_of({"bot.py": BOT, name: "x"}), tmp_path)


def test_links_in_a_zip_are_refused(tmp_path: Path) -> None:
    zip_with_link = zip_of({"bot.py": "/etc/passwd"}, mode=stat.S_IFLNK | 0o777)
    assert "neither a file nor a folder" in refusal(zip_with_link, tmp_path)


def test_zips_that_unpack_to_too_much_are_refused(tmp_path: Path) -> None:
    bomb = zip_of({"bot.py": BOT, **{f"zeros{number}": bytes(UNPACKED_BYTES // 4) for number in range(5)}})
    assert len(bomb) < 1 << 20
    assert f"got 'more than {UNPACKED_BYTES:,} bytes when it is unpacked'" in refusal(bomb, tmp_path)
    assert sum(path.stat().st_size for path in (tmp_path / "bot").iterdir()) <= UNPACKED_BYTES
    zip_with_many_files = zip_of({f"file{number}": "" for number in range(UNPACKED_FILES + 1)})
    assert f"expected at most {UNPACKED_FILES:,}" in refusal(zip_with_many_files, tmp_path)


def test_zips_with_too_many_folders_are_refused(tmp_path: Path) -> None:
    zip_with_deep_folders = zip_of(
        {"bot.py": BOT, **{f"{number}/{'a/' * 90}x": "" for number in range(UNPACKED_FILES // 90)}}
    )
    assert "got '12 files in 1,001 folders', expected at most 1,000 files and folders" in refusal(
        zip_with_deep_folders, tmp_path
    )
    assert not any((tmp_path / "bot").iterdir())


async def test_folder_of_a_program_is_removed_off_the_event_loop(tmp_path: Path) -> None:
    loop_turns: list[str] = []
    async with program_folder(tmp_path) as folder:
        place("py", "bot.py:Mine", zip_of({"bot.py": BOT, "a/b/c/weights": "1"}), folder / "bot")
        asyncio.get_running_loop().call_soon(loop_turns.append, "a turn of the loop")
    assert loop_turns
    assert not folder.exists()


def test_damaged_zips_are_refused(tmp_path: Path) -> None:
    whole = zip_of({"bot.py": BOT * 50})
    for broken in (
        whole[: len(whole) // 2],
        whole[:-10],
        whole[:60] + b"\xff" * 20 + whole[80:],
        b"PK\x03\x04" + b"x" * 50,
    ):
        assert "zip" in refusal(broken, tmp_path)


def test_files_that_are_not_modules_are_refused(tmp_path: Path) -> None:
    assert "got \"a file that begins with b'import o'\"" in refusal("import os", tmp_path, kind="wasm")
    assert "expected none" in refusal(b"\0asm\1\0\0\0", tmp_path, kind="wasm", entry="bot.py:Mine")


class KillingLauncher:
    """A launcher that kills its first `kills` children at once, as the kernel does when memory runs out."""

    def __init__(self, launcher: Launcher, kills: int) -> None:
        self._launcher = launcher
        self.kills = kills

    async def start(self, command: ChildCommand) -> Started:
        child = await self._launcher.start(command)
        if self.kills:
            self.kills -= 1
            child.kill(signal.SIGKILL)
        return child

    async def close(self) -> None:
        """The other launcher is closed by its owner."""


async def test_killed_examination_is_repeated(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(BOT)
    async with launching(SandboxMode.USUAL, print) as launcher:
        assert await examine_in_child(KillingLauncher(launcher, 2), "py", "", tmp_path / "bot.py") == "bot.py:Mine"
        with pytest.raises(InvalidArgument, match="can be read in"):
            await examine_in_child(KillingLauncher(launcher, 100), "py", "", tmp_path / "bot.py")
