"""A server deletes old answers and tokens by itself."""

from pathlib import Path
from typing import Any

from noughts_server.runtime.leftovers import delete_leftovers
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import requests, tokens
from noughts_server.store.people.tokens import create_owner
from tests.support.arena import open_arena

DAY_MS = 86_400_000


async def test_old_answers_and_tokens_that_ended_long_ago_are_deleted(tmp_path: Path) -> None:
    async with open_arena(tmp_path / "x.sqlite") as arena:
        store, now = arena.store, arena.store.now_ms()

        def insert_rows(connection: Connection) -> None:
            owner = create_owner(connection, "ada")
            long_ago = {"revoked_at": now - 31 * DAY_MS}

            def insert_token(number: int, **values: Any) -> None:
                row = {"id": number, "owner_id": owner, "label": "", "hash": bytes([number]), "created_at": 0}
                connection.execute(tokens.insert(), row | values)

            insert_token(101, **long_ago)
            insert_token(102, expires_at=now - 31 * DAY_MS)
            insert_token(103, revoked_at=now - 29 * DAY_MS)
            insert_token(104, **long_ago)  # kept because it created the next one
            insert_token(105, made_by=104)
            insert_token(106, **long_ago)  # kept because it has the highest number, which no later token may get
            answer = {"token_id": 101, "method": "m", "body_hash": b"", "answer": "a"}
            for number, days in enumerate((8, 9, 6)):
                token_id = 101 if days > 7 else 105
                row = answer | {"token_id": token_id, "request_id": str(number), "created_at": now - days * DAY_MS}
                connection.execute(requests.insert(), row)

        await store.write(insert_rows)
        await delete_leftovers(store)
        rows = await store.read(lambda connection: connection.execute(tokens.select()).all())
        assert sorted(row.id for row in rows if row.id > 100) == [103, 104, 105, 106]
        answers = await store.read(lambda connection: connection.execute(requests.select()).all())
        assert [row.request_id for row in answers] == ["2"]
