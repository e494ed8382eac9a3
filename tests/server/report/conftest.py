"""Functions that make games and reports of them, as fixtures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from noughts_server.report.collect import collect
from noughts_server.report.page import page
from noughts_server.statistics.sprt import Sprt
from noughts_server.tables.recorded_game import RecordedGame

WINNING_MOVES = (4, 0, 8, 1, 2, 6, 5)
Report = Callable[..., str]


def make_game(first: str, second: str, result: str = "1-0", **fields: Any) -> RecordedGame:
    """Return a game of tic-tac-toe; by default, the first mover completes a line."""
    defaults: dict[str, Any] = {"variant": "tictactoe", "moves": WINNING_MOVES, "termination": "line"}
    return RecordedGame(first=first, second=second, result=result, **(defaults | fields))


def make_round_robin(labels: Iterable[str], **fields: Any) -> list[RecordedGame]:
    """Return a game of each pair with each bot moving first. The first mover wins two thirds, and draws the others."""
    names = list(labels)
    times = tuple((ply + 1) / 10 for ply in range(len(WINNING_MOVES)))
    games = []
    for first_place, first in enumerate(names):
        for second_place, second in enumerate(names):
            if first != second:
                result = "1-0" if (first_place + second_place) % 3 else "1/2-1/2"
                games.append(make_game(first, second, result, **({"times_ms": times} | fields)))
    return games


@pytest.fixture
def report() -> Report:
    """A function that returns the page of a report."""

    def make_page(games: Iterable[RecordedGame], *, title: str = "Cup", most_games: int = 500) -> str:
        return page(collect(title, games, most_games=most_games), Sprt(0, 5))

    return make_page


@pytest.fixture
def game() -> Callable[..., RecordedGame]:
    """The function `make_game`."""
    return make_game


@pytest.fixture
def round_robin() -> Callable[..., list[RecordedGame]]:
    """The function `make_round_robin`."""
    return make_round_robin
