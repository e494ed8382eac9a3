"""Files of games as JSON lines: their content, and safe replacement of older files."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from noughts_referee.rules import Thought
from noughts_server.records.games_file import GamesFile
from noughts_server.store.games.games import Agreement


@dataclass
class Game:
    """A finished game with the attributes that the writer reads."""

    number: int = 1
    variant: str = "tictactoe"
    first: str = "A"
    second: str = "B"
    seed: int = (1 << 64) - 1
    moves: list[int] = field(default_factory=lambda: [4, 0, 8])
    times_us: list[int] = field(default_factory=lambda: [1500, 20, 3])
    result: str = "1-0"
    termination: str = "line"
    first_time: str = ""
    second_time: str = ""
    fault: str = ""
    loser: int | None = 1
    agreement: Agreement | None = None
    opening_plies: int = 0
    adjudication: str = ""
    scores: dict[int, float] = field(default_factory=dict)
    comments: dict[int, str] = field(default_factory=dict)
    thoughts: dict[int, Thought] = field(default_factory=dict)
    margins_us: tuple[int, int] | None = None
    late_moves: tuple[int, int] = (0, 0)
    time_factor: float | None = None
    round: int = 0
    tournament: dict[str, Any] = field(default_factory=dict)


def write(target: Path, games: Any, *, times: bool = False) -> None:
    with GamesFile(target, times=times) as file:
        file.write(games)


def test_a_line_holds_a_game_in_compact_json(tmp_path: Path) -> None:
    target = tmp_path / "games.jsonl"
    write(target, [Game(), Game(number=2)])
    expected = (
        '{"variant":"tictactoe","first":"A","second":"B","seed":18446744073709551615,'
        '"moves":[4,0,8],"result":"1-0","termination":"line","winning_cells":[],'
        '"seed_text":"18446744073709551615"}\n'
    )
    assert target.read_text() == expected * 2


def test_times_of_each_side_are_written_only_if_they_differ_by_bot(tmp_path: Path) -> None:
    target = tmp_path / "games.jsonl"
    write(target, [Game(), Game(first_time="1/move", second_time="180/30+0")], times=True)
    plain, own = (json.loads(line) for line in target.read_text().splitlines())
    assert {key: own.pop(key) for key in ("first_time", "second_time")} == {
        "first_time": "1/move",
        "second_time": "180/30+0",
    }
    assert list(own) == list(plain)


def test_margins_are_written_with_the_times_of_games_with_clocks(tmp_path: Path) -> None:
    target = tmp_path / "games.jsonl"
    games = [Game(margins_us=(1_000_000, 50_000), late_moves=(2, 0)), Game()]
    write(target, games, times=True)
    timed, plain = (json.loads(line) for line in target.read_text().splitlines())
    assert (timed.pop("margins_ms"), timed.pop("late_moves")) == ([1000.0, 50.0], [2, 0])
    assert list(timed) == list(plain)
    write(target, games)
    assert "margins_ms" not in target.read_text()


def test_times_are_milliseconds(tmp_path: Path) -> None:
    target = tmp_path / "games.jsonl"
    write(target, [Game()], times=True)
    assert json.loads(target.read_text())["times_ms"] == [1.5, 0.02, 0.003]


def test_comments_are_written_by_ply_in_order(tmp_path: Path) -> None:
    target = tmp_path / "games.jsonl"
    write(target, [Game(comments={2: "so there", 0: "hello"})])
    assert list(json.loads(target.read_text())["comments"].items()) == [("0", "hello"), ("2", "so there")]


@pytest.mark.parametrize("times", [False, True])
def test_thoughts_have_their_times_only_with_those_of_moves(tmp_path: Path, times: bool) -> None:
    target = tmp_path / "games.jsonl"
    thoughts = {0: Thought(depth=3, nodes=4, time_us=1_500, pv=(4, 0)), 1: Thought(time_us=2)}
    write(target, [Game(thoughts=thoughts)], times=times)
    expected: dict[str, Any] = {"0": {"depth": 3, "nodes": 4, "pv": [4, 0]}}
    if times:
        expected = {"0": {**expected["0"], "time_ms": 1.5}, "1": {"time_ms": 0.002}}
    assert json.loads(target.read_text())["thoughts"] == expected


def test_an_agreed_opening_is_written(tmp_path: Path) -> None:
    target = tmp_path / "games.jsonl"
    write(target, [Game(agreement=Agreement("swap2", "B", 5))])
    assert json.loads(target.read_text())["opening"] == {"rule": "swap2", "opener": "B", "stones": 5}


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "games.jsonl"
    target.write_text("old")

    def failing() -> Any:
        yield Game()
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write(target, failing())
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["games.jsonl"]


def test_the_first_games_take_the_file_name_and_others_follow(tmp_path: Path) -> None:
    target = tmp_path / "games.jsonl"
    target.write_text("old")
    more: Any = [Game()]
    with GamesFile(target) as file:
        assert target.read_text() == "old"
        for games in (1, 2, 3):
            file.write(more)
            assert target.read_text().count("\n") == games
            assert os.listdir(tmp_path) == ["games.jsonl"]


def test_failure_after_the_first_games_leaves_those(tmp_path: Path) -> None:
    target = tmp_path / "games.jsonl"
    games: Any = [Game()]
    with suppress(RuntimeError), GamesFile(target) as file:
        file.write(games)
        raise RuntimeError("later")
    assert target.read_text().count("\n") == 1
    assert os.listdir(tmp_path) == ["games.jsonl"]


def test_a_minus_sign_means_standard_output(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(Path("-"), [Game(), Game()])
    assert capsys.readouterr().out.count("\n") == 2
    assert os.listdir(tmp_path) == []
    assert not sys.stdout.closed


def test_no_file_is_created_without_games(tmp_path: Path) -> None:
    with GamesFile(tmp_path / "games.jsonl"):
        pass
    assert os.listdir(tmp_path) == []


def test_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "games.jsonl")
    write(link, [Game()])
    assert link.is_symlink()
    assert (tmp_path / "games.jsonl").read_text().count("\n") == 1


def test_new_file_has_ordinary_permissions(tmp_path: Path) -> None:
    (tmp_path / "ordinary").write_text("")
    write(tmp_path / "games.jsonl", [Game()])
    assert (tmp_path / "games.jsonl").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_device_is_written_and_not_replaced() -> None:
    write(Path("/dev/null"), [Game()])
    assert Path("/dev/null").is_char_device()


def test_missing_folder_is_an_error_before_games_are_played(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        GamesFile(tmp_path / "nowhere" / "games.jsonl")
    assert caught.value.filename == str(tmp_path / "nowhere" / "games.jsonl")
