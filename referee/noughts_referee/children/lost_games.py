"""Games that a player loses by not being there any more."""

from typing import NamedTuple

from noughts_referee.game import Player


class LostGame(NamedTuple):
    """A game that a child lost by dying, or because it could not be started."""

    tournament: int
    ordinal: int
    side: int
    """The loser's: 0 moved first, 1 second."""
    ply: int
    """Moves that had been made."""
    moves: tuple[int, ...] = ()
    """These moves, where they are known."""


def running_games(player: Player) -> tuple[LostGame, ...]:
    """The games that the player loses if it is gone now."""
    return tuple(
        LostGame(game.conditions.tournament, game.slot[0], game.side_of(player), game.ply, tuple(game.moves))
        for game in player.games.values()
    )
