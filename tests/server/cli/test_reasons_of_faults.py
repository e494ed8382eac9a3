"""Reasons of faults that authors of bots read on the command line, in files of games and at a server."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE
from tests.support.processes import PROGRAM, environment, run_here

BOTS = """
from noughts_bots import Bot, Move, run


class Raises(Bot):
    def choose(self, position):
        return position.free[0] if position.ply < 2 else [1, 2][position.ply + 5]


class Occupied(Bot):
    def choose(self, position):
        return position.moves[0] if position.moves else 0


class Off(Bot):
    def choose(self, position):
        return 99


class Fine(Bot):
    def __init__(self, depth: int = 1):
        pass

    def choose(self, position):
        return Move(position.free[-1], score=0.25)


class Unmade(Bot):
    def __init__(self):
        raise RuntimeError("no weights here")

"""
EXCEPTION = "IndexError: list index out of range"


class UserFolder:
    """A folder with the bots of a user, who runs commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bots.py").write_text(BOTS)
        self.environment = environment(XDG_DATA_HOME=str(folder / "data"), COLUMNS="200")

    def start(self, line: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, *shlex.split(line)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, line: str, *, code: int = 0, stdin: str = "") -> tuple[str, str]:
        """Run a command in this process, and return its stdout and stderr."""
        with chdir(self.folder):
            result = run_here(shlex.split(line), self.environment, code=code, stdin=stdin)
        return result.stdout, result.stderr

    def json(self, line: str) -> Any:
        return json.loads(self.run(f"{line} --format json")[0])

    def games(self, name: str = "games.jsonl") -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    @contextmanager
    def serving(self) -> Iterator[None]:
        """A server whose operator is this user, who also gets a token for it."""
        database = f"sqlite:///{self.folder / 'server.db'}"
        created = self.json(f"token create --owner ada --db {database}")
        self.environment["NOUGHTS_TOKEN"] = created["token"]
        with self.start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json") as server:
            try:
                assert server.stdout is not None
                self.environment["NOUGHTS_SERVER"] = json.loads(server.stdout.readline())["grpc"]
                yield
            finally:
                server.terminate()
                server.communicate(timeout=PATIENCE)


@pytest.fixture
def user_folder(tmp_path: Path) -> UserFolder:
    return UserFolder(tmp_path)


def test_a_match_counts_each_error_and_shows_one_traceback(user_folder: UserFolder) -> None:
    _, errors = user_folder.run("match Mine=py:bots.py:Raises first-free --games 12 --concurrency 4")
    assert f"Mine: it resigned: {EXCEPTION} (12 times); 12 games lost." in errors
    assert "First in game 1 at ply 2 (tictactoe, moving first)." in errors
    assert "noughts bot check 'py:bots.py:Raises'" in errors
    assert errors.count("Traceback (most recent call last)") == 1
    assert "bots.py" in errors
    assert "[1, 2][position.ply + 5]" in errors


def test_a_match_names_the_illegal_cell_as_on_the_board(user_folder: UserFolder) -> None:
    _, errors = user_folder.run("match Mine=py:bots.py:Occupied first-free --games 4 --variant gomoku")
    assert "Mine: it made an illegal move (4 times); 4 games lost." in errors
    place = "First in game 1 at ply 2 (gomoku, moving first)"
    assert f"{place}: it placed a stone on a15 (cell 0), which is occupied." in errors
    _, errors = user_folder.run("match Mine=py:bots.py:Off first-free")
    assert "it placed a stone off the board, which has cells 0 to 8." in errors


def test_the_json_of_a_match_and_its_file_have_the_faults(user_folder: UserFolder) -> None:
    document = user_folder.json("match A=py:bots.py:Raises B=py:bots.py:Occupied --games 2 -o games.jsonl --seed 1")
    (fault,) = document["faults"]
    assert (fault["bot"], fault["reason"], fault["times"]) == ("B", "made an illegal move", 2)
    reason = "placed a stone on a3 (cell 0), which is occupied"
    assert fault["first"] == {"game": 1, "ply": 1, "variant": "tictactoe", "side": "second", "reason": reason}
    first, second = user_folder.games()
    assert first["fault"] == {"bot": "B", "side": "second", "ply": 1, "reason": reason}
    assert (second["fault"]["side"], second["fault"]["ply"]) == ("first", 2)


def test_the_file_of_games_has_the_reason_of_a_crash(user_folder: UserFolder) -> None:
    (user_folder.folder / "dies.py").write_text("import sys; sys.exit(3)")
    user_folder.run(f"match 'Dies=exec:{sys.executable} dies.py' random --games 2 -o games.jsonl", code=1)
    for game in user_folder.games():
        assert game["fault"]["bot"] == "Dies"
        assert game["fault"]["reason"].endswith("ended with exit code 3")


def test_games_without_a_fault_have_only_the_usual_fields(user_folder: UserFolder) -> None:
    user_folder.run("match py:bots.py:Fine random --games 10 --seed 3 -o games.jsonl")
    fields = (
        "variant",
        "first",
        "second",
        "seed",
        "moves",
        "result",
        "termination",
        "winning_cells",
        "seed_text",
        "scores",
    )
    *others, last = map(tuple, user_folder.games())
    assert set(others) == {fields}
    assert last == (*fields, "tournament")


def test_the_same_seed_gives_the_same_faults_at_any_concurrency(user_folder: UserFolder) -> None:
    for concurrency, name in ((1, "one"), (16, "many")):
        user_folder.run(
            f"tournament run py:bots.py:Raises py:bots.py:Occupied random --games 20 --seed 5"
            f" --concurrency {concurrency} -o {name}"
        )
    assert (user_folder.folder / "one").read_bytes() == (user_folder.folder / "many").read_bytes()
    assert sum("fault" in game for game in user_folder.games("one")) >= 20


@pytest.mark.parametrize(
    "spec, complaint",
    [
        ("py:gone.py:Fine", "gone.py, which is not a file, expected a file"),
        ("py:bots.py:Fin", "got name 'Fin', expected a class or a function of"),
        ("py:bots.py:Unmade", "got RuntimeError: no weights here, expected a bot"),
        ("py{width=3}:bots.py:Fine", "got option width, expected one of depth"),
        ("dll:./gone.so", "gone.so, which is not a file, expected a file"),
        ("dll:./bots.py", "got a file that is not a library, expected a shared library"),
        ("gomocup:./pbrain-gone", "got program './pbrain-gone', expected one that can be run"),
        ("exec:./gone", "got program './gone', expected one that can be run"),
    ],
)
def test_wrong_specs_are_refused_before_a_game_is_played(user_folder: UserFolder, spec: str, complaint: str) -> None:
    output, errors = user_folder.run(f"match '{spec}' random --games 1000000 --variant gomoku -o games.jsonl", code=2)
    assert complaint in errors
    assert output == ""
    assert not (user_folder.folder / "games.jsonl").exists()


@pytest.mark.parametrize("kind", ["gomocup", "exec", "lines", "gtp"])
@pytest.mark.parametrize(
    "command, complaint",
    [
        ("./wine engine.exe", "got a Windows program, for which Wine needs Unix sockets, expected a program that the"),
        ("./engine.exe", "got a Windows program, for which Wine needs Unix sockets, expected a program that the"),
        ("./old", "got a 32-bit program, which makes 32-bit system calls, expected a program that the sandbox allows"),
    ],
)
def test_programs_that_the_sandbox_refuses_are_named_before_a_game(
    user_folder: UserFolder, kind: str, command: str, complaint: str
) -> None:
    for name, first_bytes in (("wine", b"#!/bin/sh\n"), ("engine.exe", b"MZ\x90"), ("old", b"\x7fELF\x01\x01")):
        (user_folder.folder / name).write_bytes(first_bytes)
        (user_folder.folder / name).chmod(0o755)
    for line in (f"match '{kind}:{command}' random --games 2 --variant gomoku", f"bot check '{kind}:{command}'"):
        _, errors = user_folder.run(line, code=2)
        assert complaint in errors
        assert "--no-lock" in errors


@pytest.mark.parametrize(
    "line",
    [
        "bot run py:bots.py:Fin --name fin --server 127.0.0.1:1 --token nou_x",
        "bot run py:gone.py:Fine --server 127.0.0.1:1 --token nou_x",
        "bot check py:bots.py:Fin",
        "bot ask py:bots.py:Fin",
    ],
)
def test_commands_of_a_single_bot_refuse_wrong_specs(user_folder: UserFolder, line: str) -> None:
    output, errors = user_folder.run(line, code=2)
    assert "got name 'Fin', expected a class" in errors or "which is not a file" in errors
    assert output == ""


def test_different_invalid_lines_of_a_program_are_one_fault(user_folder: UserFolder) -> None:
    (user_folder.folder / "odd.py").write_text(
        "import sys\nfor line in sys.stdin: print('odd', len(line), flush=True)\n"
    )
    output = user_folder.run(
        f"match 'lines:{sys.executable} {user_folder.folder / 'odd.py'}' random --games 6 --seed 1 --format json"
    )[0]
    faults = json.loads(output)["faults"]
    assert [(fault["reason"], fault["times"]) for fault in faults] == [
        ("resigned: the program answered with an invalid line", 6)
    ]
    assert faults[0]["first"]["reason"].startswith("resigned: the program answered 'odd ")


def test_a_program_that_ends_before_its_first_answer_is_disabled(user_folder: UserFolder) -> None:
    output, _ = user_folder.run("match 'lines:false' random --games 20 --seed 1 --format json", code=1)
    faults = json.loads(output)["faults"]
    assert [(fault["reason"], fault["times"], fault["games"], fault["benched"]) for fault in faults] == [
        ("ended with exit code 1", 3, 20, True)
    ]


def test_run_in_which_a_bot_was_disabled_exits_with_1_and_has_its_results(user_folder: UserFolder) -> None:
    (user_folder.folder / "dies.py").write_text("import sys; sys.exit('no licence found')")
    output, errors = user_folder.run(f"match 'Dies=exec:{sys.executable} dies.py' random --games 4", code=1)
    assert "4 games: 4 crashed" in output
    assert "It failed to start three times in a row" in errors
    assert "| no licence found" in errors


@pytest.mark.parametrize("guard", ["", "if __name__ == '__main__':\n    "])
def test_a_bot_whose_file_calls_run_plays_as_a_plugin_too(user_folder: UserFolder, guard: str) -> None:
    (user_folder.folder / "bots.py").write_text(f"{BOTS}\n{guard}run(Fine(), name='fine')\n")
    assert user_folder.json("match py:bots.py:Fine random --games 4")["faults"] == []
    report, _ = user_folder.run("bot check py:bots.py:Fine")
    assert ("run() does nothing here" in report) == (guard == "")
    assert ('guard the call by `if __name__ == "__main__":`' in report) == (guard == "")


def test_check_prints_a_traceback_once_with_its_count(user_folder: UserFolder) -> None:
    report, _ = user_folder.run("bot check py:bots.py:Raises --games 20", code=1)
    assert report.count("Traceback (most recent call last)") == 1
    assert f"it resigned with {EXCEPTION} in 20 of 20 games, first in game 1 at ply 2." in report
    report, _ = user_folder.run("bot check py:bots.py:Off --games 20", code=1)
    assert report.count("Wrong: ") == 1
    assert "it made an illegal move in 20 of 20 games, first in game 1 at ply 0" in report


def test_ask_reads_the_score_that_a_plugin_gives(user_folder: UserFolder) -> None:
    answer = json.loads(user_folder.run("bot ask py:bots.py:Fine --format json", stdin="X...O...X O\n")[0])
    assert (answer["move"], answer["scores"]) == (7, {"7": 0.25})
    assert "b1:0.25" in user_folder.run("bot ask py:bots.py:Fine", stdin="X...O...X O\n")[0]


@pytest.mark.parametrize("spec", ["minimax", "py:bots.py:Fine"])
def test_ask_says_when_a_position_is_over_already(user_folder: UserFolder, spec: str) -> None:
    output, errors = user_folder.run(f"bot ask {spec} --format json", stdin="X........\nXXX.OO...\n", code=1)
    assert output.count("\n") == 1
    assert "line 2: position 'XXX.OO...': expected a game that is not over: X has won already" in errors
    assert "the board is full" in user_folder.run(f"bot ask {spec}", stdin="XOXXOOOXX O\n", code=1)[1]


def test_ask_says_why_a_bot_resigns(user_folder: UserFolder) -> None:
    assert (
        f"line 1: the bot resigns: {EXCEPTION}"
        in user_folder.run("bot ask py:bots.py:Raises", stdin="X...O...X O\n", code=1)[1]
    )


def test_games_at_a_server_show_cell_names_and_reasons_of_faults(user_folder: UserFolder) -> None:
    with user_folder.serving():
        for kind, name in (("Occupied", "taken"), ("Raises", "raises")):
            with user_folder.start(f"bot run py:bots.py:{kind} --name {name}") as process:
                assert process.stdout is not None
                process.stdout.readline()
                user_folder.run(f"challenge bot:{name} --with first-free --games 2 --variant gomoku")
                process.terminate()
                _, errors = process.communicate(timeout=PATIENCE)
            if kind == "Raises":
                assert errors.count("Traceback (most recent call last)") == 1
                assert "(gomoku), after [" in errors
            else:
                assert "at ply 1 (gomoku): it placed a stone on a15 (cell 0), which is occupied" in errors
        games = {}
        for row in user_folder.json("tournament list --challenges")["tournaments"]:
            name = row["tournament"].removeprefix("tournaments/")
            table = user_folder.run(f"game list {name}")[0]
            assert "a15" in table
            game = user_folder.json(f"game show {name}/1")
            games[game["fault"]["bot"]] = game
            text, _ = user_folder.run(f"game show {name}/1")
            assert f"{game['fault']['bot']} at ply {game['fault']['ply']}: it {game['fault']['reason']}" in text
            assert "moves: a15" in text
            assert "15 X" in text
            assert "a b c d e f g h i j k l m n o" in text
            watch_text, _ = user_folder.run(f"watch {name}/1")
            assert "moves a15" in watch_text
        assert games["taken"]["fault"]["reason"] == "placed a stone on a15 (cell 0), which is occupied"
        assert games["raises"]["fault"]["reason"] == f"resigned: {EXCEPTION}"
        assert games["taken"]["moves"] == [0]


def test_a_program_in_python_prints_its_fault_on_stderr(user_folder: UserFolder) -> None:
    with user_folder.serving():
        (user_folder.folder / "mine.py").write_text(f"{BOTS}\nrun(Occupied(), name='mine')\n")
        with subprocess.Popen(
            [sys.executable, "mine.py"],
            cwd=user_folder.folder,
            env=user_folder.environment,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            process.stderr.readline()
            user_folder.run("challenge bot:mine --with first-free --games 2")
            process.terminate()
            errors = process.communicate(timeout=PATIENCE)[1]
    assert "it placed a stone on a3 (cell 0), which is occupied" in errors
