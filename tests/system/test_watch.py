"""`noughts watch` in a real terminal: the application opens, and prints the standings after it has closed."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from noughts_server.testing import ServerUnderTest, serving
from tests.support.background import bots_online
from tests.support.processes import environment, run_noughts

from .terminal import CTRL_C, LEFT_ALTERNATE_SCREEN, Terminal, terminal


def text_after_application(screen: Terminal) -> str:
    """Return the text that was printed after the application had ended."""
    left, _, rest = screen.written.rpartition(LEFT_ALTERNATE_SCREEN)
    assert left, "no application was opened"
    return rest.decode()


@pytest.fixture
def server() -> Iterator[ServerUnderTest]:
    with serving() as started:
        yield started


def test_a_tournament_is_watched_to_its_end_and_its_standings_remain(server: ServerUnderTest) -> None:
    token = server.token("ada")
    env = environment(NOUGHTS_SERVER=server.address, NOUGHTS_TOKEN=token)
    run_noughts(["tournament", "create", "spring", "--games", "20"], env)
    with terminal(f"watch spring --server {server.address}") as screen:
        screen.until("spring: open, 0 of")
        with bots_online(server.address, token, ada="random", bob="random"):
            for name in ("ada", "bob"):
                run_noughts(["tournament", "join", "spring", "--bot", name], env)
            run_noughts(["tournament", "start", "spring"], env)
            assert screen.wait_for_exit() == 0
        assert screen.mode() == screen.mode_before
    afterwards = text_after_application(screen)
    assert "spring: finished, 20 of 20 games" in afterwards
    assert "ada" in afterwards
    with terminal(f"watch spring --server {server.address}") as screen:
        assert screen.wait_for_exit() == 0
        assert "spring: finished, 20 of 20 games" in screen.text


@pytest.mark.parametrize("key", ["q", CTRL_C])
def test_leaving_restores_the_terminal(server: ServerUnderTest, key: str) -> None:
    with terminal(f"watch --server {server.address}") as screen:
        screen.until("No games are live.")
        screen.press(key)
        assert screen.wait_for_exit() == 0
        assert screen.mode() == screen.mode_before


def test_a_lost_connection_is_reported_and_leaving_still_works() -> None:
    with ExitStack() as stack:
        with serving() as server:
            screen = stack.enter_context(terminal(f"watch --server {server.address}", env={"NO_COLOR": "1"}))
            screen.until("No games are live.")
        screen.until("Connection lost, trying again")
        screen.press("q")
        assert screen.wait_for_exit() == 0


def test_an_unknown_tournament_is_an_error(server: ServerUnderTest) -> None:
    with terminal(f"watch nowhere --server {server.address}", size=(120, 24)) as screen:
        assert screen.wait_for_exit() == 1
        assert "tournaments/nowhere does not exist" in screen.text
