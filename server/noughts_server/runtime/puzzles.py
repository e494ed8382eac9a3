"""Search stored games for puzzles in processes of the lowest priority, so that live games are hardly slowed down."""

import asyncio
import time
from collections.abc import Callable
from functools import partial

import structlog

from noughts_bots.reference.puzzles import Puzzle
from noughts_server.runtime.endless_work import logging_errors
from noughts_server.runtime.judging_process import JudgingError, ask_process
from noughts_server.runtime.puzzle_search import COMMAND, puzzles_of, question
from noughts_server.store.engine.database import Store
from noughts_server.store.games.puzzles import GamesToSearch, next_unsearched, store_puzzles

logger = structlog.get_logger("noughts.puzzles")

GAMES_A_STEP = 32
"""Games of one process: enough to be worth its start."""
# The pause after a step, as a multiple of the step's duration: while games run, and while none runs.
_PLAYING_RATIO = 19
_IDLE_RATIO = 1
_FIRST_PAUSE_SECONDS = 30.0
"""The pause before the first step, because a server that starts has more urgent work."""
_LONGEST_PAUSE_SECONDS = 60.0
"""Limit of the pause after one step."""
_NOTHING_PAUSE_SECONDS = 10.0
"""The pause if there was no game to search, or the step failed."""
# The times after which the search of a step is ended, and that of a single game.
_LONGEST_STEP_SECONDS = 600.0
_LONGEST_GAME_SECONDS = 60.0


async def finding_puzzles(
    store: Store,
    count_running: Callable[[], int],
    leads: Callable[[], bool],
    first_pause: float = _FIRST_PAUSE_SECONDS,
) -> None:
    """Search games until cancelled. Of the servers of a cluster only the one that `leads` does it.

    Tournaments take turns. One process runs at a time.
    """
    last_tournament = 0
    pause = first_pause
    while True:
        await asyncio.sleep(pause)
        began = time.monotonic()
        pause = _NOTHING_PAUSE_SECONDS
        with logging_errors(logger, "puzzle_search_failed"):
            if not leads():
                continue
            games = await store.read(partial(next_unsearched, most=GAMES_A_STEP, after=last_tournament))
            if games is not None:
                last_tournament = games.tournament_id
                await search(store, games)
                ratio = _PLAYING_RATIO if count_running() else _IDLE_RATIO
                pause = min(ratio * (time.monotonic() - began), _LONGEST_PAUSE_SECONDS)


async def search(store: Store, games: GamesToSearch) -> int:
    """Search these games and store their puzzles; return their number."""
    puzzles = await _find_puzzles(games) if games.games else []
    return await store.write(partial(store_puzzles, searched=games, puzzles_by_game=puzzles))


async def _find_puzzles(games: GamesToSearch) -> list[list[Puzzle]]:
    """Return the puzzles of each game.

    If the search fails, search each game in a process of its own. A game whose own search fails counts as searched and
    has no puzzles.
    """
    seconds = _LONGEST_STEP_SECONDS if len(games.games) > 1 else _LONGEST_GAME_SECONDS
    try:
        return puzzles_of(await ask_process(COMMAND, question(games), seconds))
    except (JudgingError, TypeError, ValueError) as failure:
        if len(games.games) == 1:
            ordinal = games.games[0].ordinal
            logger.error(
                "puzzle_search_failed", tournament_id=games.tournament_id, ordinal=ordinal, reason=str(failure)
            )
            return [[]]
    puzzles = []
    for game in games.games:
        puzzles += await _find_puzzles(games._replace(games=[game]))
    return puzzles
