"""Every command that calls a server: with one address, and with two addresses of which nothing listens at one."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.background import bots_online
from tests.support.command_line import commands_and_groups
from tests.support.processes import exit_code_and_errors, first_line
from tests.support.receiver import webhook_receiver

BOT = """
from noughts_bots import Bot

class Mine(Bot):
    def choose(self, position):
        return position.free[0]
"""
DATABASE = "course/league.sqlite"
LINES = """
health
status --once
token create
token list
token revoke 4
invite create --uses 2
invite list
invite revoke 1
bot register later
bot rename later soon
bot retire soon
bot list
bot list --online
bot show best
course night course
tournament create thursdays --repeat weekly
tournament seasons thursdays
tournament stop-repeating thursdays
tournament create cup --games 4 --seed 1
tournament join cup --bot best --bot worst
tournament start cup
tournament wait cup
tournament show cup
tournament verify cup
tournament tables cup
tournament list
tournament watch cup
watch cup/1
game list cup
game show cup/1
game explain cup/1
bot history best
bot games best
bot mistakes best
puzzle list
puzzle export -o puzzles.jsonl
leaderboard --fit
rating-lists
ratings suspicious
head-to-head best worst
rate tournaments/cup
report tournaments/cup -o report.html
records convert tournaments/cup cup.jsonl
records sample tournaments/cup cup.csv
records accuracy tournaments/cup
tournament create next --games 2
tournament join next --bot best --bot worst
tournament withdraw next worst
tournament cancel next
tournament create long --games 20000
tournament join long --bot best --bot worst
tournament start long
tournament pause long
tournament extend long --games 2
tournament cancel long
test create best worst --games 100000 --name trial
test stop trial
test resume trial
test show trial
test list
test stop trial
test create best worst --games 2 --name short
test wait short
tuning list
webhook create RECEIVER
webhook list
webhook test 1
webhook delete 1
bot submit mine.py
challenge bot:best --run random --games 2
course report course
"""
LASTING_LINES = ("bot run random --name third", "web --listen 127.0.0.1:0", "mcp --listen 127.0.0.1:0")
"""Lines of commands that run until they are interrupted."""
OTHER_COMMANDS = {"play", "tournament run", "course init", "join", "tune", "tuning show", "tuning delete"}
"""`join` needs an invitation, `play` a terminal, `tune` a file, and `tuning show` and `delete` a tuning.

`tournament run` calls a server only for bots of the server, and `course init` never calls one."""
OWN_FOLDER = ("course ", "bot submit mine.py")
"""Beginnings of lines whose commands first read a file or folder."""
DEAD = "127.0.0.1:1"


@pytest.fixture(params=["{}", f"{DEAD},{{}}", f"{{}},{DEAD}"], ids=["one", "dead first", "dead last"])
def env(
    request: pytest.FixtureRequest, noughts: Any, start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """The environment of alice, who is in the folder of a course; two bots are online at its server."""
    monkeypatch.chdir(tmp_path)
    Path("class.csv").write_text("login\nada\n")
    Path("mine.py").write_text(BOT)
    noughts("course init course --students class.csv --variant tictactoe")
    rights = "--scope play --scope organise --scope submit --scope admin"
    token = json.loads(noughts(f"token create --owner alice {rights} --db {DATABASE} --format json").stdout)["token"]
    serve_line = (
        f"serve --listen 127.0.0.1:0 --no-web --accept py --allow-private-webhooks --db {DATABASE} --format json"
    )
    with start(serve_line) as process:
        server = json.loads(first_line(process))["grpc"]
        with bots_online(server, token, best="minimax", worst="random"):
            yield {"NOUGHTS_SERVER": request.param.format(server), "NOUGHTS_TOKEN": token}


@pytest.mark.at_length
def test_commands_that_succeed_leave_standard_error_empty(env: dict[str, str], noughts: Any, capfd: Any) -> None:
    with webhook_receiver() as receiver:
        for line in LINES.replace("RECEIVER", receiver.url).strip().splitlines():
            assert noughts(f"{line} --format json", env=env).stderr == "", line
    assert capfd.readouterr().err == ""


def test_commands_call_the_server_of_the_environment(noughts: Any, start: Any, tmp_path: Path) -> None:
    env = {"NOUGHTS_SERVER": "nowhere", "NOUGHTS_TOKEN": "nou_secret", "HOME": str(tmp_path)}
    for line in (*LINES.replace("RECEIVER", "http://127.0.0.1:1").strip().splitlines(), *LASTING_LINES):
        if not line.startswith(OWN_FOLDER):
            failure = noughts(line, code=2, env=env).stderr
            assert "NOUGHTS_SERVER 'nowhere': expected HOST:PORT" in failure, (line, failure)


@pytest.mark.at_length
def test_interrupted_commands_leave_standard_error_empty(env: dict[str, str], start: Any) -> None:
    for line in LASTING_LINES:
        with start(f"{line} --format json", env) as process:
            first_line(process)
            process.send_signal(signal.SIGINT)
            assert exit_code_and_errors(process)[1] == "", line


def test_list_has_every_command_that_calls_a_server() -> None:
    lines = (*LINES.strip().splitlines(), *LASTING_LINES)
    for path, node in commands_and_groups():
        options = [name for option in node.loaded.params for name in option.opts] if hasattr(node, "loaded") else []
        if "--server" in options:
            command = " ".join(path)
            assert command in OTHER_COMMANDS or any(line.startswith(command) for line in lines), command
