"""Interpreters that Noughts starts: without modules of the working folder and without secrets."""

import ast
import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noughts_bots.reference.specs import parse_spec
from noughts_proto.interpreter import environment, python
from noughts_referee.children.start_retry import StartRetry
from noughts_server.agents import bot_tools
from noughts_server.local.bot_process import bot_process
from noughts_server.records.data_set import Rows
from noughts_server.records.parquet import parquet_output, read_parquet
from noughts_server.web import board_png, supervisor
from noughts_server.web.site_settings import SiteSettings

pytestmark = pytest.mark.processes

_ROOT = Path(__file__).parents[2]
_SHIPPED = [file for part in ("proto", "referee", "bots", "server") for file in (_ROOT / part).rglob("*.py")]
_MODULES = ("queue", "json", "socket", "selectors", "struct", "typing", "asyncio", "encodings")


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A working folder with modules of standard names; the test fails if one of them is imported."""
    for module in _MODULES:
        (tmp_path / f"{module}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write('{module} ')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", *filter(None, os.environ.get("PYTHONPATH", "").split(":"))]))
    yield
    assert not (tmp_path / "imported").exists(), (tmp_path / "imported").read_text()


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NOUGHTS_TOKEN", "PGPASSWORD", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "secret")


def _names_an_interpreter(file: Path) -> bool:
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Attribute(attr="executable" | "_base_executable", value=ast.Name(id="sys")):
                return True
            case ast.ImportFrom(module="sys") if any("executable" in alias.name for alias in node.names):
                return True
            case ast.Import(names=names) if any(alias.name.startswith("multiprocessing") for alias in names):
                return True
            case ast.ImportFrom(module=str(module)) if module.startswith("multiprocessing"):
                return True
            case ast.Name(id="ProcessPoolExecutor") | ast.Attribute(attr="ProcessPoolExecutor"):
                return True
    return False


def test_only_the_helper_names_an_interpreter() -> None:
    starting = {str(file.relative_to(_ROOT)) for file in _SHIPPED if _names_an_interpreter(file)}
    assert starting == {"proto/noughts_proto/interpreter.py"}


@pytest.mark.usefixtures("trap")
def test_the_working_folder_is_no_place_to_import_from() -> None:
    words = python("-c", f"import {', '.join(_MODULES)}, sys; print(sys.path)")
    path = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True).stdout
    assert "''" not in path
    assert os.getcwd() not in path


@pytest.mark.usefixtures("trap")
async def test_the_website_imports_nothing_of_the_working_folder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with supervisor.supervised_site("127.0.0.1:1", listener, SiteSettings()):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(b"GET /signin HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1")
            writer.close()


@pytest.mark.usefixtures("trap")
async def test_a_tool_for_agents_imports_nothing_of_the_working_folder() -> None:
    assert (await bot_tools._run(os.getcwd(), "variants"))["variants"]


@pytest.mark.usefixtures("trap")
async def test_a_reference_bot_imports_nothing_of_the_working_folder() -> None:
    async with bot_process(parse_spec("random"), 1, StartRetry(print)) as bot:
        assert await bot.play("127.0.0.1:1", "ticket") == 1


def test_variables_of_a_child_hold_no_secret(secrets: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_TIME", "C")
    variables = environment(keeping=("OPENAI_API_KEY",), ADDRESS="here")
    assert "NOUGHTS_TOKEN" not in variables
    assert "PGPASSWORD" not in variables
    assert (variables["OPENAI_API_KEY"], variables["ADDRESS"], variables["LC_TIME"]) == ("secret", "here", "C")
    assert variables["PATH"] == os.environ["PATH"]


@pytest.mark.usefixtures("secrets")
def test_readers_of_parquet_and_drawers_of_boards_get_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environments: list[dict[str, str]] = []
    start = subprocess.Popen.__init__

    def record_environment(process: "subprocess.Popen[bytes]", *arguments: Any, **options: Any) -> None:
        environments.append(options.get("env") or dict(os.environ))
        start(process, *arguments, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", record_environment)
    with (tmp_path / "games.parquet").open("wb") as out, parquet_output(out, Rows.GAMES):
        pass
    assert list(read_parquet(str(tmp_path / "games.parquet"))) == []
    assert board_png._rendered('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>').startswith(b"\x89PNG")
    assert len(environments) == 2
    assert not [variables for variables in environments if "secret" in variables.values()]
