"""The table that the documented training leaves: made once a run, for it takes seconds."""

from pathlib import Path

import pytest

from tests.support.command_line import invoke
from tests.support.shared import make_once


def learnt(temporary: pytest.TempPathFactory) -> tuple[Path, str]:
    """The table, and what the command said of it. Nobody changes it."""

    def train(folder: Path) -> None:
        words = f"bot learn --file {folder / 'it.table'} --games 60000 --against random --seed 1"
        (folder / "said").write_text(invoke(words.split()).stdout)

    folder = make_once(temporary, "learnt", train)
    return folder / "it.table", (folder / "said").read_text()
