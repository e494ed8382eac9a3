"""Tests of one bot version against another at a server, by the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from noughts_bots import Bot, Position
from tests.server.cli.conftest import Ask, Refusal
from tests.support.background import bots_online

EASY = "--sprt elo0=-1000,elo1=-900"
HARD = "--sprt elo0=900,elo1=1000"


@pytest.fixture
def bots(server: str, token: str) -> Iterator[None]:
    """Two bots that are online: `best` and `worst`."""
    with bots_online(server, token, best="minimax", worst="random"):
        yield


def test_test_is_created_listed_shown_and_waited_for(ask: Ask, bots: None, noughts: Any, env: dict[str, str]) -> None:
    said = noughts(f"test create best worst {EASY} --seed 3 --priority 2 --throughput 50", env=env)
    assert "tests/best-1-vs-worst-1: best@1 against worst@1\nrunning, 0 of at most 100,000 games played" in said.stdout
    assert "priority 2, throughput 50 %, by alice" in said.stdout
    assert "Wait for the result: noughts test wait best-1-vs-worst-1" in said.stderr
    over = ask("test wait best-1-vs-worst-1")
    assert (over["test"], over["tournament"]) == ("tests/best-1-vs-worst-1", "tournaments/best-1-vs-worst-1")
    assert (over["new_version"], over["base_version"]) == ("bots/best/versions/1", "bots/worst/versions/1")
    assert (over["state"], over["match"]["sprt"]["decision"], over["seed"]) == ("finished", "H1", 3)
    assert (over["priority"], over["throughput"], over["sprt"]) == (2, 50, "elo0=-1000,elo1=-900")
    assert over["openings"] == {"kind": "random", "plies": 4, "symmetries": False}
    assert ask("test show best-1-vs-worst-1") == over
    shown = noughts("test show tests/best-1-vs-worst-1", env=env).stdout
    assert f"finished, {over['games']} of {over['games']} games played" in shown
    assert "best against worst: H1 accepted\n" in shown
    assert over["match"]["summary"] in shown
    assert "H1 accepted" in noughts("test list", env=env).stdout
    assert ask("tournament list")["tournaments"] == []
    assert "best" in noughts(f"game list {over['tournament']} --limit 1", env=env).stdout


def test_exit_code_of_wait_is_the_result(ask: Ask, bots: None, noughts: Any, env: dict[str, str]) -> None:
    for name, options, code, said in (
        ("rejected", HARD, 1, "worst against best: H0 accepted\n"),
        ("accepted", EASY, 0, "worst against best: H1 accepted\n"),
        ("undecided", "--sprt elo0=0,elo1=1 --games 4", 3, ": not decided\n"),
        ("counted", "--games 4", 0, "finished, 4 of 4 games played"),
    ):
        made = ask(f"test create worst best --name {name} {options}")
        assert made["test"] == f"tests/{name}"
        assert said in noughts(f"test wait {name}", code=code, env=env).stdout
    assert noughts("test wait missing", code=1, env=env).stdout == ""


def test_test_is_stopped_and_resumed(ask: Ask, noughts: Any, env: dict[str, str]) -> None:
    for name in ("here", "there"):
        ask(f"bot register {name}")
    made = ask("test create here there --openings none --variant connect4")
    assert (made["offline"], made["openings"]) == (["bots/here/versions/1", "bots/there/versions/1"], None)
    assert "Not online: here@1, there@1" in noughts("test show here-1-vs-there-1", env=env).stdout
    assert ask("test stop here-1-vs-there-1")["state"] == "paused"
    stopped = noughts("test wait here-1-vs-there-1", code=3, env=env).stdout
    assert "stopped, 0 of at most 100,000 games played" in stopped
    assert "stopped" in noughts("test list --owner alice", env=env).stdout
    assert ask("test list --owner bob")["tests"] == []
    assert ask("test resume here-1-vs-there-1")["state"] == "running"
    assert [each["test"] for each in ask("test list")["tests"]] == ["tests/here-1-vs-there-1"]
    assert ask("tournament cancel here-1-vs-there-1")["state"] == "cancelled"
    assert (
        json.loads(noughts("test wait here-1-vs-there-1 --format json", code=3, env=env).stdout)["state"] == "cancelled"
    )


def test_test_that_stops_now_and_its_concurrency_are_options(ask: Ask) -> None:
    for bot in ("best", "worst"):  # offline, so that no test ends before it is stopped
        ask(f"bot register {bot}")
    made = ask("test create best worst --name follows")
    assert (made["concurrency"], ask("test stop follows --now")["state"]) == (0, "paused")
    assert ask("test create best worst --name four --concurrency 4 --sprt elo0=0,elo1=900")["concurrency"] == 4
    assert ask("tournament pause four --now")["state"] == "paused"


class Connects(Bot):
    """A bot of Connect Four only."""

    variants = ("connect4",)

    def choose(self, position: Position) -> int:
        return position.free[0]


@pytest.mark.parametrize("openings", ["", "--openings none", "--openings random:6", "--openings balanced:6"])
def test_test_is_played_in_the_variant_that_both_bots_play(ask: Ask, server: str, token: str, openings: str) -> None:
    with bots_online(server, token, new=Connects(), base=Connects(), free="random"):
        made = ask(f"test create new base --games 2 {openings}")
        assert made["variant"] == "connect4"
        assert (made["openings"] or {}).get("kind") == {"": "random", "--openings none": None}.get(
            openings, openings[11:].partition(":")[0]
        )
        assert ask(f"test create new free --name free --games 2 {openings}")["variant"] == "connect4"


def test_bots_without_a_common_variant_are_named(ask: Ask, refusal: Refusal, env: dict[str, str]) -> None:
    server, token = env["NOUGHTS_SERVER"], env["NOUGHTS_TOKEN"]
    with bots_online(server, token, new=Connects(), base="pascal", free="random"):
        for line in ("test create new base", "challenge bot:base --as new"):
            refusal(line, code=2, env=env)
        refusal("test create new base --variant connect4", code=2, env=env)


def test_challenge_is_played_in_the_variant_that_both_bots_play(ask: Ask, server: str, token: str) -> None:
    with bots_online(server, token, new=Connects(), base=Connects(), free="random"):
        for opponent in ("base", "free"):
            played = ask(f"challenge bot:{opponent} --as new --games 2")
            assert ask(f"tournament show {played['tournament']}")["variant"] == "connect4"


def test_variant_with_an_agreed_opening_begins_on_the_empty_board(ask: Ask) -> None:
    ask("bot register here")
    ask("bot register there")
    made = ask("test create here there --variant gomoku+swap2 --games 2")
    assert (made["openings"], made["sprt"], made["games_total"]) == (None, "", 2)


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
def test_what_is_wrong_is_explained(ask: Ask, refusal: Refusal, env: dict[str, str], line: str, code: int) -> None:
    for name in ("best", "worst"):
        ask(f"bot register {name}")
    refusal(f"test {line}", code=code, env=env)
