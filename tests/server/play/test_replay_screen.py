"""The screen that steps through a recorded game."""

from __future__ import annotations

from textual.widgets import Static

from noughts_referee.rules import parse_variant
from noughts_server.play.replay_screen import ReplayedGame, ReplayScreen
from noughts_server.play.widgets import Board

TICTACTOE = parse_variant("tictactoe")
GAMES = {
    1: ReplayedGame("a - b", TICTACTOE, (0, 3, 1, 4, 2), 2, (0, 0, 12.0, 3, 4), frozenset({0, 1, 2})),
    2: ReplayedGame("c - d", parse_variant("gomoku"), (112,)),
}


def told(screen: ReplayScreen) -> str:
    return str(screen.query_one("#ply", Static).render())


def marks(screen: ReplayScreen) -> int:
    drawn = str(screen.query_one(Board).render())
    return drawn.count("X") + drawn.count("O")


async def test_keys_step_through_a_game_from_its_opening_on() -> None:
    screen = ReplayScreen(1, GAMES[1], GAMES.get)
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
    screen = ReplayScreen(1, GAMES[1], GAMES.get)
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press("n")
        assert str(screen.query_one("#title", Static).render()) == "Game 2: c - d"
        assert told(screen) == "ply 0 of 1"
        assert screen.query_one(Board).layout_of_board.variant.name == "gomoku"
        # There is none after it.
        await pilot.press("n", "right")
        assert told(screen) == "ply 1 of 1: X h8"
        await pilot.press("p")
        assert told(screen) == "ply 2 of 5: O a2, opening"
        await pilot.press("q")
    assert screen.return_code == 0
