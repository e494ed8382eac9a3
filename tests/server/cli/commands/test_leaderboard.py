"""`noughts leaderboard`, `noughts bot history` and `noughts bot games`."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from noughts_server.cli.options.rating_list import KnownList, choose_list
from tests.server.cli.conftest import Ask, Refusal, Transcript
from tests.support.processes import eventually


@pytest.fixture
def played_games(noughts: Any, database: str) -> None:
    """Play 40 games of each two of three reference bots in the database."""
    path = database.removeprefix("sqlite:///")
    noughts(f"tournament run random pascal minimax --games 40 --concurrency 32 --seed 3 --db {path} --format json")


@pytest.fixture
def ask(played_games: None, noughts: Any, server: str) -> Ask:
    """Run a command at a server on that database, and return its JSON."""

    def run(line: str) -> Any:
        return json.loads(noughts(f"{line} --server {server} --format json").stdout)

    return run


def test_leaderboard_history_games_and_head_to_head_of_bots(
    ask: Ask, noughts: Any, refusal: Refusal, server: str
) -> None:
    # The server judges games a moment after it stored them.
    eventually(lambda: ask("leaderboard")["rows"], lambda rows: all(row["judged_games"] == 80 for row in rows))
    board = ask("leaderboard --settled")
    assert {row["name"] for row in board["rows"]} == {"random", "pascal", "minimax"}
    assert {(row["owner"], row["online"]) for row in board["rows"]} == {("local", False)}
    assert ask("leaderboard --min-games 81")["rows"] == []
    assert ask(f"leaderboard --min-games {2**64 - 1}")["rows"] == []
    refusal(f"leaderboard --min-games {2**64} --server {server}", code=2)
    assert ask("leaderboard --online")["rows"] == []
    assert ask("leaderboard --owner local") == board
    assert ask("rating-lists") == {
        "rating_lists": [
            {"name": "tictactoe/untimed", "variant": "tictactoe", "time_class": "untimed", "bots": 3, "games": 120}
        ]
    }
    bot = ask("bot show random")
    [rating] = bot.pop("ratings")
    assert bot == {
        "name": "random",
        "owner": "local",
        "latest_version": "bots/random/versions/random",
        "online": False,
        "retired": None,
        "submission": None,
        "description": None,
        "link": None,
    }
    assert rating.pop("rating_list") == board["rating_list"]
    assert rating.items() <= next(row for row in board["rows"] if row["name"] == "random").items()

    history = ask("bot history random")
    assert (history["games"], history["rating"]) == (80, rating["rating"])
    assert [point["games"] for point in history["points"]] == [*range(1, 65), *range(66, 81, 2)]

    lines = noughts(f"bot games random --limit 100 --server {server} --format json").stdout.splitlines()
    games = [json.loads(line) for line in lines]
    assert len(games) == 80
    assert all("random" in (game["first"], game["second"]) for game in games)
    numbers = [int(game["game"].rpartition("/")[2]) for game in games]
    assert numbers == sorted(numbers, reverse=True)

    score = ask("head-to-head minimax random --limit 2")
    assert sum(score["total"]["first"].values()) == sum(score["total"]["second"].values()) == 20
    assert score["variants"] == {"tictactoe": score["total"]}
    assert [game["game"] for game in score["games"]] == [
        game["game"] for game in games if "minimax" in (game["first"], game["second"])
    ][:2]

    assert (board["view"], ask("leaderboard --view live")["view"]) == ("fit", "live")
    assert all(row["rank_low"] <= row["rank"] <= row["rank_high"] for row in board["rows"])
    assert ask("leaderboard --view live")["rows"][0]["view_rating"] is None
    table = noughts(f"leaderboard --server {server}").stdout
    assert re.search(r"losses +accuracy\n", table)
    assert re.search(r"minimax .* 100\.0% of \d+\n", table)
    refusal(f"leaderboard --view elo --server {server}", code=2)

    for line, text in {
        "leaderboard": "the ranks that the games allow",
        "leaderboard --view live": "Live Elo: game by game",
        "leaderboard --online": "No bot in this list matches the filters.",
        "rating-lists": "tictactoe",
        "bot show random": "tictactoe/untimed",
        "bot history random": "after 80 rated games",
        "bot history random --variant mnk:5,5,4": "No rated game here yet.",
        "bot games random --limit 3": "minimax",
        "head-to-head minimax random": "moved first",
    }.items():
        assert text in noughts(f"{line} --server {server}").stdout


@pytest.fixture
def two_lists(noughts: Any, database: str) -> None:
    """Rated games in two lists, neither of them the usual one."""
    path = database.removeprefix("sqlite:///")
    noughts(f"tournament run random fives --games 2 --variant connect4 --db {path}")
    noughts(f"tournament run random fives --games 4 --variant mnk:5,5,4 --time 1/move --db {path}")


@pytest.mark.usefixtures("two_lists")
@pytest.mark.parametrize("line, prefix", [("leaderboard", ""), ("bot history random", "random in ")])
def test_list_with_most_games_is_shown_if_none_is_named(
    noughts: Any, request: pytest.FixtureRequest, line: str, prefix: str
) -> None:
    server = request.getfixturevalue("server")

    def first_and_last_lines(words: str) -> tuple[str, list[str]]:
        """Return the first line of the output, and the last two."""
        lines = noughts(f"{words} --server {server}").stdout.splitlines()
        return lines[0], lines[-2:]

    connect4_is_left = [
        "Other lists, with their games: connect4/untimed (2).",
        "For the first: --variant connect4 --time-class untimed",
    ]
    mnk_is_left = [
        "Other lists, with their games: mnk:5,5,4/bullet (4).",
        "For the first: --variant mnk:5,5,4 --time-class bullet",
    ]
    for words, name, last_lines in (
        (line, "mnk:5,5,4/bullet", connect4_is_left),
        (f"{line} --time-class bullet", "mnk:5,5,4/bullet", connect4_is_left),
        (f"{line} --variant connect4", "connect4/untimed", mnk_is_left),
    ):
        assert first_and_last_lines(words) == (f"{prefix}{name}", last_lines)
    first, last = first_and_last_lines(f"{line} --variant renju")
    assert first == f"{prefix}renju/untimed"
    assert last[0] == "Other lists, with their games: mnk:5,5,4/bullet (4), connect4/untimed (2)."


@pytest.mark.parametrize(
    "known, options, name",
    [
        ((), (None, None), "tictactoe/untimed"),
        (((7, "renju", "blitz"), (1, "tictactoe", "untimed")), (None, None), "tictactoe/untimed"),
        (((7, "renju", "blitz"), (0, "tictactoe", "untimed")), (None, None), "renju/blitz"),
        (((7, "renju", "blitz"), (9, "renju", "rapid")), ("renju", None), "renju/rapid"),
        (((7, "renju", "blitz"), (9, "renju", "rapid")), ("caro", "rapid"), "caro/rapid"),
    ],
)
def test_chosen_list_is_the_usual_one_or_has_most_games(
    known: tuple[tuple[int, str, str], ...], options: tuple[str | None, str | None], name: str
) -> None:
    lists = [KnownList(variant, time_class, games) for games, variant, time_class in known]
    assert "/".join(choose_list(lists, *options)) == name


@pytest.mark.parametrize(
    "line", ["bot show nobody", "bot history nobody", "bot games nobody", "head-to-head nobody you"]
)
def test_error_for_an_unknown_bot_says_how_to_list_bots(transcript: Transcript, server: str, line: str) -> None:
    transcript(f"{line} --server {server}", code=1)


@pytest.mark.parametrize("line", ["bot show a/b", "bot games mine@2", "head-to-head a b/c"])
def test_invalid_name_of_a_bot_is_a_usage_error(refusal: Refusal, line: str) -> None:
    refusal(line, code=2)
