"""Bots in Python that play in a child, `py:`: how they are found and made, and their faults."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from noughts_bots.hosts import bot_for
from noughts_bots.sdk.errors import BotSpecError
from tests.support.hosting import HostProcess, load_error

CENTRE = """
from noughts_bots import Bot

class Centre(Bot):
    def choose(self, position):
        return 4
"""


@pytest.fixture
def centre(tmp_path: Path) -> Path:
    file = tmp_path / "centre.py"
    file.write_text(CENTRE)
    return tmp_path


def write_bot(folder: Path, choose: str, *, before: str = "") -> str:
    """Write a bot whose `choose` has this body, and return its target."""
    file = folder / "bot.py"
    body = "\n".join(f"        {line}" for line in choose.splitlines())
    file.write_text(
        f"{before}\nfrom noughts_bots import Bot\nclass Made(Bot):\n    def choose(self, position):\n{body}\n"
    )
    return f"{file}:Made"


@pytest.mark.parametrize("target", ["./centre.py:Centre", "centre:Centre", "centre.py:Centre", "centre.py"])
def test_a_bot_is_found_in_a_file_and_in_a_module_of_the_working_folder(centre: Path, target: str) -> None:
    with HostProcess("py", target, cwd=centre) as child:
        child.hello()
        assert child.first_move() == 4
        assert child.close() == 0


@pytest.mark.parametrize("target", ["./centre.py:Centre", "centre:Centre"])
def test_a_bot_is_found_in_the_folder_that_the_environment_names(centre: Path, tmp_path: Path, target: str) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with HostProcess("py", target, cwd=scratch, env={"NOUGHTS_FOLDER": str(centre)}) as child:
        child.hello()
        assert child.first_move() == 4


def test_a_target_can_be_any_callable_that_returns_a_bot() -> None:
    with HostProcess("py", "noughts_bots.reference.specs:make_bot", "spec=x") as child:
        assert child.receive() is None  # a callable, but it fails: a text is no spec
        assert child.wait_for_exit() == 1
        assert "correct the exception in its constructor" in child.stderr_text()
    with HostProcess("py", "noughts_bots.reference.minimax:Minimax", "faster=true", "depth=2") as child:
        child.hello()
        assert child.first_move() == 0


def test_a_file_imports_its_neighbours_under_any_name(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("CELL = 7\n")
    (tmp_path / "json.py").write_text(
        "from neighbour import CELL\nfrom noughts_bots import Bot\n"
        "class Near(Bot):\n    def choose(self, position):\n        return CELL\n"
    )
    with HostProcess("py", f"{tmp_path}/json.py:Near") as child:
        child.hello()
        assert child.first_move() == 7


@pytest.mark.parametrize("target", ["./plays.py:Near", "plays:Near"])
def test_files_next_to_a_bot_hide_no_module_of_python(tmp_path: Path, target: str) -> None:
    # A bot in C and Python can come with such a library, which Python would take for a module.
    (tmp_path / "random.so").write_bytes(b"\x7fELF")
    (tmp_path / "json.py").write_text("raise RuntimeError('not this one')")
    (tmp_path / "plays.py").write_text(f"import json, random\n{CENTRE.replace('Centre', 'Near')}")
    with HostProcess("py", target, cwd=tmp_path) as child:
        child.hello()
        assert child.first_move() == 4


def test_options_are_converted_by_annotations(tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(
        "from __future__ import annotations\nfrom noughts_bots import Bot\n"
        "class Typed(Bot):\n"
        "    def __init__(self, depth: int, width: float | None = 1.5, quick: bool = False, book='', *, name=''):\n"
        "        print(repr((depth, width, quick, book, name)))\n"
        "def loose(**options):\n    print(options)\n    return Typed(1)\n"
    )
    options = ("depth=3", "width=0.5", "quick=true", "book=7", "name=1")
    with HostProcess("py", "typed:Typed", *options, cwd=tmp_path) as child:
        child.hello()
        assert child.close() == 0
        assert child.stderr_text() == "(3, 0.5, True, '7', '1')\n"
    with HostProcess("py", "typed:loose", "any=1", cwd=tmp_path) as child:
        child.hello()
        assert child.close() == 0
        assert child.stderr_text() == "{'any': '1'}\n(1, 1.5, False, '', '')\n"
    assert load_error("py", "typed:Typed", "depth=x", cwd=tmp_path).endswith(
        "option depth: got x, expected a whole number; write depth=VALUE"
    )
    assert "got yes, expected true or false" in load_error("py", "typed:Typed", "depth=1", "quick=yes", cwd=tmp_path)
    assert "got no option depth" in load_error("py", "typed:Typed", cwd=tmp_path)
    assert "write py{depth=VALUE}:typed:Typed" in load_error("py", "typed:Typed", cwd=tmp_path)
    assert "did you mean depth?" in load_error("py", "typed:Typed", "dept=1", "depth=1", cwd=tmp_path)


@pytest.mark.parametrize(
    "target, complaint",
    [
        (
            "centre:Center",
            "got name 'Center', expected a class or a function of centre, e.g. Centre; did you mean Centre?",
        ),
        ("centre:Bot.nothing", "got name 'Bot.nothing'"),
        ("center:Centre", "got ModuleNotFoundError: No module named 'center', expected a module that can be imported"),
        ("./center.py:Centre", "center.py, which is not a file, expected a Python file"),
        ("no module:Centre", "got 'no module', expected the name of a module"),
        ("centre:__name__", "got 'centre', expected a class, or a function that returns a bot"),
        ("builtins:dict", "got {}, expected a noughts_bots.Bot"),
        ("centre", "got name 'centre', expected"),
        ("two.py", "got 2 classes that are bots (A, B), expected one in two.py; name one: py:two.py:A"),
        (
            "none.py",
            "got 0 classes that are bots, expected one in none.py; write `class Mine(Bot)`, or name a function",
        ),
    ],
)
def test_a_target_that_names_no_bot_is_refused_in_one_line(centre: Path, target: str, complaint: str) -> None:
    (centre / "two.py").write_text("from noughts_bots import Bot\nclass A(Bot): pass\nclass B(Bot): pass\n")
    (centre / "none.py").write_text("from noughts_bots import Bot\n")
    error = load_error("py", target, cwd=centre)
    assert error.startswith(f"bot 'py:{target}': got ")
    assert complaint in error


def test_an_error_names_a_file_in_the_users_folder_by_its_relative_path(centre: Path) -> None:
    (centre / "none.py").write_text("from noughts_bots import Bot\n")
    error = load_error("py", centre.resolve() / "none.py", cwd=centre.resolve())
    assert error.startswith("bot 'py:none.py': got 0 classes that are bots, expected one in none.py;")
    assert error.endswith("or name a function that returns a bot: py:none.py:FUNCTION")


@pytest.mark.parametrize(
    "first_lines, complaint",
    [
        ("raise RuntimeError('out of\\nmemory')", "got RuntimeError: out of memory, expected a module"),
        ("import sys; sys.exit(3)", "got SystemExit: 3, expected a module"),
        ("class (", "got SyntaxError: invalid syntax"),
        ("import nobody_has_this", "got ModuleNotFoundError: No module named 'nobody_has_this'"),
    ],
)
def test_a_module_that_fails_to_import_is_refused_with_the_place(
    tmp_path: Path, first_lines: str, complaint: str
) -> None:
    with HostProcess("py", write_bot(tmp_path, "return 0", before=first_lines)) as child:
        assert child.receive() is None
        assert child.wait_for_exit() == 1
        errors = child.stderr_text()
    assert complaint in errors.splitlines()[-1]
    assert "bot.py" in errors
    assert "line 1" in errors


def test_printing_and_reading_of_a_python_bot_damages_no_frame(tmp_path: Path) -> None:
    target = write_bot(
        tmp_path,
        "import os\nprint('thinking')\nos.system('echo child')\nos.write(1, b'raw\\n')\n"
        "try:\n    input()\nexcept EOFError:\n    return 3",
        before="print('imported')",
    )
    with HostProcess("py", target) as child:
        child.hello()
        assert child.first_move() == 3
        assert child.close() == 0
        assert child.stderr_text() == "imported\nthinking\nchild\nraw\n"


def test_a_bot_that_raises_resigns_and_its_traceback_is_printed(tmp_path: Path) -> None:
    target = write_bot(tmp_path, "if position.ply:\n    raise RuntimeError('lost my way')\nreturn 0")
    with HostProcess("py", target) as child:
        child.hello()
        assert child.ask("tictactoe", {1: (), 2: (3, 4)}, seeds={1: 1, 2: 1}) == {1: 0, 2: None}
        assert child.close() == 0
        errors = child.stderr_text()
    assert "and resigns" in errors
    assert "RuntimeError: lost my way" in errors
    assert "bot.py" in errors


def test_an_asynchronous_bot_gets_all_questions_of_a_frame_at_once(tmp_path: Path) -> None:
    (tmp_path / "together.py").write_text(
        """
import asyncio
from noughts_bots import Bot

class Together(Bot):
    def __init__(self):
        self.waiting = 0
        self.all_there = None

    async def choose(self, position):
        self.all_there = self.all_there or asyncio.Event()
        self.waiting += 1
        if self.waiting == 3:
            self.all_there.set()
        if position.seed == 9:
            raise RuntimeError("not this one")
        await self.all_there.wait()
        return position.seed
"""
    )
    with HostProcess("py", "together:Together", cwd=tmp_path) as child:
        child.hello()
        games: dict[int, tuple[int, ...]] = {1: (), 2: (), 3: ()}
        assert child.ask("tictactoe", games, seeds={1: 4, 2: 9, 3: 6}) == {1: 4, 2: None, 3: 6}
        assert child.turn({1: (4, 0)}) == {1: 4}
        assert child.close() == 0
        assert "not this one" in child.stderr_text()


def test_a_bot_is_closed_when_the_referee_closes_the_pipe(tmp_path: Path) -> None:
    target = write_bot(tmp_path, "return 0\n")
    with (tmp_path / "bot.py").open("a") as file:
        file.write("    def close(self):\n        print('closed')\n")
    with HostProcess("py", target) as child:
        child.hello()
        assert child.close() == 0
        assert child.stderr_text() == "closed\n"


def test_frames_that_cannot_be_read_end_the_child_with_a_reason(tmp_path: Path) -> None:
    for rubbish, reason in (
        (b"\x05\0\0\0ab", "2 of 5"),
        (b"\xff\xff\xff\xff", "expected at most"),
        (b"\x01\0\0\0\xff", "rror"),
    ):
        with HostProcess("py", write_bot(tmp_path, "return 0")) as child:
            child.hello()
            assert child.process.stdin is not None
            child.process.stdin.write(rubbish)
            assert child.close() == 2
            assert reason in child.stderr_text()
            assert "Traceback" not in child.stderr_text()


def test_programs_of_a_bot_inherit_neither_pipe_nor_stdin(tmp_path: Path) -> None:
    listing = "import os; print(sorted(os.listdir('/proc/self/fd')))"
    # Unlike subprocess, os.spawnv closes no descriptors by itself.
    spawning = f"import os, sys\nos.spawnv(os.P_WAIT, sys.executable, [sys.executable, '-c', {listing!r}])\nreturn 0"
    target = write_bot(tmp_path, spawning)
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("only Linux shows a process's descriptors there")
    with HostProcess("py", target) as child:
        child.hello()
        assert child.first_move() == 0
        assert child.stderr_text() == "['0', '1', '2', '3']\n"  # 3 is the listing's own descriptor


def test_a_kind_without_a_host_is_refused() -> None:
    with pytest.raises(BotSpecError, match=r"got an unsupported kind, expected one of py, dll, wasm, lines, gtp; "):
        bot_for("exec", "ls", {})


@pytest.mark.parametrize("arguments", [(), ("py",), ("py", "a:B", "depth")])
def test_wrong_arguments_of_a_host_are_refused(arguments: tuple[str, ...]) -> None:
    assert "expected KIND TARGET [key=value ...]" in load_error(*arguments)


@pytest.mark.parametrize("kind", ["py", "dll"])
def test_hosts_never_load_grpc(kind: str) -> None:
    script = f"""
import sys, noughts_bots.hosts, noughts_bots.hosts.{kind}, noughts_bots.hosts.warm, noughts_bots.hosts.installed
loaded = [name for name in ("grpc", "asyncio") if name in sys.modules]
sys.exit(", ".join(loaded) or 0)
"""
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
