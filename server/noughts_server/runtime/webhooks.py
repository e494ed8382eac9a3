"""Send the events of the outbox to webhooks in order.

Each webhook gets at most one request a second, until it succeeds.
"""

import asyncio
import hashlib
import hmac
import json
import re
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any
from urllib.parse import urlsplit

import structlog

from noughts_server.core.version import software_version
from noughts_server.runtime.endless_work import logging_errors
from noughts_server.runtime.public_addresses import find_addresses
from noughts_server.store.engine.database import Store
from noughts_server.store.people.webhooks import EVENTS, PERIOD_MS, Event, begin_request, due_events, end_request

logger = structlog.get_logger("noughts.webhooks")

_NO_PREVIEWS = 1 << 2
"""Discord's flag of a message whose links have no previews."""
_ASCII_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_SLACK_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LONGEST_NAME = 200
"""Characters of a name or reason in a sentence. Discord accepts messages of up to 2,000 characters."""
_MOST_WINNERS = 6
"""Winners that a sentence names."""


@dataclass(frozen=True, slots=True)
class MessageFormat:
    """The content of a request about an event.

    The names in it must not mention users, become links or change the formatting.
    """

    body: Callable[[dict[str, Any], str], dict[str, Any]]
    """Returns the content of the request, from the event's document and its sentence."""
    literal: Callable[[str], str] = str
    """Escapes a name or reason for the sentence, so that the receiver shows all its characters."""


FORMATS: Mapping[str, MessageFormat] = {
    "json": MessageFormat(body=lambda document, text: document),
    "discord": MessageFormat(
        body=lambda document, text: {"content": text, "allowed_mentions": {"parse": []}, "flags": _NO_PREVIEWS},
        literal=lambda name: _ASCII_PUNCTUATION.sub(r"\\\1", name),
    ),
    "slack": MessageFormat(
        # Slack has no way to write a literal asterisk, but a message can be plain text.
        body=lambda document, text: {
            "text": text,
            "mrkdwn": False,
            "parse": "none",
            "link_names": False,
            "unfurl_links": False,
            "unfurl_media": False,
        },
        literal=lambda name: name.translate(_SLACK_ENTITIES),
    ),
}
TIMEOUT_SECONDS = 10
"""Time limit of one request."""


class WebhookDelivery:
    """Checks once a second for events that are due. Of the servers of a cluster only the one that `leads` does it."""

    def __init__(self, store: Store, leads: Callable[[], bool] = lambda: True, *, private: bool = False) -> None:
        """With `private`, addresses that are not public are allowed."""
        self._store = store
        self._leads = leads
        self._private = private

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    async def run(self) -> None:
        """Deliver events until cancelled."""
        async with asyncio.TaskGroup() as requests:
            while True:
                if self._leads():
                    await self.begin_due(requests)
                await asyncio.sleep(PERIOD_MS / 1_000)

    async def begin_due(self, requests: asyncio.TaskGroup) -> None:
        """Begin a request for each webhook with an event that is due. None of them delays another."""
        with logging_errors(logger, "webhook_check_failed"):
            for event in await self._store.read(partial(due_events, now_ms=self._store.now_ms())):
                requests.create_task(self._deliver(event))

    async def _deliver(self, event: Event) -> None:
        with logging_errors(logger, "webhook_check_failed"):
            until_ms = self._store.now_ms() + TIMEOUT_SECONDS * 1_000
            if await self._store.write(partial(begin_request, event=event, until_ms=until_ms)):
                problem = await self._send(event)
                end = partial(end_request, event=event, problem=problem, now_ms=self._store.now_ms())
                await self._store.write(end)

    async def _send(self, event: Event) -> str | None:
        """Send an event.

        Return None after a success, otherwise the fault of the answer, or the reason why there is none.
        """
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                status = await self._request_status(event)
        except Exception as error:
            problem = str(error)[:400] or f"no answer within {TIMEOUT_SECONDS} s"
        else:
            if 200 <= status < 300:
                return None
            problem = f"the answer has the status {status}, expected 200 to 299"
        logger.info("webhook_failed", webhook=event.webhook_id, problem=problem)
        return problem

    async def _request_status(self, event: Event) -> int:
        url = urlsplit(event.url)
        content = request_content(event, self._store.now_ms() // 1_000)
        reader, writer = await self._connect(event.url, event.owner_id)
        try:
            target = (url.path or "/") + (f"?{url.query}" if url.query else "")
            writer.write(f"POST {target} HTTP/1.1\r\n".encode())
            writer.write(f"Host: {url.netloc}\r\nConnection: close\r\n".encode() + content)
            match = re.match(rb"HTTP/1\.[01] (\d{3})", await reader.readline())
        except BaseException:
            writer.transport.abort()
            raise
        if writer.transport.get_write_buffer_size():
            # Closing would wait until the receiver has read the rest, which it perhaps never does.
            writer.transport.abort()
        else:
            writer.close()
        if match is None:
            raise ValueError("the answer is not HTTP/1.1")
        return int(match[1])

    async def _connect(self, url: str, owner_id: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to an address that was checked. A second lookup of the name could return other addresses."""
        parts = urlsplit(url)
        addresses, port = await find_addresses(url, private=self._private, owner_id=owner_id)
        is_tls = parts.scheme == "https"
        connect = partial(
            asyncio.open_connection,
            port=port,
            limit=4_096,
            ssl=self._tls if is_tls else None,
            server_hostname=parts.hostname if is_tls else None,
        )
        for address in addresses[:-1]:
            with suppress(OSError):
                return await connect(address)
        return await connect(addresses[-1])


def request_content(event: Event, timestamp: int) -> bytes:
    """Return the last headers and the body of a request; `timestamp` is in seconds since 1970."""
    time = datetime.fromtimestamp(event.created_at / 1_000, UTC).isoformat(timespec="milliseconds")
    document = {"id": event.delivery, "event": event.event, "time": time, **event.document}
    body = json.dumps(FORMATS[event.format].body(document, sentence(event.event, event.format, document))).encode()
    signature = hmac.new(event.secret.encode(), b"%d.%b" % (timestamp, body), hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "Content-Length": len(body),
        "User-Agent": f"noughts/{software_version()}",
        "Noughts-Event": event.event,
        "Noughts-Delivery": event.delivery,
        "Noughts-Timestamp": timestamp,
        "Noughts-Signature": f"sha256={signature}",
    }
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode() + b"\r\n" + body


def sentence(event: str, format: str, facts: Mapping[str, Any]) -> str:
    """Return the sentence of an event, with its names and reasons as the format needs them."""

    def literal_of(fact: object) -> object:
        return FORMATS[format].literal(" ".join(fact.split())[:_LONGEST_NAME]) if isinstance(fact, str) else fact

    text = EVENTS[event].format_map({name: literal_of(fact) for name, fact in facts.items()})
    winners = facts.get("winners", ())
    if not winners:
        return text
    labels = ", ".join(str(literal_of(label)) for label in winners[:_MOST_WINNERS])
    more = f" and {len(winners) - _MOST_WINNERS:,} more" if len(winners) > _MOST_WINNERS else ""
    return f"{text} {'Winner' if len(winners) == 1 else 'Winners'}: {labels}{more}."
