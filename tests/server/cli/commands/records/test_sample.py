"""`noughts records sample`: positions of games with their results."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.server.cli.commands.records.conftest import json_lines
from tests.server.cli.conftest import Refusal


def test_samples_are_positions_with_moves_and_results(noughts: Any, games_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "samples.csv"
    assert json.loads(noughts(f"records sample {games_file} {target} --format json").stdout) == {"samples": 3 + 2 + 9}
    samples = list(csv.DictReader(target.read_text().splitlines()))
    # The first two stones are the opening, which no bot chose.
    assert samples[0] == {
        "variant": "tictactoe",
        "game": "0",
        "position": "X..O.....",
        "side": "X",
        "move": "1",
        "result": "1",
    }
    assert [sample["result"] for sample in samples] == ["1", "-1", "1", "-1", "1", *["0"] * 9]


@pytest.mark.parametrize("variant, form", [("gomoku+swap", "npz"), ("gomoku+swap2", "csv"), ("gomoku+swap2", "npz")])
def test_stones_put_by_agreement_are_not_sampled(noughts: Any, tmp_path: Path, variant: str, form: str) -> None:
    games, target = tmp_path / "games.jsonl", tmp_path / f"samples.{form}"
    noughts(f"match random random --variant {variant} --games 10 --seed 3 -o {games}")
    bot_moves = [
        (number, cell)
        for number, game in enumerate(json_lines(games.read_text()))
        for cell in game["moves"][game["opening"]["stones"] :]
    ]
    assert json.loads(noughts(f"records sample {games} {target} --format json").stdout) == {"samples": len(bot_moves)}
    if form == "csv":
        sampled_moves = [
            (int(row["game"]), int(row["move"])) for row in csv.DictReader(target.read_text().splitlines())
        ]
    else:
        with np.load(target) as arrays:
            sampled_moves = list(zip(arrays["games"].tolist(), arrays["moves"].tolist(), strict=True))
    assert sampled_moves == bot_moves


def test_samples_for_numpy_equal_those_in_csv(noughts: Any, refusal: Refusal, games_file: Path, tmp_path: Path) -> None:
    refusal(f"records sample {games_file} {tmp_path}/x.npz", code=1)
    games_file.write_text("".join(games_file.read_text().splitlines(keepends=True)[:3]))
    noughts(f"records sample {games_file} {tmp_path}/x.npz")
    noughts(f"records sample {games_file} {tmp_path}/x.csv")
    table = list(csv.DictReader((tmp_path / "x.csv").read_text().splitlines()))
    with np.load(tmp_path / "x.npz") as arrays:
        assert str(arrays["variant"]) == "tictactoe"
        assert arrays["positions"].shape == (14, 9)
        texts = ["".join(".XO"[value] for value in position) for position in arrays["positions"]]
        assert texts == [sample["position"] for sample in table]
        assert ["XO"[side] for side in arrays["sides"]] == [sample["side"] for sample in table]
        for name, column in (("moves", "move"), ("results", "result"), ("games", "game")):
            assert arrays[name].tolist() == [int(sample[column]) for sample in table]
    refusal(f"records sample {games_file} x.txt", code=2)


def test_sample_and_rate_read_a_tournament_like_its_file(
    noughts: Any, cup_env: dict[str, str], database: str, tmp_path: Path
) -> None:
    file = f"{tmp_path}/games.jsonl"
    noughts(f"records convert tournaments/cup {file}", env=cup_env)
    sources = (file, "tournaments/cup", f"tournaments/cup --db {database}")
    ratings = [noughts(f"rate {source} --prior --format json", env=cup_env).stdout for source in sources]
    assert ratings[0] == ratings[1] == ratings[2]
    samples = []
    for source in sources:
        name, _, options = source.partition(" ")
        noughts(f"records sample {name} {tmp_path}/samples.csv {options}", env=cup_env)
        samples.append((tmp_path / "samples.csv").read_text())
    assert samples[0] == samples[1] == samples[2]
    noughts(f"records sample tournaments/cup {tmp_path}/samples.npz", env=cup_env)
    with np.load(tmp_path / "samples.npz") as arrays:
        assert len(arrays["moves"]) == len(samples[0].splitlines()) - 1
