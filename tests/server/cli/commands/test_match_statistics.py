"""`noughts match`: pairs, the sequential test, repetitions."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal
from tests.support.patience import PATIENCE
from tests.support.processes import eventually

FIRST_FREE = """
from noughts_bots.connection.run import Bot

class Free(Bot):
    def choose(self, position):
        return position.legal_cells()[0]
"""

FAULTY = """
import os
from noughts_bots.connection.run import Bot

class Faulty(Bot):
    def choose(self, position):
        {fault}
"""


def test_match_reports_names_pairs_and_normalized_elo(noughts: Any, tmp_path: Path) -> None:
    games = tmp_path / "games.jsonl"
    document = json.loads(
        noughts(f"match A=pascal:level=1 random --games 41 --seed 4 --concurrency 8 -o {games} --format json").stdout
    )
    assert document["names"] == ["A", "random"]
    points_of_first = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}
    points_of_a = []
    for line in map(json.loads, games.read_text().splitlines()):
        points = points_of_first[line["result"]]
        points_of_a.append(points if line["first"] == "A" else 1.0 - points)
    # A pair of games gives 0 to 2 points in steps of a half. The 41st game has no partner.
    expected = [0] * 5
    for one, other in zip(points_of_a[0:40:2], points_of_a[1:40:2], strict=True):
        expected[round((one + other) * 2)] += 1
    assert document["pentanomial"] == expected
    assert sum(expected) == 20
    assert document["normalized_elo"]["error95"] > 0
    assert document["repeats"] == 0


def test_a_test_counts_the_same_games_everywhere_at_any_concurrency(noughts: Any, tmp_path: Path) -> None:
    line = "match pascal:level=1 random --games 5000 --seed 3 --sprt elo0=0,elo1=60 --format json"
    results, files = [], []
    for concurrency in (1, 64):
        file = tmp_path / f"{concurrency}.jsonl"
        results.append(json.loads(noughts(f"{line} --concurrency {concurrency} -o {file}").stdout))
        files.append(file.read_bytes())
    one, many = results
    assert one["sprt"]["decision"] == "H1"
    assert one["sprt"]["llr"] >= one["sprt"]["upper"]
    assert one == many
    assert files[0] == files[1]
    counts = one["games"], sum(one["a"].values()), sum(one["terminations"].values()), files[0].count(b"\n")
    assert counts == (2 * sum(one["pentanomial"]),) * 4


@pytest.mark.parametrize("termination, fault", [("crashed", "os._exit(3)"), ("illegal_move", "return 99")])
def test_faults_after_the_decision_of_a_test_are_not_counted(
    noughts: Any, tmp_path: Path, termination: str, fault: str
) -> None:
    bot = tmp_path / "faulty.py"
    bot.write_text(FAULTY.format(fault=fault))
    line = f"match random py:{bot}:Faulty --seed 3 --sprt elo0=0,elo1=60 --concurrency 64 --no-lock --format json"
    document = json.loads(noughts(line).stdout)
    assert document["games"] == document["a"]["wins"] == 2 * sum(document["pentanomial"])
    assert sum(fault["games"] for fault in document["faults"]) == document["terminations"][termination]
    assert sum(fault["times"] for fault in document["faults"]) <= document["games"]


def test_decided_test_stays_decided_when_the_match_is_resumed(noughts: Any, tmp_path: Path) -> None:
    line = f"match pascal:level=1 random --games 5000 --seed 3 --sprt elo0=0,elo1=60 --db {tmp_path / 'm.db'}"
    before = json.loads(noughts(f"{line} --format json").stdout)
    after = json.loads(noughts(f"{line} --resume --format json").stdout)
    assert (after["sprt"], after["pentanomial"]) == (before["sprt"], before["pentanomial"])
    assert after["games"] == before["games"]
    more = json.loads(noughts(f"{line.replace('5000', '6000')} --resume --format json").stdout)
    assert (more["sprt"], more["games"]) == (before["sprt"], before["games"])


def test_undecided_test_gets_more_games_when_the_match_is_resumed(noughts: Any, tmp_path: Path) -> None:
    line = f"match random random --seed 1 --sprt elo0=0,elo1=5 --db {tmp_path / 'm.db'} --format json --games"
    noughts(f"{line} 10")
    assert json.loads(noughts(f"{line} 14 --resume").stdout)["games"] == 14


@pytest.mark.at_length
def test_interrupted_test_resumes_to_the_same_result(noughts: Any, start: Any, tmp_path: Path) -> None:
    line = "match A=random random --variant mnk:9,9,5 --seed 5 --sprt elo0=0,elo1=60 --concurrency 8 --format json"
    whole = noughts(line).stdout
    file = tmp_path / "games.jsonl"
    with start(f"{line} --db {tmp_path / 'm.db'} -o {file}") as process:
        eventually(lambda: file.exists() and file.stat().st_size, bool)
        process.send_signal(signal.SIGINT)
        document = json.loads(process.communicate(timeout=PATIENCE)[0])
    assert document["games"] == sum(document["terminations"].values()) == file.read_bytes().count(b"\n")
    assert noughts(f"{line} --db {tmp_path / 'm.db'} --resume").stdout == whole


def test_progress_result_and_hypotheses_of_a_test_are_printed(noughts: Any) -> None:
    result = noughts("match pascal:level=1 random --games 400 --seed 3 --sprt elo0=0,elo1=60,alpha=0.1 --every 10")
    assert "; LLR 0.79 (" in result.stderr
    assert "H1 accepted after" in result.stdout
    assert "Test: elo0=0,elo1=60,alpha=0.1,beta=0.05,model=logistic" in result.stdout
    assert "pairs of games: LL 0" in result.stdout


def test_odd_limit_of_a_test_is_refused(refusal: Refusal) -> None:
    refusal("match random random --games 41 --sprt elo0=0,elo1=5", code=2)


def test_a_test_that_is_not_decided_says_so(noughts: Any) -> None:
    document = json.loads(noughts("match random random --games 10 --seed 1 --sprt elo0=0,elo1=5 --format json").stdout)
    assert (document["games"], document["sprt"]["decision"]) == (10, "continue")


def test_a_test_in_which_all_games_only_repeat_stops_and_says_so(noughts: Any, tmp_path: Path) -> None:
    line = f"match A=minimax minimax --sprt elo0=0,elo1=10 --concurrency 16 --db {tmp_path / 'm.db'}"
    result = noughts(f"{line} --format json")
    document = json.loads(result.stdout)
    assert (document["sprt"]["decision"], sum(document["pentanomial"])) == ("continue", 1)
    assert document["games"] == 102
    assert "every new pair repeats an earlier one, so the test cannot be decided" in result.stderr
    assert "Fix: --openings random:4" in result.stderr
    assert json.loads(noughts(f"{line} --resume --format json").stdout)["games"] == document["games"]


@pytest.mark.parametrize(
    "test",
    [
        "elo0=0",
        "elo0=0,elo1=x",
        "elo0=0,elo0=1,elo1=5",
        "elo0=0,elo1=5,gamma=1",
        "elo0=5,elo1=0",
        "elo0=0,elo1=5,model=bayesian",
        "",
    ],
)
def test_invalid_sprt_is_refused_before_a_game_is_played(refusal: Refusal, test: str) -> None:
    refusal(f"match random random --sprt '{test}'", code=2)


def test_repeated_games_count_once(noughts: Any, tmp_path: Path) -> None:
    bot = tmp_path / "free.py"
    bot.write_text(FIRST_FREE)
    line = f"match A=py:{bot}:Free B=py:{bot}:Free --games 20 --no-lock"
    document = json.loads(noughts(f"{line} --format json").stdout)
    assert document["games"] == 20
    assert sum(document["pentanomial"]) == 1
    assert document["repeats"] == 18
    assert "18 of 20 games were repeats and count once" in noughts(line).stdout


def test_tied_match_says_that_it_has_no_confidence_interval(noughts: Any) -> None:
    output = noughts("match minimax nextstep:depth=9 --games 4 --seed 1").stdout
    assert "Elo difference: 0; no confidence interval: every pair was tied" in output
    assert "no estimate" not in output
