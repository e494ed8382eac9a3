"""The mode of the application that watches the games of a feed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_server.cli.screens.application import Application
from noughts_server.cli.screens.watch.feed_state import FeedState
from noughts_server.cli.screens.watch.games_of_feed import GamesOfFeed
from noughts_server.cli.screens.watch.mode import WatchMode
from noughts_server.cli.screens.watch.overview_mode import OverviewMode
from noughts_server.cli.screens.widgets import Board


class Feed:
    """A feed, and the application that watches it."""

    def __init__(self, resource: str, *variants: str) -> None:
        self.state = FeedState(resource, lambda: 5.0)
        self.application = Application(OverviewMode(GamesOfFeed(self.state), "utf-8"))
        self._view = View()
        self.games = [
            pb.WatchedGame(
                name=f"tournaments/cup/games/{number}",
                variant=variant,
                first="ada",
                second="bob",
                state=pb.GAME_STATE_RUNNING,
                moves=[0, 3],
                times_us=[12_000, 400],
                first_clock_us=61_500_000,
            )
            for number, variant in enumerate(variants, start=1)
        ]
        self.send(pb.WatchResponse(snapshot=pb.WatchSnapshot(games=self.games)))

    def send(self, message: pb.WatchResponse) -> None:
        self.state.take(message, self._view)

    def move(self, cell: int) -> None:
        """Let the first game continue."""
        ply = pb.WatchedPly(game=self.games[0].name, ply=2, cell=cell, time_us=1_000)
        self.send(pb.WatchResponse(increments=pb.Increments(plies=[ply])))

    def line(self, name: str) -> str:
        """Return the text of the widget with this name."""
        return str(self.application.screen.query_one(f"#{name}", Static).render())


@asynccontextmanager
async def run_application(feed: Feed, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[None]]:
    """Run the application of the feed in a terminal of this size; the block gets a pilot, which presses keys."""
    async with feed.application.run_test(size=size) as pilot:
        await pilot.pause(0.3)
        yield pilot


async def test_the_overview_shows_half_points() -> None:
    feed = Feed("tournaments/cup", "tictactoe")
    cup = pb.WatchedTournament(name="tournaments/cup", state=tournaments_pb2.TOURNAMENT_STATE_RUNNING)
    cup.standings.add(rank=1, standing=tournaments_pb2.Standing(label="ada", points=2.5))
    feed.send(pb.WatchResponse(snapshot=pb.WatchSnapshot(tournaments=[cup], games=feed.games)))
    async with run_application(feed):
        screen = feed.application.export_screenshot()
    assert "2½" in screen


async def test_a_game_opens_and_closes_over_the_overview() -> None:
    feed = Feed("tournaments/cup", "tictactoe", "connect4")
    async with run_application(feed) as pilot:
        assert isinstance(feed.application.screen, OverviewMode)
        await pilot.press("right", "right", "enter")
        assert feed.line("status") == "cup/2: ada (X) - bob (O)  ply 2, 0.4 ms"
        await pilot.press("p")
        assert feed.line("status").startswith("cup/1: ")
        assert feed.application.screen.query_one(Board).layout_of_board.variant.name == "tictactoe"
        await pilot.press("escape")
        assert isinstance(feed.application.screen, OverviewMode)
        await pilot.press("q")
    assert feed.application.return_code == 0


async def test_a_live_game_follows_its_newest_move_unless_you_look_back() -> None:
    feed = Feed("tournaments/cup/games/1", "tictactoe")
    async with run_application(feed) as pilot:
        assert isinstance(feed.application.screen, WatchMode)
        assert feed.line("message") == "ply 2 of 2: O a2, 0.4 ms"
        await pilot.press("left")
        feed.move(4)
        await pilot.pause(0.3)
        assert feed.line("message") == "ply 1 of 3: X a3, 12 ms"
        await pilot.press("end")
        assert feed.line("message") == "ply 3 of 3: X b2, 1.0 ms"


async def test_a_lost_connection_is_shown_until_it_is_restored() -> None:
    feed = Feed("tournaments/cup/games/1", "tictactoe")
    async with run_application(feed) as pilot:
        feed.state.note_lost("nothing listens there")
        await pilot.pause(0.3)
        assert feed.line("message") == "Connection lost, trying again: nothing listens there"
        feed.move(4)
        await pilot.pause(0.3)
        assert feed.line("message").startswith("ply 3 of 3")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 20), (44, 20)])
@pytest.mark.parametrize("variant", ["tictactoe", "connect4", "gomoku", "qubic"])
async def test_a_watched_game_shows_players_clock_and_moves(variant: str, size: tuple[int, int]) -> None:
    feed = Feed("tournaments/cup/games/1", variant)
    async with run_application(feed, size):
        is_narrow = feed.application.screen.query_one("#strip").display
        text = feed.line("strip" if is_narrow else "players")
        assert "> X ada" in text
        assert "1:01.5" in text
        assert "last: " in text
        assert "oves" in text


async def test_a_variant_that_is_not_installed_stays_in_the_overview() -> None:
    feed = Feed("tournaments/cup/games/1", "square-six")
    async with run_application(feed) as pilot:
        await pilot.press("enter")
        assert isinstance(feed.application.screen, OverviewMode)
