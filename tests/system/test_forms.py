"""One bot in all its forms, at one server and in one tournament: it makes the same moves in each form."""

import json
import os
import shlex
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.processes import environment, eventually, first_line, json_of, run_noughts, started
from tests.support.root import ROOT
from tests.support.tools import compiler, run

EXAMPLES = ROOT / "bots" / "examples" / "c"
FORMS = ("library", "engine", "plugin", "program", "dialling")

PLUGIN = """
import sys

from noughts_bots import Bot


class Lowest(Bot):
    def choose(self, position):
        return position.free[0]


if sys.argv[1:] == ["frames"]:
    from noughts_bots.connection.pipe_session import play_on_pipes

    play_on_pipes(Lowest(), sys.stdin.buffer, open(1, "wb", buffering=0))
elif sys.argv[1:] == ["dial"]:
    from noughts_bots import run

    run(Lowest(), name="dialling")
"""


@pytest.mark.at_length
def test_a_bot_plays_the_same_game_in_each_of_its_six_forms(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(EXAMPLES, source)
    header = run_noughts(["bot", "header", "--folder"], environment()).stdout.strip()
    targets = ("lowest.so", "pbrain-lowest")
    run("make", "-s", f"INCLUDE={header}", f"CC={shlex.join(compiler('cc'))}", *targets, cwd=source)
    plugin = tmp_path / "lowest" / "lowest.py"
    plugin.parent.mkdir()
    plugin.write_text(PLUGIN)
    env = environment(XDG_DATA_HOME=str(tmp_path / "data"))
    with ExitStack() as stack:
        server = stack.enter_context(started(["serve", "--no-web", "--listen", "127.0.0.1:0", "--format", "json"], env))
        env["NOUGHTS_SERVER"] = json.loads(first_line(server))["grpc"]
        env["NOUGHTS_TOKEN"] = json_of("token create --owner ada", env)["token"]
        specs = {
            "library": f"dll:{source / 'lowest.so'}",
            "engine": f"gomocup:{source / 'pbrain-lowest'}",
            "plugin": f"py:{plugin}:Lowest",
            "program": f"exec:{sys.executable} {plugin} frames",
        }
        for name, spec in specs.items():
            stack.enter_context(started(["bot", "run", spec, "--name", name], env))
        stack.enter_context(started(["dial"], {**env, "PYTHONUNBUFFERED": "1"}, (sys.executable, str(plugin))))
        eventually(
            lambda: {bot["name"] for bot in json_of("bot list --online", env)["bots"]}, lambda on: on >= {*FORMS}
        )
        json_of("tournament create forms --variant gomoku --games 2", env)
        for name in FORMS:
            json_of(f"tournament join forms --bot {name}", env)
        json_of("tournament start forms", env)
        pairs = len(FORMS) * (len(FORMS) - 1) // 2
        eventually(lambda: json_of("tournament show forms", env)["games"], lambda games: games == 2 * pairs, 60)
        lines = run_noughts(["game", "list", "forms", "--format", "json"], env).stdout.splitlines()
    assert len(lines) == 2 * pairs
    # Referees start the sixth form: the program that connected to the server now gets the address from the referee.
    dialling_spec = f"exec{{dial=true}}:{sys.executable} {plugin} dial"
    dialled_games = tmp_path / "called.jsonl"
    run_noughts(
        ["match", dialling_spec, specs["program"], "--variant", "gomoku", "-o", str(dialled_games)], environment()
    )
    games = [json.loads(line) for line in (*lines, *dialled_games.read_text().splitlines())]
    assert len(games) == 2 * pairs + 2
    assert {game["termination"] for game in games} == {"line"}
    # Both sides take the lowest free cell, so all games are the same.
    assert {tuple(game["moves"]) for game in games} == {tuple(game["moves"]) for game in games[:1]}
    assert games[0]["moves"] == sorted(games[0]["moves"])
    assert os.listdir(plugin.parent) == ["lowest.py"]
