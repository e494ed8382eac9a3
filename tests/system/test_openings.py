"""Openings by agreement on a real server: questions to bots, the side of each bot, and the stored games."""

import json
from pathlib import Path

import pytest

from noughts_bots import Bot, GameInfo, OpeningChoice, Position, Put, Resign, Take
from noughts_referee.rules import Choice
from noughts_server.testing import serving
from tests.support.command_line import invoke


class Chooser(Bot):
    """Places two more stones if it can, otherwise takes O, and records its questions."""

    def __init__(self) -> None:
        self.questions: list[tuple[str, int, int]] = []
        self.sides: list[int] = []
        self.first_moves: list[list[int]] = []

    def open(self, opening: OpeningChoice) -> Choice:
        self.questions.append((opening.rule, opening.step, len(opening.stones)))
        assert opening.variant.name == "gomoku"
        if not opening.stones:
            return Put((0, 1, 2))
        free = [cell for cell in range(200, 225) if cell not in opening.stones]
        return Put((free[0], free[1])) if opening.may_put else Take(1)

    def start(self, game: GameInfo) -> None:
        self.sides.append(game.side)

    def choose(self, position: Position) -> int:
        if position.ply < 7:
            self.first_moves.append(position.moves[:5])
        return position.free[0]


def test_bots_agree_in_turn_on_the_opening_of_their_game() -> None:
    bot = Chooser()
    with serving() as server:
        result = server.match(bot, "fives", variant="gomoku+swap2", games=2, seed=3)
    assert bot.questions == [("swap2", 0, 0), ("swap2", 1, 3)]
    own_opening, opponents_opening = result.games
    # In the first game the bot opened and `fives` took a side. In the second, `fives` opened, the bot placed two
    # more stones, and `fives` took a side.
    assert own_opening.moves[:3] == [0, 1, 2]
    assert opponents_opening.moves[3:5] == [200, 201]
    assert [game.first for game in result.games].count("fives") == bot.sides.count(1)
    assert bot.first_moves[0] == own_opening.moves[: len(bot.first_moves[0])]


class Failing(Bot):
    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def open(self, opening: OpeningChoice) -> Choice:
        raise self.failure

    def choose(self, position: Position) -> int:
        return position.free[0]


@pytest.mark.parametrize("failure", [Resign(), RuntimeError("no idea")])
def test_a_bot_that_fails_at_an_opening_resigns_that_game(failure: Exception) -> None:
    with serving() as server:
        result = server.match(Failing(failure), "fives", variant="gomoku+swap", games=2)
    assert {(game.termination, result.losses) for game in result.games} == {("resigned", 2)}


def test_agreed_openings_are_in_the_files_at_any_concurrency(tmp_path: Path) -> None:
    files = []
    for concurrency in (1, 6):
        file = tmp_path / f"{concurrency}.jsonl"
        words = f"match random fives --variant mnk:15,15,5 --opening-rule swap2 --games 12 --seed 4 -o {file}"
        invoke([*words.split(), "--concurrency", str(concurrency)])
        files.append(file.read_text())
    assert files[0] == files[1]
    games = [json.loads(line) for line in files[0].splitlines()]
    assert [game["opening"]["opener"] for game in games] == ["random", "fives"] * 6
    assert {game["opening"]["rule"] for game in games} == {"swap2"}
    assert {game["opening"]["stones"] for game in games} == {3, 5}
    assert {game["variant"] for game in games} == {"gomoku+swap2"}
    # In some games the opener moves first, in others the other bot.
    assert len({game["first"] == game["opening"]["opener"] for game in games}) == 2
