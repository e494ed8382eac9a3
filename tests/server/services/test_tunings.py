"""Tunings: workers claim games, report results, and get lost; the server moves the values."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import grpc
import pytest

from noughts_proto.v1 import tunings_pb2 as pb
from noughts_server.core.limits import Limits
from noughts_server.statistics.spsa import Course, Parameter, PlayedIteration, Tuning
from noughts_server.store.tunings import create_or_join_tuning
from tests.support.client import Client, bearer, client_of, refusal_of

PARAMETERS = (
    Parameter(name="attack", start=14.0, low=0.0, high=60.0, step=3.0, rate=0.02, whole=True),
    Parameter(name="defence", start=0.4, low=0.0, high=1.4, step=0.06, rate=0.02, whole=False),
)
PAIRS = 8
FINISHED = pb.TUNING_STATE_FINISHED
RUNNING = pb.TUNING_STATE_RUNNING


def message(name: str = "attack", iterations: int = 3, seed: int | None = 1, **fields: Any) -> pb.Tuning:
    parameters = [
        pb.TuningParameter(
            name=parameter.name,
            start=parameter.start,
            low=parameter.low,
            high=parameter.high,
            step=parameter.step,
            rate=parameter.rate,
            whole=parameter.whole,
        )
        for parameter in PARAMETERS
    ]
    usual: dict[str, Any] = {
        "bot": "py{attack=$attack,defence=$defence}:bot.py",
        "parameters": parameters,
        "games_per_iteration": 2 * PAIRS,
        "conditions": {"variant": '"connect4"', "draw_after": "0"},
    }
    return pb.Tuning(name=f"tunings/{name}", iterations=iterations, seed=seed, **{**usual, **fields})


async def create(client: Client, token: str, tuning: pb.Tuning | None = None) -> pb.CreateTuningResponse:
    request = pb.CreateTuningRequest(tuning=tuning or message())
    return await client.tunings.CreateTuning(request, metadata=bearer(token))


async def claim(client: Client, token: str, worker: str = "one", pairs: int = PAIRS) -> pb.ClaimGamesResponse:
    request = pb.ClaimGamesRequest(name="tunings/attack", worker=worker, pairs=pairs)
    return await client.tunings.ClaimGames(request, metadata=bearer(token))


async def report(client: Client, token: str, claimed: str, wins: int = 0, draws: int = 0, losses: int = 0) -> Any:
    request = pb.ReportGamesRequest(name="tunings/attack", claim=claimed, wins=wins, draws=draws, losses=losses)
    return await client.tunings.ReportGames(request, metadata=bearer(token))


async def leave(client: Client, token: str, worker: str) -> None:
    request = pb.LeaveTuningRequest(name="tunings/attack", worker=worker)
    await client.tunings.LeaveTuning(request, metadata=bearer(token))


async def get(client: Client) -> pb.Tuning:
    return (await client.tunings.GetTuning(pb.GetTuningRequest(name="tunings/attack"))).tuning


async def iterations(client: Client) -> list[pb.TuningIteration]:
    """All complete iterations, from pages of two."""
    found: list[pb.TuningIteration] = []
    request = pb.ListTuningIterationsRequest(name="tunings/attack", page_size=2)
    while True:
        page = await client.tunings.ListTuningIterations(request)
        found += page.iterations
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


def result_of_pair(seed: int, pair: int, plus: Any, minus: Any) -> tuple[int, int, int]:
    """The wins, draws and losses of a pair of games of a deterministic bot."""
    values = [*map(float, plus), *map(float, minus)]
    digest = blake2b(f"{seed} {pair} {values}".encode()).digest()
    wins, draws = digest[0] % 3, 0
    if wins < 2:
        draws = digest[1] % (3 - wins)
    return wins, draws, 2 - wins - draws


def expected_course(count: int) -> Course:
    """The course of a tuning on one machine, with the same bot."""
    course = Course(Tuning(parameters=PARAMETERS, iterations=count, seed=1))
    while not course.finished:
        sets = course.next_pair()
        seed = course.tuning.seed_of_games(course.iteration)
        pairs = [result_of_pair(seed, pair, sets.plus.values(), sets.minus.values()) for pair in range(PAIRS)]
        course.add(PlayedIteration(*map(sum, zip(*pairs, strict=True))))
    return course


async def work(client: Client, token: str, worker: str, pairs: int) -> None:
    """Play until the tuning is finished."""
    while True:
        response = await claim(client, token, worker, pairs)
        if response.progress.state == FINISHED:
            return
        if response.HasField("games"):
            games = response.games
            numbers = range(games.first_pair, games.first_pair + games.pairs)
            results = [result_of_pair(games.seed, pair, games.plus, games.minus) for pair in numbers]
            await report(client, token, games.claim, *map(sum, zip(*results, strict=True)))


@pytest.fixture
async def token(client: Client) -> str:
    return await client.token()


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server whose leases end almost at once."""
    async with client_of(tmp_path / "x.sqlite", tuning_lease=0.05) as client:
        yield client


@pytest.mark.parametrize("workers", [1, 3])
async def test_values_do_not_depend_on_the_number_of_workers(client: Client, token: str, workers: int) -> None:
    await check_values_of_tuning(client, token, workers)


async def check_values_of_tuning(client: Client, token: str, workers: int) -> None:
    """Play a tuning with this number of workers, and compare it with one on a single machine."""
    await create(client, token, message(iterations=25))
    async with asyncio.TaskGroup() as tasks:
        for number in range(workers):
            tasks.create_task(work(client, token, f"worker {number}", 1 + number))
    course = expected_course(25)
    stored = await iterations(client)
    assert [tuple(each.values) for each in stored] == course.values[1:]
    tuning = await get(client)
    assert (tuning.state, tuning.iterations_done, tuning.games_done, tuning.workers) == (FINISHED, 25, 400, 0)
    assert [parameter.last for parameter in tuning.parameters] == [*course.values[-1]]
    assert [(point.iteration, tuple(point.values)) for point in tuning.curve] == [*enumerate(course.values)]
    assert tuning.tuned.startswith(f"py{{attack={tuning.parameters[0].tuned:.0f},defence=")
    assert tuning.HasField("end_time")


async def test_workers_share_the_pairs_of_an_iteration(client: Client, token: str) -> None:
    await create(client, token)
    first = await claim(client, token, "one", pairs=2)
    assert (first.games.iteration, first.games.first_pair, first.games.pairs) == (1, 0, 2)
    # Two workers are left with six pairs.
    second = await claim(client, token, "two", pairs=100)
    assert (second.games.first_pair, second.games.pairs) == (2, 3)
    assert (first.games.seed, first.games.plus, first.games.minus) == (
        second.games.seed,
        second.games.plus,
        second.games.minus,
    )
    assert (await get(client)).workers == 2
    (listed,) = (await client.tunings.ListTunings(pb.ListTuningsRequest(owner="alice", state=RUNNING))).tunings
    assert (listed.name, listed.workers, listed.iterations_done) == ("tunings/attack", 2, 0)


async def test_games_of_a_lost_worker_are_given_to_another(hasty: Client) -> None:
    token = await hasty.token()
    await create(hasty, token, message(iterations=1))
    lost = (await claim(hasty, token, "lost")).games
    again = (await claim(hasty, token, "other")).games  # waits for the end of the lease
    assert (again.first_pair, again.pairs, again.seed) == (lost.first_pair, lost.pairs, lost.seed)
    late = await report(hasty, token, lost.claim, wins=16)
    assert (late.counted, late.progress.iterations_done) == (False, 0)
    counted = await report(hasty, token, again.claim, losses=16)
    assert (counted.counted, counted.progress.state) == (True, FINISHED)
    (iteration,) = await iterations(hasty)
    assert (iteration.wins, iteration.draws, iteration.losses) == (0, 0, 16)


async def test_games_of_a_lost_worker_are_shared_by_workers_that_ask_for_fewer(client: Client, token: str) -> None:
    await create(client, token, message(iterations=1))
    lost = (await claim(client, token, "lost")).games
    await leave(client, token, "lost")
    parts = [(await claim(client, token, "other", pairs)).games for pairs in (1, 5, 100)]
    assert [(part.first_pair, part.pairs) for part in parts] == [(0, 1), (1, 5), (6, 2)]
    assert not (await report(client, token, lost.claim, wins=16)).counted
    for part in parts:
        last = await report(client, token, part.claim, draws=2 * part.pairs)
    assert last.progress.state == FINISHED
    (iteration,) = await iterations(client)
    assert (iteration.wins, iteration.draws, iteration.losses) == (0, 16, 0)


async def test_late_report_counts_if_nobody_else_has_the_games(client: Client, token: str) -> None:
    await create(client, token, message(iterations=1))
    games = (await claim(client, token)).games
    await leave(client, token, "one")  # ends the lease
    assert (await report(client, token, games.claim, draws=16)).counted


async def test_renewed_claim_is_not_given_to_another(client: Client, token: str) -> None:
    await create(client, token, message(iterations=1))
    games = (await claim(client, token)).games
    renew = pb.RenewClaimRequest(name="tunings/attack", claim=games.claim)
    assert (await client.tunings.RenewClaim(renew, metadata=bearer(token))).held
    await report(client, token, games.claim, wins=16)
    assert not (await client.tunings.RenewClaim(renew, metadata=bearer(token))).held


async def test_repeated_report_counts_once(client: Client, token: str) -> None:
    await create(client, token, message(iterations=2))
    games = (await claim(client, token)).games
    first = await report(client, token, games.claim, wins=10, losses=6)
    repeated = await report(client, token, games.claim, wins=10, losses=6)
    assert (first, first.counted, first.progress.iterations_done) == (repeated, True, 1)
    assert len(await iterations(client)) == 1


async def test_games_of_a_worker_that_leaves_are_free_at_once(client: Client, token: str) -> None:
    await create(client, token, message(iterations=1))
    await claim(client, token, "one")
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(claim(client, token, "two"))
        await leave(client, token, "one")
    assert waiting.result().games.pairs == PAIRS
    assert (await get(client)).workers == 1


async def test_equal_tuning_is_joined_and_another_is_refused(client: Client, token: str) -> None:
    assert (await create(client, token)).created
    joined = await create(client, token, message(seed=None))
    assert (joined.created, joined.tuning.seed) == (False, 1)
    for other, difference in (
        (message(iterations=4), "iterations 3, got 4"),
        (message(seed=2), "seed 1, got 2"),
        (message(conditions={"variant": '"gomoku"', "draw_after": "0"}), 'variant "connect4", got "gomoku"'),
        (message(games_per_iteration=4), "games 16, got 4"),
    ):
        refusal = await refusal_of(create(client, token, other))
        assert refusal.code is grpc.StatusCode.ALREADY_EXISTS
        assert refusal.status.message == f"tunings/attack was created with {difference}"
    changed = message()
    changed.parameters[1].step = 0.07
    assert "step of defence 0.06, got 0.07" in (await refusal_of(create(client, token, changed))).status.message


async def test_tuning_belongs_to_its_owner(client: Client, token: str) -> None:
    await create(client, token)
    mallory = await client.token("mallory")
    for call in (create(client, mallory), claim(client, mallory), report(client, mallory, "x")):
        assert (await refusal_of(call)).code is grpc.StatusCode.PERMISSION_DENIED
    # Another token of the owner works on it.
    assert (await claim(client, await client.token())).games.pairs == PAIRS


async def test_deleted_tuning_can_be_created_again(client: Client, token: str) -> None:
    await create(client, token)
    games = (await claim(client, token)).games
    await report(client, token, games.claim, wins=3)
    request = pb.DeleteTuningRequest(name="tunings/attack")
    await client.tunings.DeleteTuning(request, metadata=bearer(token))
    assert (await refusal_of(get(client))).code is grpc.StatusCode.NOT_FOUND
    assert (await create(client, token, message(iterations=1))).created
    assert [tuple(point.values) for point in (await get(client)).curve] == [(14.0, 0.4)]


async def test_unfinished_tunings_of_an_owner_are_limited(tmp_path: Path) -> None:
    async with client_of(tmp_path / "x.sqlite", limits=Limits(tunings=2)) as client:
        token = await client.token()
        for name in ("attack", "two"):
            await create(client, token, message(name, iterations=1))
        refusal = await refusal_of(create(client, token, message("three")))
        assert (refusal.code, refusal.info.metadata["limit"]) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "tunings")
        await report(client, token, (await claim(client, token)).games.claim, wins=1)
        assert (await create(client, token, message("three"))).created


async def test_cancelled_request_that_created_a_tuning_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = pb.CreateTuningRequest(tuning=message()).ByteSize()
    async with client_of(tmp_path / "x.sqlite", limits=Limits(settings_bytes=2 * size - 1)) as client:
        token, store = await client.token(), client.server.store
        write, written, cancelled = store.write, asyncio.Event(), asyncio.Event()

        async def write_until_cancelled(function: Any) -> Any:
            result = await write(function)
            if getattr(function, "func", None) is not create_or_join_tuning:
                return result
            written.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        async with asyncio.TaskGroup() as tasks:
            monkeypatch.setattr(store, "write", write_until_cancelled)
            creating = tasks.create_task(create(client, token))
            await written.wait()
            monkeypatch.setattr(store, "write", write)
            creating.cancel()
            await cancelled.wait()
        refusal = await refusal_of(create(client, token, message("another")))
        assert refusal.info.metadata["limit"] == "settings_bytes"
        admin = await client.token("root", "admin")
        for name in ("first", "second"):
            await create(client, admin, message(name))


@pytest.mark.parametrize(
    "field, changes",
    [
        ("tuning.name", {"name": "A"}),
        ("tuning.bot", {"bot": "py{attack=$attack}:bot.py"}),
        ("tuning.parameters", {"parameters": []}),
        ("tuning.iterations", {"iterations": 100_001}),
        ("tuning.games_per_iteration", {"games_per_iteration": 3}),
        ("tuning.conditions.variant", {"conditions": {"variant": "connect4"}}),
    ],
)
async def test_wrong_tunings_are_refused(client: Client, token: str, field: str, changes: dict[str, Any]) -> None:
    assert (await refusal_of(create(client, token, message(**changes)))).fields() == [field]


@pytest.mark.parametrize(
    "field, value",
    [("name", "1"), ("low", 60.0), ("start", -1.0), ("step", 0.0), ("rate", 2.0), ("high", float("nan"))],
)
async def test_wrong_parameters_are_refused(client: Client, token: str, field: str, value: Any) -> None:
    tuning = message()
    setattr(tuning.parameters[0], field, value)
    refusal = await refusal_of(create(client, token, tuning))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.fields()[0].startswith("tuning.parameters[0].")


async def test_more_games_than_claimed_are_refused(client: Client, token: str) -> None:
    await create(client, token)
    games = (await claim(client, token, pairs=1)).games
    assert (await refusal_of(report(client, token, games.claim, wins=3))).fields() == ["wins"]
    assert (await refusal_of(report(client, token, games.claim, wins=-1))).fields() == ["wins"]
