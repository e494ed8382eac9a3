"""Turns of callers: the waiting caller that has used the least time is next."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from noughts_server.core.turns import Turns, give_way, working
from noughts_server.store.engine.database import ANSWERERS, Store
from noughts_server.store.engine.sqlite import url_of
from tests.support.patience import PATIENCE


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(url_of(tmp_path / "x.sqlite"))
    yield opened
    await opened.close()


async def test_callers_that_wait_take_turns() -> None:
    turns, order = Turns(1), list[str]()

    async def call(caller: str) -> None:
        async with turns.turn(caller):
            order.append(caller)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        for caller in ("greedy",) * 5 + ("modest", "other", "modest"):
            tasks.create_task(call(caller))
    assert order == ["greedy", "greedy", "modest", "other", "greedy", "modest", "greedy", "greedy"]
    assert not turns.busy


async def test_a_new_caller_is_next_although_many_others_wait() -> None:
    now, order = 0.0, list[str]()
    turns = Turns(1, lambda: now)

    async def call(caller: str) -> None:
        async with turns.turn(caller):
            order.append(caller)

    greedy = [f"address {number}" for number in range(3)]
    for seconds, caller in enumerate(greedy, 3):
        turns.charge(caller, seconds)
    async with asyncio.TaskGroup() as tasks, turns.turn("first"):
        for caller in (*reversed(greedy), *greedy, "new"):
            tasks.create_task(call(caller))
        await asyncio.sleep(0)
        now = 60.0  # time that was used a minute ago hardly counts
        turns.charge(greedy[0], 1)
    assert order == ["new", *(caller for caller in greedy[1:] for _ in range(2)), greedy[0], greedy[0]]


async def test_work_turns_out_to_be_costly_while_others_wait_with_it() -> None:
    turns, order = Turns(1), list[str]()

    async def call(caller: str, work: str, seconds: float) -> None:
        async with turns.turn(caller, (work,)):
            order.append(caller)
            turns.charge(caller, seconds, (work,))

    turns.charge("known", 0.05, ("short",))
    async with asyncio.TaskGroup() as tasks, turns.turn("first"):
        for number in range(5):
            tasks.create_task(call(f"new {number}", "long", 1.0))
        tasks.create_task(call("known", "short", 0.05))
        await asyncio.sleep(0)
    assert order == ["new 0", "known", "new 1", "new 2", "new 3", "new 4"]


async def test_groups_of_callers_get_one_turn_after_the_other() -> None:
    turns, order = Turns(1), list[str]()

    async def call(caller: str, group: str) -> None:
        async with turns.turn(caller, group=group):
            order.append(group)

    turns.charge("ada", 5.0)
    async with asyncio.TaskGroup() as tasks, turns.turn("first"):
        for number in range(3):
            tasks.create_task(call(f"address {number}", "strangers"))
        tasks.create_task(call("ada", "owners"))
        tasks.create_task(call("visitor", "websites"))
        await asyncio.sleep(0)
    assert order == ["strangers", "owners", "websites", "strangers", "strangers"]
    assert not turns.busy


async def test_a_cancelled_turn_costs_what_its_thread_used(store: Store) -> None:
    started, order = threading.Event(), list[str]()
    all_threads = threading.Barrier(ANSWERERS)

    def work(connection: object) -> None:
        started.set()
        began = time.thread_time()
        while time.thread_time() - began < 0.05:
            pass

    def wait(event: threading.Event, connection: object) -> None:
        event.wait(PATIENCE)

    def append_caller(caller: str, connection: object) -> None:
        order.append(caller)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        costly = tasks.create_task(store.answer(work, "costly"))
        await asyncio.to_thread(started.wait, PATIENCE)
        costly.cancel()
        # Answers that need all threads wait until that of the cancelled call has done its work.
        answers_on_all_threads = [
            store.answer(lambda connection: all_threads.wait(PATIENCE), number) for number in range(ANSWERERS)
        ]
        await asyncio.gather(*answers_on_all_threads)
        events = [threading.Event() for _ in range(ANSWERERS)]
        for hold in events:
            tasks.create_task(store.answer(partial(wait, hold), hold))
        await asyncio.sleep(0)
        waiting = [
            tasks.create_task(store.answer(partial(append_caller, caller), caller)) for caller in ("costly", "new")
        ]
        await asyncio.sleep(0)
        events[0].set()
        await asyncio.wait(waiting)
        for hold in events:
            hold.set()
    assert order == ["new", "costly"]


async def test_calls_that_are_cancelled_give_their_places_back() -> None:
    turns = Turns(1)

    async def call() -> None:
        async with turns.turn("one"):
            await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        async with turns.turn("first"):
            waiting = [tasks.create_task(call()) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
        waiting[1].cancel()  # it has been given the place, but its task has not run since
        await asyncio.wait(waiting)
        await call()
    assert [task.cancelled() for task in waiting] == [True, True, False]


async def test_a_caller_is_identified_while_all_answers_take_long(store: Store) -> None:
    finish = threading.Event()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        for caller in range(ANSWERERS + 3):
            tasks.create_task(store.answer(lambda connection: finish.wait(PATIENCE), caller))
        await asyncio.sleep(0)
        assert await store.identify(lambda connection: "known") == "known"
        assert await store.read(lambda connection: "read by the server itself") == "read by the server itself"
        finish.set()


async def test_threads_rest_between_slices_while_callers_wait() -> None:
    turns, rests = Turns(1), dict[bool, float]()

    def work() -> None:
        # The thread's own processor time, so that other processes do not count.
        began, used = time.monotonic(), time.thread_time()
        with working(turns):
            while time.thread_time() - used < 0.02:
                give_way()
        rests[turns.busy] = time.monotonic() - began

    async def wait() -> None:
        async with turns.turn("two"):
            pass

    async with asyncio.TaskGroup() as tasks, turns.turn("one"):
        tasks.create_task(wait())
        await asyncio.sleep(0)
        await asyncio.to_thread(work)
    # While callers wait, at most a fifth of the time is work: 0.02 s of work take at least 0.1 s, with some tolerance.
    assert rests[True] > 0.08
