"""Players that cannot be started. They lose every game at once, so that no opponent waits for them."""

import asyncio
from collections.abc import Callable

from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.frame_connection import MOST_GAMES
from noughts_referee.game import LostGame, running_games
from noughts_referee.referee_protocols import PlayerReferee
from noughts_referee.rules import Termination


class ForfeitingPlayers:
    """The connection of all disabled players of a referee.

    It ends their games as lost by a crash, in the next iteration of the event loop.

    If both players of a game are disabled, the one with the lower key loses.
    """

    capacity_timed = capacity_untimed = MOST_GAMES
    online = True

    def __init__(self, referee: PlayerReferee) -> None:
        self._referee = referee
        self._players: list[tuple[ConnectedPlayer, str, Callable[[tuple[LostGame, ...]], None]]] = []
        self._due = False

    def add(self, player: ConnectedPlayer, fault: str, on_lost: Callable[[tuple[LostGame, ...]], None]) -> None:
        """Disable a player permanently because of `fault`, a phrase that follows "it", and lose its running games.

        `on_lost` is called with the lost games.
        """
        self._players.append((player, fault, on_lost))
        self._players.sort(key=lambda disabled: disabled[0].key)
        self._referee.connect(player, self)
        self.wake()

    def wake(self) -> None:
        """Lose the games of the player's outbox soon."""
        # A direct call would be recursive: the games that replace the lost ones call this method again.
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._lose)

    def _lose(self) -> None:
        self._due = False
        for player, fault, on_lost in self._players:
            player.take_outbox()
            if player.games:
                on_lost(running_games(player))
                self._referee.forfeit(player, Termination.CRASHED, fault)
