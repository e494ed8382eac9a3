"""Calls to the JSON API of a website, for those who have only the address of a page."""

import http.client
import json
import ssl
from typing import Any
from urllib.parse import SplitResult

from noughts_server.client.failures import DEADLINE_SECONDS

_MOST_BYTES = 1 << 20


class WebsiteCallFailed(Exception):
    """The website did not answer, or refused the call. `hint` is its advice; empty if it has none."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def call_website(site: SplitResult, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON object that a website answers. It follows no redirects. Raises WebsiteCallFailed."""
    host = site.netloc
    connection: http.client.HTTPConnection
    if site.scheme == "https":
        connection = http.client.HTTPSConnection(host, timeout=DEADLINE_SECONDS, context=ssl.create_default_context())
    else:
        connection = http.client.HTTPConnection(host, timeout=DEADLINE_SECONDS)
    text = None if body is None else json.dumps(body)
    try:
        connection.request(method, path, text, {"Content-Type": "application/json", "Accept": "application/json"})
        response = connection.getresponse()
        status, content = response.status, response.read(_MOST_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise WebsiteCallFailed(f"{host} cannot be reached: {error}", "Check the address of the link.") from error
    finally:
        connection.close()
    try:
        answer = json.loads(content)
        failure = answer.get("error")
    except (ValueError, AttributeError):
        message = f"{host} answered with status {status}, and not in JSON"
        raise WebsiteCallFailed(message, "Is it the website of a Noughts server of this version?") from None
    if isinstance(failure, dict):
        raise WebsiteCallFailed(str(failure.get("message")), str(failure.get("hint") or ""))
    return dict(answer)
