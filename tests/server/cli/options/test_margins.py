"""The time margin of games at a server, by the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.cli.conftest import Ask, Refusal
from tests.support.background import bots_online
from tests.support.processes import eventually


@pytest.fixture(autouse=True)
def bots(server: str, token: str) -> Iterator[None]:
    """Two bots that are online."""
    with bots_online(server, token, here="random", there="first-free"):
        yield


def margins_of_first_game(ask: Ask, tournament: str) -> list[Any]:
    """Wait for the end of a tournament; return the margins of its first game."""
    eventually(lambda: ask(f"tournament show {tournament}")["state"], lambda state: state == "finished")
    return list(ask(f"game show {tournament}/1")["margins_ms"])


def test_tournament_is_created_with_a_margin(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    created = ask("tournament create cup --time 1/move --margin 1500ms")
    assert created["margin_ms"] == 1500
    ask("tournament join cup --bot here --bot there")
    ask("tournament start cup")
    assert margins_of_first_game(ask, "cup") == [1500, 1500]
    assert "time 1/move, margin 1500 ms" in noughts("tournament show cup", env=env).stdout


def test_tournament_without_a_margin_has_that_of_the_server(ask: Ask) -> None:
    assert ask("tournament create plain --time 1/move")["margin_ms"] == 0
    ask("tournament join plain --bot here --bot there")
    ask("tournament start plain")
    assert margins_of_first_game(ask, "plain") == [50, 50]


def test_challenge_is_played_with_a_margin(ask: Ask) -> None:
    challenge = ask("challenge bot:there --as here --games 2 --time 1/move --margin 0.25")
    assert margins_of_first_game(ask, challenge["tournament"]) == [250, 250]


def test_test_is_created_with_a_margin(ask: Ask) -> None:
    created = ask("test create here there --games 2 --time 1/move --margin 2s")
    assert created["margin_ms"] == 2000
    assert margins_of_first_game(ask, created["tournament"]) == [2000, 2000]


@pytest.mark.parametrize("line", ["tournament create cup", "challenge bot:there --as here", "test create here there"])
@pytest.mark.parametrize("margin", ["soon", "0", "61s"])
def test_wrong_margin_is_refused(refusal: Refusal, env: dict[str, str], line: str, margin: str) -> None:
    refusal(f"{line} --margin {margin}", code=2, env=env)
