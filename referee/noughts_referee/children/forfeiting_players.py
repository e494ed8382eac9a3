"""Where players sit that cannot be started: they lose every game at once, and nobody waits for them."""

import asyncio
from collections.abc import Callable

from noughts_referee.children.lost_games import LostGame, running_games
from noughts_referee.frame_connection import MOST_GAMES
from noughts_referee.referee import ConnectedPlayer
from noughts_referee.referee_protocols import PlayerReferee
from noughts_referee.rules import Termination


class ForfeitingPlayers:
    """The wire of all benched players of a referee.

    Games that begin with one are lost as crashed in the loop's next turn; of two such players the one with the lower
    key loses.
    """

    capacity_timed = capacity_untimed = MOST_GAMES

    def __init__(self, referee: PlayerReferee) -> None:
        self._referee = referee
        self._players: list[tuple[ConnectedPlayer, str, Callable[[tuple[LostGame, ...]], None]]] = []
        self._due = False

    def add(self, player: ConnectedPlayer, fault: str, on_lost: Callable[[tuple[LostGame, ...]], None]) -> None:
        """Benches a player for good, because of `fault`, a phrase that follows "it".

        Its running games are lost, too; `on_lost` hears of each.
        """
        self._players.append((player, fault, on_lost))
        self._players.sort(key=lambda benched: benched[0].key)
        self._referee.joined(player, self)
        self.wake()

    def wake(self) -> None:
        """One of the players has been told something."""
        # Not at once: the games that begin in place of those lost would bring us here again, ever deeper.
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
