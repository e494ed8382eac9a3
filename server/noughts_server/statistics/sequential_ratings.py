"""Ratings game by game in two other systems, each by its library, to compare with ours.

Neither knows the first-move advantage. `glicko2` computes the volatility with the rating in the place of the deviation
(step 5 of M. Glickman, "Example of the Glicko-2 system", 2012), which changes ratings by less than one point.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from glicko2 import Player
from openskill.models import PlackettLuce, PlackettLuceRating

from noughts_server.statistics.elo_scale import NORMAL_95
from noughts_server.statistics.rating_table import Estimate

RatedGame = tuple[str, str, float]
"""First mover, second mover, and the first mover's score: 1, 0.5 or 0."""

_SCALE = 60.0
"""Points for each of OpenSkill's, so that its ratings begin at 1500 instead of 25."""


def glicko2_ratings(games: Iterable[RatedGame], _ranked: Collection[str] = ()) -> dict[str, Estimate]:
    """Return Glicko-2 ratings by player; each game is a rating period of its two players."""
    players: defaultdict[str, Player] = defaultdict(Player)
    for first, second, score in games:
        one, other = players[first], players[second]
        before = [one.rating], [one.rd]
        one.update_player([other.rating], [other.rd], [score])
        other.update_player(*before, [1 - score])
    return {name: Estimate(player.rating, NORMAL_95 * player.rd) for name, player in players.items()}


def openskill_ratings(games: Iterable[RatedGame], _ranked: Collection[str] = ()) -> dict[str, Estimate]:
    """Return OpenSkill's ratings by player: its Plackett-Luce model with its usual settings, times 60."""
    model = PlackettLuce()
    players: defaultdict[str, PlackettLuceRating] = defaultdict(model.rating)
    for first, second, score in games:
        # Lower ranks are better; equal ones are a draw.
        rated = model.rate([[players[first]], [players[second]]], ranks=[1 - score, score])
        [players[first]], [players[second]] = rated
    return {name: Estimate(_SCALE * player.mu, NORMAL_95 * _SCALE * player.sigma) for name, player in players.items()}
