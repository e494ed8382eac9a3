"""`noughts web`, and the site that `noughts serve` starts and restarts after a crash."""

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
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import psutil
import pytest

from noughts_bots.connection.event_loop import run_loop
from noughts_server.cli.commands import serve
from noughts_server.cli.options import listening
from noughts_server.cli.options.listening import open_listener
from noughts_server.runtime import supervised_child
from tests.server.cli.conftest import Refusal
from tests.support.arena import open_arena
from tests.support.metrics import health, scrape
from tests.support.patience import PATIENCE
from tests.support.processes import eventually
from tests.support.random_games import store_random_games

CHILD = "noughts_server.web.child"


def status(site: str) -> int:
    """Return the site's status for a page that only its server can answer; 0 without an answer."""
    try:
        with urlopen(f"{site}/api/v1/status", timeout=PATIENCE) as response:
            return int(response.status)
    except (URLError, OSError):
        return 0


def site_process(process: "subprocess.Popen[str]") -> psutil.Process | None:
    """Return the process of the site that this server has started, or None while there is none."""
    for child in psutil.Process(process.pid).children():
        try:
            if CHILD in child.cmdline():
                return child
        except psutil.Error:
            continue
    return None


def test_web_prints_its_address_and_stops_without_errors(start: Any, server: str) -> None:
    with start(f"web --server {server} --listen 127.0.0.1:0 --format json") as process:
        ready = json.loads(process.stdout.readline())
        assert set(ready) == {"web", "metrics"}
        assert ready["metrics"] is None
        assert status(ready["web"]) == 200
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output, errors) == (0, "", "")


def test_web_counts_its_responses_for_prometheus(start: Any, server: str) -> None:
    with start(f"web --server {server} --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --format json") as process:
        ready = json.loads(process.stdout.readline())
        assert status(ready["web"]) == 200
        assert asyncio.run(health(ready["metrics"])) == (200, "ok\n")
        with pytest.raises(HTTPError):
            urlopen(f"{ready['web']}/nowhere", timeout=PATIENCE)
        samples = asyncio.run(scrape(ready["metrics"]))
    assert samples["noughts_web_responses_total", ("200",)] == 1
    assert samples["noughts_web_responses_total", ("404",)] == 1
    assert samples["noughts_web_requests", ()] == 0


def test_web_names_an_address_at_which_it_cannot_listen(noughts: Any, refusal: Refusal, server: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        result = noughts(f"web --server {server} --listen {address}", code=1)
    assert f"--listen '{address}': cannot listen there: Address already in use" in result.stderr
    refusal(f"web --server {server} --listen 7480", code=2)
    refusal(f"web --server {server} --metrics 0.0.0.0:7451", code=2)


def test_a_killed_site_is_restarted_and_refuses_no_call(start: Any, database: str) -> None:
    line = f"serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --db {database} --format json --log-level warning"
    with start(line) as process:
        site = json.loads(process.stdout.readline())["web"]
        # The process of the site may not serve yet: the call waits for it.
        assert status(site) == 200
        first = eventually(lambda: site_process(process), lambda child: child is not None, 60)
        assert first is not None
        first.kill()
        eventually(lambda: site_process(process), lambda child: child is not None and child.pid != first.pid, 60)
        assert status(site) == 200
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert errors.count("website_restarted") == 1
    assert status(site) == 0


def test_serve_passes_the_analyst_to_its_site(start: Any, tmp_path: Path) -> None:
    asyncio.run(store_finished_game(tmp_path / "games.sqlite"))
    line = (
        f"serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --db sqlite:///{tmp_path}/games.sqlite --format json"
        " --log-level warning --analyst Sage=minimax --analyst-time 100ms"
    )
    with start(line) as process:
        page = f"{json.loads(process.stdout.readline())['web']}/tournaments/cup/games/1?ply=2&opinion=true"

        def text() -> str:
            with urlopen(page, timeout=PATIENCE) as response:
                return str(response.read().decode())

        opinion = eventually(text, lambda text: 'id="opinion" data-state="done"' in text)
        assert "Opinion of Sage" in opinion
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")


async def store_finished_game(file: Path) -> None:
    async with open_arena(file) as arena:
        await store_random_games(arena, "tictactoe", 2)


@pytest.mark.parametrize(
    "analyst, words",
    [
        ("gomocup:./pbrain-gone", "got program './pbrain-gone', expected one that can be run"),
        ("nobody", "expected one of random"),
        ("bot:ada", "a bot registered on a server"),
        ("minimax --analyst-time 1h", "expected a duration of 50ms to 30s"),
    ],
)
def test_analyst_that_cannot_run_is_refused(noughts: Any, server: str, analyst: str, words: str) -> None:
    result = noughts(f"web --server {server} --listen 127.0.0.1:0 --analyst {analyst}", code=2)
    assert words in " ".join(result.stderr.split())


def test_a_site_ends_when_its_server_is_killed(start: Any, database: str) -> None:
    line = f"serve --listen 127.0.0.1:0 --web 127.0.0.1:0 --db {database} --format json --log-level error"
    with start(line) as process:
        site = json.loads(process.stdout.readline())["web"]
        assert status(site) == 200
        child = site_process(process)
        assert child is not None
        process.kill()
        process.communicate(timeout=PATIENCE)
    eventually(child.is_running, lambda running: not running, 60)
    assert status(site) == 0


def test_serve_fails_if_the_requested_site_cannot_start(noughts: Any, database: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        line = f"serve --listen 127.0.0.1:0 --db {database} --web {address}"
        assert f"--web '{address}': cannot listen there" in noughts(line, code=1).stderr
        assert "expected at most one of them" in noughts(f"{line} --no-web", code=2).stderr
        errors = noughts(f"{line} --tls-cert {tmp_path}/c.pem --tls-key {tmp_path}/k.pem", code=2).stderr
        assert "got a server that uses TLS" in errors
        assert "noughts web --server NAME:PORT --tls-ca CA.pem" in errors


def test_a_server_without_its_default_site_says_why(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        monkeypatch.setattr(serve, "DEFAULT_WEB", address)
        assert serve._website_listener(None, encrypted=False) is None
    errors = capsys.readouterr().err
    assert f"No website: --web '{address}': cannot listen there: Address already in use" in errors
    assert "or none with --no-web" in errors


def test_a_server_imports_no_packages_of_the_site() -> None:
    program = (
        "import sys; import noughts_server.cli.commands.serve, noughts_server.cli.commands.web,"
        " noughts_server.cli.processes.serving, noughts_server.web.supervisor;"
        " print(sorted({'starlette', 'uvicorn', 'jinja2'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_open_listener_waits_for_a_port_that_is_being_released() -> None:
    with socket.create_server(("127.0.0.1", 0)) as old_listener:
        port = old_listener.getsockname()[1]
        timer = threading.Timer(0.3, old_listener.close)
        timer.start()
        with open_listener(f"127.0.0.1:{port}", "--web") as listener:
            assert listener.getsockname()[1] == port
        timer.join()


def test_open_listener_waits_five_seconds_for_a_port(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as old_listener:
        now, released_at = 0.0, 5.0

        def sleep(seconds: float) -> None:
            nonlocal now
            now += seconds
            if now >= released_at:
                old_listener.close()

        monkeypatch.setattr(listening, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
        port = old_listener.getsockname()[1]
        with open_listener(f"127.0.0.1:{port}", "--web") as listener:
            assert listener.getsockname()[1] == port


def test_killed_site_process_returns_its_signal_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    start = asyncio.create_subprocess_exec

    async def start_and_kill(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        child = await start(*arguments, **options)
        child.kill()
        await child.wait()
        return child

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_and_kill)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        arguments = ("noughts_server.web.child", "127.0.0.1:1", str(listener.fileno()))
        assert run_loop(supervised_child._run_child(arguments, "{}", (listener.fileno(),))) == -signal.SIGKILL
