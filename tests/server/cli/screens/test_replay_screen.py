"""The screen that steps through a recorded game."""

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


def replaying() -> Application:
    return Application(WatchMode(RecordedGames(1, GAMES[1], GAMES.get)))


def told(screen: Application) -> str:
    return str(screen.screen.query_one("#message", Static).render())


def marks(screen: Application) -> int:
    drawn = str(screen.screen.query_one(Board).render())
    return drawn.count("X") + drawn.count("O")


async def test_keys_step_through_a_game_from_its_opening_on() -> None:
    screen = replaying()
    async with screen.run_test(size=(40, 14)) as pilot:
        assert told(screen) == "ply 2 of 5: O a2, opening"
        assert marks(screen) == 2
        await pilot.press("right")
        assert told(screen) == "ply 3 of 5: X b3, 12 ms"
        await pilot.press("end")
        assert told(screen).startswith("ply 5 of 5: X c3")
        assert marks(screen) == 5
        await pilot.press("right", "up")
        assert told(screen) == "ply 0 of 5"
        await pilot.press("down")
        assert told(screen).startswith("ply 5 of 5")


async def test_other_games_of_the_file_are_a_key_away() -> None:
    screen = replaying()
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press("n")
        assert str(screen.screen.query_one("#status", Static).render()) == "Game 2: ada - bob"
        assert told(screen) == "ply 0 of 1"
        assert screen.screen.query_one(Board).layout_of_board.variant.name == "gomoku"
        # There is none after it.
        await pilot.press("n", "right")
        assert told(screen) == "ply 1 of 1: X h8"
        await pilot.press("p")
        assert told(screen) == "ply 2 of 5: O a2, opening"
        await pilot.press("q")
    assert screen.return_code == 0
