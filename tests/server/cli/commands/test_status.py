"""`noughts status`."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from typing import Any

from tests.support.patience import PATIENCE


def test_status_is_printed_once_if_stdout_is_no_terminal(noughts: Any, server: str) -> None:
    output = noughts(f"status --server {server}").stdout
    assert f"at {server} serving" in output
    for name in ("games/s", "plies/s", "running", "queued", "bots online", "watchers", "commit", "loop lag"):
        assert name in output
    assert "\x1b" not in output


def test_status_on_a_terminal_is_refreshed_until_interrupted(server: str) -> None:
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "noughts_server.cli", "status", "--server", server]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, env=env) as process:
        os.close(terminal)
        drawn = b""
        while drawn.count(b"serving") < 3:
            drawn += os.read(controller, 65_536)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""
    os.close(controller)


def test_status_as_json_needs_no_token(noughts: Any, server: str) -> None:
    document = json.loads(noughts(f"status --server {server} --format json").stdout)
    assert (document["address"], document["draining"], document["bots"], document["games"]) == (server, False, [], 0)
    assert document["uptime_seconds"] > 0
    assert "uptime" not in document
