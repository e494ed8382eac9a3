"""`--resign`, `--draw` and `--adjudicate`: games that rules end, with real engines that report scores."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from noughts_referee.rules import Position, parse_variant
from noughts_server.runtime.proof_process import proven_value
from tests.support.children.field import PROGRAMS

RESIGN = "--resign moves=3,score=600"


def engine(label: str, scores: str) -> str:
    """Return the spec of an engine that reports these scores, one a move."""
    return shlex.quote(f"{label}=gomocup:{sys.executable} {PROGRAMS}/reporting_engine.py {scores}")


def games_of(noughts: Any, words: str, file: Path) -> list[dict[str, Any]]:
    noughts(f"{words} -o {file}")
    return [json.loads(line) for line in file.read_text().splitlines()]


def ends(games: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    """Return the length, the result and the termination of each game."""
    return [(len(game["moves"]), game["result"], game["termination"]) for game in games]


@pytest.mark.parametrize(
    "scores, rule, expected",
    [
        # Three in a row: the second and the fifth move interrupt.
        (("-700 -599 -700 -700 - -700", "0"), RESIGN, [(15, "0-1", "adjudicated"), (16, "1-0", "adjudicated")]),
        # The opponent of the first does not agree until its third move.
        (("-700", "0 0 0 600"), f"{RESIGN},twosided", [(13, "0-1", "adjudicated"), (12, "1-0", "adjudicated")]),
        (("5", "-5"), "--draw moves=2,score=5,after=7", [(7, "1/2-1/2", "adjudicated")] * 2),
        (
            ("-", "-700"),
            f"{RESIGN} --draw moves=1,score=9 --draw-after 9",
            [(6, "1-0", "adjudicated"), (5, "0-1", "adjudicated")],
        ),
    ],
)
def test_a_match_ends_its_games_by_the_scores(
    noughts: Any, tmp_path: Path, scores: tuple[str, str], rule: str, expected: list[tuple[int, str, str]]
) -> None:
    specs = f"{engine('A', scores[0])} {engine('B', scores[1])}"
    games = games_of(noughts, f"match {specs} --variant gomoku --seed 1 {rule}", tmp_path / "games.jsonl")
    assert ends(games) == expected


def test_records_say_why_a_game_was_adjudicated(noughts: Any, tmp_path: Path) -> None:
    specs, file = f"{engine('A', '-700')} {engine('B', '12.5')}", tmp_path / "games.jsonl"
    result = noughts(f"match {specs} --variant gomoku --seed 1 {RESIGN} -o {file} --times --format json")
    assert json.loads(result.stdout)["terminations"] == {"adjudicated": 2}
    assert json.loads(result.stdout)["faults"] == []
    game = json.loads(file.read_text().splitlines()[0])
    assert game["adjudication"] == "A reported -600 or less at its last 3 moves"
    assert game["scores"] == [-700, 12.5, -700, 12.5, -700]
    assert "fault" not in game
    for form in ("sgf", "pgn", "parquet"):
        noughts(f"records convert {file} {tmp_path}/there.{form}")
        noughts(f"records convert {tmp_path}/there.{form} {tmp_path}/{form}.jsonl")
        back = json.loads((tmp_path / f"{form}.jsonl").read_text().splitlines()[0])
        names = ("moves", "result", "termination", "adjudication", "scores")
        assert {name: back[name] for name in names} == {name: game[name] for name in names}
        assert [thought["depth"] for thought in back["thoughts"].values()] == [1, 1, 2, 2, 3]
    assert "nothing wrong" in noughts(f"records check {file}").stdout


def test_a_resumed_run_ends_its_games_by_the_same_rule(noughts: Any, tmp_path: Path) -> None:
    specs = f"{engine('A', '-700')} {engine('B', '0')}"
    words = f"match {specs} --variant gomoku --seed 1 {RESIGN}"
    stored_match = f"{words} --db {tmp_path}/kept.db"
    noughts(f"{stored_match} --games 1")
    games = games_of(noughts, f"{stored_match} --games 3 --resume", tmp_path / "resumed.jsonl")
    assert ends(games) == [(5, "0-1", "adjudicated"), (6, "1-0", "adjudicated"), (5, "0-1", "adjudicated")]
    assert games[2]["adjudication"] == games[0]["adjudication"]
    result = noughts(f"match {specs} --variant gomoku --seed 1 --db {tmp_path}/kept.db --games 3 --resume", code=2)
    assert "got resign none, expected moves=3,score=600, as at the start" in result.stderr


def test_proven_games_end_alike_at_any_concurrency(noughts: Any, tmp_path: Path) -> None:
    words = "match random random --variant mnk:4,4,4 --games 12 --seed 3 --adjudicate exact"
    games = games_of(noughts, words, tmp_path / "one.jsonl")
    assert games_of(noughts, f"{words} --concurrency 12", tmp_path / "many.jsonl") == games
    variant = parse_variant("mnk:4,4,4")
    for game in games:
        assert game["termination"] == "adjudicated"
        moves = game["moves"]
        *unproven, value = [proven_value(variant, moves[:ply]) for ply in range(1, len(moves) + 1)]
        assert unproven == [None] * len(unproven)
        assert value is not None
        winner = {0: None, 1: len(moves) % 2, -1: 1 - len(moves) % 2}[value]
        assert game["result"] == {None: "1/2-1/2", 0: "1-0", 1: "0-1"}[winner]
        label = {0: game["first"], 1: game["second"]}.get(winner if winner is not None else 2)
        assert game["adjudication"] == (f"proven that {label} wins" if label else "proven a draw")
        assert Position.after(variant, moves).outcome() is None


@pytest.mark.parametrize(
    "options, message",
    [
        ("--resign moves=3", "--resign 'moves=3': got no score, expected moves=N,score=S[,twosided]"),
        ("--resign ''", "--resign: got '', expected a rule"),
        ("--draw moves=0,score=5", "--draw 'moves=0,score=5': got '0' moves, expected 1 to 10,000"),
        ("--draw moves=1,score=-5", "--draw 'moves=1,score=-5': got the score '-5'"),
        ("--adjudicate ''", "--adjudicate: got '', expected exact"),
        ("--adjudicate guess", "--adjudicate 'guess': got 'guess', expected exact"),
        (f"--resign moves=1,score={'9' * 200}", "got the score '999"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused(noughts: Any, options: str, message: str) -> None:
    assert message in noughts(f"match random random {options}", code=2).stderr
