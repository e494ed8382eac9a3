"""Openings of tournaments at a server."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Ask
from tests.support.background import bots_online
from tests.support.children.field import PROGRAMS
from tests.support.processes import eventually


@pytest.fixture
def bots(server: str, token: str) -> Iterator[list[str]]:
    """Two bots that are online."""
    with bots_online(server, token, **{"alice-random": "random", "alice-first": "first-free"}):
        yield ["alice-random", "alice-first"]


def play_four_games(ask: Ask, name: str, bots: list[str], options: str) -> list[Any]:
    """Play a tournament of four games with these options, and return its games."""
    ask(f"tournament create {name} --games 4 --seed 4 {options}")
    for bot in bots:
        ask(f"tournament join {name} --bot {bot}")
    ask(f"tournament start {name}")
    eventually(lambda: ask(f"tournament show {name}")["state"], lambda state: state == "finished")
    return [ask(f"game show {name}/{number}") for number in range(1, 5)]


def test_a_tournament_keeps_its_openings_after_their_file_is_deleted(
    ask: Ask, bots: list[str], noughts: Any, env: dict[str, str], tmp_path: Path
) -> None:
    book = tmp_path / "book.txt"
    book.write_text("b2\na1 c3\n")
    ask(f"tournament create spring --games 2 --openings {book}")
    book.unlink()
    openings = ask("tournament show spring")["openings"]
    assert openings == {"kind": "list", "name": "book.txt", "count": 2, "order": "sequential", "symmetries": False}
    assert "openings book.txt (2), sequential" in noughts("tournament show spring", env=env).stdout
    book.write_text("b2\na1 c3\n")
    games = play_four_games(ask, "summer", bots, f"--openings {book}")
    assert [game["opening"] for game in games] == [[4], [4], [6, 2], [6, 2]]
    assert all(game["moves"][: len(game["opening"])] == game["opening"] for game in games)
    assert all(not any(game["times_ms"][: len(game["opening"])]) for game in games)
    assert "opening: a1 c3" in noughts("game show summer/3", env=env).stdout


def test_random_openings_are_the_same_for_both_games_of_a_pair(ask: Ask, bots: list[str]) -> None:
    games = play_four_games(ask, "lots", bots, "--openings random:3 --symmetries")
    openings = [game["opening"] for game in games]
    assert openings[0] == openings[1] != openings[2] == openings[3]
    assert ask("tournament show lots")["openings"] == {"kind": "random", "plies": 3, "symmetries": True}


def test_openings_are_null_in_json_if_a_tournament_has_none(ask: Ask) -> None:
    ask("tournament create plain")
    assert ask("tournament show plain")["openings"] is None


def test_engines_and_plugins_at_a_server_continue_an_opening(
    ask: Ask, start: Any, server: str, env: dict[str, str], tmp_path: Path
) -> None:
    engine = shlex.join([sys.executable, str(PROGRAMS / "engine.py"), "honest", str(tmp_path)])
    specs = {"alice-engine": f"gomocup:{engine}", "alice-plugin": f"py:{PROGRAMS / 'plugin.py'}:Misbehaving"}
    with ExitStack() as stack:
        for name, spec in specs.items():
            stack.enter_context(start(f"bot run {shlex.quote(spec)} --name {name} --no-lock", env))
        eventually(lambda: len(ask("bot list --server " + server)["bots"]) >= 2)
        book = tmp_path / "book.txt"
        book.write_text("h8 i9 a15\n")
        games = play_four_games(ask, "mixed", list(specs), f"--variant gomoku --openings {book}")
    # Both players take the lowest free cell.
    assert {tuple(game["moves"][:6]) for game in games} == {(112, 98, 0, 1, 2, 3)}
    assert len({tuple(game["moves"]) for game in games}) == 1
