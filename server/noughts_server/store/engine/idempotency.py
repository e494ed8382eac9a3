"""Repeated requests get the answer of the first one."""

import hashlib
from collections.abc import Callable

from sqlalchemy import Connection, insert, select

from noughts_server.errors import RequestConflict
from noughts_server.store.engine.schema import requests
from noughts_server.store.validation import check_text

_LONGEST_REQUEST_ID = 64


def answer_once(
    connection: Connection,
    *,
    token_id: int,
    request_id: str,
    method: str,
    body: bytes,
    now_ms: int,
    action: Callable[[], str],
) -> str:
    """Run `action` and return its answer; for a repeated request, return the first answer instead. Writes.

    `action` runs in the same transaction and answers with at most 400 characters, e.g. a resource name. A request
    without a `request_id` is always new. Raises InvalidArgument, RequestConflict (another method or body) and the
    errors of `action` (a failed request is not stored).
    """
    if not request_id:
        return action()
    check_text("request_id", request_id, _LONGEST_REQUEST_ID)
    body_hash = hashlib.sha256(body).digest()
    this = (requests.c.token_id == token_id, requests.c.request_id == request_id)
    known = connection.execute(select(requests).where(*this)).one_or_none()
    if known is not None:
        if (known.method, known.body_hash) != (method, body_hash):
            raise RequestConflict("request_id", request_id)
        return str(known.answer)
    answer = action()
    row = {"token_id": token_id, "request_id": request_id, "method": method, "body_hash": body_hash}
    connection.execute(insert(requests), row | {"answer": answer, "created_at": now_ms})
    return answer
