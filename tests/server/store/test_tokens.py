"""Owners and their tokens."""

import hashlib
import re
from functools import partial

import pytest

from noughts_server.core.errors import InvalidArgument, NotFound, PermissionDenied, Unauthenticated
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.tokens import (
    NewToken,
    authenticate,
    create_owner,
    create_token,
    list_tokens,
    revoke_token,
    token_page,
    touch_token,
)
from tests.support.arena import NOW, Arena


async def make_token(arena: Arena, owner: str = "alice", label: str = "laptop") -> NewToken:
    return await arena.store.write(partial(create_token, owner=owner, label=label, now_ms=NOW))


async def test_secret_is_random_and_only_its_hash_is_stored(arena: Arena) -> None:
    one, other = await make_token(arena), await make_token(arena)
    assert re.fullmatch(r"nou_[A-Za-z0-9_-]{32}", one.secret)
    assert one.secret != other.secret
    assert arena.rows("SELECT hash FROM tokens WHERE id = 1") == [(hashlib.sha256(one.secret.encode()).digest(),)]
    await arena.store.close()
    if arena.path.exists():
        assert one.secret.encode() not in arena.path.read_bytes()


async def test_token_identifies_its_owner(arena: Arena) -> None:
    await make_token(arena, "bob")
    made = await make_token(arena)
    caller = await arena.store.read(partial(authenticate, secret=made.secret, now_ms=NOW))
    assert (caller.token_id, caller.owner) == (made.token.id, "alice")
    assert caller.owner_id == await arena.store.write(partial(create_owner, name="alice"))


@pytest.mark.parametrize("secret", ["", "nou_", "nou_" + "x" * 32, "\ud800"])
async def test_unknown_secret_is_unauthenticated(arena: Arena, secret: str) -> None:
    await make_token(arena)
    with pytest.raises(Unauthenticated):
        await arena.store.read(partial(authenticate, secret=secret, now_ms=NOW))


async def test_revoked_token_is_refused_and_stays_revoked(arena: Arena) -> None:
    token, secret = await make_token(arena)
    revoked = await arena.store.write(partial(revoke_token, token_id=token.id, now_ms=NOW + 1))
    assert revoked.revoked_at == NOW + 1
    with pytest.raises(Unauthenticated, match="revoked"):
        await arena.store.read(partial(authenticate, secret=secret, now_ms=NOW))
    again = await arena.store.write(partial(revoke_token, token_id=token.id, now_ms=NOW + 2))
    assert again.revoked_at == NOW + 1


async def test_tokens_of_its_owner_that_a_revoked_token_made_are_revoked(arena: Arena) -> None:
    async def make_child(parent: NewToken, owner: str = "alice") -> NewToken:
        making = partial(create_token, owner=owner, made_by=parent.token.id, now_ms=NOW)
        return await arena.store.write(making)

    parent_token = await make_token(arena)
    child = await make_child(parent_token)
    grandchild, child_of_bob = await make_child(child), await make_child(child, "bob")
    await arena.store.write(partial(revoke_token, token_id=child.token.id, now_ms=NOW + 1))
    revoked = {row.id for row in await arena.store.read(list_tokens) if row.revoked_at is not None}
    assert revoked == {child.token.id, grandchild.token.id}
    assert child_of_bob.token.id not in revoked
    await arena.store.write(partial(revoke_token, token_id=parent_token.token.id, now_ms=NOW + 2))
    revocation_times = {row.id: row.revoked_at for row in await arena.store.read(list_tokens)}
    assert revocation_times[grandchild.token.id] == NOW + 1
    assert revocation_times[parent_token.token.id] == NOW + 2


@pytest.mark.parametrize("number", [0, -1, 7, 2**80])
async def test_token_that_does_not_exist_cannot_be_revoked(arena: Arena, number: int) -> None:
    with pytest.raises(NotFound, match=f"tokens/{number}"):
        await arena.store.write(partial(revoke_token, token_id=number, now_ms=NOW))


async def test_token_of_somebody_else_cannot_be_revoked(arena: Arena) -> None:
    token, _ = await make_token(arena)
    bob = await arena.store.write(partial(create_owner, name="bob"))
    with pytest.raises(PermissionDenied):
        await arena.store.write(partial(revoke_token, token_id=token.id, now_ms=NOW, owner_id=bob))


async def test_tokens_are_listed_oldest_first_and_by_owner(arena: Arena) -> None:
    for owner, label in (("alice", "laptop"), ("bob", ""), ("alice", "folder_of_user")):
        await make_token(arena, owner, label)
    await arena.store.write(partial(touch_token, token_id=3, now_ms=NOW + 5))

    def both(connection: Connection) -> tuple[list[str], list[str]]:
        alice = create_owner(connection, "alice")
        everybody, hers = list_tokens(connection), token_page(connection, owner_id=alice).items
        assert [token.last_used_at for token in everybody] == [None, None, NOW + 5]
        return [token.owner for token in everybody], [token.label for token in hers]

    assert await arena.store.read(both) == (["alice", "bob", "alice"], ["laptop", "folder_of_user"])


@pytest.mark.parametrize("owner", ["", "a/b", "x" * 64])
async def test_bad_owner_is_an_invalid_argument(arena: Arena, owner: str) -> None:
    with pytest.raises(InvalidArgument):
        await make_token(arena, owner, "")
