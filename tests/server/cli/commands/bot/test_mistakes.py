"""`noughts bot mistakes`, and `noughts bot check --positions`, which replays them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from noughts_server.local.solving import Question, answer
from tests.server.cli.conftest import Noughts, Refusal
from tests.support.background import bots_online
from tests.support.processes import eventually, json_of

MISTAKE = {"variant": "tictactoe", "position": "XX.OO....", "best": [2], "move": 8}
EMPTY_BOARD = {"variant": "mnk:4,4,3", "position": "." * 16, "best": [5, 6, 9, 10]}


@pytest.fixture
def env(server: str, token: str) -> Iterator[dict[str, str]]:
    """Settings of a user whose bots have played thirty games."""
    settings = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    with bots_online(server, token, weak="random", strong="perfect"):
        json_of("tournament create cup --games 30 --seed 5", settings)
        for bot in ("weak", "strong"):
            json_of(f"tournament join cup --bot {bot}", settings)
        json_of("tournament start cup", settings)
        eventually(lambda: json_of("tournament show cup", settings)["state"] == "finished")
        yield settings


def write_lines(file: Path, *documents: object) -> Path:
    file.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    return file


def run_pytest(file: Path) -> subprocess.CompletedProcess[str]:
    """Run a file of tests as its author does: with `noughts` on the path."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--maxfail=1", file.name]
    return subprocess.run(
        command, cwd=file.parent, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )


def test_each_mistake_has_better_moves_and_is_replayed(noughts: Noughts, env: dict[str, str], tmp_path: Path) -> None:
    file, few, tests = tmp_path / "positions.jsonl", tmp_path / "few.jsonl", tmp_path / "test_positions.py"
    noughts(f"bot mistakes weak -o {file}", env=env)
    mistakes = [json.loads(line) for line in file.read_text().splitlines()]
    assert mistakes
    for mistake in mistakes:
        verdict = answer(Question("tictactoe", mistake["position"], effort=10**6, nodes=1))
        assert verdict is not None
        assert tuple(mistake["best"]) == verdict.best
        assert mistake["move"] not in mistake["best"]
        assert mistake["before"] != mistake["after"]
    assert (
        f"{len(mistakes)} of {len(mistakes)} positions passed."
        in noughts(f"bot check perfect --positions {file}").stdout
    )
    # Each test starts a process, so pytest replays the mistakes of one game.
    noughts(f"bot mistakes weak --limit 1 -o {few} --pytest {tests} --spec perfect", env=env)
    count = len(few.read_text().splitlines())
    assert count > 0
    replayed = run_pytest(tests)
    assert f"{count} passed" in replayed.stdout, replayed.stdout
    tests.write_text(tests.read_text().replace("'perfect'", "'first-free'"))
    assert " failed" in run_pytest(tests).stdout


def test_a_perfect_bot_has_no_mistakes(noughts: Noughts, env: dict[str, str]) -> None:
    assert noughts("bot mistakes strong", env=env).stdout == "No mistakes of strong are known.\n"
    assert noughts("bot mistakes weak --limit 1000", env=env).stdout.startswith("game")


def test_a_bot_that_repeats_a_mistake_fails(noughts: Noughts, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "positions.jsonl", MISTAKE, EMPTY_BOARD, {**MISTAKE, "best": [], "move": 2})
    result = noughts(f"bot check first-free --positions {file} --format json", code=1)
    document = json.loads(result.stdout)
    assert (document["spec"], document["positions"], document["passed"]) == ("first-free", 3, 1)
    assert [(row["line"], row["played"]) for row in document["failed"]] == [(2, 0), (3, 2)]


def test_positions_keep_their_line_numbers_and_need_no_move(noughts: Noughts, tmp_path: Path) -> None:
    file = tmp_path / "positions.jsonl"
    file.write_text("\n" + json.dumps({"variant": "tictactoe", "position": "XX.OO....", "best": [2]}) + "\n")
    assert "1 of 1 position passed." in noughts(f"bot check perfect --positions {file}").stdout
    file.write_text("\n" + json.dumps({**MISTAKE, "best": [8]}) + "\n")
    assert noughts(f"bot check perfect --positions {file}", code=1).stdout.startswith("line 2: ")


def test_tests_without_a_file_of_positions_are_refused(refusal: Refusal) -> None:
    refusal("bot mistakes weak --pytest test_positions.py", code=2)


@pytest.mark.parametrize(
    "line, error",
    [
        ("", "got no position, expected a JSON document per line"),
        ("[]", "line 1: got no JSON object"),
        ("{", "line 1: got broken JSON"),
        ('{"position": "........."}', 'line 1: got no texts "variant" and "position"'),
        ('{"variant": "tictactoe"}', 'line 1: got no texts "variant" and "position"'),
        ('{"variant": "tictactoe", "position": "X"}', "line 1: position 'X': expected 9 cells"),
        ('{"variant": "nothing", "position": "X"}', "line 1: variant 'nothing'"),
        (json.dumps({**MISTAKE, "best": ["c3"]}), 'line 1: got no number "move" and list of numbers "best"'),
        ("[" * 100_000, "line 1: got too many nested lists or objects"),
        *(
            (json.dumps({**MISTAKE, "best": [2, cell]}), 'line 1: got "best" moves that are no free')
            for cell in (-1, 0, 9)
        ),
        (json.dumps({**MISTAKE, "best": [], "move": 0}), 'line 1: got neither a "move" to avoid nor "best" moves'),
        (json.dumps({**MISTAKE, "position": "XXXOO.... O"}), "expected a game that is not over"),
    ],
)
def test_an_invalid_file_of_positions_is_refused(noughts: Noughts, tmp_path: Path, line: str, error: str) -> None:
    file = tmp_path / "positions.jsonl"
    file.write_text(line)
    assert error in noughts(f"bot check random --positions {file}", code=1).stderr
