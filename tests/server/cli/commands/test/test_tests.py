"""`noughts test`: tests of one bot version against another at a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from noughts_bots import Bot, Position
from tests.server.cli.conftest import Ask, Refusal
from tests.support.background import bots_online

ACCEPTED_SPRT = "--sprt elo0=-1000,elo1=-900"
"""Every bot is that strong, so H1 is accepted."""
REJECTED_SPRT = "--sprt elo0=900,elo1=1000"
"""No bot is that strong, so H0 is accepted."""


@pytest.fixture
def bots(server: str, token: str) -> Iterator[None]:
    """Two bots that are online: `best` and `worst`."""
    with bots_online(server, token, best="minimax", worst="random"):
        yield


def test_test_is_created_listed_shown_and_waited_for(ask: Ask, bots: None, noughts: Any, env: dict[str, str]) -> None:
    result = noughts(f"test create best worst {ACCEPTED_SPRT} --seed 3 --priority 2 --throughput 50", env=env)
    assert "tests/best-1-vs-worst-1: best@1 against worst@1\n" in result.stdout
    assert " of at most 100,000 games played" in result.stdout
    assert "priority 2, throughput 50 %, by alice" in result.stdout
    assert "Wait for the result: noughts test wait best-1-vs-worst-1" in result.stderr
    test = ask("test wait best-1-vs-worst-1")
    assert (test["test"], test["tournament"]) == ("tests/best-1-vs-worst-1", "tournaments/best-1-vs-worst-1")
    assert (test["new_version"], test["base_version"]) == ("bots/best/versions/1", "bots/worst/versions/1")
    assert (test["state"], test["match"]["sprt"]["decision"], test["seed"]) == ("finished", "H1", 3)
    assert (test["priority"], test["throughput"], test["sprt"]) == (2, 50, "elo0=-1000,elo1=-900")
    assert test["openings"] == {"kind": "random", "plies": 4, "symmetries": False}
    assert ask("test show best-1-vs-worst-1") == test
    output = noughts("test show tests/best-1-vs-worst-1", env=env).stdout
    assert f"finished, {test['games']} of {test['games']} games played" in output
    assert "best against worst: H1 accepted\n" in output
    assert test["match"]["summary"] in output
    assert "H1 accepted" in noughts("test list", env=env).stdout
    assert ask("tournament list")["tournaments"] == []
    assert "best" in noughts(f"game list {test['tournament']} --limit 1", env=env).stdout


def test_exit_code_of_wait_is_the_result(ask: Ask, bots: None, noughts: Any, env: dict[str, str]) -> None:
    for name, options, code, message in (
        ("rejected", REJECTED_SPRT, 1, "worst against best: H0 accepted\n"),
        ("accepted", ACCEPTED_SPRT, 0, "worst against best: H1 accepted\n"),
        ("undecided", "--sprt elo0=0,elo1=1 --games 4", 3, ": not decided\n"),
        ("counted", "--games 4", 0, "finished, 4 of 4 games played"),
    ):
        test = ask(f"test create worst best --name {name} {options}")
        assert test["test"] == f"tests/{name}"
        assert message in noughts(f"test wait {name}", code=code, env=env).stdout
    assert noughts("test wait missing", code=1, env=env).stdout == ""


def test_test_is_stopped_and_resumed(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    for name in ("here", "there"):
        ask(f"bot register {name}")
    test = ask("test create here there --openings none --variant connect4")
    assert (test["offline"], test["openings"]) == (["bots/here/versions/1", "bots/there/versions/1"], None)
    assert "Not online: here@1, there@1" in noughts("test show here-1-vs-there-1", env=env).stdout
    assert ask("test stop here-1-vs-there-1")["state"] == "paused"
    output = noughts("test wait here-1-vs-there-1", code=3, env=env).stdout
    assert "stopped, 0 of at most 100,000 games played" in output
    assert "stopped" in noughts("test list --owner alice", env=env).stdout
    assert ask("test list --owner bob")["tests"] == []
    assert ask("test resume here-1-vs-there-1")["state"] == "running"
    assert [row["test"] for row in ask("test list")["tests"]] == ["tests/here-1-vs-there-1"]
    assert ask("tournament cancel here-1-vs-there-1")["state"] == "cancelled"
    assert (
        json.loads(noughts("test wait here-1-vs-there-1 --format json", code=3, env=env).stdout)["state"] == "cancelled"
    )


def test_stop_now_and_concurrency_are_options_of_tests(ask: Ask) -> None:
    for bot in ("best", "worst"):  # offline, so that no test ends before it is stopped
        ask(f"bot register {bot}")
    test = ask("test create best worst --name follows")
    assert test["concurrency"] == 0
    assert ask("test stop follows --now")["state"] == "paused"
    assert ask("test create best worst --name four --concurrency 4 --sprt elo0=0,elo1=900")["concurrency"] == 4
    assert ask("tournament pause four --now")["state"] == "paused"


class ConnectFourBot(Bot):
    """A bot of Connect Four only."""

    variants = ("connect4",)

    def choose(self, position: Position) -> int:
        return position.free[0]


@pytest.mark.parametrize(
    "openings, kind",
    [
        ("", "random"),
        ("--openings none", None),
        ("--openings random:6", "random"),
        ("--openings balanced:6", "balanced"),
    ],
)
def test_test_is_played_in_the_variant_that_both_bots_play(
    ask: Ask, server: str, token: str, openings: str, kind: str | None
) -> None:
    with bots_online(server, token, new=ConnectFourBot(), base=ConnectFourBot(), free="random"):
        test = ask(f"test create new base --games 2 {openings}")
        assert test["variant"] == "connect4"
        assert (test["openings"]["kind"] if test["openings"] else None) == kind
        assert ask(f"test create new free --name free --games 2 {openings}")["variant"] == "connect4"


def test_bots_without_a_common_variant_are_named(ask: Ask, refusal: Refusal, env: dict[str, str]) -> None:
    server, token = env["NOUGHTS_SERVER"], env["NOUGHTS_TOKEN"]
    with bots_online(server, token, new=ConnectFourBot(), base="pascal", free="random"):
        for line in ("test create new base", "challenge bot:base --as new"):
            refusal(line, code=2, env=env)
        refusal("test create new base --variant connect4", code=2, env=env)


def test_challenge_is_played_in_the_variant_that_both_bots_play(ask: Ask, server: str, token: str) -> None:
    with bots_online(server, token, new=ConnectFourBot(), base=ConnectFourBot(), free="random"):
        for opponent in ("base", "free"):
            challenge = ask(f"challenge bot:{opponent} --as new --games 2")
            assert ask(f"tournament show {challenge['tournament']}")["variant"] == "connect4"


def test_variant_with_an_agreed_opening_begins_on_the_empty_board(ask: Ask) -> None:
    ask("bot register here")
    ask("bot register there")
    test = ask("test create here there --variant gomoku+swap2 --games 2")
    assert (test["openings"], test["sprt"], test["games_total"]) == (None, "", 2)


@pytest.mark.parametrize(
    "line, code",
    [
        ("create best best", 2),
        ("create best worst@7", 1),
        ("create best nobody", 1),
        ("create best worst --sprt ''", 2),
        ("create best worst --sprt elo0=1", 2),
        ("create best worst --name 'No way'", 2),
        ("create best worst --openings nothing", 2),
        ("show missing", 1),
        ("wait missing", 1),
        ("stop a/b", 2),
    ],
)
def test_wrong_arguments_are_explained(ask: Ask, refusal: Refusal, env: dict[str, str], line: str, code: int) -> None:
    for name in ("best", "worst"):
        ask(f"bot register {name}")
    refusal(f"test {line}", code=code, env=env)
