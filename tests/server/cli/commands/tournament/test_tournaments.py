"""A server, bots and tournaments, all by the command line."""

from __future__ import annotations

import json
import math
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from noughts_bots import Bot, Position
from tests.server.cli.conftest import Refusal
from tests.support.background import bots_online
from tests.support.children.field import PLAYER
from tests.support.processes import eventually

Ask = Callable[..., Any]


@pytest.fixture
def bots(server: str, token: str) -> Iterator[list[str]]:
    """Two bots that are online."""
    with bots_online(server, token, **{"alice-random": "random", "alice-minimax": "minimax"}):
        yield ["alice-random", "alice-minimax"]


def finished(ask: Ask, name: str) -> None:
    eventually(lambda: ask(f"tournament show {name}")["state"], lambda state: state == "finished")


def test_tournament_that_repeats_lists_its_seasons_and_stops(
    ask: Ask, noughts: Any, refusal: Refusal, server: str
) -> None:
    made = ask("tournament create thursdays --title Thursdays --repeat weekly")
    assert (made["league"], made["season"], made["repeat"]) == ("tournaments/thursdays", 1, "weekly")
    found = ask("tournament seasons thursdays")
    assert (found["league"], found["repeat"], found["stopped"]) == ("tournaments/thursdays", "weekly", False)
    (season,) = found["seasons"]
    assert (season["season"], season["state"], season["entries"], season["winner"]) == (1, "open", 0, None)
    assert "thursdays: repeats weekly" in noughts(f"tournament seasons thursdays --server {server}").stdout
    shown = noughts(f"tournament show thursdays --server {server}").stdout
    assert "season 1 of thursdays, which repeats weekly" in shown
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
    finished(ask, "spring")
    shown = ask("tournament show tournaments/spring")
    assert (shown["games"], shown["games_total"], shown["absence_limit"]) == (10, 10, None)
    assert [row["name"] for row in shown["standings"]] == ["alice-minimax", "alice-random"]
    assert sum(shown["crosstable"]["cells"]["alice-minimax"]["alice-random"]["first"].values()) == 5
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
    waited = noughts(f"tournament wait duel --server {server} --format json")
    assert json.loads(waited.stdout)["match"]["sprt"]["decision"] == "H1"
    told = ask("tournament show duel")
    assert told["match"]["sprt"]["decision"] == "H1"
    assert told["games"] == told["games_total"] < 100_000
    text = noughts(f"tournament show duel --server {server}").stdout
    lines = told["match"]["summary"].splitlines()
    assert lines[0].endswith(": H1 accepted")
    assert all(line in text for line in lines)
    assert "Book  | random:2" in lines
    refusal("tournament create x --schedule match --sprt elo0=1", code=2)
    planned = json.loads(
        noughts("tournament create x --schedule match --sprt elo0=0,elo1=5 --dry-run --format json").stdout
    )
    assert [(each["entries"], each["games_least"], each["games_most"]) for each in planned["forecasts"]] == [
        (2, 2, 100_000)
    ]
    refusal("tournament run random random fives --schedule match", code=2)
    refusal("tournament create x --schedule swiss --sprt elo0=0,elo1=5", code=2)


def test_candidates_end_with_the_first_that_is_stronger(
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
        told = json.loads(noughts(f"tournament wait three --server {server} --format json").stdout)
        noughts(f"tournament wait worse --server {server} --format json", code=1)
    assert [each["label"] for each in told["candidates"]] == ["alice-fives", best]
    assert [each["state"] for each in told["candidates"]].count("accepted") == 1
    assert told["candidates"][0]["sprt"]["upper"] == pytest.approx(math.log(0.95 / 0.025))
    assert told["games"] == told["games_total"] < 1_000
    text = noughts(f"tournament show three --server {server}").stdout
    for words in (f"Candidates against {base}: elo0=0,elo1=200", "accepted", "The LLR -2.97 drops a candidate, 3.64"):
        assert words in text
    worse = ask("tournament show worse")["candidates"]
    assert [each["sprt"]["decision"] for each in worse] == ["H0", "H0"]
    assert [each["state"] for each in worse] == ["dropped", "dropped"]


def test_the_draw_of_a_tournament_is_checked_by_anybody_when_it_has_ended(
    ask: Ask, bots: list[str], noughts: Any, server: str
) -> None:
    told = ask("tournament create drawn --games 4")["seed_hash"]
    refused = noughts(f"tournament verify drawn --server {server}", code=1)
    assert "its seed is still secret" in refused.stderr
    assert told in refused.stderr
    for bot in bots:
        ask(f"tournament join drawn --bot {bot}")
    ask("tournament start drawn")
    finished(ask, "drawn")
    held = noughts(f"tournament verify drawn --hash {told} --server {server}").stdout
    assert "The seeds of all 4 games follow from it." in held
    checked = ask("tournament verify drawn")
    assert (checked["fits"], checked["games"], checked["differing"]) == (True, 4, [])
    other = noughts(f"tournament verify drawn --hash {'0' * 64} --server {server}", code=1)
    assert f"expected {'0' * 64}" in other.stderr


def test_games_are_listed_in_slot_order_page_by_page(ask: Ask, bots: list[str], noughts: Any, server: str) -> None:
    ask("tournament create many --games 1100 --seed 1")
    for bot in bots:
        ask(f"tournament join many --bot {bot}")
    ask("tournament start many")
    finished(ask, "many")
    lines = noughts(f"game list many --limit 1050 --format json --server {server}").stdout.splitlines()
    numbers = [int(json.loads(line)["game"].rpartition("/")[2]) for line in lines]
    assert numbers == list(range(1, 1051))
    game = ask("game show many/7")
    assert game == json.loads(lines[6])
    assert {game["first"], game["second"]} == set(bots)
    assert "moves" in noughts(f"game show many/7 --server {server}").stdout
    explained = ask("game explain many/7")
    assert (explained["game"], explained["known_from_ply"]) == ("many/7", 1)


def test_json_lists_have_all_rows_and_text_says_what_is_missing(
    ask: Ask, bots: list[str], noughts: Any, env: dict[str, str]
) -> None:
    for number in range(60):
        ask(f"tournament create t{number} --games 60")
    for bot in bots:
        ask(f"tournament join t0 --bot {bot}")
    ask("tournament start t0")
    finished(ask, "t0")
    assert len(ask("tournament list")["tournaments"]) == 60
    assert len(ask("tournament list --limit 55")["tournaments"]) == 55
    for line in ("game list t0", f"bot games {bots[0]}"):
        assert len(noughts(f"{line} --format json", env=env).stdout.splitlines()) == 60
    for line in ("tournament list", "game list t0", f"bot games {bots[0]}"):
        assert noughts(line, env=env).stderr == "There are more than 50; --limit N prints N.\n"
        assert noughts(f"{line} --limit 60", env=env).stderr == ""


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
        finished(ask, "cup")
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
    ask: Ask, noughts: Any, server: str, token: str, env: dict[str, str]
) -> None:
    ask("tournament create cup --games 4")
    with bots_online(server, token, right="random", wrong=Wrong(), third="random"):
        for bot in ("right", "wrong", "third"):
            ask(f"tournament join cup {bot}")
        ask("tournament start cup")
        finished(ask, "cup")

    def listed(line: str) -> list[dict[str, Any]]:
        return list(map(json.loads, noughts(f"{line} --format json", env=env).stdout.splitlines()))

    assert len(listed("game list cup --bot wrong")) == 8
    lost = listed("game list cup --bot wrong --result loss --fault")
    assert {game["fault"]["bot"] for game in lost} == {"wrong"}
    assert lost == listed("game list cup --termination illegal_move")
    assert lost == listed("bot games wrong --fault --result loss")[::-1]
    assert lost == listed("game list cup --bot bots/wrong --result 0-1 --termination illegal_move")
    assert all(game["result"] == "1/2-1/2" for game in listed("bot games right --result draw"))
    assert listed("game list cup --result win --bot wrong --fault") == []
    assert "No such games in tournaments/cup yet." in noughts("game list cup --termination void", env=env).stdout
    for line, code, complaint in (
        ("game list cup --result win", 2, "--result win: got no bot, expected --bot BOT"),
        ("game list cup --bot nobody", 1, "entry 'nobody'"),
        ("bot games wrong --termination badly", 2, "expected one of line, board_full"),
    ):
        assert complaint in noughts(line, code=code, env=env).stderr


def test_tournament_is_paused_resumed_cancelled_and_waited_for(
    ask: Ask, bots: list[str], noughts: Any, server: str
) -> None:
    ask("tournament create long --games 100000 --concurrency 4")
    for bot in bots:
        ask(f"tournament join long --bot {bot}")
    ask("tournament start long")
    assert ask("tournament pause long")["state"] == "paused"
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


def test_joining_and_withdrawing_take_a_bot_by_place_and_by_option(
    ask: Ask, bots: list[str], noughts: Any, start: Any, env: dict[str, str]
) -> None:
    withdraw = f"tournament withdraw small --bot {bots[0]}"
    ask("tournament create small")
    for joining in (f"small {bots[0]}", f"small --bot {bots[0]} --label Lucky"):
        entered = ask(f"tournament join {joining}")
        assert ask(withdraw)["label"] == entered["label"]
    assert "it has no entry in tournaments/small" in noughts(withdraw, code=1, env=env).stderr
    with start(f"bot run random --name {bots[0]} --version 2", env) as newer:
        newer.stdout.readline()
        for version, label in ((1, "one"), (2, "two")):
            ask(f"tournament join small {bots[0]}@{version} --label {label}")
    assert "Name one: one, two" in noughts(withdraw, code=1, env=env).stderr
    assert "expected either LABEL" in noughts("tournament withdraw small", code=2, env=env).stderr


def test_bots_of_a_server_are_listed(ask: Ask, bots: list[str], noughts: Any, server: str) -> None:
    listed = ask(f"bot list --server {server}")["bots"]
    assert {tuple(row) for row in listed} == {tuple(row) for row in ask("bot list --reference")["bots"]}
    assert listed == ask("bot list")["bots"]
    assert "minimax" in {row["name"] for row in ask("bot list --reference")["bots"]}
    assert [row["name"] for row in listed] == sorted(bots)
    assert {row["owner"] for row in listed} == {"alice"}
    assert {row["online"] for row in listed} == {True}
    assert bots[0] in noughts(f"bot list --server {server} --online").stdout


@pytest.mark.parametrize(
    "line, code, said",
    [
        ("tournament show nowhere", 1, "tournaments/nowhere does not exist"),
        ("tournament create Spring!", 2, "Error: NAME: got 'Spring!', expected 1 to 63 characters"),
        ("tournament join nowhere --bot nobody", 1, "does not exist"),
        ("tournament show a/b", 2, "expected a tournament"),
        ("game show spring", 2, "expected a game"),
        ("game explain spring", 2, "expected an existing file of games, or a game on a server"),
        ("leaderboard --variant chess", 2, "--variant 'chess'"),
        ("leaderboard --time-class quick", 2, "Error: --time-class: got 'quick', expected one of untimed"),
    ],
)
def test_what_the_server_refuses_is_one_message(
    noughts: Any, server: str, token: str, line: str, code: int, said: str
) -> None:
    result = noughts(line, code=code, env={"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token})
    assert said in result.stderr
    assert result.stdout == ""


def test_start_without_entries_and_pause_before_start_say_what_to_do(ask: Ask, noughts: Any, env: Any) -> None:
    ask("tournament create early")
    said = noughts("tournament start early", code=1, env=env).stderr
    assert said.startswith(
        "Error: tournaments/early is open with 0 entries, expected at least 2\nFix: Let more bots join: "
    )
    said = noughts("tournament pause early", code=1, env=env).stderr
    assert said.startswith("Error: tournaments/early is open, expected running\nFix: Only a running tournament can")


@pytest.mark.parametrize("line", ["tournament create mine", "bot run random --name mine"])
def test_wrong_token_says_how_to_get_one(refusal: Refusal, server: str, line: str) -> None:
    refusal(line, code=1, env={"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": "nou_wrong"})


def test_bot_without_a_token_is_a_usage_error(refusal: Refusal) -> None:
    refusal("bot run random", code=2)


def test_server_that_is_not_there_is_named(noughts: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        result = noughts(f"tournament list --server {address}", code=1)
    assert f"server {address} cannot be reached: nothing listens there\n" in result.stderr
    assert "noughts serve" in result.stderr


def test_serve_announces_itself_in_text(start: Any, database: str) -> None:
    with start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --log-level error") as process:
        assert "serves at 127.0.0.1:" in process.stdout.readline()
        assert "noughts token create" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_says_where_it_is_and_stops_politely(start: Any, database: str, number: signal.Signals) -> None:
    with start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json") as process:
        ready = json.loads(process.stdout.readline())
        assert set(ready) == {"grpc", "web", "metrics"}
        assert ready["web"] is None
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert out == ""
    assert "event=serving" in err
    assert not [line for line in err.splitlines() if "level=info" not in line or "alembic" in line]


def _seen(noughts: Any, env: dict[str, str]) -> tuple[int, int]:
    """Return how many games are over on the server, and how many are running."""
    status = json.loads(noughts("status --once --format json", env=env).stdout)
    return status["games"], status["games_in_flight"]


def test_second_signal_stops_a_server_with_games_at_once(start: Any, database: str, token: str, noughts: Any) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json"))
        env = {"NOUGHTS_SERVER": json.loads(server.stdout.readline())["grpc"], "NOUGHTS_TOKEN": token}
        for name in ("one", "two"):
            bot = stack.enter_context(start(f"bot run random --name {name}", env))
            bot.stdout.readline()
        noughts("tournament create long --games 1000000 --time 600+0", env=env)
        for name in ("one", "two"):
            noughts(f"tournament join long --bot {name}", env=env)
        noughts("tournament start long", env=env)
        # Before the first game begins there is nothing to wait for.
        while not json.loads(noughts("tournament show long --format json", env=env).stdout)["games"]:
            pass
        bot.send_signal(signal.SIGSTOP)  # its games will not end by themselves
        try:
            before, now = None, _seen(noughts, env)
            while before != now or not now[1]:
                before, now = now, _seen(noughts, env)
            server.send_signal(signal.SIGINT)
            with pytest.raises(Exception, match="timed out"):
                server.wait(timeout=1)
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=20)
        finally:
            bot.send_signal(signal.SIGCONT)
        assert server.returncode == 130


def test_serve_refuses_to_be_heard_from_afar_in_plaintext(refusal: Refusal) -> None:
    for listen in ("0.0.0.0:0", "[::]:0", "referee.example.org:7450"):
        refusal(f"serve --no-web --listen {listen}", code=2)


def test_serve_may_be_told_to_be_heard_from_afar(start: Any, database: str) -> None:
    with start(f"serve --no-web --listen 0.0.0.0:0 --insecure --db {database} --format json") as process:
        assert json.loads(process.stdout.readline())["grpc"].startswith("0.0.0.0:")
        process.terminate()
        process.communicate(timeout=30)


def test_port_in_use_is_named(noughts: Any, server: str, tmp_path: Any) -> None:
    result = noughts(f"serve --no-web --listen {server} --db sqlite:///{tmp_path / 'other.db'}", code=1)
    assert server in result.stderr


def test_interrupted_bot_leaves_without_a_traceback(start: Any, server: str, token: str) -> None:
    with start(f"bot run random --server {server} --name mine", {"NOUGHTS_TOKEN": token}) as bot:
        assert "mine" in bot.stdout.readline()
        bot.send_signal(signal.SIGINT)
        _, err = bot.communicate(timeout=30)
    assert bot.returncode == 130
    assert err == ""


@pytest.mark.parametrize("line, code", [("bot run random --name mine", 130), ("watch", 0)])
def test_two_quick_interruptions_are_as_good_as_one(start: Any, server: str, token: str, line: str, code: int) -> None:
    with start(f"{line} --server {server}", {"NOUGHTS_TOKEN": token}) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    # What comes when Python has ended all but itself ends it in the system's way.
    assert process.returncode in (code, -signal.SIGINT)
    assert err == ""


@pytest.fixture
def unused() -> Iterator[str]:
    """An address where nothing listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{unused.getsockname()[1]}"


@pytest.mark.parametrize("spec", ["random", f"exec:{sys.executable} {PLAYER} NOTES honest"])
def test_bot_stops_if_its_first_connection_never_works(
    refusal: Refusal, token: str, unused: str, spec: str, tmp_path: Path
) -> None:
    spec = spec.replace("NOTES", str(tmp_path / "notes"))
    line = f"bot run '{spec}' --name mine --no-lock --server {unused} --wait 0.3"
    refusal(line, code=1, env={"NOUGHTS_TOKEN": token})


def test_bot_at_a_wrong_address_says_so_once_and_goes_on(start: Any, token: str, unused: str) -> None:
    with start(f"bot run random --server {unused}", {"NOUGHTS_TOKEN": token}) as bot:
        said = bot.stdout.readline()
        bot.send_signal(signal.SIGINT)
        rest, err = bot.communicate(timeout=30)
    assert said == (
        f"cannot reach a server at {unused} (nothing listens there): is it running, and is that its address?"
        " Trying again in 0.1 s for 60 s\n"
    )
    assert rest == err == ""


@pytest.mark.parametrize("line", ["bot run nextstep:depth=99", "bot run nobody", "bot run exec:./mybot"])
def test_bot_with_a_wrong_spec_does_not_log_in(refusal: Refusal, server: str, token: str, line: str) -> None:
    refusal(line, code=2, env={"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token})


def test_bot_with_a_wrong_name_is_refused_with_the_reason(refusal: Refusal, server: str, token: str) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    refusal("bot run random --name 'my bot'", code=1, env=env)


def test_bot_beyond_the_scopes_of_its_token_is_told_which_one_to_make(
    noughts: Any, refusal: Refusal, server: str, database: str
) -> None:
    narrow = noughts(f"token create --owner ada --scope play:one --db {database}").stdout.strip()
    refusal("bot run random --name two", code=1, env={"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": narrow})


def test_call_without_a_token_says_where_to_give_it(noughts: Any, server: str) -> None:
    result = noughts("tournament create cup", code=1, env={"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": ""})
    assert result.stderr.startswith("Error: token: got none, expected one in NOUGHTS_TOKEN, --token-file or --token")
    assert "noughts token create --owner NAME" in result.stderr


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
        finished(ask, "agreed")
    games = [ask(f"game show agreed/{number}") for number in range(1, 9)]
    openers = [game["opening"]["opener"] for game in games]
    assert openers == ["alice-lots", "alice-fives"] * 4
    swapped = next(game for game, opener in zip(games, openers, strict=True) if game["first"] != opener)
    number = swapped["game"].rpartition("/")[2]
    watched = json.loads(noughts(f"watch agreed/{number} --format json", env=env).stdout.splitlines()[0])["games"][0]
    assert (watched["first"], watched["second"]) == (swapped["first"], swapped["second"])
    shown = noughts(f"game show agreed/{number}", env=env).stdout
    stones = swapped["opening"]["stones"]
    assert {row["name"] for row in ask("leaderboard --variant gomoku+swap2")["rows"]} == {"alice-lots", "alice-fives"}
    assert f"opening: swap2, {stones} stones agreed on, begun by {swapped['second']}" in shown
    assert f"{swapped['first']} (X) - {swapped['second']} (O)" in shown


def test_a_bot_of_a_tournament_at_a_server_has_a_time_of_its_own(
    ask: Ask, bots: list[str], noughts: Any, env: dict[str, str]
) -> None:
    created = ask("tournament create handicap --time 60/30+1 --time-of alice-minimax=9/move --time-of zoe=none")
    assert (created["time"], created["rated"]) == ("60/30+1", False)
    assert created["own_times"] == {"alice-minimax": "9/move", "zoe": "none"}
    for bot in bots:
        ask(f"tournament join handicap --bot {bot}")
    ask("tournament start handicap")
    finished(ask, "handicap")
    game = ask("game show handicap/1")
    assert (game["first"], game["first_time"], game["second_time"]) == ("alice-random", "60/30+1", "9/move")
    watched = json.loads(noughts("watch handicap/1 --format json", env=env).stdout.splitlines()[0])["games"][0]
    assert (watched["time"], watched["first_time"], watched["second_time"]) == ("60/30+1", "60/30+1", "9/move")
    assert watched["second_clock_ms"] == 9_000
    # For people.
    shown = noughts("tournament show handicap", env=env).stdout
    assert "time 60/30+1 (alice-minimax 9/move, zoe none), 2 games a pair, unrated" in shown
    assert "time 60/30+1 (X) and 9/move (O), seed" in noughts("game show handicap/1", env=env).stdout
