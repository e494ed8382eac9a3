"""`noughts tune`: a bot whose best values are known, played on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Noughts, Transcript
from tests.support.background import server_in_thread
from tests.support.patience import PATIENCE
from tests.support.processes import PROGRAM, eventually

BOT = '''
from noughts_bots import Bot


class Planted(Bot):
    """Blunders the more often, the farther its numbers are from 30 and 0.7."""

    def __init__(self, attack, defence):
        self.blunders = min(0.9, ((float(attack) - 30) / 30) ** 2 + ((float(defence) - 0.7) / 0.6) ** 2)

    def choose(self, position):
        chance = position.rng()
        if chance.below(1000) >= 1000 * self.blunders:
            for stones in (position.own, position.opponent):
                for cell in position.free:
                    if any(line >> cell & 1 and not line & ~(1 << cell) & ~stones for line in position.variant.lines):
                        return cell
        return chance.choice(position.free)
'''
PARAMETERS = """
bot = "py{attack=$attack,defence=$defence}:planted.py"

[parameters.attack]
start = 14
range = [0, 60]
step = 3

[parameters.defence]
start = 0.4
range = [0.0, 1.4]
step = 0.06
"""
GAMES = "--variant mnk:5,5,4 --openings random:2 --seed 1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a bot and its parameters."""
    (tmp_path / "planted.py").write_text(BOT)
    (tmp_path / "p.toml").write_text(PARAMETERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tune(noughts: Noughts, options: str, *, code: int = 0) -> Any:
    return json.loads(noughts(f"tune p.toml {GAMES} --format json {options}", code=code).stdout)


@pytest.mark.at_length
def test_tuning_finds_the_planted_optima(noughts: Noughts) -> None:
    document = tune(noughts, "--iterations 100 --games 32 --concurrency 32")
    attack, defence = document["parameters"]
    assert attack["low95"] <= 30 <= attack["high95"]
    assert defence["low95"] <= 0.7 <= defence["high95"]
    assert abs(attack["tuned"] - 30) < 5
    assert document["tuned"].startswith(f"py{{attack={attack['tuned']:.0f},defence=0.")
    assert document["games_lost_by_fault"] == 0


def test_picture_has_a_chart_for_each_parameter(noughts: Noughts, folder: Path) -> None:
    document = tune(noughts, "--iterations 2 --games 4 --svg curves.svg")
    assert [parameter["name"] for parameter in document["parameters"]] == ["attack", "defence"]
    picture = (folder / "curves.svg").read_text()
    assert picture.count("<svg") == 3  # the file, and a chart for each
    assert ">attack</text>" in picture
    assert ">defence</text>" in picture


def test_values_do_not_depend_on_concurrency(noughts: Noughts, folder: Path) -> None:
    one, many = (
        tune(noughts, f"--iterations 4 --games 4 --concurrency {number} -o {number}.jsonl") for number in (1, 8)
    )
    assert one == many
    assert (folder / "1.jsonl").read_bytes() == (folder / "8.jsonl").read_bytes()


def test_killed_tuning_resumes_to_the_same_values(noughts: Noughts, folder: Path) -> None:
    whole = tune(noughts, "--iterations 8 --games 4 -o whole.jsonl")
    line = f"tune p.toml {GAMES} --format json --iterations 8 --games 4 -o killed.jsonl"
    course = folder / "killed.jsonl"
    process = subprocess.Popen([*PROGRAM, *line.split()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: course.read_text().count("\n") if course.exists() else 0, lambda lines: lines >= 3)
    finally:
        process.kill()
        process.wait(PATIENCE)
    # A kill can also cut a line.
    with open(course, "ab") as file:
        file.write(b'{"iteration": 9')
    # The seed is that of the file.
    resumed = json.loads(noughts(f"{line.replace(' --seed 1', '')} --resume").stdout)
    assert resumed == whole
    assert course.read_bytes() == (folder / "whole.jsonl").read_bytes()


def test_interrupted_tuning_says_how_to_continue(folder: Path) -> None:
    course = folder / "p.course.jsonl"
    process = subprocess.Popen(
        [*PROGRAM, "tune", "p.toml", *GAMES.split(), "--games", "4"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    try:
        eventually(lambda: course.read_text().count("\n") if course.exists() else 0, lambda lines: lines >= 2)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "To continue, run the same command with --resume." in stderr
    assert "Tuned: py{attack=" in stdout


def test_faults_of_the_bot_are_reported(noughts: Noughts, folder: Path) -> None:
    (folder / "planted.py").write_text(BOT.replace("chance = position.rng()", "raise ValueError('broken')"))
    result = noughts(f"tune p.toml {GAMES} --iterations 2 --games 2 --format json")
    assert json.loads(result.stdout)["games_lost_by_fault"] == 4
    assert "it resigned: ValueError: broken" in result.stderr
    assert "4 games lost by a fault count as losses" in result.stderr


EDITS: dict[str, Callable[[str], str]] = {
    "no-bot": lambda text: text.replace("bot =", "robot ="),
    "no-parameters": lambda text: text.split("[")[0],
    "name-without-table": lambda text: text.replace("defence=$defence", "defence=$other"),
    "dollar": lambda text: text.replace("$attack", "$ attack"),
    "range": lambda text: text.replace("[0, 60]", "[60, 0]"),
    "start": lambda text: text.replace("start = 14", "start = 140"),
    "step": lambda text: text.replace("step = 3", "step = 0"),
    "text": lambda text: text.replace("start = 14", 'start = "14"'),
    "unknown-key": lambda text: text.replace("step = 3", "step = 3\nstepp = 4"),
    "toml": lambda text: text.replace("[parameters.attack]", "[parameters.attack"),
}


@pytest.mark.parametrize("name", EDITS)
def test_wrong_files_are_refused(folder: Path, transcript: Transcript, name: str) -> None:
    (folder / f"{name}.toml").write_text(EDITS[name](PARAMETERS))
    transcript(f"tune {name}.toml", code=2)


@pytest.mark.parametrize(
    "options",
    [
        "missing.toml",
        "p.toml --games 3",
        "p.toml -o none.jsonl --resume",
        "p.toml --svg curves.png",
        "p.toml --server localhost:7450",
        "p.toml --name planted --resume",
        "p.toml --name planted -o course.jsonl",
        "p.toml --name planted --forfeit-after 3",
    ],
)
def test_wrong_options_are_refused(transcript: Transcript, options: str) -> None:
    transcript(f"tune {options}", code=2)


def test_results_of_another_tuning_are_kept(noughts: Noughts, transcript: Transcript) -> None:
    noughts(f"tune p.toml {GAMES} --iterations 1 --games 2")
    transcript("tune p.toml --iterations 1 --games 2", code=1)
    transcript("tune p.toml --iterations 2 --games 2 --resume", code=2)


def test_tuning_is_not_resumed_with_another_scale_of_times(noughts: Noughts) -> None:
    line = f"tune p.toml {GAMES} --time 60/move --iterations 1 --games 2"
    noughts(f"{line} --scale-time")
    refused = noughts(f"{line} --resume", code=2).stderr
    assert "was begun with scale_time true, got null" in " ".join(refused.split())
    noughts(f"{line} --scale-time --resume")


def test_two_workers_of_which_one_is_killed_get_the_values_of_one(noughts: Noughts, database: str, start: Any) -> None:
    alone = tune(noughts, "--iterations 5 --games 4")
    created = json.loads(noughts(f"token create --owner alice --db {database} --format json").stdout)
    # Each part has one of the two pairs.
    line = f"tune p.toml {GAMES} --iterations 5 --games 4 --concurrency 2 --name planted --format json"
    with server_in_thread(database, tuning_lease=3.0) as address:
        env = {"NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": created["token"]}

        def iterations() -> int:
            tunings = json.loads(noughts("tuning list --format json", env=env).stdout)["tunings"]
            return int(tunings[0]["iterations"]) if tunings else 0

        with start(line, env) as killed:
            eventually(iterations)
            killed.kill()
        document = json.loads(noughts(line, env=env).stdout)
    assert document == {"tuning": "tunings/planted", **alone}


def test_tuning_of_a_server_is_shown_refused_and_deleted(noughts: Noughts, env: dict[str, str]) -> None:
    line = f"tune p.toml {GAMES} --games 2 --name planted"
    result = noughts(f"{line} --iterations 1", env=env)
    assert "Created tunings/planted at " in result.stderr
    assert "Check: noughts match 'py{attack=" in result.stdout
    joined = noughts(f"{line} --iterations 1", env=env)
    assert "after 1 of 1 iteration." in joined.stderr
    assert joined.stdout == result.stdout
    refused = noughts(f"{line} --iterations 2", env=env, code=1)
    assert "tunings/planted was created with iterations 1, got 2" in refused.stderr
    assert noughts("tuning show planted", env=env).stdout == result.stdout
    (listed,) = json.loads(noughts("tuning list --format json", env=env).stdout)["tunings"]
    assert (listed["state"], listed["iterations"], listed["games"], listed["owner"]) == ("finished", 1, 2, "alice")
    assert "planted" in noughts("tuning list", env=env).stdout
    assert noughts("tuning delete planted", env=env).stdout == "tunings/planted is deleted.\n"
    assert "does not exist" in noughts("tuning show planted", env=env, code=1).stderr
    assert "No tunings yet." in noughts("tuning list", env=env).stdout
