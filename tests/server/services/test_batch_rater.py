"""Batch ratings share one thread: callers cannot take the processor of games with them."""

import asyncio
import random
import threading

from noughts_server.competition.score import Score
from noughts_server.services.batch_ratings import BatchRater
from noughts_server.store.ratings.rated_pairs import RatedPair


async def test_batch_ratings_of_cancelled_calls_share_one_thread() -> None:
    names, chance = [f"bot{number}" for number in range(150)], random.Random(1)
    drawn = [chance.sample(names, 2) for _ in range(1_500)]
    pairs = [RatedPair(first, second, Score(2, 1, 1)) for first, second in drawn]
    rater, before = BatchRater(), set(threading.enumerate())
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        for _ in range(4):
            call = tasks.create_task(rater.rate(pairs, anchors={}, prior=True))
            await asyncio.sleep(0.02)
            call.cancel()
            await asyncio.wait([call])
        answer = await rater.rate(pairs, anchors={}, prior=True)
    assert len(answer.ratings) == len(names)
    computing = set(threading.enumerate()) - before
    assert len(computing) == 1
