"""`noughts live`: a server, its site, and bots that play until it stops."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.support.patience import PATIENCE
from tests.support.processes import eventually

LADDERS = {"noughts-and-crosses", "four-in-a-row", "five-in-a-row", "in-a-cube"}


def games_done(site: str) -> dict[str, int]:
    """Return the number of finished games of each tournament, as the site reports them."""
    with urlopen(f"{site}/api/v1/tournaments", timeout=PATIENCE) as response:
        tournaments = json.load(response)["tournaments"]
    return {tournament["name"].partition("/")[2]: tournament["games_done"] for tournament in tournaments}


def interrupt(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Send an interrupt, and return the exit code and the rest of stdout and stderr."""
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, output, errors


@pytest.mark.at_length
def test_one_interrupt_stops_all_bots_and_a_kept_folder_continues(start: Any, tmp_path: Path) -> None:
    line = f"live --web 127.0.0.1:0 --listen 127.0.0.1:0 --pace 0 --db {tmp_path / 'live.sqlite'} --format json"
    with start(line) as process:
        ready = json.loads(process.stdout.readline())
        assert set(ready) == {"grpc", "web", "token"}
        earlier_games = eventually(
            lambda: games_done(ready["web"]), lambda done: set(done) == LADDERS and all(done.values())
        )
        assert interrupt(process) == (0, "", "")
    with start(line) as process:
        ready = json.loads(process.stdout.readline())
        eventually(
            lambda: games_done(ready["web"]), lambda done: all(done[name] > earlier_games[name] for name in LADDERS)
        )
        assert interrupt(process) == (0, "", "")
