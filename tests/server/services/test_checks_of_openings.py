"""Checks of openings can take seconds, but delay neither the database nor other owners."""

import asyncio
import threading
from functools import partial
from typing import Any

import grpc
import pytest

from noughts_proto.v1 import challenges_pb2, types_pb2
from noughts_proto.v1.tournaments_pb2 import Openings
from noughts_referee.clock import TimeControl
from noughts_server.convert import settings as settings_conversions
from noughts_server.convert.times import time_control
from noughts_server.core.computing import compute
from noughts_server.openings import settings
from tests.support.client import Client, bearer, refusal_of

SLOW: dict[str, Any] = {"variant": "mnk:30,30,5", "openings": Openings(kind="balanced", plies=1)}
"""Settings whose check takes long: the server gives up on finding a balanced opening after 200 searches."""


async def test_writes_continue_while_openings_are_checked(client: Client) -> None:
    token, store = await client.token(), client.server.store
    writes = 0
    async with asyncio.TaskGroup() as tasks:
        check = tasks.create_task(refusal_of(client.create(token, **SLOW)))
        while not check.done():
            await store.write(lambda connection: None)
            writes += 1
            await asyncio.sleep(0.01)
    assert check.result().code is grpc.StatusCode.INVALID_ARGUMENT
    assert writes > 10


async def test_one_owner_has_eight_checks_of_openings_at_once(client: Client) -> None:
    token, is_over = await client.token(), threading.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(compute(0, is_over.wait))  # the checks wait for this one
        calls = [tasks.create_task(refusal_of(client.create(token, f"cup-{number}", **SLOW))) for number in range(9)]
        done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        is_over.set()
        for call in waiting:
            call.cancel()
    (refusal,) = [await call for call in done]
    assert (refusal.reason, refusal.info.metadata["limit"]) == ("LIMIT_REACHED", "owner_checks")
    await client.create(token, "plain")  # without openings, it waits for no check


async def test_long_settings_are_read_outside_the_event_loop(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    threads, listed = list[str](), settings._listed

    def noting_listed(text: str) -> tuple[tuple[int, ...], ...]:
        threads.append(threading.current_thread().name)
        return listed(text)

    def noting_time_control(message: types_pb2.TimeControl) -> TimeControl:
        threads.append(threading.current_thread().name)
        return time_control(message)

    monkeypatch.setattr(settings, "_listed", noting_listed)
    monkeypatch.setattr(settings_conversions, "time_control", noting_time_control)
    token, bad = await client.token(), Openings(kind="list", text="1 x")
    assert (await refusal_of(client.create(token, openings=bad))).fields() == ["tournament.openings"]
    await client.create(token, own_times={"ada": types_pb2.TimeControl(move_us=1)})
    assert {name.partition("_")[0] for name in threads} == {"openings"}


async def test_challenge_has_times_of_two_bots_at_most(client: Client) -> None:
    times = {f"bot{number}": types_pb2.TimeControl(move_us=1) for number in range(3)}
    request = challenges_pb2.CreateChallengeRequest(challenger="bots/ada", opponent="bots/bob", own_times=times)
    refusal = await refusal_of(client.challenges.CreateChallenge(request, metadata=bearer(await client.token())))
    assert refusal.fields() == ["own_times"]


async def test_owners_compute_by_turns() -> None:
    order: list[str] = []
    async with asyncio.TaskGroup() as tasks:
        for owner, name in ((1, "a0"), (1, "a1"), (1, "a2"), (2, "b0")):
            tasks.create_task(compute(owner, partial(order.append, name), lambda: False))
    assert order == ["a0", "b0", "a1", "a2"]
