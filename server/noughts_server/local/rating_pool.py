"""Rate a bot against a pool of reference bots whose ratings are known, in about a minute.

The bot plays equally often against each bot of the pool, and only its own rating is fitted. So the estimate is that of
a round robin, apart from chance.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from noughts_bots.reference.specs import parse_spec
from noughts_server.competition.formats import GAUNTLET
from noughts_server.local.plan import LocalPlan, LocalProgress, LocalStop
from noughts_server.local.reference_pools import REFERENCE_POOLS
from noughts_server.local.run import play_locally
from noughts_server.statistics.batch_fit import FitError
from noughts_server.statistics.batch_ratings import rate
from noughts_server.statistics.rated_games import GameResult, count_games
from noughts_server.store.games.exports import ExportedGame
from noughts_server.tables.recorded_game import SCORES

_SLOWEST = 5
GAMES_AT_ONCE = 16
"""The number of concurrent games."""


class SlowMove(NamedTuple):
    milliseconds: float
    opponent: str
    ply: int


class PoolOpponent(NamedTuple):
    name: str
    rating: float
    points: float
    """The points that the rated bot won against it."""
    games: int


@dataclass(slots=True)
class PoolRating:
    variant: str
    rating: float | None
    """None if the bot lost or won every game."""
    error95: float | None
    games: int
    points: float
    opponents: list[PoolOpponent]
    best: float
    """The highest rating in the pool."""
    faults: list[str] = field(default_factory=list)
    slowest: list[SlowMove] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def behind(self) -> float:
        """Return the difference to the best bot of the pool: 10,000 if the bot lost every game, 0 if it won all."""
        if self.rating is not None:
            return self.best - self.rating
        return 0.0 if self.points else 10_000.0

    def document(self) -> dict[str, Any]:
        return {
            "variant": self.variant,
            "rating": self.rating,
            "error95": self.error95,
            "games": self.games,
            "points": self.points,
            "faults": self.faults,
            "opponents": [opponent._asdict() for opponent in self.opponents],
            "slowest": [move._asdict() for move in self.slowest],
            "seconds": round(self.seconds, 2),
        }


async def exercise(
    plan: LocalPlan,
    variant: str,
    *,
    stop: LocalStop,
    on_progress: Callable[[LocalProgress], None],
    on_note: Callable[[str], None],
) -> PoolRating:
    """Rate the only bot of the plan against the variant's pool without itself. Raises as `play_locally`."""
    began = time.monotonic()
    (spec,) = plan.specs
    anchors = {name: rating for name, rating in REFERENCE_POOLS[variant].ratings.items() if name != str(spec)}
    label = spec.label or spec.short
    while label in anchors:
        label += "#2"
    specs = (replace(spec, label=label), *map(parse_spec, anchors))
    games: list[ExportedGame] = []
    settings = replace(plan.settings, variant=variant, concurrency=GAMES_AT_ONCE, schedule=GAUNTLET)
    plan = replace(plan, specs=specs, settings=settings)
    outcome = await play_locally(plan, on_progress=on_progress, stop=stop, export=games.extend, on_note=on_note)
    result = _result(variant, label, anchors, games)
    result.faults = [f"{fault.reason} ({fault.games} games)" for fault in outcome.faults if fault.bot == label]
    result.seconds = time.monotonic() - began
    return result


def _result(variant: str, label: str, anchors: dict[str, float], games: Sequence[ExportedGame]) -> PoolRating:
    """Return the rating and the counts from the stored games."""
    played = [game for game in games if game.result in SCORES]
    scores = [GameResult(game.first, game.second, SCORES[game.result]) for game in played]
    points_by_opponent: dict[str, list[float]] = {name: [] for name in anchors}
    moves: list[SlowMove] = []
    for game, (_, _, score, _) in zip(played, scores, strict=True):
        side = int(game.first != label)
        opponent = game.first if side else game.second
        times = game.times_us
        # `score` has the points of the first mover.
        points_by_opponent[opponent].append(1 - score if side else score)
        moves += [SlowMove(times[ply] / 1000, opponent, ply) for ply in range(side, len(times), 2)]
    slow = sorted(moves, key=lambda move: -move.milliseconds)[:_SLOWEST]
    rating, error = _fitted(label, anchors, scores)
    points = sum(map(sum, points_by_opponent.values()))
    best = max(REFERENCE_POOLS[variant].ratings.values())
    return PoolRating(
        variant=variant,
        rating=rating,
        error95=error,
        games=len(scores),
        points=points,
        opponents=[
            PoolOpponent(name=name, rating=anchors[name], points=sum(scores_against), games=len(scores_against))
            for name, scores_against in points_by_opponent.items()
        ],
        best=best,
        slowest=slow,
    )


def _fitted(label: str, anchors: dict[str, float], scores: Sequence[GameResult]) -> tuple[float | None, float | None]:
    """Fit the bot's rating to the fixed ratings of the others; return it and half of its 95 % interval."""
    if not scores:
        return None, None
    try:
        table = rate(count_games(scores), anchors=anchors)
    except FitError:
        return None, None
    (row,) = (player for player in table.players if player.name == label)
    return row.rating, row.error95
