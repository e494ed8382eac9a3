"""`noughts game list` and `noughts bot games`: games page by page and filtered."""

from __future__ import annotations

import json
from typing import Any

from noughts_bots import Bot, Position
from tests.server.cli.commands.conftest import wait_until_finished
from tests.server.cli.conftest import Ask, Refusal
from tests.support.background import bots_online


def test_games_are_listed_in_slot_order_page_by_page(ask: Ask, bots: list[str], noughts: Any, server: str) -> None:
    ask("tournament create many --games 1100 --seed 1")
    for bot in bots:
        ask(f"tournament join many --bot {bot}")
    ask("tournament start many")
    wait_until_finished(ask, "many")
    lines = noughts(f"game list many --limit 1050 --format json --server {server}").stdout.splitlines()
    numbers = [int(json.loads(line)["game"].rpartition("/")[2]) for line in lines]
    assert numbers == list(range(1, 1051))
    game = ask("game show many/7")
    assert game == json.loads(lines[6])
    assert {game["first"], game["second"]} == set(bots)
    assert "moves" in noughts(f"game show many/7 --server {server}").stdout
    explanation = ask("game explain many/7")
    assert (explanation["game"], explanation["known_from_ply"]) == ("many/7", 1)


class Wrong(Bot):
    """Loses each game in which it moves first, by an illegal move."""

    def choose(self, position: Position) -> int:
        return position.free[0] if position.side else 99


def test_game_list_shows_only_games_lost_by_a_fault(
    ask: Ask, noughts: Any, server: str, token: str, env: dict[str, str]
) -> None:
    ask("tournament create cup --games 4")
    with bots_online(server, token, right="random", wrong=Wrong()):
        for bot in ("right", "wrong"):
            ask(f"tournament join cup {bot}")
        ask("tournament start cup")
        wait_until_finished(ask, "cup")
    lines = noughts("game list cup --fault --format json", env=env).stdout.splitlines()
    assert [json.loads(line)["fault"]["bot"] for line in lines] == ["wrong", "wrong"]
    assert noughts("game list cup --fault", env=env).stdout.count("illegal_move") == 2
    assert ask("tournament show cup")["faults"] == [{"bot": "wrong", "games": 2}]
    assert "wrong lost 2 games through its own fault." in noughts("tournament show cup", env=env).stdout
    assert ", lost 2 games through its own fault\n" in noughts("watch cup", env=env).stdout
    snapshot = json.loads(noughts("watch cup --format json", env=env).stdout.splitlines()[0])
    faults = {row["name"]: row["faults"] for row in snapshot["tournaments"][0]["standings"]}
    assert faults == {"right": 0, "wrong": 2}


def test_games_are_filtered_by_bot_result_and_termination(
    ask: Ask, noughts: Any, refusal: Refusal, server: str, token: str, env: dict[str, str]
) -> None:
    ask("tournament create cup --games 4")
    with bots_online(server, token, right="random", wrong=Wrong(), third="random"):
        for bot in ("right", "wrong", "third"):
            ask(f"tournament join cup {bot}")
        ask("tournament start cup")
        wait_until_finished(ask, "cup")

    def games_of(line: str) -> list[dict[str, Any]]:
        return list(map(json.loads, noughts(f"{line} --format json", env=env).stdout.splitlines()))

    assert len(games_of("game list cup --bot wrong")) == 8
    lost_games = games_of("game list cup --bot wrong --result loss --fault")
    assert {game["fault"]["bot"] for game in lost_games} == {"wrong"}
    assert lost_games == games_of("game list cup --termination illegal_move")
    assert lost_games == games_of("bot games wrong --fault --result loss")[::-1]
    assert lost_games == games_of("game list cup --bot bots/wrong --result 0-1 --termination illegal_move")
    assert all(game["result"] == "1/2-1/2" for game in games_of("bot games right --result draw"))
    assert games_of("game list cup --result win --bot wrong --fault") == []
    assert "No such games in tournaments/cup yet." in noughts("game list cup --termination void", env=env).stdout
    refusal("game list cup --result win", code=2, env=env)
    refusal("game list cup --bot nobody", code=1, env=env)
    refusal("bot games wrong --termination badly", code=2, env=env)
