"""Crosstables as JSON and as tables."""

from __future__ import annotations

import io
from typing import NamedTuple

import pytest
from rich.console import Console

from noughts_server.cli.drawing.crosstable import crosstable_table
from noughts_server.competition.score import Score
from noughts_server.tables.crosstable import Crosstable, scores_of


class Pair(NamedTuple):
    first: str
    second: str
    wins: int
    draws: int
    losses: int


PAIRS = (Pair("A", "B", 3, 2, 1), Pair("B", "A", 4, 0, 2))


def print_table(table: Crosstable, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO())
    console.print(crosstable_table(table, console))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def drawn_crosstable(count: int, name: str = "bot") -> Crosstable:
    """A crosstable of `count` bots in which all games were drawn."""
    labels = [f"{name}{number}" for number in range(1, count + 1)]
    pairs = [Pair(a, b, 0, 1, 0) for a in labels for b in labels if a != b]
    return Crosstable(labels, scores_of(pairs))


def test_a_cell_has_the_scores_of_its_row_by_side() -> None:
    document = Crosstable(["A", "B"], scores_of(PAIRS)).document()
    assert document == {
        "labels": ["A", "B"],
        "cells": {
            "A": {
                "B": {
                    "wins": 5,
                    "draws": 2,
                    "losses": 5,
                    "first": {"wins": 3, "draws": 2, "losses": 1},
                    "second": {"wins": 2, "draws": 0, "losses": 4},
                }
            },
            "B": {
                "A": {
                    "wins": 5,
                    "draws": 2,
                    "losses": 5,
                    "first": {"wins": 4, "draws": 0, "losses": 2},
                    "second": {"wins": 1, "draws": 2, "losses": 3},
                }
            },
        },
    }


def test_pairs_that_have_not_met_have_no_cell() -> None:
    assert Crosstable(["A", "B", "C"], scores_of(PAIRS)).document()["cells"]["C"] == {}


def test_points_count_draws_half() -> None:
    assert Score(3, 3, 1).points == 4.5
    assert Score(3, 3, 1).mirrored == Score(1, 3, 3)


def test_table_shows_each_rows_points() -> None:
    lines = print_table(Crosstable(["A", "B"], scores_of(PAIRS)), 80)
    assert [line.split() for line in lines] == [
        ["#", "bot", "1", "2"],
        ["1", "A", "·", "6"],
        ["2", "B", "6", "·"],
    ]


@pytest.mark.parametrize("count", [2, 14, 60])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_wide_table_is_cut_into_blocks_that_fit(count: int, width: int) -> None:
    lines = print_table(drawn_crosstable(count), width)
    assert max(map(len, lines)) <= width
    numbers = [word for line in lines if line.lstrip().startswith("#") for word in line.split()[2:]]
    assert numbers == [str(number) for number in range(1, count + 1)]
    cells = [word for line in lines if not line.lstrip().startswith("#") for word in line.split()[2:]]
    assert cells.count("1") == count * (count - 1)


def test_long_labels_are_cut_so_that_all_cells_fit() -> None:
    lines = print_table(drawn_crosstable(14, name="b" * 60), 80)
    assert max(map(len, lines)) <= 80
    assert sum(line.count(" 1") for line in lines) >= 14 * 13


def test_control_characters_of_a_label_are_not_printed() -> None:
    assert "\x1b" not in "".join(print_table(Crosstable(["A\x1b[2J", "B"], {}), 80))


def test_label_longer_than_the_terminal_is_cut_before_the_cells_are() -> None:
    lines = print_table(drawn_crosstable(14, name="b" * 60), 40)
    assert max(map(len, lines)) <= 40
    assert sum(line.count(" 1") for line in lines if "#" not in line) >= 14 * 13
