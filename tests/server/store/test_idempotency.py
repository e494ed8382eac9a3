"""Requests that come again."""

from functools import partial

import pytest

from noughts_server.errors import InvalidArgument, RequestConflict
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.idempotency import answer_once
from noughts_server.store.people.tokens import create_token
from tests.support.arena import NOW, Arena


class Counter:
    """Answers differently each time that it is really asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        return f"tournaments/{self.asked}"


async def ask(
    arena: Arena,
    counter: Counter,
    request_id: str = "r1",
    *,
    token_id: int = 1,
    method: str = "Create",
    body: bytes = b"cup",
) -> str:
    return await arena.store.write(
        partial(
            answer_once, token_id=token_id, request_id=request_id, method=method, body=body, now_ms=NOW, action=counter
        )
    )


@pytest.fixture
async def counter(arena: Arena) -> Counter:
    for owner in ("alice", "bob"):
        await arena.store.write(partial(create_token, owner=owner, now_ms=NOW))
    return Counter()


async def test_repeated_request_gets_the_first_answer(arena: Arena, counter: Counter) -> None:
    assert [await ask(arena, counter) for _ in range(3)] == ["tournaments/1"] * 3
    assert counter.asked == 1


async def test_other_requests_are_other_requests(arena: Arena, counter: Counter) -> None:
    answers = [await ask(arena, counter), await ask(arena, counter, "r2"), await ask(arena, counter, token_id=2)]
    assert answers == ["tournaments/1", "tournaments/2", "tournaments/3"]


async def test_request_without_an_id_is_always_new(arena: Arena, counter: Counter) -> None:
    assert [await ask(arena, counter, "") for _ in range(2)] == ["tournaments/1", "tournaments/2"]


async def test_id_of_another_request_is_a_conflict(arena: Arena, counter: Counter) -> None:
    await ask(arena, counter)
    with pytest.raises(RequestConflict, match="r1"):
        await ask(arena, counter, body=b"another")
    with pytest.raises(RequestConflict, match="r1"):
        await ask(arena, counter, method="Join")
    assert counter.asked == 1


async def test_failed_request_is_not_remembered(arena: Arena, counter: Counter) -> None:
    def fail() -> str:
        raise LookupError

    def attempt(connection: Connection) -> str:
        return answer_once(
            connection, token_id=1, request_id="r1", method="Create", body=b"cup", now_ms=NOW, action=fail
        )

    with pytest.raises(LookupError):
        await arena.store.write(attempt)
    assert await ask(arena, counter) == "tournaments/1"


async def test_endless_id_is_an_invalid_argument(arena: Arena, counter: Counter) -> None:
    with pytest.raises(InvalidArgument):
        await ask(arena, counter, "x" * 65)
