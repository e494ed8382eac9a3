"""Tools of the tests: a Node for playwright, and a PostgreSQL that may fail to start."""

import signal
import subprocess
import sys
from functools import cache

import pytest
from playwright._impl._driver import compute_driver_executable

from tests.support import databases, postgresql
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
