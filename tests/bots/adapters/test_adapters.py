"""Bots written for other frameworks, tested with the real packages."""

import random
import sys
import tarfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest

from noughts_bots import adapters
from noughts_bots.adapters import kaggle
from noughts_bots.adapters.functions import BoardFunction
from noughts_bots.adapters.kaggle import Submission
from noughts_bots.adapters.openspiel import GAMES, Mcts, OpenSpielBot, action_of
from noughts_bots.adapters.pettingzoo import PettingZooBot, observation
from noughts_bots.adapters.planes import Plane
from noughts_bots.reference.random_ import Random
from noughts_bots.sdk.bot import Bot
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Position, parse_variant

SUBMISSION = """
import random

def drop(board, column, config):
    return [row for row in range(config.rows) if board[column + row * config.columns] == 0][-1]

def agent(observation, configuration):
    board, columns = observation.board, configuration["columns"]
    assert len(board) == columns * configuration.rows and configuration.inarow == 4
    assert observation["mark"] == 1 + sum(map(bool, board)) % 2
    open_ones = [column for column in range(columns) if board[column] == 0]
    drop(board, open_ones[0], configuration)
    return open_ones[len(open_ones) // 2]
"""


def play_game(variant: str, *bots: Any, seed: int = 1) -> Position:
    """Play a game to its end; fail at an illegal move."""
    position = Position(parse_variant(variant), seed=seed)
    while position.outcome() is None:
        cell = bots[position.side].choose(position)
        assert cell in position.free, (cell, position)
        position.play(cell)
    return position


def environments() -> Iterator[tuple[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pygame uses deprecated parts of setuptools
        from pettingzoo.classic import connect_four_v3, tictactoe_v3

        yield "tictactoe", tictactoe_v3.raw_env()
        yield "connect4", connect_four_v3.raw_env()


def test_pettingzoo_agents_see_their_environments_observation() -> None:
    for name, env in environments():
        for seed in range(20):
            env.reset(seed=seed)
            position, generator = Position(parse_variant(name)), random.Random(seed)
            while True:
                expected, _, terminated, _, _ = env.last()
                assert terminated == (position.outcome() is not None)
                if terminated:
                    break
                actual = observation(position)
                assert np.array_equal(actual["observation"], expected["observation"])
                assert np.array_equal(actual["action_mask"], expected["action_mask"])
                assert actual["observation"].dtype == expected["observation"].dtype
                action = generator.choice(np.flatnonzero(expected["action_mask"]).tolist())
                env.step(action)
                position.play(
                    next(cell for cell in position.free if cell % (9 if name == "tictactoe" else 7) == action)
                )


class Model:
    """A policy with the method `predict`, as learned policies have it; it plays the first free column."""

    def predict(self, observation: Any, deterministic: bool = False) -> tuple[Any, None]:
        assert deterministic
        return np.int64(np.flatnonzero(1 - observation.sum(axis=2)[0])[0]), None


def test_pettingzoo_agents_and_policies_with_predict_play() -> None:
    by_mask = PettingZooBot(lambda seen: np.flatnonzero(seen["action_mask"])[-1])
    for variant in by_mask.variants:
        play_game(variant, by_mask, Random())
        play_game(variant, Random(), by_mask)
    play_game("connect4", PettingZooBot(Model()), by_mask)


@pytest.mark.parametrize("variant", GAMES)
def test_openspiel_states_equal_positions(variant: str) -> None:
    game = pyspiel.load_game(GAMES[variant])
    for seed in range(30):
        position, state = Position(parse_variant(variant), seed=seed), game.new_initial_state()
        while position.outcome() is None:
            legal = sorted(action_of(position.variant, cell) for cell in position.free)
            assert state.legal_actions() == legal
            position.play(random.Random(len(position.moves) + seed).choice(position.free))
            state.apply_action(action_of(position.variant, position.moves[-1]))
        outcome = position.outcome()
        assert outcome is not None
        assert state.is_terminal()
        assert state.returns()[0] == {None: 0, 0: 1, 1: -1}[outcome.winner]


@pytest.mark.parametrize("variant", GAMES)
def test_openspiels_search_beats_random_and_its_other_bots_play(variant: str) -> None:
    search = Mcts(simulations=100, seed=3)
    assert search.name == "mcts-100"
    wins = 0
    for seed in range(6):
        bots = [search, Random()] if seed % 2 == 0 else [Random(), search]
        outcome = play_game(variant, *bots, seed=seed).outcome()
        assert outcome is not None
        wins += outcome.winner == seed % 2
    assert wins >= 4
    uniform = OpenSpielBot(lambda game, player: pyspiel.make_uniform_random_bot(player, 5))
    play_game(variant, uniform, Random())


def test_a_kaggle_submission_plays_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "submission.py"
    file.write_text(SUBMISSION)
    bot = Submission(str(file))
    for seed in range(5):
        play_game("connect4", bot, Random(), seed=seed)
        play_game("connect4", Random(), bot, seed=seed)
    with pytest.raises(ValueError, match="expected a variant with gravity"):
        bot.choose(Position(parse_variant("gomoku")))
    file.write_text("x = 1\n")
    with pytest.raises(BotSpecError, match="no callable in it"):
        Submission(str(file))


@pytest.mark.parametrize(
    "ending",
    [
        "class Left:\n    def __call__(self, seen, configuration):\n        return 0\nleft = Left()",
        "from functools import partial\ndef nth(number, seen): return number\nleft = partial(nth, 0)",
        "left = lambda *both: 0 * len(both[1])",
        "from left_agent import left",
    ],
)
def test_the_last_callable_of_a_kaggle_submission_is_its_agent(tmp_path: Path, ending: str) -> None:
    (tmp_path / "left_agent.py").write_text("def left(seen): return 0")
    file = tmp_path / "submission.py"
    file.write_text(f"def right(seen, configuration):\n    return 6\n{ending}\n")
    assert Submission(str(file)).choose(Position(parse_variant("connect4"))) == 35


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Restore the working folder and the import paths after the test: a submission of several files changes both."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", sys.path[:])
    return tmp_path


SUBMISSION_FILES = {
    "main.py": "from several.files import choose\ndef agent(seen, configuration):\n    return choose(configuration)\n",
    "several/__init__.py": "",
    "several/files.py": "import pathlib\ndef choose(seen):\n    return int(pathlib.Path('column.txt').read_text())\n",
    "column.txt": "6",
}


def make_archive(folder: Path, files: Mapping[str, str], name: str = "submission.tar.gz") -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    with tarfile.open(folder / name, "w:gz") as archive:
        for path in files:
            archive.add(folder / path, path)
    return folder / name


def test_a_kaggle_submission_can_have_several_files(own_folder: Path) -> None:
    archive = make_archive(own_folder / "packed", SUBMISSION_FILES)
    for file in (archive.parent, archive):
        assert Submission(str(file)).choose(Position(parse_variant("connect4"))) == 41
    assert Path.cwd() != archive.parent


@pytest.mark.parametrize(
    "name, files, reason",
    [
        ("a.tar.gz", {"agent/main.py": ""}, "got no main.py, expected a submission with main.py"),
        ("a.tgz", {"main.py": ""}, "not a gzip file|not be opened"),
        ("a.tar.gz", {"main.py": "", "weights": "x" * 2000}, "got a larger archive, expected at most"),
    ],
)
def test_an_archive_without_a_submission_is_refused(
    name: str, files: Mapping[str, str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kaggle, "LARGEST_BYTES", 1000)
    archive = make_archive(tmp_path, files, name)
    if name.endswith(".tgz"):
        archive.write_bytes(b"no archive")
    with pytest.raises(BotSpecError, match=reason):
        Submission(str(archive))


@pytest.mark.parametrize("name, kind", [("../outside.py", tarfile.REGTYPE), ("link", tarfile.SYMTYPE)])
@pytest.mark.parametrize("has_filter", [True, False])
def test_an_archive_writes_nothing_outside_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: bytes, has_filter: bool
) -> None:
    if not has_filter:  # as Python before 3.11.4
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    archive = tmp_path / "a.tar"
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/passwd"
    with tarfile.open(archive, "w") as files:
        files.addfile(member)
    with pytest.raises(BotSpecError, match=r"outside|absolute|inside"):
        Submission(str(archive))


def test_a_submission_is_unpacked_by_every_python(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    archive = own_folder / "a.tar"
    program = own_folder / "main.py"
    program.write_text("def agent(observation, configuration):\n    return 0\n")
    with tarfile.open(archive, "w") as files:
        files.add(program, "main.py")
    assert (
        Submission(str(archive)).choose(Position.after(parse_variant("connect4"), ())) == 35
    )  # the lowest cell of the first column


def test_a_function_of_an_array_plays_by_cells_points_and_columns() -> None:
    def first(board: Plane) -> Any:
        return tuple(np.argwhere(board == 0)[0])

    def last(board: Plane) -> Any:
        return np.flatnonzero(board == 0)[-1]

    def widest(board: Plane) -> Any:
        return int((board == 0).sum(axis=0).argmax())

    play_game("gomoku", BoardFunction(first), BoardFunction(last))
    play_game("connect4", BoardFunction(widest), Random())
    assert isinstance(BoardFunction(first), Bot)


def test_the_former_name_of_a_function_of_a_board_warns_and_works() -> None:
    with pytest.warns(DeprecationWarning, match="BoardFunction"):
        assert adapters.ArrayBot is BoardFunction
