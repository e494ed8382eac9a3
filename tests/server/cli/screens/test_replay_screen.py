"""The application of `noughts records show`: keys step through a recorded game."""

from __future__ import annotations

from textual.widgets import Static

from noughts_referee.rules import parse_variant
from noughts_server.cli.screens.application import Application
from noughts_server.cli.screens.shown_game import ShownGame, ShownPlayer
from noughts_server.cli.screens.watch.mode import WatchMode
from noughts_server.cli.screens.watch.recorded import RecordedGames
from noughts_server.cli.screens.widgets import Board

TICTACTOE = parse_variant("tictactoe")
PLAYERS = (ShownPlayer(name="ada", mark="X"), ShownPlayer(name="bob", mark="O"))
GAMES = {
    1: ShownGame(
        variant=TICTACTOE,
        caption="game 1",
        players=PLAYERS,
        moves=(0, 3, 1, 4, 2),
        status="Game 1: ada - bob",
        over=True,
        opening_plies=2,
        times_ms=(0, 0, 12.0, 3, 4),
        winning=frozenset({0, 1, 2}),
    ),
    2: ShownGame(
        variant=parse_variant("gomoku"),
        caption="game 2",
        players=PLAYERS,
        moves=(112,),
        status="Game 2: ada - bob",
        over=True,
    ),
}


def replay_application() -> Application:
    """The application with the first of `GAMES`."""
    return Application(WatchMode(RecordedGames(1, GAMES[1], GAMES.get)))


def message_text(application: Application) -> str:
    return str(application.screen.query_one("#message", Static).render())


def count_stones(application: Application) -> int:
    board_text = str(application.screen.query_one(Board).render())
    return board_text.count("X") + board_text.count("O")


async def test_keys_step_through_a_game_from_its_opening_on() -> None:
    application = replay_application()
    async with application.run_test(size=(40, 14)) as pilot:
        assert message_text(application) == "ply 2 of 5: O a2, opening"
        assert count_stones(application) == 2
        await pilot.press("right")
        assert message_text(application) == "ply 3 of 5: X b3, 12 ms"
        await pilot.press("end")
        assert message_text(application).startswith("ply 5 of 5: X c3")
        assert count_stones(application) == 5
        await pilot.press("right", "up")
        assert message_text(application) == "ply 0 of 5"
        await pilot.press("down")
        assert message_text(application).startswith("ply 5 of 5")


async def test_keys_open_the_next_and_previous_game_of_the_file() -> None:
    application = replay_application()
    async with application.run_test(size=(80, 24)) as pilot:
        await pilot.press("n")
        assert str(application.screen.query_one("#status", Static).render()) == "Game 2: ada - bob"
        assert message_text(application) == "ply 0 of 1"
        assert application.screen.query_one(Board).layout_of_board.variant.name == "gomoku"
        # There is no game after the second.
        await pilot.press("n", "right")
        assert message_text(application) == "ply 1 of 1: X h8"
        await pilot.press("p")
        assert message_text(application) == "ply 2 of 5: O a2, opening"
        await pilot.press("q")
    assert application.return_code == 0
