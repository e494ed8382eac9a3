"""Plays the round robins that give the reference pool their ratings: `python tools/calibrate_ladders.py [VARIANT ...]`.

Writes server/noughts_server/local/ladders.json: at least 10,000 games a variant, the weakest bot's rating 1,000.
"""

import asyncio
import itertools
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from noughts_bots.reference.specs import parse_spec
from noughts_referee.clock import TimeControl
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.plan import LocalPlan, LocalStop
from noughts_server.local.run import play_locally
from noughts_server.statistics.batch_ratings import rate
from noughts_server.statistics.rated_games import GameResult, count_games
from noughts_server.store.games.games import ExportedGame

_FILE = Path(__file__).parents[1] / "server" / "noughts_server" / "local" / "ladders.json"
_GAMES = 10_000
_RANDOM = 1_000.0
_SCORES = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}


async def _calibrated(variant: str, ladder: Sequence[str]) -> tuple[dict[str, float], int]:
    """Return the ratings of the ladder's bots in this variant, and the number of games."""
    pairs = len(list(itertools.combinations(ladder, 2)))
    each = 2 * math.ceil(_GAMES / pairs / 2)
    games: list[GameResult] = []

    def export(played: Iterator[ExportedGame]) -> None:
        games.extend(GameResult(game.first, game.second, _SCORES[game.result]) for game in played)

    settings = TournamentSettings(variant=variant, time=TimeControl(), games_per_pair=each, concurrency=64, seed=17)
    plan = LocalPlan(specs=tuple(map(parse_spec, ladder)), settings=settings)
    await play_locally(plan, on_progress=lambda progress: None, stop=LocalStop(), export=export)
    table = rate(count_games(games), anchors={"random": _RANDOM})
    ratings = {player.name: player.rating for player in table.players}
    return {name: round(ratings[name] or 0.0, 1) for name in ladder}, len(games)


def main() -> None:
    """Calibrate the variants that are named, or all. To change a ladder, first change its names in the file."""
    found = json.loads(_FILE.read_text())
    for variant in sys.argv[1:] or list(found["ratings"]):
        began = time.monotonic()
        found["ratings"][variant], found["games"][variant] = asyncio.run(
            _calibrated(variant, list(found["ratings"][variant]))
        )
        seconds = time.monotonic() - began
        games, ratings = found["games"][variant], found["ratings"][variant]
        print(f"{variant}: {games:,} games in {seconds:.0f} s: {ratings}")  # its output
        _FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
