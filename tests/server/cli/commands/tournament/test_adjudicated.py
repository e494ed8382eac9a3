"""A tournament on a server whose games end by rules: its settings, its games and its pages of the command line."""

import json
from typing import Any

import pytest

from noughts_bots import Bot, Move, Position
from tests.server.cli.conftest import Ask, Noughts
from tests.support.background import bots_online
from tests.support.processes import eventually

RULES = {"resign": "moves=2,score=600", "draw": "moves=2,score=5,after=4", "adjudicate": "exact"}


class Reporting(Bot):
    """Plays the first free cell and reports one score for all positions, also one that is not a number."""

    def __init__(self, score: float) -> None:
        self.score = score

    def choose(self, position: Position) -> Move:
        return Move(position.free[0], self.score)


def play_cup(ask: Ask, server: str, token: str, options: str, scores: dict[str, float]) -> dict[str, Any]:
    """Play a tournament of bots that report these scores, and return it."""
    bots = {name: Reporting(score) for name, score in scores.items()}
    with bots_online(server, token, **bots):
        ask(f"tournament create cup --unrated {options}")
        for name in bots:
            ask(f"tournament join cup --bot {name}")
        ask("tournament start cup")
        eventually(lambda: ask("tournament show cup")["state"] == "finished")
    tournament: dict[str, Any] = ask("tournament show cup")
    return tournament


def games_of(noughts: Noughts, env: dict[str, str]) -> list[dict[str, Any]]:
    output = noughts("game list cup --format json", env=env).stdout
    return [json.loads(line) for line in output.splitlines()]


def test_games_on_a_server_end_by_the_rules_of_their_tournament(
    ask: Ask, noughts: Noughts, env: dict[str, str], server: str, token: str
) -> None:
    options = "--variant gomoku --resign moves=2,score=600 --draw moves=2,score=5,after=4"
    cup = play_cup(ask, server, token, options, {"ada": -650, "bob": 2, "cleo": -3, "dan": float("nan")})
    assert (cup["resign"], cup["draw"], cup["adjudicate"]) == (RULES["resign"], RULES["draw"], "")
    assert cup["keep_scores"] is True
    by_pair = {frozenset((game["first"], game["second"])): game for game in games_of(noughts, env)}
    assert {row["name"]: row["points"] for row in cup["standings"]}["ada"] == 0
    drawn, lost = by_pair[frozenset(("bob", "cleo"))], by_pair[frozenset(("ada", "dan"))]
    assert (drawn["result"], len(drawn["moves"])) == ("1/2-1/2", 4)
    assert drawn["adjudication"] == "both reported -5 to 5 at the last 2 moves of each"
    assert lost["adjudication"] == "ada reported -600 or less at its last 2 moves"
    assert by_pair[frozenset(("bob", "dan"))]["termination"] == "line"
    text = noughts("tournament show cup", env=env).stdout
    assert "a loss by scores: moves=2,score=600, a draw by scores: moves=2,score=5,after=4" in text
    assert "adjudicated: " in noughts("game show cup/1", env=env).stdout


def test_proven_games_on_a_server_end_and_say_so(
    ask: Ask, noughts: Noughts, env: dict[str, str], server: str, token: str
) -> None:
    cup = play_cup(ask, server, token, "--variant mnk:4,3,3 --adjudicate exact", {"ada": 0, "bob": 0})
    assert (cup["adjudicate"], cup["keep_scores"]) == ("exact", False)
    for game in games_of(noughts, env):
        assert (game["termination"], len(game["moves"])) == ("adjudicated", 1)
        winner = game["first"] if game["result"] == "1-0" else game["second"]
        assert game["adjudication"] == f"proven that {winner} wins"


@pytest.mark.parametrize("rule", ["resign=moves=0,score=1", "draw=moves=1", "adjudicate=guess"])
def test_a_server_refuses_a_rule_that_cannot_be_read(noughts: Noughts, env: dict[str, str], rule: str) -> None:
    option, _, value = rule.partition("=")
    result = noughts(f"tournament create cup --{option} {value}", env=env, code=2)
    assert f"--{option} '{value}'" in result.stderr
