"""Bots of other frameworks in a tournament, each in its own sandboxed process."""

import sys
import tarfile
from pathlib import Path

from tests.support.children.field import PROGRAMS
from tests.support.processes import environment, json_of, run_here

ADAPTED_BOTS = """
import numpy as np
from noughts_bots.adapters.functions import BoardFunction
from noughts_bots.adapters.pettingzoo import PettingZooBot


def zoo():
    return PettingZooBot(lambda observation: int(np.flatnonzero(observation["action_mask"])[-1]))


def array():
    return BoardFunction(lambda board: int((board == 0).sum(axis=0).argmax()))
"""
SUBMISSION = """
def agent(observation, configuration):
    return [column for column in range(configuration.columns) if observation.board[column] == 0][0]
"""


def test_each_adapter_plays_a_tournament_of_connect_four(tmp_path: Path) -> None:
    (tmp_path / "adapted.py").write_text(ADAPTED_BOTS)
    (tmp_path / "submission.py").write_text(SUBMISSION)
    with tarfile.open(tmp_path / "submission.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "submission.py", "main.py")
    specs = [
        f"Zoo=py:{tmp_path}/adapted.py:zoo",
        f"Array=py:{tmp_path}/adapted.py:array",
        f"Kaggle=py{{file={tmp_path}/submission.py}}:noughts_bots.adapters.kaggle:Submission",
        f"Packed=py{{file={tmp_path}/submission.tar.gz}}:noughts_bots.adapters.kaggle:Submission",
        "Mcts=py{simulations=50}:noughts_bots.adapters.openspiel:Mcts",
        "random",
    ]
    line = f"tournament run {' '.join(specs)} --variant connect4 --games 4 --seed 2 --start-timeout 30"
    outcome = json_of(line, environment())
    assert outcome["games"] == 60  # six bots make 15 pairs, with four games each
    assert outcome["faults"] == []
    assert set(outcome["terminations"]) <= {"line", "board_full"}
    assert "Mcts" in outcome["standings"][0].values()


def test_an_engine_of_gtp_plays_a_tournament_of_gomoku() -> None:
    engine = f"Engine=gtp:{sys.executable} {PROGRAMS / 'gtp_engine.py'} honest"
    words = ["match", engine, "random", "--variant", "gomoku", "--games", "6", "--seed", "4"]
    output = run_here(words, environment()).stdout
    assert "6 games: 6 won" in output
    assert "Engine" in output
