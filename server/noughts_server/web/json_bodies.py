"""Reads JSON bodies of requests: any JSON value, or a message of the contract."""

import json
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message
from starlette.requests import Request

from noughts_server.web.signin import is_from_another_site
from noughts_server.web.upstream import Failure

_JSON = "application/json"
_MOST_MESSAGE_BYTES = 65_536
_LONGEST_SHOWN = 60
"""Characters of a value that an error shows."""


class _RepeatedFieldError(ValueError):
    """An object has two fields with this name."""

    def __init__(self, name: str) -> None:
        self.name = name


async def read_json(request: Request, *, most_bytes: int, hint: str = "", too_large_hint: str = "") -> Any:
    """Return the JSON value in the body of a request, which must be in UTF-8.

    Raises Failure, also if an object has a field twice. `hint` is advice about a body that is not JSON,
    `too_large_hint` about one with more than `most_bytes`.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise Failure(413, f"The body of this request has more than {most_bytes:,} bytes.", too_large_hint)
    if not body and "upgrade" in request.headers:
        # The parser of HTTP/1.1 stops at such a header. Java's client sends it by default.
        raise Failure(
            400, "The header Upgrade asks for another protocol than HTTP/1.1.", "Send it without this header."
        )
    try:
        return json.loads(body.decode(), object_pairs_hook=_object)
    except _RepeatedFieldError as error:
        message = f"body: got the field {shown_json(error.name)} twice in one object, expected it once"
        raise Failure(400, message, "Send each field of an object once.") from error
    except (ValueError, RecursionError) as error:
        raise Failure(400, "The body of this request is not JSON.", hint) from error


async def read_message(request: Request, message: Message) -> None:
    """Read the body into this message. Raises Failure, also for requests that a page of another site sends.

    A browser asks before it sends JSON to another site, and this website never permits it.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != _JSON:
        raise Failure(415, f"Got {kind[:100]!r}, expected a body in JSON.", f"Send the header Content-Type: {_JSON}")
    if is_from_another_site(request):
        raise Failure(403, "This request was sent from another site.")
    content = await read_json(request, most_bytes=_MOST_MESSAGE_BYTES)
    if not isinstance(content, dict):
        raise Failure(400, f"body: got {type(content).__name__}, expected an object")
    try:
        ParseDict(content, message)
        message.SerializeToString()
    except (ParseError, ValueError, RecursionError) as error:
        fields = ", ".join(field.name for field in message.DESCRIPTOR.fields)
        raise Failure(400, f"The body does not fit: {str(error)[:200]}", f"Its fields are: {fields}.") from error


def shown_json(value: Any) -> str:
    """Return a value as JSON, shortened for an error."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _object(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises _RepeatedFieldError, because a dict would keep only the last of two values."""
    document = dict(fields)
    if len(document) < len(fields):
        seen: set[str] = set()
        for name, _ in fields:
            if name in seen:
                raise _RepeatedFieldError(name)
            seen.add(name)
    return document
