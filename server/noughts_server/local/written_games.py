"""The games of a tournament, handed on in slot order while they are played."""

import threading
from collections.abc import Callable, Iterator

from noughts_server.store.engine.database import Connection
from noughts_server.store.games.games import ExportedGame, export
from noughts_server.store.tournaments.tournaments import Tournament


class WrittenGames:
    """What has been handed on of one tournament. Used from the threads that read the store."""

    def __init__(self, write: Callable[[Iterator[ExportedGame]], None]) -> None:
        self._write = write
        self._through = 0
        self._complete = False
        # Who is interrupted while this goes on in its thread writes the rest in another one.
        self._lock = threading.Lock()

    def add(self, connection: Connection, tournament: Tournament) -> None:
        """Hands on what is new, up to the first slot that has no game yet."""
        with self._lock:
            if not self._complete and tournament.folded > self._through:
                after, self._through = self._through, tournament.folded
                self._write(export(connection, tournament.id, after=after, through=tournament.folded))

    def add_rest(self, connection: Connection, tournament: Tournament) -> None:
        """Hands on all that is left; nothing follows."""
        with self._lock:
            self._complete = True
            self._write(export(connection, tournament.id, after=self._through))
