"""`noughts records convert`: files, tournaments and databases of games in other formats."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.commands.records.conftest import GAMES, rows
from tests.server.cli.conftest import Refusal


def test_a_file_goes_to_sgf_and_back_without_a_loss(noughts: Any, file: Path, tmp_path: Path) -> None:
    sgf, back = tmp_path / "games.sgf", tmp_path / "back.jsonl"
    assert json.loads(noughts(f"records convert {file} {sgf} --format json").stdout) == {
        "games": 4,
        "from": "jsonl",
        "to": "sgf",
    }
    assert sgf.read_text().count("GM[4]") == 4
    assert "4 games from" in noughts(f"records convert {sgf} {back}").stderr
    for game, read in zip(GAMES, rows(back.read_text()), strict=True):
        assert {name: read.get(name) for name in game} == game


def test_parquet_is_read_wherever_games_are(noughts: Any, file: Path, tmp_path: Path) -> None:
    target, back = tmp_path / "games.parquet", tmp_path / "back.jsonl"
    told = json.loads(noughts(f"records convert {file} {target} --license CC0-1.0 --format json").stdout)
    assert told == {"games": 4, "from": "jsonl", "to": "parquet"}
    card = (tmp_path / "README.md").read_text()
    assert f"| source | {file} |" in card
    assert "| licence | CC0-1.0 |" in card
    noughts(f"records convert {target} {back}")
    for game, read in zip(GAMES, rows(back.read_text()), strict=True):
        assert {name: read.get(name) for name in game} == game
    assert "4 games: nothing wrong" in noughts(f"records check {target}").stdout
    (listed,) = rows(noughts(f"records list {target} --opponent cyd --bot ada --limit 1 --format json").stdout)
    assert listed["number"] == 3
    file.write_text("".join(back.read_text().splitlines(keepends=True)[:3]))
    noughts(f"records convert {file} {target}")
    for command in ("rate {} --prior --format json", "tournament tables {} --format json"):
        assert noughts(command.format(target)).stdout == noughts(command.format(file)).stdout


@pytest.mark.parametrize("kind, count", [("moves", 17), ("positions", 14)])
def test_rows_of_parquet_can_be_moves_and_positions(
    noughts: Any, refusal: Refusal, file: Path, tmp_path: Path, kind: str, count: int
) -> None:
    noughts(f"records convert {file} {tmp_path}/{kind}.parquet --rows {kind}")
    assert f"rows | {count} {kind} |" in (tmp_path / "README.md").read_text()
    said = noughts(f"records check {tmp_path}/{kind}.parquet", code=1).stdout
    assert "a Parquet file that cannot be read (no column 'moves', but number, ply, variant" in said
    refusal(f"records convert {file} {tmp_path}/x.sgf --rows {kind}", code=2)


FIVE = [0, 15, 1, 16, 2, 17, 3, 18, 4]
UNEXPLAINED = [("gomoku", FIVE, "1-0"), ("gomoku", [0, 15, 1], "0-1"), ("gomoku", [0, 15, 1], "*")]
"""Games whose files do not say why they ended: the variant, the moves and the result."""
FULL_BOARD = ("tictactoe", [0, 1, 2, 4, 3, 5, 7, 6, 8], "1/2-1/2")
OTHER_WINNER = ("gomoku", FIVE, "0-1")


def unexplained(path: Path, games: list[tuple[str, list[int], str]], reason: dict[str, Any]) -> Path:
    """Write games that have at most this reason for their end."""
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
    source = unexplained(tmp_path / "games.jsonl", UNEXPLAINED + more, reason)
    noughts(f"records convert {source} {tmp_path}/{target}")
    noughts(f"records convert {tmp_path}/{target} {tmp_path}/back.jsonl")
    found = [game["termination"] for game in rows((tmp_path / "back.jsonl").read_text())]
    assert found == ["line", None, None, *terminations]


@pytest.mark.parametrize("ending", ["pgn", "csv"])
def test_end_without_a_reason_is_null_in_a_game_without_moves(noughts: Any, tmp_path: Path, ending: str) -> None:
    source = unexplained(tmp_path / "games.jsonl", UNEXPLAINED, {})
    noughts(f"records convert {source} {tmp_path}/games.{ending}")
    listed = rows(noughts(f"records list {tmp_path}/games.{ending} --format json").stdout)
    assert [(game["result"], game["termination"]) for game in listed] == [("1-0", None), ("0-1", None), ("*", None)]


def test_results_go_to_programs_that_rate(noughts: Any, file: Path, tmp_path: Path) -> None:
    noughts(f"records convert {file} {tmp_path}/games.csv")
    table = list(csv.DictReader((tmp_path / "games.csv").read_text().splitlines()))
    assert [(row["first"], row["second"], row["result"], row["termination"]) for row in table] == [
        ("ada", "bob", "1-0", "line"),
        ("bob", "ada", "0-1", "timeout"),
        ("ada", "cyd", "1/2-1/2", "board_full"),
        ("ada", "bob", "*", "void"),
    ]
    noughts(f"records convert {file} {tmp_path}/games.pgn")
    text = (tmp_path / "games.pgn").read_text()
    assert '[White "ada"]\n[Black "bob"]\n[Result "1-0"]' in text
    noughts(f"records convert {tmp_path}/games.pgn {tmp_path}/again.csv")
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "games.csv").read_text()


def test_conversion_that_loses_byes_warns_once(noughts: Any, tmp_path: Path) -> None:
    facts = {"schedule": "swiss", "time": "none", "finished": True, "games": 1, "entries": ["ada", "bob"]}
    games = [GAMES[0] | {"tournament": facts | more} for more in ({}, {"byes": {"ada": 1}, "bye_points": {"ada": 2}})]
    for name, game in zip(("plain", "byes"), games, strict=True):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(game) + "\n")
        for ending, loses in ((".pgn", True), (".csv", True), (".psq", True), (".sgf", False), (".parquet", False)):
            told = noughts(f"records convert {tmp_path}/{name}.jsonl {tmp_path}/{name}{ending}").stderr
            assert told.count(f"{ending} files cannot hold the byes") == (loses and name == "byes")


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
    refused = noughts(command.format(file), code=2 if command.startswith("rate") else 1)
    told = " ".join((refused.stdout + refused.stderr).split())
    assert f"{file}, line 1: got the byte 0xD5, which is not utf-8, at offset 8, expected text in utf-8" in told
    assert "Fix: Save the file as UTF-8, or name its encoding: --encoding gb18030, big5, shift_jis" in told
    assert not (tmp_path / "x.csv").exists()
    read = noughts(f"{command.format(file)} --encoding gb18030")
    if command.startswith(("records list", "rate", "tournament")):
        assert all(name in read.stdout for name in names)
    refusal(f"{command.format(file)} --encoding klingon", code=2)


def test_name_of_a_tournament_is_told_from_that_of_a_file(refusal: Refusal) -> None:
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
def test_what_cannot_be_converted_is_said_and_leaves_no_file(
    refusal: Refusal, file: Path, tmp_path: Path, names: str, code: int
) -> None:
    (tmp_path / "games.csv").write_text("white,black,result\na,b,1-0\n")
    (tmp_path / "bad.jsonl").write_text(json.dumps(GAMES[0]) + "\n{\n")
    (tmp_path / "solid.jsonl").write_text(json.dumps({**GAMES[3], "variant": "qubic"}) + "\n")
    source, target = names.split()
    before = sorted(tmp_path.iterdir())
    refusal(f"records convert {tmp_path}/{source} {tmp_path}/{target}", code=code)
    assert sorted(tmp_path.iterdir()) == before


def test_games_of_a_server_and_of_its_database_are_the_same(
    noughts: Any, cup: dict[str, str], database: str, tmp_path: Path
) -> None:
    for file, at in (("server", ""), ("database", f"--db {database}")):
        noughts(f"records convert tournaments/cup {tmp_path}/{file}.jsonl {at}", env=cup)
    games = rows((tmp_path / "server.jsonl").read_text())
    assert games == rows((tmp_path / "database.jsonl").read_text())
    ended = {
        game["end_time"][:10]
        for game in rows(noughts("game list tournaments/cup --format json --limit 2000", env=cup).stdout)
    }
    assert len(games) == 1100
    assert ({game["event"] for game in games}, {game["date"] for game in games}) == ({"Spring cup"}, ended)
    assert "1,100 games: nothing wrong" in noughts(f"records check {tmp_path}/server.jsonl").stdout
    noughts(f"records convert tournaments/cup {tmp_path}/games.pgn", env=cup)
    assert (tmp_path / "games.pgn").read_text().count('[Event "Spring cup"]') == 1100


@pytest.mark.parametrize(
    "options", ["--variant gomoku+swap2", "--openings random:2", "--variant qubic", "--time 1/move"]
)
def test_games_of_a_database_are_those_of_the_run_that_made_it(noughts: Any, tmp_path: Path, options: str) -> None:
    database, ran, read = (tmp_path / name for name in ("games.db", "ran.jsonl", "read.jsonl"))
    noughts(f"tournament run random first-free {options} --games 4 --seed 2 --times --db {database} -o {ran}")
    with closing(sqlite3.connect(database)) as connection:
        ((name,),) = connection.execute("SELECT slug FROM tournaments")
    noughts(f"records convert tournaments/{name} {read} --db {database}")
    games = rows(read.read_text())
    assert {game.pop("event") for game in games} == {name}
    assert all(game.pop(name) for game in games for name in ("date", "game", "end_time"))
    assert games == rows(ran.read_text())


@pytest.mark.parametrize("command", ["rate {}", "records convert {} x.sgf", "records sample {} x.csv"])
def test_a_tournament_that_does_not_exist_is_named(
    noughts: Any, refusal: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    noughts("tournament run random first-free --games 2 --db games.db")
    line = f"{command.format('tournaments/nope')} --db games.db"
    refusal(line, code=1)
    assert not list(tmp_path.glob("x.*"))
