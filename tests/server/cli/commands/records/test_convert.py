"""`noughts records`: files of games, converted, checked, listed, shown and sampled."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.server.cli.conftest import Refusal
from tests.support.background import bots_online

GAMES = [
    {"variant": "tictactoe", "first": "ada", "second": "bob", "seed": 1, "moves": [0, 3, 1, 4, 2], "result": "1-0",
     "termination": "line", "opening": [0, 3], "times_ms": [0, 0, 1.5, 2, 0.25]},
    {"variant": "tictactoe", "first": "bob", "second": "ada", "seed": 2, "moves": [4, 0], "result": "0-1",
     "termination": "timeout"},
    {"variant": "tictactoe", "first": "ada", "second": "cyd", "seed": 3, "moves": [0, 4, 8, 2, 6, 3, 5, 7, 1],
     "result": "1/2-1/2", "termination": "board_full"},
    {"variant": "mnk:5,4,4", "first": "ada", "second": "bob", "seed": 4, "moves": [7], "result": "*",
     "termination": "void"},
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "games.jsonl"
    path.write_text("".join(json.dumps(game) + "\n" for game in GAMES))
    return path


def rows(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


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


def test_list_of_results_shows_no_length(noughts: Any, file: Path, tmp_path: Path) -> None:
    noughts(f"records convert {file} {tmp_path}/games.csv")
    shown = noughts(f"records list {tmp_path}/games.csv").stdout.splitlines()
    assert shown[2].split() == ["1", "ada", "bob", "1-0", "line", "-"]


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
    "names, message, code",
    [
        ("games.jsonl games.txt", "got the name 'games.txt', expected one that ends in .jsonl, .sgf", 2),
        ("nothing.sgf games.jsonl", "nothing.sgf: No such file", 1),
        ("games.csv games.sgf", "got results without moves, expected games for", 2),
        ("games.jsonl games.psq", "got more than one game, expected one", 2),
        ("bad.jsonl games.sgf", "bad.jsonl, line 2: got broken JSON, expected a game as JSON on one line", 1),
        ("solid.jsonl games.sgf", "solid.jsonl, line 1: got a game of qubic, expected a flat board", 1),
    ],
)
def test_what_cannot_be_converted_is_said_and_leaves_no_file(
    noughts: Any, file: Path, tmp_path: Path, names: str, message: str, code: int
) -> None:
    (tmp_path / "games.csv").write_text("white,black,result\na,b,1-0\n")
    (tmp_path / "bad.jsonl").write_text(json.dumps(GAMES[0]) + "\n{\n")
    (tmp_path / "solid.jsonl").write_text(json.dumps({**GAMES[3], "variant": "qubic"}) + "\n")
    source, target = names.split()
    before = sorted(tmp_path.iterdir())
    assert message in noughts(f"records convert {tmp_path}/{source} {tmp_path}/{target}", code=code).stderr
    assert sorted(tmp_path.iterdir()) == before


def test_check_says_what_is_wrong_where(noughts: Any, file: Path, tmp_path: Path) -> None:
    assert json.loads(noughts(f"records check {file} --format json").stdout) == {"games": 4, "errors": []}
    assert "4 games: nothing wrong" in noughts(f"records check {file}").stdout
    file.write_text(file.read_text() + json.dumps({**GAMES[0], "seed": 9, "result": "0-1"}) + "\nno game\n")
    document = json.loads(noughts(f"records check {file} --format json", code=1).stdout)
    assert document["games"] == 6
    assert [error["line"] for error in document["errors"]] == [5, 6]
    assert document["errors"][0]["error"].startswith("result: got 0-1, expected 1-0")
    said = noughts(f"records check {file}", code=1).stdout
    assert f"{file}, line 6: got broken JSON" in said
    assert "6 games: 2 errors" in said


def test_check_of_a_folder_names_the_file(noughts: Any, tmp_path: Path) -> None:
    folder = tmp_path / "games.psq"
    folder.mkdir()
    (folder / "one.psq").write_text("Piskvorky 15x15, 11:11, 0\n1,1,0\na\nb\n-1\n")
    (folder / "two.psq").write_text("Piskvorky 15x15, 11:11, 0\n99,1,0\n")
    document = json.loads(noughts(f"records check {folder} --format json", code=1).stdout)
    assert document == {
        "games": 2,
        "errors": [{"line": 1, "error": "got the move 99,1,0, expected cells of 15x15", "file": "two.psq"}],
    }


@pytest.mark.parametrize(
    "options, numbers",
    [
        ("", [1, 2, 3, 4]),
        ("--bot bob", [1, 2, 4]),
        ("--bot ada --against cyd", [3]),
        ("--bot ada --result won", [1, 2]),
        ("--bot bob --result lost --termination timeout", [2]),
        ("--result 1/2-1/2", [3]),
        ("--variant mnk:5,4,4", [4]),
        ("--opening a3a2", [1]),
        ("--opening '[0]' --bot cyd", [3]),
        ("--limit 1", [1]),
    ],
)
def test_list_shows_the_games_that_are_asked_for(noughts: Any, file: Path, options: str, numbers: list[int]) -> None:
    found = rows(noughts(f"records list {file} {options} --format json").stdout)
    assert [game["number"] for game in found] == numbers
    assert found[0]["moves"] == GAMES[numbers[0] - 1]["moves"]


@pytest.mark.parametrize(
    "options, message",
    [
        ("--against bob", "--opponent bob: requires --bot"),
        ("--result won", "--result 'won': expected 1-0"),
        ("--termination late", "--termination 'late': expected line"),
        ("--variant chess", "--variant 'chess': expected one of"),
        ("--opening 1", "--opening '1': expected cells as in `h8i9`"),
    ],
)
def test_filters_that_no_game_could_pass_are_refused(noughts: Any, file: Path, options: str, message: str) -> None:
    assert message in noughts(f"records list {file} {options}", code=2).stderr


def test_a_list_for_people_is_a_table(noughts: Any, file: Path) -> None:
    result = noughts(f"records list {file} --limit 2")
    assert "ada    bob     1-0     line" in result.stdout
    assert "a3 a2" in result.stdout
    assert "There are more than 2" in result.stderr
    assert "No such games in" in noughts(f"records list {file} --bot nobody").stdout


def test_show_prints_a_game_where_there_is_no_terminal(noughts: Any, refusal: Refusal, file: Path) -> None:
    text = noughts(f"records show {file} 1").stdout
    assert "Game 1: ada (X) - bob (O)" in text
    assert "1-0, line; tictactoe, 5 plies" in text
    assert " 3 X X X\n 2 O O .\n" in text
    assert "opening: a3 a2\nmoves: a3 a2 b3 b2 c3" in text
    assert json.loads(noughts(f"records show {file} 2 --format json").stdout)["termination"] == "timeout"
    refusal(f"records show {file} 5", code=2)
    refusal(f"records show {file} 0", code=2)
    file.write_text("")
    refusal(f"records show {file}", code=2)


def test_results_without_moves_are_listed_and_neither_shown_nor_sampled(
    noughts: Any, refusal: Refusal, tmp_path: Path
) -> None:
    file = tmp_path / "results.csv"
    file.write_text("white,black,result\na,b,1-0\n")
    assert "a      b       1-0     -" in noughts(f"records list {file}").stdout
    for line in (f"records show {file}", f"records sample {file} {tmp_path}/x.csv"):
        refusal(line, code=2)


def test_samples_are_positions_with_what_came_of_them(noughts: Any, file: Path, tmp_path: Path) -> None:
    target = tmp_path / "samples.csv"
    assert json.loads(noughts(f"records sample {file} {target} --format json").stdout) == {"samples": 3 + 2 + 9}
    samples = list(csv.DictReader(target.read_text().splitlines()))
    # The opening was nobody's choice.
    assert samples[0] == {
        "variant": "tictactoe",
        "game": "0",
        "position": "X..O.....",
        "side": "X",
        "move": "1",
        "result": "1",
    }
    assert [sample["result"] for sample in samples] == ["1", "-1", "1", "-1", "1", *["0"] * 9]


@pytest.mark.parametrize("variant, form", [("gomoku+swap", "npz"), ("gomoku+swap2", "csv"), ("gomoku+swap2", "npz")])
def test_stones_put_by_agreement_are_not_sampled(noughts: Any, tmp_path: Path, variant: str, form: str) -> None:
    games, target = tmp_path / "games.jsonl", tmp_path / f"samples.{form}"
    noughts(f"match random random --variant {variant} --games 10 --seed 3 -o {games}")
    chosen = [
        (number, cell)
        for number, game in enumerate(rows(games.read_text()))
        for cell in game["moves"][game["opening"]["stones"] :]
    ]
    assert json.loads(noughts(f"records sample {games} {target} --format json").stdout) == {"samples": len(chosen)}
    if form == "csv":
        sampled = [(int(row["game"]), int(row["move"])) for row in csv.DictReader(target.read_text().splitlines())]
    else:
        with np.load(target) as arrays:
            sampled = list(zip(arrays["games"].tolist(), arrays["moves"].tolist(), strict=True))
    assert sampled == chosen


def test_samples_for_numpy_are_the_same(noughts: Any, refusal: Refusal, file: Path, tmp_path: Path) -> None:
    refusal(f"records sample {file} {tmp_path}/x.npz", code=1)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:3]))
    noughts(f"records sample {file} {tmp_path}/x.npz")
    noughts(f"records sample {file} {tmp_path}/x.csv")
    table = list(csv.DictReader((tmp_path / "x.csv").read_text().splitlines()))
    with np.load(tmp_path / "x.npz") as arrays:
        assert str(arrays["variant"]) == "tictactoe"
        assert arrays["positions"].shape == (14, 9)
        texts = ["".join(".XO"[value] for value in position) for position in arrays["positions"]]
        assert texts == [sample["position"] for sample in table]
        assert ["XO"[side] for side in arrays["sides"]] == [sample["side"] for sample in table]
        for name, column in (("moves", "move"), ("results", "result"), ("games", "game")):
            assert arrays[name].tolist() == [int(sample[column]) for sample in table]
    refusal(f"records sample {file} x.txt", code=2)


@pytest.fixture
def cup(noughts: Any, server: str, token: str) -> dict[str, str]:
    """The environment of commands on a server where `cup` was played: more games than come at once."""
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    with bots_online(server, token, one="random", other="first-free"):
        noughts("tournament create cup --games 1100 --seed 4 --title 'Spring cup'", env=env)
        for bot in ("one", "other"):
            noughts(f"tournament join cup --bot {bot}", env=env)
        noughts("tournament start cup", env=env)
        noughts("tournament watch cup --format json", env=env)
    return env


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


def test_sample_and_rate_read_a_tournament_like_its_file(
    noughts: Any, cup: dict[str, str], database: str, tmp_path: Path
) -> None:
    file = f"{tmp_path}/games.jsonl"
    noughts(f"records convert tournaments/cup {file}", env=cup)
    sources = (file, "tournaments/cup", f"tournaments/cup --db {database}")
    ratings = [noughts(f"rate {source} --prior --format json", env=cup).stdout for source in sources]
    assert ratings[0] == ratings[1] == ratings[2]
    samples = []
    for source in sources:
        name, _, options = source.partition(" ")
        noughts(f"records sample {name} {tmp_path}/samples.csv {options}", env=cup)
        samples.append((tmp_path / "samples.csv").read_text())
    assert samples[0] == samples[1] == samples[2]
    noughts(f"records sample tournaments/cup {tmp_path}/samples.npz", env=cup)
    with np.load(tmp_path / "samples.npz") as arrays:
        assert len(arrays["moves"]) == len(samples[0].splitlines()) - 1


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


def test_blunders_are_counted_by_bot_and_by_game(noughts: Any, file: Path) -> None:
    found = json.loads(noughts(f"records accuracy {file} --format json").stdout)["bots"]
    assert {row["bot"]: (row["games"], row["decisions"], row["blunders"], row["accuracy"]) for row in found} == {
        "ada": (3, 5, 1, 0.8),  # b3 of the third game gives away a win
        "bob": (2, 0, 0, None),
        "cyd": (1, 3, 1, 2 / 3),  # c3 of the third game loses
    }
    table = noughts(f"records accuracy {file}").stdout
    assert re.search(r"ada +3 +5 +1 +0\.33 +-\n", table), "an accuracy of fewer than 30 decisions says nothing"
    games = json.loads(noughts(f"records accuracy {file} --each --format json").stdout)["games"]
    assert [(row["number"], row["bot"]) for row in games][:3] == [(1, "ada"), (1, "bob"), (2, "bob")]


def test_an_invalid_game_is_not_judged(refusal: Refusal, tmp_path: Path) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(json.dumps({**GAMES[0], "moves": [0, 3, 0]}) + "\n")
    refusal(f"records accuracy {file}", code=1)
