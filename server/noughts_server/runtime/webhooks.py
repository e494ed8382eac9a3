"""Sends the events of the outbox to webhooks: in order, at most one request a second each, until one succeeds."""

import asyncio
import hashlib
import hmac
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

import structlog

from noughts_server.runtime.endless_work import errors_logged
from noughts_server.store.engine.database import Store
from noughts_server.store.people.webhooks import EVENTS, PERIOD_MS, Event, begin_request, due_events, end_request
from noughts_server.version import software_version

logger = structlog.get_logger("noughts.webhooks")

FORMATS: Mapping[str, Callable[[dict[str, Any], str], dict[str, Any]]] = {
    "json": lambda document, text: document,
    "discord": lambda document, text: {"content": text, "allowed_mentions": {"parse": []}},
    "slack": lambda document, text: {"text": text.translate({38: "&amp;", 60: "&lt;", 62: "&gt;"})},
}
"""What a request contains, made of the event's document and its sentence. Names in it must not notify people."""
TIMEOUT_SECONDS = 10
_NAT64 = ip_network("64:ff9b::/96")


class WebhookDelivery:
    """Looks once a second for events that are due. Of the servers of a cluster only the one that `leads` does it."""

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
        with errors_logged(logger, "webhook_check_failed"):
            for event in await self._store.read(partial(due_events, now_ms=self._store.now_ms())):
                requests.create_task(self._deliver(event))

    async def _deliver(self, event: Event) -> None:
        with errors_logged(logger, "webhook_check_failed"):
            until_ms = self._store.now_ms() + TIMEOUT_SECONDS * 1_000
            if await self._store.write(partial(begin_request, event=event, until_ms=until_ms)):
                problem = await self._problem(event)
                end = partial(end_request, event=event, problem=problem, now_ms=self._store.now_ms())
                await self._store.write(end)

    async def _problem(self, event: Event) -> str | None:
        """Send an event; return what is wrong with the answer, or why there is none."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                status = await self._status(event)
        except Exception as error:
            problem = str(error)[:400] or f"no answer within {TIMEOUT_SECONDS} s"
        else:
            if 200 <= status < 300:
                return None
            problem = f"the answer has the status {status}, expected 200 to 299"
        logger.info("webhook_failed", webhook=event.webhook_id, problem=problem)
        return problem

    async def _status(self, event: Event) -> int:
        url, content = urlsplit(event.url), request_content(event, self._store.now_ms() // 1_000)
        reader, writer = await self._connected(event.url)
        try:
            writer.write(f"POST {url.path or '/'}{url.query and '?'}{url.query} HTTP/1.1\r\n".encode())
            writer.write(f"Host: {url.netloc}\r\nConnection: close\r\n".encode() + content)
            found = re.match(rb"HTTP/1\.[01] (\d{3})", await reader.readline())
        finally:
            writer.close()
        if found is None:
            raise ValueError("the answer is not HTTP/1.1")
        return int(found[1])

    async def _connected(self, url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the addresses that were checked: a second look at the name could find others."""
        parts, *addresses = urlsplit(url), *await addresses_of(url, private=self._private)
        is_tls = parts.scheme == "https"
        connect = partial(
            asyncio.open_connection,
            port=parts.port or (443 if is_tls else 80),
            limit=4_096,
            ssl=self._tls if is_tls else None,
            server_hostname=parts.hostname if is_tls else None,
        )
        for address in addresses[:-1]:
            with suppress(OSError):
                return await connect(address)
        return await connect(addresses[-1])


def request_content(event: Event, timestamp: int) -> bytes:
    """Return the last headers and the body of a request."""
    time = datetime.fromtimestamp(event.created_at / 1_000, UTC).isoformat(timespec="milliseconds")
    document = {"id": event.delivery, "event": event.event, "time": time, **event.document}
    text = EVENTS[event.event].format_map(document)
    body = json.dumps(FORMATS[event.format](document, text)).encode()
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


async def addresses_of(url: str, *, private: bool) -> list[str]:
    """Return the addresses of a URL's host; without `private`, only public ones. Raises OSError if there is none."""
    parts, found = urlsplit(url), Future[list[str]]()
    host, port = parts.hostname, parts.port

    def look_up() -> None:
        found.set_running_or_notify_cancel()
        try:
            found.set_result([str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)])
        except Exception as error:
            found.set_exception(error)

    # In a thread of its own, because a lookup that hangs must delay neither others nor the end of the server.
    threading.Thread(target=look_up, daemon=True).start()
    addresses = [each for each in await asyncio.wrap_future(found) if private or is_public(each)]
    if not addresses:
        raise OSError(f"{host} has no public address")
    return addresses


def is_public(text: str) -> bool:
    """Return whether an address belongs to the internet, not to a machine, a local network or a special use."""
    address = ip_address(text)
    if address.version == 6:
        in_nat64 = IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
        address = address.ipv4_mapped or address.sixtofour or in_nat64 or address
    return address.is_global and not (address.is_multicast or address.is_reserved)
