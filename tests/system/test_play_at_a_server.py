"""`noughts play` at a server, in a real terminal: against people and bots."""

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from noughts_server.testing import ServerUnderTest, serving
from tests.support.processes import environment, first_line, started

from .terminal import terminal


@pytest.fixture
def server() -> Iterator[ServerUnderTest]:
    with serving(reconnect_timeout=3.0) as started:
        yield started


def test_two_people_play_each_other_through_a_server(server: ServerUnderTest) -> None:
    ada, bob = ({"NOUGHTS_TOKEN": server.token(owner), "NOUGHTS_SERVER": server.address} for owner in ("ada", "bob"))
    with terminal("play --wait --mark O", env=ada) as waiting:
        waiting.until("Waiting to be challenged as ada-person.")
        with terminal("play --with bot:ada-person --mark X --games 2", env=bob) as calling:
            calling.until("Your turn (X).")
            calling.press("5")
            waiting.until("last: b2 (bob-person)")
            waiting.until("Your turn (O).")
            waiting.press("5")
            waiting.until("b2 is taken: choose a free cell.")
            waiting.press("7")
            calling.until("last: a3 (ada-person)")
            calling.press("9")
            waiting.until("last: c3 (bob-person)")
            waiting.press("8")
            calling.until("last: b3 (ada-person)")
            calling.until(lambda shown: re.search(r"1[45]:\d\d", shown) is not None)
            calling.press("u")
            calling.until("On a server you cannot take back a move.")
            calling.press("1")
            calling.until("You win: the line is complete.")
            waiting.until("bob-person wins: the line is complete.")
            # Ada begins the second game, which starts after both have seen the end of the first one.
            waiting.until("Your turn (O).")
            waiting.press("q")
            waiting.until("Resign this game and leave? y/n")
            waiting.press("n")
            waiting.until_without("Resign")
            waiting.press("q")
            waiting.until("Resign this game and leave? y/n")
            waiting.press("y")
            assert waiting.wait_for_exit() == 0
            assert waiting.is_restored
            calling.until("You win: ada-person resigned.")
            calling.until("All played.")
            calling.press("q")
            assert calling.wait_for_exit() == 0
            assert "tictactoe, 2 games: you 2, draws 0, ada-person 0" in calling.written.decode()


def test_a_bot_at_a_server_is_an_opponent_like_any_other(server: ServerUnderTest) -> None:
    env = {"NOUGHTS_TOKEN": server.token("ada"), "NOUGHTS_SERVER": server.address}
    with started(["bot", "run", "first-free", "--name", "rival"], environment(**env)) as bot:
        assert "online" in first_line(bot)
        with terminal("play --with bot:rival --mark X", env=env) as screen:
            screen.until("Your turn (X).")
            for key, reply in zip("591", ["a3", "b3", ""], strict=True):
                screen.press(key)
                screen.until(f"last: {reply} (rival)" if reply else "You win: the line is complete.")
            screen.until("All played. Press n to challenge again, q to leave.")
            screen.press("n")
            screen.until("game 2")
            screen.until("Your turn (X).")
            screen.press("q")
            screen.until("Resign this game and leave? y/n")
            screen.press("y")
            assert screen.wait_for_exit() == 0
            assert "tictactoe, 2 games: you 1, draws 0, rival 1" in screen.written.decode()


def test_a_person_loses_on_time_at_a_server(server: ServerUnderTest) -> None:
    ada, bob = ({"NOUGHTS_TOKEN": server.token(owner), "NOUGHTS_SERVER": server.address} for owner in ("ada", "bob"))
    with terminal("play --wait", env=ada) as waiting:
        waiting.until("Waiting to be challenged")
        with terminal("play --with bot:ada-person --time 1/move", env=bob) as calling:
            calling.until("ada-person wins: you were too slow.")
            waiting.until("You win: bob-person was too slow.")


def test_the_screen_shows_a_lost_connection() -> None:
    with ExitStack() as stack:
        with serving() as server:
            env = {"NOUGHTS_TOKEN": server.token("ada"), "NOUGHTS_SERVER": server.address}
            screen = stack.enter_context(terminal("play --wait", env=env))
            screen.until("Waiting to be challenged")
        screen.until("connection lost")
        screen.press("q")
        assert screen.wait_for_exit() == 0
        assert screen.is_restored


def test_wrong_options_are_refused_before_the_screen_opens(server: ServerUnderTest) -> None:
    server_option = f"--server {server.address}"
    token = {"NOUGHTS_TOKEN": server.token("ada")}
    cases = [
        ("play nobody", {}, 2, "nobody"),
        ("play pascal --variant mnk:5,5,4", {}, 2, "variant mnk:5,5,4"),
        ("play pascal --time 60+1", {}, 2, "2/move"),
        (f"play pascal {server_option}", token, 2, "--with bot:NAME or --wait"),
        (f"play --wait --with bot:x {server_option}", token, 2, "--wait"),
        (f"play --with bot:nobody {server_option}", token, 1, "bots/nobody"),
        (f"play --wait {server_option}", {"NOUGHTS_TOKEN": "nou_wrong"}, 1, "token"),
        (f"play --wait {server_option}", {}, 2, "token"),
        ("play --wait --server 127.0.0.1:1", token, 1, "cannot be reached"),
    ]
    for line, env, code, words in cases:
        with terminal(line, env=env, size=(200, 24)) as screen:
            assert screen.wait_for_exit() == code, (line, screen.text)
            assert words in screen.text, line
            assert b"\x1b[?1049h" not in screen.written, line
