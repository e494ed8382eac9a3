"""Completions of a shell at Tab."""

from __future__ import annotations

import os
import socket
import subprocess
from typing import Any

import pytest

from noughts_referee.rules import OWN_NAMES
from tests.support.processes import PROGRAM


def offered(line: str, server: str = "") -> list[str]:
    """The words that bash offers for the last one of the line; what follows the last blank has been typed of it."""
    words = line.split(" ")
    asked = {"_NOUGHTS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    env = {**os.environ, **asked, **({"NOUGHTS_SERVER": server} if server else {})}
    done = subprocess.run(PROGRAM, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


def test_variants_are_offered_wherever_one_is_asked_for() -> None:
    for command in ("match a b", "tournament create cup", "leaderboard"):
        assert set(OWN_NAMES) <= set(offered(f"noughts {command} --variant "))
    assert offered("noughts play --variant conn") == ["connect4"]


def test_bots_of_this_machine_are_offered_as_specs() -> None:
    assert offered("noughts match nexts") == ["nextstep", "nextstep:depth="]
    assert {"random", "py:", "gomocup:"} <= set(offered("noughts tournament run random "))


def test_formats_and_openings_are_offered() -> None:
    assert offered("noughts tournament run a b --schedule l") == ["ladder"]
    assert offered("noughts tournament create cup --schedule kn") == ["knockout"]
    assert offered("noughts match a b --openings balanced1") == ["balanced15"]


def test_bots_and_tournaments_are_those_of_the_server(noughts: Any, start: Any, server: str, token: str) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    noughts("tournament create spring", env=env)
    with start("bot run random --name anna", env) as bot:
        bot.stdout.readline()
        assert offered("noughts tournament show ", server) == ["spring"]
        assert offered(f"noughts watch --server {server} sp") == ["spring"]
        assert offered("noughts tournament join spring --bot ", server) == ["anna"]
        assert offered("noughts play --with bot:a", server) == ["bot:anna"]
        noughts("bot register ben", env=env)
        noughts("test create anna ben --name duel", env=env)
        assert offered("noughts test show ", server) == ["duel"]
        assert offered("noughts test create an", server) == ["anna"]


@pytest.mark.parametrize("line", ["tournament show ", "bot show ", "challenge "])
def test_without_a_server_nothing_is_offered_and_nothing_said(line: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert offered(f"noughts {line}", f"127.0.0.1:{unused.getsockname()[1]}") == []
