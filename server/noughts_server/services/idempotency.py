"""The services' side of repeated requests."""

from collections.abc import Callable
from functools import partial

from google.protobuf.message import Message

from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.idempotency import answer_once
from noughts_server.store.people.tokens import Caller


def idempotent(
    who: Caller, request_id: str, request: Message, action: Callable[[Connection], str], *, now_ms: int
) -> Callable[[Connection], str]:
    """Return `action` for the store; a repeated request gets the first answer. See `store.engine.idempotency`."""
    method, body = request.DESCRIPTOR.full_name, request.SerializeToString(deterministic=True)

    asked = partial(answer_once, token_id=who.token_id, request_id=request_id, method=method, body=body, now_ms=now_ms)
    return lambda connection: asked(connection, action=partial(action, connection))
