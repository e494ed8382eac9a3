"""A bot against a ladder of reference bots whose ratings are known: what it is worth, in about a minute.

The ladders' ratings come from round robins of 10,000 games and more each (`tools/calibrate_ladders.py`). A bot plays as
often against each of the others, and only its own rating is fitted: then what is estimated is what a round robin would
find, but for chance.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, NamedTuple

from noughts_bots.reference.specs import parse_spec
from noughts_server.competition.formats import GAUNTLET
from noughts_server.local.plan import LocalPlan, LocalProgress, LocalStop
from noughts_server.local.run import play_locally
from noughts_server.statistics.batch_fit import FitError
from noughts_server.statistics.batch_ratings import rate
from noughts_server.statistics.rated_games import GameResult, count_games
from noughts_server.store.games.games import ExportedGame
from noughts_server.tables.recorded_game import SCORES

LADDERS: dict[str, dict[str, float]] = json.loads(
    resources.files(__package__).joinpath("ladders.json").read_text(encoding="utf-8")
)["ratings"]
"""Of each variant: the ratings of its reference bots, weakest first more or less."""
_SLOWEST = 5
GAMES_AT_ONCE = 16


class SlowMove(NamedTuple):
    milliseconds: float
    opponent: str
    ply: int


@dataclass(slots=True)
class PoolRating:
    variant: str
    rating: float | None
    """None where it cannot be told: it has lost, or won, every game."""
    error95: float | None
    games: int
    points: float
    opponents: list[tuple[str, float, float, int]]
    """Of each its name, its rating, the points that the bot has taken off it, and of how many games."""
    best: float
    """The ladder's highest rating."""
    faults: list[str] = field(default_factory=list)
    slowest: list[SlowMove] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def behind(self) -> float:
        """How far it is behind the best of the ladder; very far for who has lost every game."""
        return self.best - self.rating if self.rating is not None else (0.0 if self.points else 10_000.0)

    def document(self) -> dict[str, Any]:
        shown = {name: getattr(self, name) for name in ("variant", "rating", "error95", "games", "points", "faults")}
        opponents = [dict(zip(("name", "rating", "points", "games"), row, strict=True)) for row in self.opponents]
        slowest = [move._asdict() for move in self.slowest]
        return {**shown, "opponents": opponents, "slowest": slowest, "seconds": round(self.seconds, 2)}


async def exercise(
    plan: LocalPlan,
    variant: str,
    *,
    stop: LocalStop,
    on_progress: Callable[[LocalProgress], None],
    on_note: Callable[[str], None],
) -> PoolRating:
    """Play the only bot of the plan against each of the variant's ladder but itself. Raises as `play_locally`."""
    began = time.monotonic()
    (spec,) = plan.specs
    anchors = {name: rating for name, rating in LADDERS[variant].items() if name != str(spec)}
    label = spec.label or spec.short
    while label in anchors:
        label += "#2"
    specs = (replace(spec, label=label), *map(parse_spec, anchors))
    played: list[ExportedGame] = []
    settings = replace(plan.settings, variant=variant, concurrency=GAMES_AT_ONCE, schedule=GAUNTLET)
    plan = replace(plan, specs=specs, settings=settings)
    outcome = await play_locally(plan, on_progress=on_progress, stop=stop, export=played.extend, on_note=on_note)
    result = _result(variant, label, anchors, played)
    result.faults = [f"{fault.reason} ({fault.games} games)" for fault in outcome.faults if fault.bot == label]
    result.seconds = time.monotonic() - began
    return result


def _result(variant: str, label: str, anchors: dict[str, float], played: Sequence[ExportedGame]) -> PoolRating:
    played = [game for game in played if game.result in SCORES]
    scores = [GameResult(game.first, game.second, SCORES[game.result]) for game in played]
    taken: dict[str, list[float]] = {name: [] for name in anchors}
    moves: list[SlowMove] = []
    for game, (_, _, score, _) in zip(played, scores, strict=True):
        side = int(game.first != label)
        opponent, times = (game.second, game.first)[side], game.times_us
        taken[opponent].append(abs(side - score))
        moves += [SlowMove(times[ply] / 1000, opponent, ply) for ply in range(side, len(times), 2)]
    slow = sorted(moves, key=lambda move: -move.milliseconds)[:_SLOWEST]
    rating, error = _fitted(label, anchors, scores)
    points, best = sum(map(sum, taken.values())), max(LADDERS[variant].values())
    against = [(name, anchors[name], sum(each), len(each)) for name, each in taken.items()]
    return PoolRating(variant, rating, error, len(scores), points, against, best, slowest=slow)


def _fitted(label: str, anchors: dict[str, float], scores: Sequence[GameResult]) -> tuple[float | None, float | None]:
    """The bot's rating where the others have theirs, and half of its 95 % interval."""
    if not scores:
        return None, None
    try:
        table = rate(count_games(scores), anchors=anchors)
    except FitError:
        return None, None
    (row,) = (player for player in table.players if player.name == label)
    return row.rating, row.error95
