"""Tournaments at a server from their creation to their end."""

from __future__ import annotations

import json
import math
import re
import socket
from typing import Any

import pytest

from tests.server.cli.commands.conftest import wait_until_finished
from tests.server.cli.conftest import Ask, Refusal, Transcript
from tests.support.background import bots_online


def test_tournament_that_repeats_lists_its_seasons_and_stops(
    ask: Ask, noughts: Any, refusal: Refusal, server: str
) -> None:
    created = ask("tournament create thursdays --title Thursdays --repeat weekly")
    assert (created["league"], created["season"], created["repeat"]) == ("tournaments/thursdays", 1, "weekly")
    league = ask("tournament seasons thursdays")
    assert (league["league"], league["repeat"], league["stopped"]) == ("tournaments/thursdays", "weekly", False)
    (season,) = league["seasons"]
    assert (season["season"], season["state"], season["entries"], season["winner"]) == (1, "open", 0, None)
    assert "thursdays: repeats weekly" in noughts(f"tournament seasons thursdays --server {server}").stdout
    output = noughts(f"tournament show thursdays --server {server}").stdout
    assert "season 1 of thursdays, which repeats weekly" in output
    assert ask("tournament stop-repeating thursdays")["reason"] == "its league was stopped"
    assert ask("tournament seasons thursdays")["stopped"] is True
    assert ask("tournament create once")["season"] is None
    refusal(f"tournament seasons once --server {server}", code=1)
    refusal("tournament create x --repeat daily", code=2)


def test_tournament_goes_from_creation_to_the_leaderboard(ask: Ask, bots: list[str], noughts: Any, server: str) -> None:
    created = ask("tournament create spring --games 10 --seed 4 --title 'Spring cup' --priority 2 --throughput 75")
    assert created["tournament"] == "tournaments/spring"
    assert (created["state"], created["games"], created["seed"], created["seed_given"]) == ("open", 0, None, True)
    assert (created["priority"], created["throughput"]) == (2, 75)
    assert created["absence_limit"] == 600
    text = noughts(f"tournament show spring --server {server}").stdout
    assert "An entry that keeps its games waiting for 10 min loses its remaining games." in text
    for bot in bots:
        assert ask(f"tournament join spring --bot {bot}")["label"] == bot
    ask("tournament start spring")
    wait_until_finished(ask, "spring")
    tournament = ask("tournament show tournaments/spring")
    assert (tournament["games"], tournament["games_total"], tournament["absence_limit"]) == (10, 10, None)
    assert [row["name"] for row in tournament["standings"]] == ["alice-minimax", "alice-random"]
    assert sum(tournament["crosstable"]["cells"]["alice-minimax"]["alice-random"]["first"].values()) == 5
    rows = ask("leaderboard")["rows"]
    assert [row["name"] for row in rows] == ["alice-minimax", "alice-random"]
    assert rows[0]["provisional"]
    text = noughts(f"tournament show spring --server {server}").stdout
    assert "Spring cup" in text
    board = noughts(f"leaderboard --server {server}").stdout
    assert "alice-minimax" in board
    assert "● online   ? provisional" in board
    assert "spring" in noughts(f"tournament list --server {server}").stdout


def test_a_match_with_a_test_ends_with_its_decision(
    ask: Ask, bots: list[str], noughts: Any, refusal: Refusal, server: str
) -> None:
    created = ask("tournament create duel --schedule match --sprt elo0=0,elo1=200 --openings random:2")
    assert (created["games_per_pair"], created["sprt"]) == (100_000, "elo0=0,elo1=200")
    for bot in reversed(bots):
        ask(f"tournament join duel --bot {bot}")
    ask("tournament start duel")
    result = noughts(f"tournament wait duel --server {server} --format json")
    assert json.loads(result.stdout)["match"]["sprt"]["decision"] == "H1"
    tournament = ask("tournament show duel")
    assert tournament["match"]["sprt"]["decision"] == "H1"
    assert tournament["games"] == tournament["games_total"] < 100_000
    text = noughts(f"tournament show duel --server {server}").stdout
    lines = tournament["match"]["summary"].splitlines()
    assert lines[0].endswith(": H1 accepted")
    assert all(line in text for line in lines)
    assert "Book  | random:2" in lines
    refusal("tournament create x --schedule match --sprt elo0=1", code=2)
    planned = json.loads(
        noughts("tournament create x --schedule match --sprt elo0=0,elo1=5 --dry-run --format json").stdout
    )
    (forecast,) = planned["forecasts"]
    assert (forecast["entries"], forecast["games_least"], forecast["games_most"]) == (2, 2, 100_000)
    refusal("tournament run random random fives --schedule match", code=2)
    refusal("tournament create x --schedule swiss --sprt elo0=0,elo1=5", code=2)


def test_candidates_end_when_the_first_is_accepted(
    ask: Ask, bots: list[str], noughts: Any, refusal: Refusal, server: str, token: str
) -> None:
    refusal("tournament create three --schedule candidates", code=2)
    with bots_online(server, token, **{"alice-fives": "fives"}):
        base, best = bots
        for name, test in (("three", "elo0=0,elo1=200"), ("worse", "elo0=700,elo1=900")):
            ask(f"tournament create {name} --schedule candidates --sprt {test} --openings random:2")
            for bot in (base, "alice-fives", best):
                ask(f"tournament join {name} --bot {bot}")
            ask(f"tournament start {name}")
        tournament = json.loads(noughts(f"tournament wait three --server {server} --format json").stdout)
        noughts(f"tournament wait worse --server {server} --format json", code=1)
    assert [candidate["label"] for candidate in tournament["candidates"]] == ["alice-fives", best]
    assert [candidate["state"] for candidate in tournament["candidates"]].count("accepted") == 1
    assert tournament["candidates"][0]["sprt"]["upper"] == pytest.approx(math.log(0.95 / 0.025))
    assert tournament["games"] == tournament["games_total"] < 1_000
    text = noughts(f"tournament show three --server {server}").stdout
    for words in (f"Candidates against {base}: elo0=0,elo1=200", "accepted", "The LLR -2.97 drops a candidate, 3.64"):
        assert words in text
    candidates = ask("tournament show worse")["candidates"]
    assert [candidate["sprt"]["decision"] for candidate in candidates] == ["H0", "H0"]
    assert [candidate["state"] for candidate in candidates] == ["dropped", "dropped"]


def test_seed_commitment_can_be_verified_after_the_tournament(
    ask: Ask, bots: list[str], noughts: Any, server: str
) -> None:
    seed_hash = ask("tournament create drawn --games 4")["seed_hash"]
    assert seed_hash in noughts(f"tournament verify drawn --server {server}", code=1).stderr
    for bot in bots:
        ask(f"tournament join drawn --bot {bot}")
    ask("tournament start drawn")
    wait_until_finished(ask, "drawn")
    output = noughts(f"tournament verify drawn --hash {seed_hash} --server {server}").stdout
    assert "The seeds of all 4 games follow from it." in output
    document = ask("tournament verify drawn")
    assert (document["fits"], document["games"], document["differing"]) == (True, 4, [])
    result = noughts(f"tournament verify drawn --hash {'0' * 64} --server {server}", code=1)
    assert f"expected {'0' * 64}" in result.stderr


def test_json_lists_have_all_rows_and_text_says_what_is_missing(
    ask: Ask, bots: list[str], noughts: Any, env: dict[str, str]
) -> None:
    for number in range(60):
        ask(f"tournament create t{number} --games 60")
    for bot in bots:
        ask(f"tournament join t0 --bot {bot}")
    ask("tournament start t0")
    wait_until_finished(ask, "t0")
    assert len(ask("tournament list")["tournaments"]) == 60
    assert len(ask("tournament list --limit 55")["tournaments"]) == 55
    for line in ("game list t0", f"bot games {bots[0]}"):
        assert len(noughts(f"{line} --format json", env=env).stdout.splitlines()) == 60
    for line in ("tournament list", "game list t0", f"bot games {bots[0]}"):
        assert noughts(line, env=env).stderr == "There are more than 50; --limit N prints N.\n"
        assert noughts(f"{line} --limit 60", env=env).stderr == ""


def test_tournament_is_paused_resumed_cancelled_and_waited_for(
    ask: Ask, bots: list[str], noughts: Any, server: str
) -> None:
    ask("tournament create long --games 100000 --concurrency 4")
    for bot in bots:
        ask(f"tournament join long --bot {bot}")
    ask("tournament start long")
    paused = ask("tournament pause long")
    assert (paused["state"], bool(paused["pause_time"])) == ("paused", True)
    assert re.search(
        r"paused[^,]*, [\d,]+ of 100,000 games played", noughts(f"tournament show long --server {server}").stdout
    )
    assert ask("tournament start long")["state"] == "running"
    assert ask("tournament cancel long")["state"] == "cancelled"
    assert "cancelled" in noughts(f"tournament wait long --server {server}", code=3).stdout
    ask("tournament create worse --schedule match --sprt elo0=0,elo1=1 --games 4")
    for bot in bots:
        ask(f"tournament join worse --bot {bot}")
    ask("tournament start worse")
    assert ": not decided\n" in noughts(f"tournament wait worse --server {server}", code=3).stdout
    ask("tournament create rejected --schedule match --sprt elo0=500,elo1=1000")
    for bot in bots:
        ask(f"tournament join rejected --bot {bot}")
    ask("tournament start rejected")
    assert "H0 accepted" in noughts(f"tournament wait rejected --server {server}", code=1).stdout


def test_entry_is_withdrawn_by_its_label(ask: Ask, bots: list[str]) -> None:
    ask("tournament create small")
    ask(f"tournament join small --bot {bots[0]} --label Lucky")
    assert [row["name"] for row in ask("tournament show small")["standings"]] == ["Lucky"]
    assert ask("tournament withdraw small Lucky") == {"tournament": "tournaments/small", "label": "Lucky"}
    assert ask("tournament show small")["standings"] == []


def test_join_and_withdraw_take_a_bot_as_argument_or_option(
    ask: Ask, bots: list[str], refusal: Refusal, start: Any, env: dict[str, str]
) -> None:
    withdraw = f"tournament withdraw small --bot {bots[0]}"
    ask("tournament create small")
    for words in (f"small {bots[0]}", f"small --bot {bots[0]} --label Lucky"):
        entry = ask(f"tournament join {words}")
        assert ask(withdraw)["label"] == entry["label"]
    refusal(f"{withdraw} --format text", code=1, env=env)
    with start(f"bot run random --name {bots[0]} --version 2", env) as process:
        process.stdout.readline()
        for version, label in ((1, "one"), (2, "two")):
            ask(f"tournament join small {bots[0]}@{version} --label {label}")
    refusal(withdraw, code=1, env=env)
    refusal("tournament withdraw small", code=2, env=env)


def test_bots_of_a_server_are_listed(ask: Ask, bots: list[str], noughts: Any, server: str) -> None:
    rows = ask(f"bot list --server {server}")["bots"]
    assert {tuple(row) for row in rows} == {tuple(row) for row in ask("bot list --reference")["bots"]}
    assert rows == ask("bot list")["bots"]
    assert "minimax" in {row["name"] for row in ask("bot list --reference")["bots"]}
    assert [row["name"] for row in rows] == sorted(bots)
    assert {row["owner"] for row in rows} == {"alice"}
    assert {row["online"] for row in rows} == {True}
    assert bots[0] in noughts(f"bot list --server {server} --online").stdout


@pytest.mark.parametrize(
    "line, code",
    [
        ("tournament show nowhere", 1),
        ("tournament create Spring!", 2),
        ("tournament join nowhere --bot nobody", 1),
        ("tournament show a/b", 2),
        ("game show spring", 2),
        ("game explain spring", 2),
        ("leaderboard --variant chess", 2),
        ("leaderboard --time-class quick", 2),
    ],
)
def test_error_of_the_server_is_one_message(transcript: Transcript, env: dict[str, str], line: str, code: int) -> None:
    transcript(line, code=code, env=env)


def test_start_without_entries_and_pause_before_start_say_what_to_do(ask: Ask, refusal: Refusal, env: Any) -> None:
    ask("tournament create early")
    refusal("tournament start early", code=1, env=env)
    refusal("tournament pause early", code=1, env=env)


@pytest.mark.parametrize("line", ["tournament create mine", "bot run random --name mine"])
def test_wrong_token_says_how_to_get_one(refusal: Refusal, server: str, line: str) -> None:
    refusal(line, code=1, env={"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": "nou_wrong"})


def test_bot_without_a_token_is_a_usage_error(refusal: Refusal) -> None:
    refusal("bot run random", code=2)


def test_unreachable_server_is_named(refusal: Refusal) -> None:
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))
        refusal(f"tournament show cup --server 127.0.0.1:{bound_socket.getsockname()[1]}", code=1)


def test_call_without_a_token_says_where_to_give_it(refusal: Refusal, server: str) -> None:
    refusal("tournament create cup", code=1, env={"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": ""})


def test_token_on_the_command_line_works_with_a_warning(noughts: Any, server: str, token: str) -> None:
    result = noughts(f"tournament create mine --server {server} --token {token} --format json")
    assert json.loads(result.stdout)["state"] == "open"
    assert "process list" in result.stderr
    assert token not in result.stderr


def test_an_opening_by_agreement_is_shown_with_the_sides_that_were_played(
    ask: Ask, noughts: Any, env: dict[str, str], server: str, token: str
) -> None:
    created = ask("tournament create agreed --variant gomoku --opening-rule swap2 --games 8 --seed 1")
    assert created["variant"] == "gomoku+swap2"
    with bots_online(server, token, **{"alice-lots": "random", "alice-fives": "fives"}):
        for bot in ("alice-lots", "alice-fives"):
            ask(f"tournament join agreed --bot {bot}")
        ask("tournament start agreed")
        wait_until_finished(ask, "agreed")
    games = [ask(f"game show agreed/{number}") for number in range(1, 9)]
    openers = [game["opening"]["opener"] for game in games]
    assert openers == ["alice-lots", "alice-fives"] * 4
    swapped_game = next(game for game, opener in zip(games, openers, strict=True) if game["first"] != opener)
    number = swapped_game["game"].rpartition("/")[2]
    watched_game = json.loads(noughts(f"watch agreed/{number} --format json", env=env).stdout.splitlines()[0])["games"][
        0
    ]
    assert (watched_game["first"], watched_game["second"]) == (swapped_game["first"], swapped_game["second"])
    output = noughts(f"game show agreed/{number}", env=env).stdout
    stones = swapped_game["opening"]["stones"]
    assert {row["name"] for row in ask("leaderboard --variant gomoku+swap2")["rows"]} == {"alice-lots", "alice-fives"}
    assert f"opening: swap2, {stones} stones agreed on, begun by {swapped_game['second']}" in output
    assert f"{swapped_game['first']} (X) - {swapped_game['second']} (O)" in output


def test_a_bot_of_a_tournament_at_a_server_has_a_time_of_its_own(
    ask: Ask, bots: list[str], noughts: Any, env: dict[str, str]
) -> None:
    created = ask("tournament create handicap --time 60/30+1 --time-of alice-minimax=9/move --time-of zoe=none")
    assert (created["time"], created["rated"]) == ("60/30+1", False)
    assert created["own_times"] == {"alice-minimax": "9/move", "zoe": "none"}
    for bot in bots:
        ask(f"tournament join handicap --bot {bot}")
    ask("tournament start handicap")
    wait_until_finished(ask, "handicap")
    game = ask("game show handicap/1")
    assert (game["first"], game["first_time"], game["second_time"]) == ("alice-random", "60/30+1", "9/move")
    watched_game = json.loads(noughts("watch handicap/1 --format json", env=env).stdout.splitlines()[0])["games"][0]
    assert (watched_game["time"], watched_game["first_time"], watched_game["second_time"]) == (
        "60/30+1",
        "60/30+1",
        "9/move",
    )
    assert watched_game["second_clock_ms"] == 9_000
    output = noughts("tournament show handicap", env=env).stdout
    assert "time 60/30+1 (alice-minimax 9/move, zoe none), 2 games a pair, unrated" in output
    assert "time 60/30+1 (X) and 9/move (O), seed" in noughts("game show handicap/1", env=env).stdout
