"""`noughts records convert`: files, tournaments and databases of games in other formats."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.commands.records.conftest import GAMES, json_lines
from tests.server.cli.conftest import Refusal


def test_a_file_goes_to_sgf_and_back_without_a_loss(noughts: Any, games_file: Path, tmp_path: Path) -> None:
    sgf, back = tmp_path / "games.sgf", tmp_path / "back.jsonl"
    assert json.loads(noughts(f"records convert {games_file} {sgf} --format json").stdout) == {
        "games": 4,
        "from": "jsonl",
        "to": "sgf",
    }
    assert sgf.read_text().count("GM[4]") == 4
    assert "4 games from" in noughts(f"records convert {sgf} {back}").stderr
    for game, converted in zip(GAMES, json_lines(back.read_text()), strict=True):
        assert {name: converted.get(name) for name in game} == game


def test_parquet_is_read_wherever_games_are(noughts: Any, games_file: Path, tmp_path: Path) -> None:
    target, back = tmp_path / "games.parquet", tmp_path / "back.jsonl"
    document = json.loads(noughts(f"records convert {games_file} {target} --license CC0-1.0 --format json").stdout)
    assert document == {"games": 4, "from": "jsonl", "to": "parquet"}
    card = (tmp_path / "README.md").read_text()
    assert f"| source | {games_file} |" in card
    assert "| licence | CC0-1.0 |" in card
    noughts(f"records convert {target} {back}")
    for game, converted in zip(GAMES, json_lines(back.read_text()), strict=True):
        assert {name: converted.get(name) for name in game} == game
    assert "4 games: nothing wrong" in noughts(f"records check {target}").stdout
    (game,) = json_lines(noughts(f"records list {target} --opponent cyd --bot ada --limit 1 --format json").stdout)
    assert game["number"] == 3
    games_file.write_text("".join(back.read_text().splitlines(keepends=True)[:3]))
    noughts(f"records convert {games_file} {target}")
    for command in ("rate {} --prior --format json", "tournament tables {} --format json"):
        assert noughts(command.format(target)).stdout == noughts(command.format(games_file)).stdout


@pytest.mark.parametrize("kind, count", [("moves", 17), ("positions", 14)])
def test_rows_of_parquet_can_be_moves_and_positions(
    noughts: Any, refusal: Refusal, games_file: Path, tmp_path: Path, kind: str, count: int
) -> None:
    noughts(f"records convert {games_file} {tmp_path}/{kind}.parquet --rows {kind}")
    assert f"rows | {count} {kind} |" in (tmp_path / "README.md").read_text()
    output = noughts(f"records check {tmp_path}/{kind}.parquet", code=1).stdout
    assert "a Parquet file that cannot be read (no column 'moves', but number, ply, variant" in output
    refusal(f"records convert {games_file} {tmp_path}/x.sgf --rows {kind}", code=2)


FIVE = [0, 15, 1, 16, 2, 17, 3, 18, 4]
UNEXPLAINED = [("gomoku", FIVE, "1-0"), ("gomoku", [0, 15, 1], "0-1"), ("gomoku", [0, 15, 1], "*")]
"""Games whose files do not say why they ended: the variant, the moves and the result."""
FULL_BOARD = ("tictactoe", [0, 1, 2, 4, 3, 5, 7, 6, 8], "1/2-1/2")
OTHER_WINNER = ("gomoku", FIVE, "0-1")


def write_unexplained_games(path: Path, games: list[tuple[str, list[int], str]], reason: dict[str, Any]) -> Path:
    """Write a file of these games; `reason` has the fields that explain why a game ended, if any."""
    names = {"first": "ada", "second": "bob"}
    lines = [
        json.dumps({"variant": variant, **names, "moves": moves, "result": result, **reason})
        for variant, moves, result in games
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("reason", [{}, {"termination": None}, {"termination": ""}, {"termination": "normal"}])
@pytest.mark.parametrize(
    "target, more, terminations",
    [
        ("between.jsonl", [FULL_BOARD, OTHER_WINNER], ["board_full", None]),
        ("between.sgf", [FULL_BOARD, OTHER_WINNER], ["board_full", None]),
        ("between.parquet", [FULL_BOARD, OTHER_WINNER], ["board_full", None]),
        # Gomocup's manager ends an open game for a fault of the side to move only.
        ("between.psq/", [("gomoku", [0, 15, 1], "1-0")], ["timeout"]),
    ],
)
def test_end_without_a_reason_is_that_of_the_board_or_null(
    noughts: Any, tmp_path: Path, reason: dict[str, Any], target: str, more: list[Any], terminations: list[Any]
) -> None:
    source = write_unexplained_games(tmp_path / "games.jsonl", UNEXPLAINED + more, reason)
    noughts(f"records convert {source} {tmp_path}/{target}")
    noughts(f"records convert {tmp_path}/{target} {tmp_path}/back.jsonl")
    converted_terminations = [game["termination"] for game in json_lines((tmp_path / "back.jsonl").read_text())]
    assert converted_terminations == ["line", None, None, *terminations]


@pytest.mark.parametrize("ending", ["pgn", "csv"])
def test_end_without_a_reason_is_null_in_a_game_without_moves(noughts: Any, tmp_path: Path, ending: str) -> None:
    source = write_unexplained_games(tmp_path / "games.jsonl", UNEXPLAINED, {})
    noughts(f"records convert {source} {tmp_path}/games.{ending}")
    games = json_lines(noughts(f"records list {tmp_path}/games.{ending} --format json").stdout)
    assert [(game["result"], game["termination"]) for game in games] == [("1-0", None), ("0-1", None), ("*", None)]


def test_results_are_written_for_rating_programs(noughts: Any, games_file: Path, tmp_path: Path) -> None:
    noughts(f"records convert {games_file} {tmp_path}/games.csv")
    table = list(csv.DictReader((tmp_path / "games.csv").read_text().splitlines()))
    assert [(row["first"], row["second"], row["result"], row["termination"]) for row in table] == [
        ("ada", "bob", "1-0", "line"),
        ("bob", "ada", "0-1", "timeout"),
        ("ada", "cyd", "1/2-1/2", "board_full"),
        ("ada", "bob", "*", "void"),
    ]
    noughts(f"records convert {games_file} {tmp_path}/games.pgn")
    text = (tmp_path / "games.pgn").read_text()
    assert '[White "ada"]\n[Black "bob"]\n[Result "1-0"]' in text
    noughts(f"records convert {tmp_path}/games.pgn {tmp_path}/again.csv")
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "games.csv").read_text()


def test_conversion_that_loses_byes_warns_once(noughts: Any, tmp_path: Path) -> None:
    facts = {"schedule": "swiss", "time": "none", "finished": True, "games": 1, "entries": ["ada", "bob"]}
    games = [GAMES[0] | {"tournament": facts | more} for more in ({}, {"byes": {"ada": 1}, "bye_points": {"ada": 2}})]
    for name, game in zip(("plain", "byes"), games, strict=True):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(game) + "\n")
        for ending, holds_byes in (
            (".pgn", False),
            (".csv", False),
            (".psq", False),
            (".sgf", True),
            (".parquet", True),
        ):
            errors = noughts(f"records convert {tmp_path}/{name}.jsonl {tmp_path}/{name}{ending}").stderr
            warnings = 1 if name == "byes" and not holds_byes else 0
            assert errors.count(f"{ending} files cannot hold the byes") == warnings


@pytest.mark.parametrize(
    "command",
    [
        "records convert {} x.csv",
        "records list {}",
        "rate {} --prior",
        "tournament tables {}",
        "report {}",
        "records check {}",
    ],
)
def test_commands_name_the_option_for_the_encoding(
    noughts: Any, refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file, names = tmp_path / "games.pgn", ("张三", "李四")
    games = [f'[White "{one}"]\n[Black "{two}"]\n[Result "1-0"]\n\n' for one, two in (names, names[::-1])]
    file.write_bytes("".join(games).encode("gb18030"))
    result = noughts(command.format(file), code=2 if command.startswith("rate") else 1)
    message = " ".join((result.stdout + result.stderr).split())
    assert f"{file}, line 1: got the byte 0xD5, which is not utf-8, at offset 8, expected text in utf-8" in message
    assert "Fix: Save the file as UTF-8, or name its encoding: --encoding gb18030, big5, shift_jis" in message
    assert not (tmp_path / "x.csv").exists()
    result = noughts(f"{command.format(file)} --encoding gb18030")
    if command.startswith(("records list", "rate", "tournament")):
        assert all(name in result.stdout for name in names)
    refusal(f"{command.format(file)} --encoding klingon", code=2)


def test_bare_name_is_that_of_a_file(refusal: Refusal) -> None:
    refusal("records convert autumn games.sgf", code=2)


@pytest.mark.parametrize(
    "names, code",
    [
        ("games.jsonl games.txt", 2),
        ("nothing.sgf games.jsonl", 1),
        ("games.csv games.sgf", 2),
        ("games.jsonl games.psq", 2),
        ("bad.jsonl games.sgf", 1),
        ("solid.jsonl games.sgf", 1),
    ],
)
def test_failed_conversion_names_the_problem_and_leaves_no_file(
    refusal: Refusal, games_file: Path, tmp_path: Path, names: str, code: int
) -> None:
    (tmp_path / "games.csv").write_text("white,black,result\na,b,1-0\n")
    (tmp_path / "bad.jsonl").write_text(json.dumps(GAMES[0]) + "\n{\n")
    (tmp_path / "solid.jsonl").write_text(json.dumps({**GAMES[3], "variant": "qubic"}) + "\n")
    source, target = names.split()
    before = sorted(tmp_path.iterdir())
    refusal(f"records convert {tmp_path}/{source} {tmp_path}/{target}", code=code)
    assert sorted(tmp_path.iterdir()) == before


def test_games_of_a_server_and_of_its_database_are_the_same(
    noughts: Any, cup_env: dict[str, str], database: str, tmp_path: Path
) -> None:
    for name, options in (("server", ""), ("database", f"--db {database}")):
        noughts(f"records convert tournaments/cup {tmp_path}/{name}.jsonl {options}", env=cup_env)
    games = json_lines((tmp_path / "server.jsonl").read_text())
    assert games == json_lines((tmp_path / "database.jsonl").read_text())
    dates = {
        game["end_time"][:10]
        for game in json_lines(noughts("game list tournaments/cup --format json --limit 2000", env=cup_env).stdout)
    }
    assert len(games) == 1100
    assert ({game["event"] for game in games}, {game["date"] for game in games}) == ({"Spring cup"}, dates)
    assert "1,100 games: nothing wrong" in noughts(f"records check {tmp_path}/server.jsonl").stdout
    noughts(f"records convert tournaments/cup {tmp_path}/games.pgn", env=cup_env)
    assert (tmp_path / "games.pgn").read_text().count('[Event "Spring cup"]') == 1100


@pytest.mark.parametrize(
    "options", ["--variant gomoku+swap2", "--openings random:2", "--variant qubic", "--time 1/move"]
)
def test_games_of_a_database_are_those_that_its_run_wrote(noughts: Any, tmp_path: Path, options: str) -> None:
    database, run_file, converted_file = (tmp_path / name for name in ("games.db", "ran.jsonl", "read.jsonl"))
    noughts(f"tournament run random first-free {options} --games 4 --seed 2 --times --db {database} -o {run_file}")
    with closing(sqlite3.connect(database)) as connection:
        ((name,),) = connection.execute("SELECT slug FROM tournaments")
    noughts(f"records convert tournaments/{name} {converted_file} --db {database}")
    games = json_lines(converted_file.read_text())
    assert {game.pop("event") for game in games} == {name}
    assert all(game.pop(field) for game in games for field in ("date", "game", "end_time"))
    assert games == json_lines(run_file.read_text())


@pytest.mark.parametrize("command", ["rate {}", "records convert {} x.sgf", "records sample {} x.csv"])
def test_a_tournament_that_does_not_exist_is_named(
    noughts: Any, refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    noughts("tournament run random first-free --games 2 --db games.db")
    line = f"{command.format('tournaments/nope')} --db games.db"
    refusal(line, code=1)
    assert not list(tmp_path.glob("x.*"))
