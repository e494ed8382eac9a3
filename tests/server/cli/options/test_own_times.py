"""`--time-of` and `--margin-of`: bots with times and margins of their own."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noughts_bots.reference.specs import parse_spec
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.plan import LocalPlan
from tests.server.cli.conftest import Refusal
from tests.support.children.field import PROGRAMS

BOT = """
import time
from noughts_bots import Bot

class Checking(Bot):
    '''Plays an illegal move unless it gets its own limit of a move and that of the opponent, in seconds.'''

    def __init__(self, own="0", opponent="0"):
        self.expected = float(own), float(opponent)

    def start(self, game):
        self.limits = game.time.move, game.opponent_time.move

    def choose(self, position):
        clocks = position.own_clock_us / 1e6, position.opponent_clock_us / 1e6
        return position.free[0] if self.limits == clocks == self.expected else 99

class Slow(Bot):
    def choose(self, position):
        time.sleep(0.4)
        return position.free[0]
"""


@pytest.fixture
def bots(tmp_path: Path) -> str:
    """The path of a file with the bots `Checking` and `Slow`."""
    (tmp_path / "bots.py").write_text(BOT)
    return f"{tmp_path}/bots.py"


def game_records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_bots_get_their_own_time_and_that_of_the_opponent(noughts: Any, bots: str, tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    result = noughts(
        f"match 'A=py{{own=5,opponent=7}}:{bots}:Checking' 'B=py{{own=7,opponent=5}}:{bots}:Checking'"
        f" --time 5/move --time-of B=7/move -o {games} --format json"
    )
    document = json.loads(result.stdout)
    assert document["terminations"] == {"line": 2}
    assert document["own_times"] == {"B": "7/move"}
    one, other = game_records(games)
    assert list(one)[-2:] == ["first_time", "second_time"]
    assert (one["first"], one["first_time"], one["second_time"]) == ("A", "5/move", "7/move")
    assert (other["first"], other["first_time"], other["second_time"]) == ("B", "7/move", "5/move")


def test_only_the_bot_without_enough_time_loses_on_time(noughts: Any, bots: str, tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    specs = f"Patient=py:{bots}:Slow Hurried=py:{bots}:Slow"
    times = "--time 0.1/move --time-of Patient=60/30+0 --margin 0.05"
    noughts(f"match {specs} {times} --no-lock -o {games}")
    assert [(line["first"], line["result"], line["termination"]) for line in game_records(games)] == [
        ("Patient", "1-0", "timeout"),
        ("Hurried", "0-1", "timeout"),
    ]


def test_only_the_margin_of_a_late_bot_itself_helps_it(noughts: Any, bots: str) -> None:
    line = f"match Slow=py:{bots}:Slow first-free --time 0.1/move --time-of first-free=60/move --no-lock --format json"
    assert json.loads(noughts(line).stdout)["terminations"] == {"timeout": 2}
    assert json.loads(noughts(f"{line} --margin-of Slow=20").stdout)["terminations"] == {"line": 2}
    # The margin of the opponent does not help.
    assert json.loads(noughts(f"{line} --margin-of first-free=20").stdout)["terminations"] == {"timeout": 2}


def engine_player(habits: str) -> str:
    """The player `Odd` for a command line: an engine with these habits."""
    command = shlex.join([sys.executable, str(PROGRAMS / "odd_engine.py"), *habits.split()])
    return shlex.quote(f"Odd=gomocup:{command}")


def test_an_engine_gets_its_own_base_time_and_limit_per_move(noughts: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    noughts(
        f"match {engine_player(f'log={log}')} first-free --variant mnk:7,7,5 --games 1 --no-lock"
        " --time 1/move --time-of Odd=180/30+0"
    )
    commands = log.read_text().splitlines()
    assert {"INFO timeout_turn 30000", "INFO timeout_match 180000"} <= set(commands)
    *_, first = (line for line in commands[: commands.index("BEGIN")] if "time_left" in line)
    *_, last = (line for line in commands if "time_left" in line)
    assert first == "INFO time_left 180000"
    assert 150_000 < int(last.split()[-1]) < 180_000


def test_a_margin_holds_for_each_process_of_an_engine(noughts: Any) -> None:
    line = (
        f"match {engine_player('think=0.6')} first-free --variant mnk:7,7,5 --games 2 --no-lock --time 0.4/move"
        " --time-of first-free=60/move --concurrency 2 --processes 2 --format json"
    )
    assert json.loads(noughts(f"{line} --margin 50ms").stdout)["terminations"] == {"timeout": 2}
    assert "timeout" not in json.loads(noughts(f"{line} --margin-of Odd=20").stdout)["terminations"]


@pytest.mark.parametrize("kind, margin_us", [("gomocup:a", 1_000_000), ("gtp:a", 1_000_000), ("lines:a", 50_000)])
def test_engines_that_keep_their_own_clock_have_a_second_of_margin(kind: str, margin_us: int) -> None:
    plan = LocalPlan(tuple(map(parse_spec, (f"A={kind}", "random"))), TournamentSettings())
    assert plan.margins_us == {"A": margin_us, "random": 50_000}
    assert replace(plan, margin_us=0).margins_us == {"A": 0, "random": 0}
    assert replace(plan, margin_us=0, own_margins_us={"A": 7}).margins_us == {"A": 7, "random": 0}


def test_records_with_times_have_the_margins_and_late_moves(noughts: Any, tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    line = (
        f"match {engine_player('think=0.2')} first-free --variant mnk:7,7,5 --games 2 --no-lock"
        " --time 0.1/move --time-of first-free=60/move"
    )
    noughts(f"{line} --margin-of Odd=20 -o {games} --times")
    for record in game_records(games):
        side = int(record["second"] == "Odd")
        assert record["margins_ms"][side] == 20_000
        assert record["margins_ms"][1 - side] == 50
        assert record["late_moves"][side] == len(record["moves"][side::2])
    rows = json.loads(noughts(f"tournament tables {games} --kind times --format json").stdout)["times"]
    assert {row["name"]: row["late_moves"] for row in rows}["Odd"] >= 8
    noughts(f"{line} --margin-of Odd=20 -o {games}")
    assert all("margins_ms" not in record and "late_moves" not in record for record in game_records(games))


def test_a_tournament_with_times_of_single_bots_is_not_rated(noughts: Any, tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    line = f"tournament run random pascal minimax --time 5/move --time-of pascal=none --format json -o {games}"
    document = json.loads(noughts(line).stdout)
    assert {row["rating"] for row in document["standings"]} == {None}
    assert document["own_times"] == {"pascal": "none"}
    for record in game_records(games):
        for side in ("first", "second"):
            assert record[f"{side}_time"] == ("none" if record[side] == "pascal" else "5/move")


def test_labels_can_contain_an_equals_sign(noughts: Any) -> None:
    line = "match nextstep:depth=3 random --time 5/move --time-of nextstep:depth=3=7/move --format json"
    assert json.loads(noughts(line).stdout)["own_times"] == {"nextstep:depth=3": "7/move"}


@pytest.mark.parametrize(
    "options",
    [
        "--time-of C=1/move",
        "--time-of 1/move",
        "--time-of A=soon",
        "--time-of A=1/move --time-of A=2/move",
        "--margin-of C=1",
        "--margin-of A=soon",
    ],
)
@pytest.mark.parametrize("command", ["match", "tournament run"])
def test_wrong_times_and_margins_of_bots_are_refused(
    refusal: Refusal, tmp_path: Path, command: str, options: str
) -> None:
    games = tmp_path / "games.jsonl"
    refusal(f"{command} A=random B=random {options} -o {games}", code=2)
    assert not list(tmp_path.glob("*games*"))
