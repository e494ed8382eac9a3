"""The overview of a feed on a terminal without keys: redrawn in place, for a terminal without the `play` extra."""

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live

from noughts_server.cli.screens.watch.feed_state import FeedState
from noughts_server.cli.screens.watch.overview import Overview

REDRAWS_PER_SECOND = 8


class RedrawnOverview:
    """Draws the feed eight times a second. At the end all games and the complete standings remain on the screen."""

    def __init__(self, resource: str, console: Console, get_time: Callable[[], float] = time.monotonic) -> None:
        self.state = FeedState(resource, get_time)
        self._overview = Overview(self.state, console.encoding)
        self._console = console
        self._over = False
        self._live = Live(
            get_renderable=self._render,
            console=console,
            refresh_per_second=REDRAWS_PER_SECOND,
            # Nothing else prints here, and the redirected streams would have an unknown encoding.
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> "RedrawnOverview":
        self._live.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._over = True
        self._live.stop()

    def refresh(self) -> None:
        """Redraw now."""
        self._live.refresh()

    def _render(self) -> RenderableType:
        width = self._console.width
        if self._over:
            return self._overview.final(width)
        # Leave the last line free: a display that fills the terminal scrolls.
        return self._overview.live(width, self._console.height - 1)
