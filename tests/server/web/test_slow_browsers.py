"""Browsers that read slowly or not at all: waiting events are limited, and each game is still shown correctly."""

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import Any

import pytest

from noughts_bots.connection.event_loop import run_loop
from noughts_server.testing import ServerUnderTest
from noughts_server.web.event_streams import LiveSettings
from noughts_server.web.visitors import SiteLimits
from tests.support.patience import PATIENCE
from tests.support.site import Events, Site, connection_to, live_game, site_of

VARIANT = "mnk:30,30,30"
CELLS = random.Random(1).sample(range(900), 900)
"""A game without a winning line, with more events than fit into the buffers of a connection."""
SMALL_BUFFER = 4096

both_loops = pytest.mark.parametrize("run", [asyncio.run, run_loop], ids=["asyncio", "uvloop"])


@contextmanager
def slow_browser(site: Site, path: str) -> Iterator[Events]:
    """A stream of events through small buffers."""
    with connection_to(site, receive_bytes=SMALL_BUFFER) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nhost: here\r\naccept-encoding: gzip\r\n\r\n".encode())
        with HTTPResponse(connection) as response:
            response.begin()
            yield Events(response)


class GameView:
    """The moves of a game as a browser knows them from events."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self.moves: list[int] = []
        self.snapshots = 0

    def read(self, plies: int) -> None:
        """Read events up to this ply. Each continues where the last ended."""
        while not self.snapshots or len(self.moves) < plies:
            event = self._events.next()
            assert event is not None
            if event.kind == "snapshot":
                self.moves = event.data["games"][0]["moves"]
                self.snapshots += 1
            else:
                for ply in event.data["plies"]:
                    assert ply["ply"] == len(self.moves)
                    self.moves.append(ply["cell"])

    def read_rest(self) -> None:
        """Read to the end of the stream."""
        self.read(len(CELLS))
        while (event := self._events.next()) is not None:
            last = event.kind
        assert last == "over"


@both_loops
def test_a_browser_that_does_not_read_gets_a_snapshot(server: ServerUnderTest, run: Callable[[Any], object]) -> None:
    settings = LiveSettings(buffered=4)
    with (
        site_of(
            server.address, settings, run=run, send_bytes=SMALL_BUFFER, limits=SiteLimits(unread_seconds=PATIENCE)
        ) as site,
        live_game(server, site, variant=VARIANT) as game,
        slow_browser(site, f"/api/v1/{game.name}/events") as slow_events,
        site.events(f"/api/v1/{game.name}/events") as events,
    ):
        slow, quick = GameView(slow_events), GameView(events)
        slow.read(0)
        game.play(*CELLS)
        quick.read_rest()
        slow.read_rest()
        assert slow.moves == quick.moves == CELLS
        assert (slow.snapshots, quick.snapshots) == (2, 1)


@both_loops
def test_a_browser_that_pauses_sees_each_ply_once(server: ServerUnderTest, run: Callable[[Any], object]) -> None:
    settings = LiveSettings(buffered=len(CELLS))
    with (
        site_of(
            server.address, settings, run=run, send_bytes=SMALL_BUFFER, limits=SiteLimits(unread_seconds=PATIENCE)
        ) as site,
        live_game(server, site, variant=VARIANT) as game,
        slow_browser(site, f"/api/v1/{game.name}/events") as slow_events,
        site.events(f"/api/v1/{game.name}/events") as events,
    ):
        slow, quick = GameView(slow_events), GameView(events)
        for start, end in (0, 700), (700, 800):
            game.play(*CELLS[start:end])
            quick.read(end)
            slow.read(end)
        game.play(*CELLS[800:])
        slow.read_rest()
        assert slow.moves == CELLS
        assert slow.snapshots == 1
