"""`noughts_server.testing`, the module for authors who test their bots."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from noughts_bots import Bot
from noughts_referee.rules import Position, VariantError
from noughts_server.testing import serving

pytestmark = pytest.mark.timeout(60)


class FirstFree(Bot):
    """Plays the first free cell, in a coroutine."""

    async def choose(self, position: Position) -> int:
        return position.free[0]


class LeavesTheBoard(Bot):
    """Always plays off the board."""

    def choose(self, position: Position) -> int:
        return position.variant.cells


def test_a_bot_object_plays_a_reference_bot_with_sides_alternating() -> None:
    with serving() as server:
        result = server.match(FirstFree(), "minimax", games=10)
    assert (result.wins, result.draws + result.losses) == (0, 10)
    assert [game.first for game in result.games] == ["FirstFree", "minimax"] * 5
    assert all(game.moves for game in result.games)


def test_only_the_same_seed_gives_the_same_games() -> None:
    with serving() as server:
        results = [server.match("random", "random", games=20, seed=seed) for seed in (7, 7, 8)]
    first, repeated, different = ([game.moves for game in result.games] for result in results)
    assert first == repeated
    assert first != different
    assert {results[0].games[0].first, results[0].games[0].second} == {"random", "random#2"}


def test_a_bot_that_plays_off_the_board_loses_every_game() -> None:
    with serving() as server:
        result = server.match(LeavesTheBoard(), "random", games=6, time="1/move")
    assert (result.wins, result.draws, result.losses) == (0, 0, 6)
    assert {game.termination for game in result.games} == {"illegal_move"}


def test_two_objects_of_one_class_can_play_each_other_on_a_larger_board() -> None:
    with serving() as server:
        result = server.match(FirstFree(), FirstFree(), variant="mnk:4,3,3", games=4)
    assert result.wins + result.draws + result.losses == 4
    assert {game.variant for game in result.games} == {"mnk:4,3,3"}


def test_an_unknown_variant_is_refused_before_the_first_game() -> None:
    with serving() as server, pytest.raises(VariantError):
        server.match("random", "random", variant="chess")


def test_match_that_takes_too_long_ends_and_the_server_continues() -> None:
    class Sleeps(Bot):
        async def choose(self, position: Position) -> int:
            await asyncio.sleep(3600)
            return 0

    with serving() as server:
        with pytest.raises(TimeoutError):
            server.match(Sleeps(), "random", timeout=0.5)
        assert server.match("random", "minimax").wins == 0


@pytest.mark.processes
def test_program_with_a_wrong_token_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "bot.py"
    program.write_text(
        "from noughts_bots import Bot, BotRefused, run\n"
        "class Mine(Bot):\n"
        "    def choose(self, position): return position.free[0]\n"
        "try:\n"
        "    run(Mine(), name='mine')\n"
        "except BotRefused as error:\n"
        "    print(error.code.name)\n"
    )
    with serving() as server:
        environment = {**os.environ, "NOUGHTS_SERVER": server.address, "NOUGHTS_TOKEN": "nou_wrong"}
        refused = subprocess.run(
            [sys.executable, program], env=environment, capture_output=True, text=True, timeout=50, check=True
        )
        assert refused.stdout == "UNAUTHENTICATED\n"
        assert server.token("ada").startswith("nou_")


def test_bot_with_a_file_is_named_after_it_and_saves_its_table(tmp_path: Path) -> None:
    file = tmp_path / "mine.table"
    with serving() as server:
        result = server.match(f"learner:file={file},learn=true", "random", games=20, concurrency=1)
    assert {game.first for game in result.games} == {"learner:file=mine.table,learn=true", "random"}
    games = next(line for line in file.read_text().splitlines() if line.startswith("games "))
    # The match can end before the bot has received the end of its last game.
    assert int(games.split()[1]) in (19, 20)
