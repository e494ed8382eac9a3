"""Play the round robins that rate the reference pools: `python tools/calibrate_pools.py [VARIANT ...]`.

Prints the rows for server/noughts_server/local/reference_pools.py: at least 10,000 games for each variant.
"""

import asyncio
import itertools
import math
import sys
import time
from collections.abc import Iterator, Sequence

from noughts_bots.reference.specs import parse_spec
from noughts_referee.clock import TimeControl
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.plan import LocalPlan, LocalStop
from noughts_server.local.reference_pools import REFERENCE_POOLS, ReferencePool
from noughts_server.local.run import play_locally
from noughts_server.statistics.batch_ratings import rate
from noughts_server.statistics.rated_games import GameResult, count_games
from noughts_server.store.games.exports import ExportedGame
from noughts_server.tables.recorded_game import SCORES

_GAMES = 10_000
"""Games of each pool, at least."""
_RANDOM = 1_000.0
"""Elo of the bot `random`, on which the scale is fixed."""


async def _ratings_in(variant: str, bots: Sequence[str]) -> tuple[dict[str, float], int]:
    """Return the ratings of the bots in this variant, and the number of games."""
    pairs = len(list(itertools.combinations(bots, 2)))
    each = 2 * math.ceil(_GAMES / pairs / 2)
    games: list[GameResult] = []

    def export(played: Iterator[ExportedGame]) -> None:
        games.extend(GameResult(game.first, game.second, SCORES[game.result]) for game in played)

    settings = TournamentSettings(variant=variant, time=TimeControl(), games_per_pair=each, concurrency=64, seed=17)
    plan = LocalPlan(specs=tuple(map(parse_spec, bots)), settings=settings)
    await play_locally(plan, on_progress=lambda progress: None, stop=LocalStop(), export=export)
    table = rate(count_games(games), anchors={"random": _RANDOM})
    ratings = {player.name: player.rating for player in table.players}
    return {name: round(ratings[name] or 0.0, 1) for name in bots}, len(games)


def main() -> None:
    """Calibrate the variants that are named, or all. To change a pool, first change the names in its ratings."""
    for variant in sys.argv[1:] or list(REFERENCE_POOLS):
        began = time.monotonic()
        ratings, games = asyncio.run(_ratings_in(variant, list(REFERENCE_POOLS[variant].ratings)))
        print(f"# {time.monotonic() - began:.0f} s")
        print(f"{ReferencePool(variant, games, ratings)},")


if __name__ == "__main__":
    main()
