"""Reads JSON bodies of requests as messages of the contract."""

import json

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message
from starlette.requests import Request

from noughts_server.web.signin import is_from_another_site
from noughts_server.web.upstream import Failure

_JSON = "application/json"
_MOST_BYTES = 65_536


async def read_message(request: Request, message: Message) -> None:
    """Read the body into this message. Raises Failure, also for requests that a page of another site sends.

    A browser asks before it sends JSON to another site, and this website never permits it.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != _JSON:
        raise Failure(415, f"Got {kind[:100]!r}, expected a body in JSON.", f"Send the header Content-Type: {_JSON}")
    if is_from_another_site(request):
        raise Failure(403, "This request was sent from another site.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            raise Failure(413, f"This body has more than {_MOST_BYTES:,} bytes.")
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Failure(400, "The body is not JSON.") from error
    if not isinstance(content, dict):
        raise Failure(400, f"body: got {type(content).__name__}, expected an object")
    try:
        ParseDict(content, message)
        message.SerializeToString()
    except (ParseError, ValueError, RecursionError) as error:
        fields = ", ".join(field.name for field in message.DESCRIPTOR.fields)
        raise Failure(400, f"The body does not fit: {str(error)[:200]}", f"Its fields are: {fields}.") from error
