"""Invitations are used exactly as often as they permit, also by several processes at once."""

import asyncio
import hashlib
import json
from functools import partial

import pytest

from noughts_proto.interpreter import environment, python
from noughts_server.core.errors import InvitationRefused, NotFound
from noughts_server.core.limits import Limits
from noughts_server.store.people.invitations import (
    create_invitation,
    get_invitation,
    list_invitations,
    revoke_invitation,
    use_invitation,
)
from noughts_server.store.people.newcomers import register
from tests.support.arena import NOW, Arena
from tests.support.databases import url_of
from tests.support.patience import PATIENCE

_REGISTERING = """
import asyncio, json, sys
from functools import partial
from noughts_server.core.errors import InvitationRefused
from noughts_server.core.limits import Limits
from noughts_server.store.engine.database import Store
from noughts_server.store.people.newcomers import register

async def run(url, secret, first, number):
    store = await Store.open(url)
    done = 0
    sys.stdin.readline()
    for index in range(number):
        make = partial(register, name=f"{first}{chr(97 + index)}z", invitation=secret, now_ms=1, limits=Limits())
        try:
            await store.write(make)
            done += 1
        except InvitationRefused:
            pass
    await store.close()
    print(json.dumps(done))

asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
"""


async def test_only_the_hash_of_the_secret_is_stored(arena: Arena) -> None:
    created = await arena.store.write(partial(create_invitation, scopes=("play",), now_ms=NOW))
    (row,) = arena.rows("SELECT hash, selector FROM invitations")
    assert row[0] == hashlib.sha256(created.secret.encode()).digest()
    assert created.secret.startswith(f"inv_{row[1]}")
    assert created.secret not in str(await arena.store.read(list_invitations))


async def test_each_use_is_counted_until_there_are_none(arena: Arena) -> None:
    created = await arena.store.write(partial(create_invitation, scopes=("play",), uses=2, now_ms=NOW))
    use = partial(use_invitation, secret=created.secret, now_ms=NOW)
    for _ in range(2):
        await arena.store.write(use)
    with pytest.raises(InvitationRefused, match="used up"):
        await arena.store.write(use)


async def test_time_and_revocation_end_an_invitation(arena: Arena) -> None:
    create = partial(create_invitation, scopes=("play",), uses=9, lifetime_ms=1_000, now_ms=NOW)
    created = await arena.store.write(create)
    await arena.store.write(partial(use_invitation, secret=created.secret, now_ms=NOW + 999))
    with pytest.raises(InvitationRefused, match="expired"):
        await arena.store.write(partial(use_invitation, secret=created.secret, now_ms=NOW + 1_000))
    await arena.store.write(partial(revoke_invitation, number=1, now_ms=NOW))
    with pytest.raises(InvitationRefused, match="revoked"):
        await arena.store.write(partial(use_invitation, secret=created.secret, now_ms=NOW))
    with pytest.raises(NotFound):
        await arena.store.read(partial(get_invitation, number=2))


@pytest.mark.processes
async def test_four_processes_use_an_invitation_exactly_five_times(arena: Arena) -> None:
    created = await arena.store.write(partial(create_invitation, scopes=("play",), uses=5, now_ms=NOW))
    processes = [
        await asyncio.create_subprocess_exec(
            *(*python("-c", _REGISTERING), url_of(arena.path), created.secret, first, "10"),
            env=environment(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for first in ("kk", "pp", "tt", "xx")
    ]
    try:
        async with asyncio.timeout(PATIENCE):
            outputs = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert sum(json.loads(output) for output, _ in outputs) == 5
    stored = await arena.store.read(partial(get_invitation, number=1))
    assert (stored.used, len(stored.owners)) == (5, 5)


async def test_refused_name_is_rolled_back_with_its_use(arena: Arena) -> None:
    created = await arena.store.write(partial(create_invitation, scopes=("play",), now_ms=NOW))
    again = partial(register, invitation=created.secret, now_ms=NOW, limits=Limits())
    with pytest.raises(ValueError, match="rolled back"):
        await arena.store.write(lambda connection: _then_fail(again(connection, name="ada")))
    assert (await arena.store.read(partial(get_invitation, number=1))).used == 0
    assert arena.rows("SELECT name FROM owners WHERE name = 'ada'") == []


def _then_fail(done: object) -> None:
    raise ValueError(f"rolled back: {done}")
