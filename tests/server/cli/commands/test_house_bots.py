"""`noughts serve --house-bots levels`: a newcomer plays rated games at once against bots of known strength."""

import json
import signal
from typing import Any

import psutil
import pytest

from noughts_bots.reference.levels.table import levels
from tests.support.patience import PATIENCE
from tests.support.processes import eventually, first_line

LADDERS = {f"levels-{variant}": len(rows) for variant, rows in levels().items()}
CHILD = "noughts_server.leagues.level_bots_child"


def entries(noughts: Any, address: str) -> dict[str, int]:
    """Return the number of entries of each running tournament."""
    listed = json.loads(noughts(f"tournament list --server {address} --format json").stdout)["tournaments"]
    running = [row["tournament"].partition("/")[2] for row in listed if row["state"] == "running"]
    return {name: len(standings(noughts, address, name)) for name in running}


def standings(noughts: Any, address: str, tournament: str) -> dict[str, Any]:
    """Return the rows of the standings by label."""
    shown = json.loads(noughts(f"tournament show {tournament} --server {address} --format json").stdout)
    return {row["name"]: row for row in shown["standings"]}


@pytest.mark.processes
def test_a_newcomer_gets_rated_games_against_levels_at_once(start: Any, noughts: Any, database: str) -> None:
    line = f"serve --no-web --listen 127.0.0.1:0 --db {database} --house-bots levels --format json --log-level error"
    with start(line) as server:
        address = json.loads(first_line(server))["grpc"]
        eventually(lambda: entries(noughts, address), lambda found: found == LADDERS)
        token = json.loads(noughts(f"token create --owner ann --db {database} --format json").stdout)["token"]
        own = {"NOUGHTS_TOKEN": token}
        with start(f"bot run minimax:depth=2 --name mine --server {address} --format json", own) as bot:
            first_line(bot)
            noughts(f"tournament join levels-connect4 --bot mine --server {address}", env=own)
            rows = eventually(
                lambda: standings(noughts, address, "levels-connect4"), lambda rows: rows["mine"]["losses"] >= 2
            )
            bot.terminate()
        lines = noughts(f"game list levels-connect4 --server {address} --format json").stdout.splitlines()
        games = [json.loads(line) for line in lines]
        assert all("mine" in (game["first"], game["second"]) for game in games)
        assert rows["mine"]["rating"] != 1500
        rated = {label: row["rating"] for label, row in rows.items() if label != "mine" and row["rating"] is not None}
        assert rated == {label: float(label.removeprefix("level-")) for label in rated}
        assert rated
        (child,) = (each for each in psutil.Process(server.pid).children() if CHILD in each.cmdline())
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE) == 0
        assert not child.is_running()
