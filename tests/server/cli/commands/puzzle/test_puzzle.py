"""`noughts puzzle list` and `export`, `noughts db puzzles rebuild`, and `noughts bot check --puzzles`."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from noughts_server.local.solving import Question, answer
from tests.server.cli.conftest import Noughts, Refusal
from tests.support.arena import open_arena
from tests.support.background import server_in_thread
from tests.support.random_games import store_random_games

pytestmark = pytest.mark.processes


@pytest.fixture
def env(noughts: Noughts, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The address of a server with the puzzles of 40 games of tic-tac-toe."""

    async def store() -> None:
        async with open_arena(tmp_path / "games.sqlite") as arena:
            await store_random_games(arena, "tictactoe", 40)

    asyncio.run(store())
    database = f"sqlite:///{tmp_path / 'games.sqlite'}"
    assert json.loads(noughts(f"db puzzles rebuild --db {database} --format json").stdout)["puzzles"] > 3
    with server_in_thread(database) as address:
        yield {"NOUGHTS_SERVER": address}


def test_each_puzzle_is_right_and_tests_a_bot(noughts: Noughts, env: dict[str, str], tmp_path: Path) -> None:
    puzzles = [json.loads(line) for line in noughts("puzzle list --format json", env=env).stdout.splitlines()]
    assert len({puzzle["position"] for puzzle in puzzles}) == len(puzzles) > 3
    for puzzle in puzzles:
        verdict = answer(Question("tictactoe", puzzle["position"], effort=10**6, nodes=1))
        assert verdict is not None
        assert (verdict.result, list(verdict.best)) == (1, puzzle["best"])
        assert verdict.plies == len(puzzle["line"]) == 2 * puzzle["moves_to_win"] - 1
        assert puzzle["found"] == (puzzle["move"] == puzzle["line"][0])
    file = tmp_path / "puzzles.jsonl"
    noughts(f"puzzle export -o {file}", env=env)
    assert [json.loads(line) for line in file.read_text().splitlines()] == puzzles
    assert (
        f"{len(puzzles)} of {len(puzzles)} positions passed." in noughts(f"bot check perfect --puzzles {file}").stdout
    )
    assert "played" in noughts(f"bot check first-free --puzzles {file}", code=1).stdout


def test_puzzles_are_filtered_by_variant_and_moves(noughts: Noughts, env: dict[str, str]) -> None:
    puzzles = [json.loads(line) for line in noughts("puzzle list --format json", env=env).stdout.splitlines()]
    moves = {puzzle["moves_to_win"] for puzzle in puzzles}
    for number in moves:
        lines = noughts(
            f"puzzle list --variant tictactoe --moves-to-win {number} --format json", env=env
        ).stdout.splitlines()
        expected = [puzzle for puzzle in puzzles if puzzle["moves_to_win"] == number]
        assert [json.loads(line) for line in lines] == expected
    assert noughts("puzzle list --variant connect4", env=env).stdout == "No such puzzles yet.\n"


def test_positions_and_puzzles_exclude_each_other(refusal: Refusal) -> None:
    refusal("bot check random --positions a.jsonl --puzzles b.jsonl", code=2)


def test_failed_export_leaves_an_existing_file_unchanged(noughts: Noughts, tmp_path: Path) -> None:
    file = tmp_path / "puzzles.jsonl"
    file.write_text("of yesterday\n")
    noughts(f"puzzle export -o {file}", env={"NOUGHTS_SERVER": "127.0.0.1:1"}, code=1)
    assert file.read_text() == "of yesterday\n"
    assert list(tmp_path.iterdir()) == [file]
