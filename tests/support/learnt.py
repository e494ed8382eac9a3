"""The table of the training in the documentation, which takes seconds, so that each run of the tests makes it once."""

from pathlib import Path

import pytest

from tests.support.command_line import invoke
from tests.support.shared import make_once


def trained_learner(temporary: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the table's file, which no test may change, and the output of the command."""

    def train(folder: Path) -> None:
        words = f"bot learn --file {folder / 'it.table'} --games 60000 --against random --seed 1"
        (folder / "output").write_text(invoke(words.split()).stdout)

    folder = make_once(temporary, "learnt", train)
    return folder / "it.table", (folder / "output").read_text()
