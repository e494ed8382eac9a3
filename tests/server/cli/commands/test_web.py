"""`noughts web`, and the site that `noughts serve` starts and minds."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import psutil
import pytest

from noughts_bots.connection.event_loop import run_loop
from noughts_server.cli.commands import serve
from noughts_server.cli.options import listening
from noughts_server.cli.options.listening import open_listener
from noughts_server.web import supervisor
from tests.server.cli.conftest import Refusal
from tests.support.patience import PATIENCE
from tests.support.processes import eventually

CHILD = "noughts_server.web.child"


def status(site: str) -> int:
    """Return the site's status for a page that only its server can answer; 0 without an answer."""
    try:
        with urlopen(f"{site}/api/v1/status", timeout=PATIENCE) as answer:
            return int(answer.status)
    except (URLError, OSError):
        return 0


def child_of(process: "subprocess.Popen[str]") -> psutil.Process | None:
    """The process of the site that this server minds."""
    for child in psutil.Process(process.pid).children():
        try:
            if CHILD in child.cmdline():
                return child
        except psutil.Error:
            continue
    return None


def test_web_says_where_it_is_and_stops_politely(start: Any, server: str) -> None:
    with start(f"web --server {server} --listen 127.0.0.1:0 --format json") as process:
        ready = json.loads(process.stdout.readline())
        assert set(ready) == {"web"}
        assert status(ready["web"]) == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "", "")


def test_web_says_so_where_it_cannot_listen(noughts: Any, refusal: Refusal, server: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        refused = noughts(f"web --server {server} --listen {address}", code=1)
    assert f"--listen '{address}': cannot listen there: Address already in use" in refused.stderr
    refusal(f"web --server {server} --listen 7480", code=2)


def test_a_killed_site_is_restarted_and_nobody_is_refused(start: Any, database: str) -> None:
    line = f"serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --db {database} --format json --log-level warning"
    with start(line) as process:
        site = json.loads(process.stdout.readline())["web"]
        # No child is there yet: the call waits for it.
        assert status(site) == 200
        first = eventually(lambda: child_of(process), lambda child: child is not None, 60)
        assert first is not None
        first.kill()
        eventually(lambda: child_of(process), lambda child: child is not None and child.pid != first.pid, 60)
        assert status(site) == 200
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert err.count("website_restarted") == 1
    assert status(site) == 0


def test_a_site_ends_with_its_server_however_that_ended(start: Any, database: str) -> None:
    line = f"serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --db {database} --format json --log-level error"
    with start(line) as process:
        site = json.loads(process.stdout.readline())["web"]
        assert status(site) == 200
        child = child_of(process)
        assert child is not None
        process.kill()
        process.communicate(timeout=PATIENCE)
    eventually(child.is_running, lambda running: not running, 60)
    assert status(site) == 0


def test_a_site_that_was_asked_for_and_cannot_be_ends_the_command(noughts: Any, database: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        line = f"serve --listen 127.0.0.1:0 --db {database} --web {address}"
        assert f"--web '{address}': cannot listen there" in noughts(line, code=1).stderr
        assert "expected at most one of them" in noughts(f"{line} --no-web", code=2).stderr
        encrypted = noughts(f"{line} --tls-cert {tmp_path}/c.pem --tls-key {tmp_path}/k.pem", code=2).stderr
        assert "got a server that uses TLS" in encrypted
        assert "noughts web --server NAME:PORT --tls-ca CA.pem" in encrypted


def test_a_server_says_why_it_has_no_site(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr(serve, "DEFAULT_WEB", address)
        assert serve._website_listener(None, encrypted=False) is None
    said = capsys.readouterr().err
    assert f"No website: --web '{address}': cannot listen there: Address already in use" in said
    assert "or none with --no-web" in said


def test_a_server_loads_nothing_of_the_site() -> None:
    program = (
        "import sys; import noughts_server.cli.commands.serve, noughts_server.cli.commands.web,"
        " noughts_server.cli.processes.serving, noughts_server.web.supervisor;"
        " print(sorted({'starlette', 'uvicorn', 'jinja2'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


def test_port_that_is_just_being_released_is_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        releasing = threading.Timer(0.3, held.close)
        releasing.start()
        with open_listener(f"127.0.0.1:{port}", "--web") as listener:
            assert listener.getsockname()[1] == port
        releasing.join()


def test_port_of_a_killed_server_on_a_busy_machine_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        now, released_at = 0.0, 5.0

        def sleep(seconds: float) -> None:
            nonlocal now
            now += seconds
            if now >= released_at:
                held.close()

        monkeypatch.setattr(listening, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
        port = held.getsockname()[1]
        with open_listener(f"127.0.0.1:{port}", "--web") as listener:
            assert listener.getsockname()[1] == port


def test_site_that_is_killed_as_it_starts_ends_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    start = asyncio.create_subprocess_exec

    async def killed_at_once(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        child = await start(*arguments, **options)
        child.kill()
        await child.wait()
        return child

    monkeypatch.setattr(asyncio, "create_subprocess_exec", killed_at_once)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert run_loop(supervisor._run_child("127.0.0.1:1", listener, "{}")) == -signal.SIGKILL
