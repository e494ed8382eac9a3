"""Gomocup engines as children of a referee: every engine here is a process, and behaves as engines do."""

import select
import sys
import time
from pathlib import Path

import psutil
import pytest

from noughts_bots import GameInfo, Position, Resign, parse_variant
from noughts_bots.gomocup.protocol import VARIANTS
from noughts_bots.hosts.gomocup import load

from .children import RESIGNS, Child, Game, child

ENGINE = f"{sys.executable} {Path(__file__).with_name('odd_engine.py')}"
OFF_BOARD = 0xFFFFFFFF
CRASHED = 70
PROBE = [
    "START 20", "INFO timeout_turn 1000", "INFO timeout_match 0", "INFO max_memory 0", "INFO game_type 2",
    "INFO rule 0", "INFO time_left 2147483647", "START 20",
]  # fmt: skip
"""What an engine is asked before it has a game: whether it is there, and whether it complains about infos."""


def engine(habits: str = "") -> str:
    return f"{ENGINE} {habits}"


def play(player: Child, game: Game, moves: int = 3) -> list[int | None]:
    """So many moves of the child's, each answered on the lowest free cell."""
    made = []
    for _ in range(moves):
        made.append(player.ask(game))
        player.answer_with_lowest(game)
    return made


def logged(log: Path) -> list[str]:
    """The commands that engines have got; what differs from run to run is left out."""
    lines = [line for line in log.read_text().splitlines() if not line.startswith("INFO folder")]
    assert lines[: len(PROBE)] == PROBE
    return lines[len(PROBE) :]


# What real engines do, and may do.


@pytest.mark.parametrize(
    "habits",
    [
        "wordy",
        "complain=time_left",
        "ending=cr",
        "ending=crlf",
        "complain",
        "suggest",
        "messages=1000",
        "long=5000000",
        "stderr",
        "no-restart",
        "wordy ending=cr complain suggest messages=10 long=100000 stderr",
    ],
)
@pytest.mark.parametrize("time_limit", [{}, {"move_us": 20_000_000}])
def test_an_odd_engine_plays_as_a_plain_one_does(habits: str, time_limit: dict[str, int]) -> None:
    with child("gomocup", engine(habits)) as player:
        for side in (0, 1):
            game = player.begin("gomoku", side=side, moves=[0] * side, **time_limit)
            assert play(player, game) == [0 + side, 2 + side, 4 + side]
            player.finish(game)
        assert player.close() == 0


def test_it_takes_one_game_at_a_time_of_the_variants_that_engines_know() -> None:
    with Child("gomocup", engine()) as player:
        hello = player.hello()
    assert hello.max_games == 1
    assert list(hello.variants) == list(VARIANTS)


def test_what_the_engine_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with child("gomocup", engine(f"log={log}")) as player:
        game = player.begin("gomoku", side=1, moves=[16], move_us=1_500_000)
        play(player, game, 2)
        assert player.close() == 0
    told = ["INFO timeout_turn 1500", "INFO timeout_match 0", "INFO max_memory 0", "INFO game_type 2", "INFO rule 0"]
    turns = ["INFO time_left 2147483647", "TURN 1,1", "INFO time_left 2147483647", "TURN 1,0"]
    left = ["INFO time_left 2147483647"]
    assert logged(log) == [*told, *left, "START 15", *turns, "END"]


def test_what_the_engine_is_told_of_a_bank_and_of_no_limit(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with child("gomocup", engine(f"log={log}")) as player:
        game = player.begin("gomoku:exact", bank_us=60_000_000)
        player.ask(game)
        player.answer_with_lowest(game)
        game.clock_us = 59_876_543
        player.ask(game)
        player.finish(game)
        player.ask(player.begin("gomoku20"))
        assert player.close() == 0
    bank = [
        "INFO timeout_turn 60000",
        "INFO timeout_match 60000",
        "INFO max_memory 0",
        "INFO game_type 2",
        "INFO rule 1",
    ]
    turns = ["INFO time_left 60000", "BEGIN", "INFO time_left 59876", "TURN 1,0"]
    none = ["INFO timeout_match 0", "INFO max_memory 0", "INFO game_type 2", "INFO rule 0"]
    assert logged(log) == [
        *(*bank, "INFO time_left 60000", "START 15", *turns, "END"),
        *(*none, "INFO time_left 2147483647", "START 20", "INFO time_left 2147483647", "BEGIN", "END"),
    ]


def test_a_board_that_is_no_square_is_set_up_as_a_rectangle(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with child("gomocup", engine(f"log={log}")) as player:
        game = player.begin("mnk:9,6,5", side=1, moves=[9 * 2 + 4])
        assert play(player, game, 2) == [0, 2]
        assert player.close() == 0
    assert "RECTSTART 9,6" in logged(log)
    assert "TURN 4,2" in logged(log)


def test_openings_and_games_that_are_asked_again_are_told_as_a_board(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with child("gomocup", engine(f"log={log}")) as player:
        game = player.begin("gomoku", moves=[0, 16])
        assert player.ask(game) == 1
        game.moves[2:] = []
        assert player.ask(game) == 1
        assert player.close() == 0
    board = ["INFO time_left 2147483647", "BOARD", "0,0,1", "1,1,2", "DONE"]
    commands = logged(log)
    assert commands[commands.index("START 15") + 1 :] == [*board, "RESTART", *board, "END"]


def test_a_game_that_is_sent_again_goes_on_as_a_board(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with child("gomocup", engine(f"log={log}")) as player:
        game = player.begin("gomoku")
        play(player, game, 2)
        again = player.begin("gomoku", moves=game.moves)
        assert player.ask(again) == 4
    commands = logged(log)
    assert commands[-7:] == ["INFO time_left 2147483647", "BOARD", "0,0,1", "1,0,2", "2,0,1", "3,0,2", "DONE"]


@pytest.mark.parametrize(
    "option, habits, processes, restarts",
    [("auto", "", 1, 2), ("auto", "no-restart", 3, 1), ("on", "", 3, 0), ("off", "", 1, 2)],
)
def test_between_games_it_restarts_or_is_started_anew(
    tmp_path: Path, option: str, habits: str, processes: int, restarts: int
) -> None:
    log, pids = tmp_path / "log", tmp_path / "pids"
    with child("gomocup", engine(f"log={log} pid={pids} {habits}"), f"restart={option}") as player:
        for _ in range(3):
            game = player.begin("gomoku20")
            assert play(player, game) == [0, 2, 4]
            player.finish(game)
        assert player.close() == 0
    assert len(pids.read_text().split()) == processes
    assert logged(log).count("RESTART") == restarts
    assert not any(psutil.pid_exists(int(pid)) for pid in pids.read_text().split())


def test_an_engine_that_is_silent_on_restart_loses_no_game_on_time_and_is_not_asked_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with child("gomocup", engine(f"log={log} silent-restart")) as player:
        for _ in range(3):
            began = time.monotonic()
            game = player.begin("gomoku", bank_us=3_000_000)
            assert play(player, game, 1) == [0]
            assert time.monotonic() - began < 3
            player.finish(game)
        assert player.close() == 0
    assert logged(log).count("RESTART") == 1


def test_an_engine_that_ends_itself_after_a_game_is_started_anew() -> None:
    with child("gomocup", engine("at=2 leave")) as player:
        for _ in range(2):
            game = player.begin("gomoku")
            assert play(player, game, 2) == [0, 2]
            player.finish(game)
        assert player.close() == 0


def test_it_works_in_a_folder_of_its_own_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOUGHTS_TOKEN", "nou_secret")
    seen, script = tmp_path / "seen", tmp_path / "look.py"
    script.write_text(
        f"import os, pathlib\npathlib.Path({str(seen)!r}).write_text(os.getcwd() + ' ' + ' '.join(os.environ))\n"
        "while input() != 'END': print('OK', flush=True)\n"
    )
    monkeypatch.setenv("NOUGHTS_FOLDER", str(tmp_path))
    with child("gomocup", f"{sys.executable} look.py") as player:
        assert player.close() == 0
    folder, *names = seen.read_text().split()
    assert "noughts-gomocup-" in folder
    assert not Path(folder).exists()
    assert {name for name in names if name.startswith("NOUGHTS")} == set()
    assert "PATH" in names


def test_hardly_any_time_is_added_to_the_engines_own() -> None:
    shares = []
    with child("gomocup", engine("think=0.1")) as player:
        game = player.begin("gomoku")
        player.ask(game)
        # Of a few tries, as somebody else may want the machine.
        for _ in range(5):
            known = len(player.stderr.splitlines())
            wall = 0.0
            for _ in range(5):
                player.answer_with_lowest(game)
                began = time.monotonic()
                player.ask(game)
                wall += time.monotonic() - began
            thinking = sum(float(line.split()[1]) for line in player.stderr.splitlines()[known:])
            shares.append(wall / thinking)
            if shares[-1] < 1.02:
                return
    raise AssertionError(f"wall time as a share of the thinking: {shares}")


# What engines must not do.


@pytest.mark.parametrize(
    "answer, cell",
    [("my_move_is_7,7", OFF_BOARD), ("h8", OFF_BOARD), ("15,0", OFF_BOARD), ("-1,3", OFF_BOARD), ("0,0", 0)],
)
def test_an_answer_that_is_no_free_cell_is_an_illegal_move_and_kept(answer: str, cell: int) -> None:
    with child("gomocup", engine(f"at=2 instead={answer}")) as player:
        game = player.begin("gomoku")
        assert player.ask(game) == 0
        player.answer_with_lowest(game)
        assert player.ask(game) == cell
        assert f"to TURN 1,0 the engine says {answer.replace('_', ' ')!r}" in player.stderr


@pytest.mark.parametrize("answer", ["ERROR_out_of_memory", "UNKNOWN"])
def test_an_engine_that_says_it_cannot_move_resigns(answer: str) -> None:
    with child("gomocup", engine(f"at=1 instead={answer}")) as player:
        assert player.ask(player.begin("gomoku")) is RESIGNS
        assert f"to BEGIN the engine says {answer.replace('_', ' ')!r}, and resigns so" in player.stderr


@pytest.mark.parametrize("habit", ["silent", "endless"])
def test_an_engine_that_does_not_answer_is_killed_soon_after_its_time(tmp_path: Path, habit: str) -> None:
    pids = tmp_path / "pids"
    with child("gomocup", engine(f"at=2 {habit} pid={pids}")) as player:
        game = player.begin("gomoku", move_us=50_000)
        player.ask(game)
        player.answer_with_lowest(game)
        began = time.monotonic()
        assert player.ask(game) is RESIGNS
        assert 2.0 < time.monotonic() - began < 10
        assert "no answer to TURN 1,0" in player.stderr
        # What it says is kept, but not all of it.
        assert len(player.stderr) < 50_000
        assert not psutil.pid_exists(int(pids.read_text()))
        player.finish(game)
        assert player.ask(player.begin("gomoku", move_us=5_000_000)) == 0


def test_a_line_of_fifty_megabytes_takes_no_memory() -> None:
    with child("gomocup", engine("at=1 long=50000000")) as player:
        game = player.begin("gomoku")
        assert player.ask(game) == 0
        assert psutil.Process(player.process.pid).memory_info().rss < 100_000_000


def test_messages_are_kept_up_to_a_bound() -> None:
    with child("gomocup", engine("at=1 messages=100000")) as player:
        assert player.ask(player.begin("gomoku")) == 0
        assert player.stderr.startswith("DEBUG thought 0\nMESSAGE thought 1\n")
        assert player.stderr.endswith("(what the engine says from here on is left out)\n")
        assert len(player.stderr) < 40_000


@pytest.mark.parametrize("habits", ["stay", "stay brood"])
def test_an_engine_that_ignores_end_is_killed_after_a_second(tmp_path: Path, habits: str) -> None:
    pids = tmp_path / "pids"
    with child("gomocup", engine(f"{habits} pid={pids}")) as player:
        player.begin("gomoku")
        began = time.monotonic()
        assert player.close() == 0
        assert 1.0 < time.monotonic() - began < 10
    for pid in pids.read_text().split():
        # What has lost its parent is buried by whoever adopts it.
        assert not psutil.pid_exists(int(pid)) or psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE


def test_no_engine_outlives_a_child_that_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with child("gomocup", engine(f"stay pid={pids}")) as player:
        running = psutil.Process(int(pids.read_text()))
        player.process.kill()
        running.wait(10)


def test_an_engine_that_does_not_answer_start_in_time_ends_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noughts_bots.gomocup.conversation.SET_UP_SECONDS", 0.2)
    player = load(engine("never=15"), {})
    try:
        with pytest.raises(SystemExit, match=str(CRASHED)):
            player.start(GameInfo("tournaments/t/games/1", parse_variant("gomoku"), 0, "x"))
    finally:
        player.close()


# Engines that do not play.


def test_an_engine_that_complains_about_everything_resigns_a_little_later() -> None:
    with child("gomocup", engine("complain refuse-rectstart")) as player:
        assert player.ask(player.begin("mnk:9,6,5")) is RESIGNS
        assert player.ask(player.begin("gomoku", move_us=20_000_000)) == 0


def test_of_an_engine_that_complains_about_infos_an_error_is_an_answer_when_no_move_follows(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("noughts_bots.gomocup.conversation._MOVE_SECONDS", 0.2)
    player = load(engine("complain=rule at=1 instead=ERROR_rule"), {})
    try:
        with pytest.raises(Resign):
            player.choose(Position(parse_variant("gomoku")))
    finally:
        player.close()
    assert "to BEGIN the engine says 'ERROR rule', and resigns so" in capfd.readouterr().err


@pytest.mark.parametrize("restart", ["auto", "on"])
def test_an_engine_that_knows_no_rectangles_resigns_with_a_reason_and_plays_on(restart: str) -> None:
    with child("gomocup", engine("refuse-rectstart"), f"restart={restart}") as player:
        began = time.monotonic()
        for _ in range(2):
            game = player.begin("mnk:9,6,5", moves=[])
            assert player.ask(game) is RESIGNS
        reason = "resigns: to RECTSTART 9,6 the engine says 'ERROR message - unsupported size or other error'\n"
        assert player.stderr.count(reason) == 2
        assert time.monotonic() - began < 2.0
        assert player.ask(player.begin("gomoku")) == 0


def test_an_engine_that_dislikes_the_probes_size_plays_on_others() -> None:
    with child("gomocup", engine("refuse-size=20")) as player:
        assert player.ask(player.begin("gomoku")) == 0
        assert player.ask(player.begin("gomoku20")) is RESIGNS


@pytest.mark.parametrize("variant", ["mnk:7,6,4", "tictactoe", "connect4"])
def test_other_games_than_five_in_a_row_are_refused_in_one_line(variant: str) -> None:
    with child("gomocup", engine()) as player:
        assert player.ask(player.begin(variant)) is RESIGNS
        (line,) = player.stderr.splitlines()
        assert line == (
            f"resigns: {variant}: expected five in a row on a flat board, which is all that Gomocup engines play"
        )


def test_an_engine_that_must_not_be_started_anew_and_cannot_restart_ends_the_child() -> None:
    with child("gomocup", engine("no-restart"), "restart=off") as player:
        game = player.begin("gomoku")
        player.ask(game)
        player.finish(game)
        with pytest.raises(EOFError):
            player.ask(player.begin("gomoku"))
        assert player.close() == CRASHED
        assert "restart=off forbids a new process" in player.stderr


def test_an_engine_that_never_answers_start_never_says_hello(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with Child("gomocup", engine(f"never=20 pid={pids}")) as player:
        assert player.process.stdout is not None
        assert select.select([player.process.stdout], [], [], 2.0)[0] == []
        running = psutil.Process(int(pids.read_text()))
        player.process.kill()
        running.wait(10)


@pytest.mark.parametrize(
    "target, options, said",
    [
        ("./no-such-engine", (), "got ./no-such-engine: No such file or directory"),
        (f"{sys.executable} -c pass", (), "got the engine has ended with exit code 0, expected a program that"),
        ("engine 'oops", (), "got no closing quotation, expected a command as in a shell"),
        (ENGINE, ("restart=maybe",), "option restart: got maybe, expected on, off or auto"),
        (ENGINE, ("turbo=on",), "got option turbo, expected option restart"),
    ],
)
def test_what_cannot_be_started_says_why_in_one_line(target: str, options: tuple[str, ...], said: str) -> None:
    with Child("gomocup", target, *options) as player:
        assert player.close() == 1
        (line,) = player.stderr.splitlines()
        assert said in line
