"""Repeated requests get the answer of the first request with the same ID."""

import hashlib
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, insert, select

from noughts_server.core.errors import RequestConflict
from noughts_server.store.engine.schema import requests
from noughts_server.store.validation import check_text

_LONGEST_REQUEST_ID = 64


def idempotent(
    token_id: int, request: Any, action: Callable[[Connection], str], *, now_ms: int
) -> Callable[[Connection], str]:
    """Return `action` for `Store.write`; for a repeated request, it returns the first answer instead.

    The request is a protocol message. A request without a `request_id` is always new. `action` returns at most 400
    characters, e.g. a resource name. Raises InvalidArgument, RequestConflict (another request with this ID) and the
    errors of `action` (a failed request is not stored).
    """
    request_id = request.request_id
    method = request.DESCRIPTOR.full_name
    body_hash = hashlib.sha256(request.SerializeToString(deterministic=True)).digest()

    def answer(connection: Connection) -> str:
        if not request_id:
            return action(connection)
        check_text("request_id", request_id, _LONGEST_REQUEST_ID)
        this = (requests.c.token_id == token_id, requests.c.request_id == request_id)
        stored_request = connection.execute(select(requests).where(*this)).one_or_none()
        if stored_request is not None:
            if (stored_request.method, stored_request.body_hash) != (method, body_hash):
                raise RequestConflict("request_id", request_id)
            return str(stored_request.answer)
        new_answer = action(connection)
        row = {"token_id": token_id, "request_id": request_id, "method": method, "body_hash": body_hash}
        connection.execute(insert(requests), row | {"answer": new_answer, "created_at": now_ms})
        return new_answer

    return answer
