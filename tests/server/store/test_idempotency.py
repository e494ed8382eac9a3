"""Repeated requests with the same id."""

from functools import partial

import pytest
from google.protobuf.message import Message

from noughts_proto.v1.tournaments_pb2 import CreateTournamentRequest, JoinTournamentRequest, Tournament
from noughts_server.core.errors import InvalidArgument, RequestConflict
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.idempotency import idempotent
from noughts_server.store.people.tokens import create_token
from tests.support.arena import NOW, Arena


class Counter:
    """Returns another answer each time that it is called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, connection: Connection) -> str:
        self.calls += 1
        return f"tournaments/{self.calls}"


def creation_request(request_id: str, slug: str = "cup") -> CreateTournamentRequest:
    return CreateTournamentRequest(request_id=request_id, tournament=Tournament(name=slug))


async def answer_of(
    arena: Arena, counter: Counter, request_id: str = "r1", *, token_id: int = 1, request: Message | None = None
) -> str:
    return await arena.store.write(idempotent(token_id, request or creation_request(request_id), counter, now_ms=NOW))


@pytest.fixture
async def counter(arena: Arena) -> Counter:
    for owner in ("alice", "bob"):
        await arena.store.write(partial(create_token, owner=owner, now_ms=NOW))
    return Counter()


async def test_repeated_request_gets_the_first_answer(arena: Arena, counter: Counter) -> None:
    assert [await answer_of(arena, counter) for _ in range(3)] == ["tournaments/1"] * 3
    assert counter.calls == 1


async def test_requests_with_other_ids_or_tokens_are_executed(arena: Arena, counter: Counter) -> None:
    answers = [
        await answer_of(arena, counter),
        await answer_of(arena, counter, "r2"),
        await answer_of(arena, counter, token_id=2),
    ]
    assert answers == ["tournaments/1", "tournaments/2", "tournaments/3"]


async def test_request_without_an_id_is_always_new(arena: Arena, counter: Counter) -> None:
    assert [await answer_of(arena, counter, "") for _ in range(2)] == ["tournaments/1", "tournaments/2"]


async def test_id_of_another_request_is_a_conflict(arena: Arena, counter: Counter) -> None:
    await answer_of(arena, counter)
    with pytest.raises(RequestConflict, match="r1"):
        await answer_of(arena, counter, request=creation_request("r1", "another"))
    with pytest.raises(RequestConflict, match="r1"):
        await answer_of(arena, counter, request=JoinTournamentRequest(request_id="r1", name="cup"))
    assert counter.calls == 1


async def test_failed_request_is_not_remembered(arena: Arena, counter: Counter) -> None:
    def fail(connection: Connection) -> str:
        raise LookupError

    with pytest.raises(LookupError):
        await arena.store.write(idempotent(1, creation_request("r1"), fail, now_ms=NOW))
    assert await answer_of(arena, counter) == "tournaments/1"


async def test_id_that_is_too_long_is_an_invalid_argument(arena: Arena, counter: Counter) -> None:
    with pytest.raises(InvalidArgument):
        await answer_of(arena, counter, "x" * 65)
