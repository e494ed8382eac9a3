"""Games that a player loses because it is gone."""

from typing import NamedTuple

from noughts_referee.game import Player


class LostGame(NamedTuple):
    """A game that a child lost because it died or could not start."""

    tournament: int
    ordinal: int
    side: int
    """The loser's side: 0 moved first, 1 second."""
    ply: int
    moves: tuple[int, ...] = ()
    """These moves, if known."""


def running_games(player: Player) -> tuple[LostGame, ...]:
    """Return the games that the player loses if it is gone now."""
    return tuple(
        LostGame(game.conditions.tournament, game.slot[0], game.side_of(player), game.ply, tuple(game.moves))
        for game in player.games.values()
    )
