"""The bus of a cluster: a `MemoryBus` inside each process, and NATS between the processes.

A message reaches the subscribers in this process at once, as on a `MemoryBus`. If its subject has a codec, NATS takes
it to the other processes. A message is lost if its sender or its receiver has no connection. Code that relies on
messages registers with `on_connected` and synchronises again after a reconnection.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import Any

import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.cluster.codecs import codec
from noughts_server.cluster.dropped_messages import DroppedMessages
from noughts_server.cluster.message_parts import HEADER, MOST_BYTES, MessageParts, parts_of
from noughts_server.core.errors import BusUnusable
from noughts_server.runtime.bus import Handler, MemoryBus
from noughts_server.runtime.endless_work import running

logger = structlog.get_logger("noughts.bus")

_ROOT = "noughts."
# The client notices a broken connection within two of these intervals.
_PING_SECONDS = 1
_CONNECT_SECONDS = 2
_RECONNECT_SECONDS = 0.25
# Limits of the messages that wait to be sent, and of a subscription's messages that wait to be read. Further ones are
# lost.
_MOST_WAITING = 50_000
_LONGEST_SUBJECT = 300
"""Characters of a subject. Node names are shorter."""
# Limits of the bytes that wait in the client to be sent, and of a subscription's bytes that wait to be read.
_PENDING_BYTES = 64 << 20

_PART_BYTES = 500_000
"""The largest message that is sent whole, and the largest part of others; less if NATS accepts less."""

_PAYLOAD_HINT = "Give NATS a larger max_payload: docs/how-to/cluster.md has its settings."


class NatsBus:
    """Publishes and subscribes in this process and in the cluster's other processes. Use it from one event loop."""

    def __init__(self, settings: BusSettings, name: str) -> None:
        self.settings = settings
        self.on_connected: list[Callable[[], None]] = []
        """Called after a reconnection, and after messages from or to this process were lost."""
        self.lost = 0
        """The number of messages of this process that were not sent."""
        self._name = name
        self._client_error: Exception | None = None
        """The client's last error."""
        self._local = MemoryBus()
        self._dropped = DroppedMessages()
        self._client = Client()
        self._subjects: set[str] = set()
        """The subjects with a codec to which this process has ever subscribed."""
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._serials = count()
        """Numbers of the messages that are sent in parts."""
        self._new_subjects: deque[str] = deque()
        """Subjects whose subscription has not reached NATS yet."""
        self._work = asyncio.Event()
        self._has_dropped = False
        """Whether messages were dropped during a connection, since the last call of `on_connected`."""

    @property
    def connected(self) -> bool:
        """Whether this process is connected to NATS, as far as the client knows."""
        return self._client.is_connected

    def problem(self) -> str | None:
        """Return why messages do not reach the other processes; None if they do."""
        return None if self.connected else f"the bus {self.settings.place} is not connected"

    def publish(self, subject: str, message: Any) -> None:
        """Deliver the message to all present subscribers, in every process."""
        self._local.publish(subject, message)
        subject_codec = codec(subject)
        if subject_codec is None:
            return
        if len(subject) > _LONGEST_SUBJECT or len(subject.split()) != 1:
            # A received message can contain a wrong node name. NATS closes the connection for an invalid subject.
            self._dropped.add(subject=subject[:_LONGEST_SUBJECT], error="it is addressed to an invalid node name")
            return
        if not self.connected or len(self._waiting) >= _MOST_WAITING:
            self.lost += 1
            self._has_dropped = True
            return
        self._waiting.extend((subject, data) for data in subject_codec.encode(message))
        self._work.set()

    def subscribe(self, subject: str, handler: Handler) -> Callable[[], None]:
        """Call the handler with each message, from here or elsewhere, until the returned function is called."""
        if codec(subject) is not None and subject not in self._subjects:
            self._subjects.add(subject)
            self._new_subjects.append(subject)
            self._work.set()
        return self._local.subscribe(subject, handler)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep a connection inside the block. Raise BadBusUrl, BusUnusable."""
        await self._connect()
        try:
            async with running(self._send_waiting()):
                try:
                    yield
                finally:
                    await self._flush()
        finally:
            await self._client.close()

    async def _connect(self) -> None:
        settings = self.settings
        context = settings.context()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS * 3):
                await self._client.connect(
                    settings.urls,
                    name=self._name,
                    no_echo=True,
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnected,
                    reconnected_cb=self._on_reconnected,
                    connect_timeout=_CONNECT_SECONDS,
                    reconnect_time_wait=_RECONNECT_SECONDS,  # type: ignore[arg-type]  # fractions work
                    max_reconnect_attempts=1,
                    ping_interval=_PING_SECONDS,
                    max_outstanding_pings=2,
                    allow_reconnect=True,
                    # Messages that were not sent before a disconnection are outdated after it.
                    pending_size=_PENDING_BYTES,
                    skip_subject_validation=True,
                    user_credentials=settings.credentials and str(settings.credentials),
                    tls=context,
                )
        except (OSError, TimeoutError, nats.errors.Error, ValueError) as error:
            await self._client.close()
            cause = self._client_error or error
            reason = str(cause) or type(cause).__name__
            hint = "Is NATS running there, and are its credentials right? `nats-server` starts one on nats://127.0.0.1:4222."
            raise BusUnusable(settings.place, f"it cannot be reached ({reason})", hint=hint) from error
        # After the first connection, the client tries to reconnect for as long as the node runs.
        self._client.options["max_reconnect_attempts"] = -1

    async def _send_waiting(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            await self._flush()

    async def _flush(self) -> None:
        client = self._client
        try:
            while self._new_subjects:
                subject = self._new_subjects[0]
                subscribe = partial(
                    client.subscribe, pending_msgs_limit=_MOST_WAITING, pending_bytes_limit=_PENDING_BYTES
                )
                await subscribe(_nats_subject(subject), cb=self._handler(subject))
                self._new_subjects.popleft()
            while self._waiting:
                subject, data = self._waiting.popleft()
                if not client.is_connected:
                    self.lost += 1
                    continue
                await self._send(_nats_subject(subject), data)
            if self._has_dropped and client.is_connected:
                self._resynchronise()
        except nats.errors.MaxPayloadError:
            self.lost += 1
            logger.error("bus_message_too_large", subject=subject, bytes=len(data), hint=_PAYLOAD_HINT)
            self._work.set()
        except (nats.errors.Error, OSError) as error:
            self.lost += 1
            self._has_dropped = True
            logger.warning("bus_message_not_sent", error=str(error))
            self._work.set()
            await asyncio.sleep(_RECONNECT_SECONDS)

    async def _send(self, subject: str, data: bytes) -> None:
        # Half of the limit of NATS, because the headers of a part count, too.
        part_bytes = min(_PART_BYTES, self._client.max_payload // 2)
        if len(data) <= part_bytes:
            await self._client.publish(subject, data)
            return
        if len(data) > MOST_BYTES:
            raise nats.errors.MaxPayloadError
        for part, headers in parts_of(data, self._name, next(self._serials), part_bytes):
            await self._client.publish(subject, part, headers=headers)

    def _handler(self, subject: str) -> Callable[[Msg], Any]:
        subject_codec = codec(subject)
        assert subject_codec is not None
        decode = subject_codec.decode
        publish = self._local.publish
        parts = MessageParts()

        async def handle(message: Msg) -> None:
            # Any client of the bus can send anything: a wrong message must not end the subscription.
            try:
                header = (message.headers or {}).get(HEADER)
                data = message.data if header is None else parts.join(header, message.data)
                if data is not None:
                    publish(subject, decode(data))
            except Exception as error:
                self._dropped.add(subject=subject, error=repr(error))

        return handle

    async def _on_error(self, error: Exception) -> None:
        self._client_error = error
        if isinstance(error, nats.errors.SlowConsumerError):
            logger.error("bus_messages_lost", subject=error.subject)
            self._resynchronise()
        elif self._client.is_connected:
            logger.warning("bus_error", error=str(error) or type(error).__name__)

    async def _on_disconnected(self) -> None:
        if not self._client.is_closed:
            self._waiting.clear()
            logger.error("bus_disconnected", bus=self.settings.place)

    async def _on_reconnected(self) -> None:
        logger.warning("bus_reconnected", bus=self.settings.place)
        self._resynchronise()

    def _resynchronise(self) -> None:
        self._has_dropped = False
        for callback in self.on_connected:
            callback()


def _nats_subject(subject: str) -> str:
    return _ROOT + subject.replace(":", ".")
