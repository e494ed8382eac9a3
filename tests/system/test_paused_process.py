"""A pause of the server's process costs no player time."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

MATCH = "match first-free random --games 400 --time 1/move --concurrency 1 --seed 3 --format json"
HALT_SECONDS = 1.4


def test_no_player_loses_on_time_while_the_server_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "noughts_server.cli", *MATCH.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        while process.poll() is None:
            time.sleep(1.5)
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(HALT_SECONDS)
            os.kill(process.pid, signal.SIGCONT)
        assert process.stdout is not None
        outcome = json.loads(process.stdout.read())
    assert outcome["games"] == 400
    assert "timeout" not in outcome["terminations"]
