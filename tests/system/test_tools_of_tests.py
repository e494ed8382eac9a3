"""Tools of the tests: a Node for playwright, a PostgreSQL that may fail to start, and forked processes."""

import json
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright._impl._driver import compute_driver_executable

from tests.support import databases, forks, postgresql
from tests.support.browser_program import use_node_of_wheel
from tests.support.databases import POSTGRESQL, SQLITE, Place, databases_of
from tests.support.node import NODE
from tests.support.root import ROOT


def test_playwright_runs_on_the_node_of_our_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLAYWRIGHT_NODEJS_PATH", raising=False)
    use_node_of_wheel()
    assert compute_driver_executable()[0] == str(NODE)


def test_a_failed_start_of_postgresql_fails_only_its_own_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    def fail(_postgresql: object) -> None:
        starts.append(1)
        raise RuntimeError("initdb exited with 1")

    monkeypatch.setattr(postgresql.Postgresql, "__init__", fail)
    # Other tests of this process may use a running server, so this test gets caches of its own.
    monkeypatch.setattr(postgresql, "_start_once", cache(postgresql._start_once.__wrapped__))
    monkeypatch.setattr(databases, "_start_postgresql", cache(databases._start_postgresql.__wrapped__))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="initdb"), databases_of(POSTGRESQL):
            raise AssertionError("the block of a database that is not there was entered")
    assert Place.kind == SQLITE
    assert len(starts) == 1


@pytest.mark.parametrize("ignored", ["SIGINT", "SIGHUP"])
def test_signals_that_a_shell_ignores_reach_the_programs_of_tests(ignored: str) -> None:
    """Ignore signals as `nohup` and the background of a shell do: child processes inherit that."""
    program = (
        "import signal, subprocess; from tests.conftest import pytest_configure; "
        f"signal.signal(signal.{ignored}, signal.SIG_IGN); pytest_configure(); "
        f"child = subprocess.Popen(['sleep', '60']); child.send_signal(signal.{ignored}); print(child.wait())"
    )
    process = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(process.stdout) == -signal.Signals[ignored]


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux, processes are forked")
@pytest.mark.parametrize("options", [["-P"], []])
def test_a_forked_process_is_like_a_started_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str]
) -> None:
    module = "tests.support.children.own_state"
    command = [sys.executable, *options, "-m", module, "one", "two words"]
    monkeypatch.setattr(forks, "_LOADED", {module: ["json"]})
    monkeypatch.setattr(forks, "_VARIABLES", {**forks._VARIABLES, "PYTHONPATH": str(ROOT)})
    servers: dict[str, Any] = {}
    monkeypatch.setattr(forks, "_servers", servers)
    reader, writer = os.pipe()

    def state(**more: Any) -> dict[str, Any]:
        process = subprocess.run(
            command, input="text", stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT), "COLOUR": "red"},
            cwd=tmp_path, pass_fds=[writer], start_new_session=True, text=True, check=False, **more,
        )  # fmt: skip
        assert process.returncode == 7
        printed: dict[str, Any] = json.loads(process.stdout)
        return printed

    started = state(executable=sys.executable)  # is not forked
    assert not servers
    assert state() == started
    servers[module].close()
    assert started["files"] == [0, 1, 2, writer]
    assert started["parent"] == os.getpid()
    os.close(reader)
    os.close(writer)
