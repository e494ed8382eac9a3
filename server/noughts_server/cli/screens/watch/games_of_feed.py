"""The games of a feed, for the mode that watches."""

import asyncio
import time
from collections.abc import Callable
from threading import Event, Thread

from noughts_proto.v1 import feed_pb2 as pb
from noughts_referee.rules import VariantError, parse_variant
from noughts_server.cli import printing
from noughts_server.cli.drawing.feed_lines import clocks_of, short_game
from noughts_server.cli.screens.board_layout import WON
from noughts_server.cli.screens.clocks import precise
from noughts_server.cli.screens.shown_game import ShownGame, ShownPlayer
from noughts_server.cli.screens.watch.feed_state import FeedState
from noughts_server.cli.screens.watch.game_picture import state_text
from noughts_server.cli.screens.watch.mode import WatchSource
from noughts_server.client.client import Client

_REDRAWN_SECONDS = 0.125
_CONNECTING_SECONDS = 3.0
"""Seconds for which the screen stays closed while the server has not answered."""
_POLL_SECONDS = 0.05
_BRIEF_SECONDS = 0.3
"""A feed that ends within this time after its first message has nothing live."""


class GamesOfFeed(WatchSource):
    """Follows a feed in a thread of its own, and shows one of its games."""

    def __init__(self, state: FeedState) -> None:
        super().__init__()
        self.state = state
        self.selected = ""
        """The name of the shown game; empty if the feed has had no game yet."""
        self.failure: Exception | None = None
        """The error that ended the feed."""
        self.stays: Callable[[], bool] = lambda: False
        """Return whether the screen stays open after the end of the feed; the screen sets it."""
        self._over = Event()
        self._shown: ShownGame | None = None

    def follow(self, client: Client) -> None:
        """Start to follow the feed, until the client's connection is closed."""

        def follow() -> None:
            try:
                client.follow(self.state.resource, self.state.take, self.state.note_lost)
            except Exception as error:
                self.failure = error
            self._over.set()

        Thread(target=follow, name="noughts-feed", daemon=True).start()

    def is_brief(self) -> bool:
        """Wait for the first message, and return whether the feed ends with it."""
        deadline = time.monotonic() + _CONNECTING_SECONDS
        while not self.state.view.has_snapshot and time.monotonic() < deadline:
            if self._over.wait(_POLL_SECONDS):
                return True
        return self._over.wait(_BRIEF_SECONDS)

    async def run(self) -> None:
        while not self._over.is_set() or (self.failure is None and self.stays()):
            self.notice = "Over. Press q to leave." if self._over.is_set() else self.state.lost_reason
            self.on_change()
            await asyncio.sleep(_REDRAWN_SECONDS)
        self.leave()

    def select(self) -> None:
        """Select the first game, unless one is selected."""
        with self.state.lock:
            self.selected = self.selected or next(iter(self.state.view.games), "")

    @property
    def can_show(self) -> bool:
        """Whether there is a game whose variant is installed here."""
        return self._current() is not None

    @property
    def game(self) -> ShownGame:
        game = self._current()
        assert game is not None  # the mode asks `can_show` before it opens
        return game

    @property
    def first_ply(self) -> None:
        return None

    def turn(self, step: int) -> bool:
        with self.state.lock:
            names = list(self.state.view.games)
        position = (names.index(self.selected) if self.selected in names else 0) + step
        if not 0 <= position < len(names):
            return False
        self.selected = names[position]
        self._shown = None
        return True

    def _current(self) -> ShownGame | None:
        """Return the selected game; if the feed no longer has it, its last state. None if it cannot be shown."""
        self.select()
        with self.state.lock:
            games = self.state.view.games
            if self.selected in games:
                self._shown = _screen_game(games[self.selected], self.state.seconds_since_move(self.selected))
            return self._shown


def _screen_game(game: pb.WatchedGame, seconds_since_move: float) -> ShownGame | None:
    """Return the game for the screen; None if its variant is not installed. Running clocks count since the last ply."""
    try:
        variant = parse_variant(game.variant)
    except VariantError:
        return None
    is_over = game.state == pb.GAME_STATE_ENDED
    mover = len(game.moves) % 2
    is_running = game.state == pb.GAME_STATE_RUNNING
    clocks: list[str | None] = []
    for side, clock_us in enumerate(clocks_of(game)):
        if clock_us is None:
            clocks.append(None)
        else:
            used_seconds = seconds_since_move if is_running and side == mover else 0.0
            clocks.append(precise(clock_us / 1e6 - used_seconds))
    first, second = printing.printable(game.first), printing.printable(game.second)
    name = printing.printable(short_game(game.name))
    return ShownGame(
        variant=variant,
        caption=name,
        players=(
            ShownPlayer(name=first, mark="X", clock=clocks[0]),
            ShownPlayer(name=second, mark="O", clock=clocks[1]),
        ),
        moves=tuple(game.moves),
        status=f"{name}: {first} (X) - {second} (O)  {state_text(game)}",
        over=is_over,
        scores=dict(game.scores),
        times_ms=tuple(microseconds / 1000 for microseconds in game.times_us),
        winning=frozenset(game.winning_cells),
        winning_colour=WON,
    )
