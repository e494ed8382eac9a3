"""Reports of invented games."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from noughts_server.report.collect import collect
from noughts_server.report.page import page
from noughts_server.statistics.sprt import Sprt
from noughts_server.tables.recorded_game import RecordedGame

WON = (4, 0, 8, 1, 2, 6, 5)
Report = Callable[..., str]


def a_game(first: str, second: str, result: str = "1-0", **more: Any) -> RecordedGame:
    """A game on three by three; the first mover completes a line."""
    given: dict[str, Any] = {"variant": "tictactoe", "moves": WON, "termination": "line"}
    return RecordedGame(first=first, second=second, result=result, **(given | more))


def a_round_robin(labels: Iterable[str], **more: Any) -> list[RecordedGame]:
    """Every pairing on both sides; the first in the list wins most games."""
    names = list(labels)
    times = tuple((ply + 1) / 10 for ply in range(len(WON)))
    return [
        a_game(one, other, "1-0" if (names.index(one) + place) % 3 else "1/2-1/2", **({"times_ms": times} | more))
        for one in names
        for place, other in enumerate(names)
        if one != other
    ]


@pytest.fixture
def report() -> Report:
    """The page of these games."""

    def made(games: Iterable[RecordedGame], *, title: str = "Cup", most_games: int = 500) -> str:
        return page(collect(title, games, most_games=most_games), Sprt(0, 5))

    return made


@pytest.fixture
def game() -> Callable[..., RecordedGame]:
    """`a_game`, for tests."""
    return a_game


@pytest.fixture
def round_robin() -> Callable[..., list[RecordedGame]]:
    """`a_round_robin`, for tests."""
    return a_round_robin
