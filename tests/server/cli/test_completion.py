"""Words that `noughts` offers a shell for completion at Tab."""

from __future__ import annotations

import os
import socket
import subprocess
from typing import Any

import pytest

from noughts_referee.rules import OWN_NAMES
from tests.support.command_line import invoke
from tests.support.processes import PROGRAM


def variables(line: str, server: str) -> dict[str, str]:
    """Return the environment variables in which bash asks for the last word of the line."""
    words = line.split(" ")
    completion_variables = {"_NOUGHTS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return {**completion_variables, **({"NOUGHTS_SERVER": server} if server else {})}


def completions(line: str, server: str = "") -> list[str]:
    """Return the words that bash offers for the last word of the line, of which the line has the typed part."""
    result = invoke([], env=variables(line, server))
    assert result.stderr == ""
    return result.stdout.split()


def test_a_shell_gets_words_and_nothing_else_from_the_program() -> None:
    for line, words in (("noughts play --variant conn", ["connect4"]), ("noughts bot show ", [])):
        env = {**os.environ, **variables(line, "127.0.0.1:1")}
        process = subprocess.run(PROGRAM, env=env, capture_output=True, text=True, check=False)
        assert (process.stdout.split(), process.stderr, process.returncode) == (words, "", 0)


def test_variants_are_offered_for_every_option_variant() -> None:
    for command in ("match a b", "tournament create cup", "leaderboard"):
        assert set(OWN_NAMES) <= set(completions(f"noughts {command} --variant "))
    assert completions("noughts play --variant conn") == ["connect4"]


def test_bots_of_this_machine_are_offered_as_specs() -> None:
    assert completions("noughts match nexts") == ["nextstep", "nextstep:depth="]
    assert {"random", "py:", "gomocup:"} <= set(completions("noughts tournament run random "))


def test_formats_and_openings_are_offered() -> None:
    assert completions("noughts tournament run a b --schedule l") == ["ladder"]
    assert completions("noughts tournament create cup --schedule kn") == ["knockout"]
    assert completions("noughts match a b --openings balanced1") == ["balanced15"]


def test_bots_and_tournaments_are_those_of_the_server(noughts: Any, start: Any, server: str, token: str) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    noughts("tournament create spring", env=env)
    with start("bot run random --name anna", env) as bot:
        bot.stdout.readline()
        assert completions("noughts tournament show ", server) == ["spring"]
        assert completions(f"noughts watch --server {server} sp") == ["spring"]
        assert completions("noughts tournament join spring --bot ", server) == ["anna"]
        assert completions("noughts play --with bot:a", server) == ["bot:anna"]
        noughts("bot register ben", env=env)
        noughts("test create anna ben --name duel", env=env)
        assert completions("noughts test show ", server) == ["duel"]
        assert completions("noughts test create an", server) == ["anna"]


@pytest.mark.parametrize("line", ["tournament show ", "bot show ", "challenge "])
def test_without_a_server_completion_offers_and_prints_nothing(line: str) -> None:
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))
        assert completions(f"noughts {line}", f"127.0.0.1:{bound_socket.getsockname()[1]}") == []
