"""Batch ratings share one thread, so that callers cannot take processor time from games."""

import asyncio
import gc
import random
import threading
import weakref

from noughts_server.competition.score import Score
from noughts_server.services.batch_ratings import BatchRater
from noughts_server.store.ratings.rated_pairs import RatedPair
from tests.support.patience import PATIENCE


async def test_batch_ratings_of_cancelled_calls_share_one_thread() -> None:
    names, random_source = [f"bot{number}" for number in range(150)], random.Random(1)
    pairs = [random_source.sample(names, 2) for _ in range(1_500)]

    async def load() -> list[RatedPair]:
        return [RatedPair(first, second, Score(2, 1, 1)) for first, second in pairs]

    rater, before = BatchRater(), set(threading.enumerate())
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for _ in range(4):
            call = tasks.create_task(rater.rate(load, anchors={}, prior=True))
            await asyncio.sleep(0.02)
            call.cancel()
            await asyncio.wait([call])
        answer = await rater.rate(load, anchors={}, prior=True)
    assert len(answer.ratings) == len(names)
    computing = set(threading.enumerate()) - before
    assert len(computing) == 1


async def test_calls_that_wait_for_batch_ratings_hold_no_pairs() -> None:
    rater, finish, references = BatchRater(), asyncio.Event(), list["weakref.ref[Pairs]"]()

    async def load() -> list[RatedPair]:
        pairs = Pairs([RatedPair("ada", "bob", Score(2, 1, 1))])
        references.append(weakref.ref(pairs))
        await finish.wait()
        return pairs

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(rater.rate(load, anchors={}, prior=True, caller=number)) for number in range(20)]
        await asyncio.sleep(0.05)
        assert len(references) == 1
        finish.set()
    assert all(len(call.result().ratings) == 2 for call in calls)
    gc.collect()
    assert [pairs() for pairs in references] == [None] * 20


class Pairs(list[RatedPair]):
    """A list of pairs that can have weak references, by which the test sees whether it is still in memory."""
