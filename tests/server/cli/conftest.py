"""A command line in this process, and one in a process of its own."""

from __future__ import annotations

import json
import logging
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
import structlog
from typer.testing import Result

from tests.support import processes
from tests.support.background import server_in_thread
from tests.support.command_line import command_words, invoke
from tests.support.databases import make_file
from tests.support.golden import Golden
from tests.support.root import ROOT

Ask = Callable[..., Any]
"""Runs a command at the server with alice's token and returns its JSON; see `ask`."""


class Noughts(Protocol):
    """Runs `noughts` with a command line; the test fails unless it exits with `code`."""

    def __call__(
        self, line: str, *, code: int = 0, stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> Result: ...


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without settings, whose data lie in a folder of their own."""
    for name in ("NOUGHTS_SERVER", "NOUGHTS_TOKEN", "NOUGHTS_TLS_CA", "NOUGHTS_TLS_CERT", "NOUGHTS_TLS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")  # so that no line of the help is broken


@pytest.fixture
def noughts() -> Noughts:
    """The command line in this process."""

    def run(line: str, *, code: int = 0, stdin: str | None = None, env: Mapping[str, str] | None = None) -> Result:
        return invoke(shlex.split(line), code=code, stdin=stdin, env=env)

    return run


@pytest.fixture
def env(server: str, token: str) -> dict[str, str]:
    """The address of the server and alice's token, as environment variables."""
    return {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}


@pytest.fixture
def ask(noughts: Noughts, env: dict[str, str]) -> Ask:
    """Run a command at the server with alice's token and return its JSON."""

    def run(line: str) -> Any:
        return json.loads(noughts(f"{line} --format json", env=env).stdout)

    return run


@pytest.fixture(scope="session")
def golden(request: pytest.FixtureRequest) -> Golden:
    """The expected outputs of commands, in tests/golden."""
    return Golden(update=request.config.getoption("--update"), is_alone=not hasattr(request.config, "workerinput"))


class Transcript(Protocol):
    """Runs `noughts` with a command line, and compares all that it prints with tests/golden."""

    def __call__(
        self, line: str, *, code: int = 0, stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> Result: ...


@pytest.fixture
def transcript(noughts: Noughts, golden: Golden, tmp_path: Path) -> Transcript:
    """Return the outputs of a command line, which have been compared."""

    def run(line: str, *, code: int = 0, stdin: str | None = None, env: Mapping[str, str] | None = None) -> Result:
        result = noughts(line, code=code, stdin=stdin, env=env)
        golden.compare(line, result.stdout + result.stderr, command_words(line), own_paths(tmp_path))
        return result

    return run


class Refusal(Protocol):
    """Runs `noughts` with a command line that is refused, and compares its errors with tests/golden."""

    def __call__(
        self, line: str, *, code: int, stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> str: ...


@pytest.fixture
def refusal(noughts: Noughts, golden: Golden, tmp_path: Path) -> Refusal:
    """Run a command line that is refused, compare its errors with tests/golden, and return them."""

    def run(line: str, *, code: int, stdin: str | None = None, env: Mapping[str, str] | None = None) -> str:
        errors = noughts(line, code=code, stdin=stdin, env=env).stderr
        golden.compare(line, errors, command_words(line), own_paths(tmp_path))
        return errors

    return run


def own_paths(folder: Path) -> dict[str, str]:
    """Return the paths of a test with this folder, and what stands for them in tests/golden."""
    return {str(folder): "FOLDER", sys.executable: "PYTHON", str(ROOT): "CHECKOUT"}


@contextmanager
def started(line: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """`noughts` in a process of its own, which is killed at the end of the block."""
    with processes.started(shlex.split(line), {**os.environ, **(env or {})}) as process:
        yield process


@pytest.fixture
def start() -> Any:
    """Start `noughts` with a command line in a process of its own; see `started`."""
    return started


@pytest.fixture
def database(tmp_path: Path) -> str:
    """The address of a new database."""
    file = tmp_path / "games.db"
    make_file(file)
    return f"sqlite:///{file}"


@pytest.fixture
def server(database: str) -> Iterator[str]:
    """HOST:PORT of a server on that database, in a thread of this process: `serve` has tests of its own."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with server_in_thread(database) as address:
        yield address
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(0))


@pytest.fixture
def token(noughts: Noughts, database: str) -> str:
    """A token of alice's."""
    created = json.loads(noughts(f"token create --owner alice --db {database} --format json").stdout)
    secret: str = created["token"]
    return secret


def total_score(*scores: dict[str, int]) -> dict[str, int]:
    """Return the wins, draws and losses of several scores together."""
    return {key: sum(score[key] for score in scores) for key in ("wins", "draws", "losses")}


@pytest.fixture
def bob(start: Any, noughts: Any, database: str, server: str) -> Iterator[Any]:
    """The process of bob's bot, which is online."""
    created = json.loads(noughts(f"token create --owner bob --db {database} --format json").stdout)
    with start(f"bot run minimax --server {server} --name bob", {"NOUGHTS_TOKEN": created["token"]}) as process:
        assert "online as bots/bob" in process.stdout.readline()
        process.token_id = created["id"]
        yield process
