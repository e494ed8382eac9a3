"""Whatever may arrive at a port: random bytes, frames that were changed, frames out of turn, wrong connections.

Every call must end with a status that says what is wrong with it; one that says INTERNAL or UNKNOWN is a fault of ours.
"""

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import cycle
from typing import Any

import grpc
import grpc.aio
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import (
    bots_pb2,
    challenges_pb2,
    feed_pb2,
    games_pb2,
    leaderboards_pb2,
    status_pb2,
    tests_pb2,
    tokens_pb2,
    tournaments_pb2,
    webhooks_pb2,
)
from noughts_proto.v1 import play_pb2 as pb
from tests.chaos.attacks import WRITTEN_TOO_LATE, Target

_FILES: Sequence[Any] = (
    bots_pb2, tournaments_pb2, games_pb2, leaderboards_pb2, tokens_pb2, challenges_pb2, status_pb2, feed_pb2, tests_pb2,
    webhooks_pb2,
)  # fmt: skip
_BOTS = 16
_FRAMES_OF_A_STREAM = 200
_SECONDS_OF_A_CALL = 10.0
_EDGES = (0, 1, 2, 127, 128, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
_WORDS = ("", "x", "tournaments/", "tournaments/fast", "bots/honest0", "../..", "a" * 5_000, "\x00", "\u202e", "%s{}")
_OURS = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
_PLAY = "/noughts.v1.PlayService/Play"


class Rubbish:
    """Bytes and messages by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def noise(self, most: int = 200) -> bytes:
        """Any bytes."""
        return self.chance.randbytes(self.chance.randrange(most))

    def mutated(self, data: bytes) -> bytes:
        """The same with a few bytes changed, left out or put in."""
        changed = bytearray(data or b"\x00")
        for _ in range(self.chance.randint(1, 4)):
            place = self.chance.randrange(len(changed) or 1)
            what = self.chance.randrange(4)
            if what == 0:
                changed[place : place + 1] = self.chance.randbytes(1)
            elif what == 1:
                del changed[place : place + self.chance.randint(1, 8)]
            elif what == 2:
                changed[place:place] = self.noise(16)
            else:
                changed += changed[place:]
        return bytes(changed[:100_000])

    def number(self) -> int:
        """A small number mostly, else one at the edge of some type."""
        return self.chance.randrange(12) if self.chance.random() < 0.7 else self.chance.choice(_EDGES)

    def filled(self, message: Message, depth: int = 3) -> Message:
        """The message with some of its fields filled: of the right types, and nothing else about them is right."""
        for field in message.DESCRIPTOR.fields:
            if self.chance.random() < 0.4:
                continue
            with suppress(ValueError, TypeError, AttributeError):  # a map, or a value that is too large for its type
                if field.is_repeated:
                    values = getattr(message, field.name)
                    for _ in range(self.chance.randrange(4)):
                        if field.type == FieldDescriptor.TYPE_MESSAGE:
                            self.filled(values.add(), depth - 1)
                        else:
                            values.append(self._value(field))
                elif field.type == FieldDescriptor.TYPE_MESSAGE:
                    if depth:
                        getattr(message, field.name).SetInParent()
                        self.filled(getattr(message, field.name), depth - 1)
                else:
                    setattr(message, field.name, self._value(field))
        return message

    def _value(self, field: Any) -> Any:
        if field.type == FieldDescriptor.TYPE_STRING:
            return self.chance.choice(_WORDS)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return self.noise()
        if field.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
            return self.chance.choice((0.0, -1.5, 1e300, float("nan"), float("inf")))
        if field.type == FieldDescriptor.TYPE_BOOL:
            return self.chance.random() < 0.5
        return self.number()

    def frame(self) -> bytes:
        """Frames that a bot might send, and frames that no bot would send."""
        what = self.chance.random()
        if what < 0.15:
            return self.noise()
        frame = self.filled(pb.PlayRequest()).SerializeToString()
        return self.mutated(frame) if what < 0.4 else frame

    def moves(self) -> bytes:
        """Answers in columns of equal length, to open questions or to none."""
        rows = range(self.chance.randrange(30))
        columns = [[self.number() % 2**32 for _ in rows] for _ in range(3)]
        moves = pb.Moves(game=columns[0], ply=columns[1], cell=columns[2])
        return pb.PlayRequest(done_through=self.number(), moves=moves).SerializeToString()

    def connection(self) -> bytes:
        """First frames of strangers."""
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        return self.chance.choice(
            (
                b"",
                self.noise(2_000),
                b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + self.noise(500),
                preface,
                preface + self.noise(2_000),
                self.mutated(preface + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
            )
        )


async def fuzz(target: Target, *, seed: int, frames: int, connections: int) -> None:
    """Sends so many frames and requests, and opens so many connections."""
    rubbish = Rubbish(seed)
    budget = iter(range(frames))
    async with asyncio.TaskGroup() as tasks:
        for number in range(_BOTS):
            tasks.create_task(_fuzz_streams(target, f"fuzz{number}", rubbish, budget))
        tasks.create_task(_fuzz_calls(target, rubbish, max(100, frames // 50)))
        for _ in range(8):
            tasks.create_task(_fuzz_connections(target, rubbish, connections // 8))


def _count(target: Target, error: grpc.aio.AioRpcError, sent: str) -> None:
    target.counts[error.code().name] += 1
    if error.code() in _OURS and error.details() != WRITTEN_TOO_LATE:
        target.counts[f"fault: {sent} {error.code().name} {error.details()}"[:200]] += 1


async def _fuzz_streams(target: Target, name: str, rubbish: Rubbish, budget: Iterator[int]) -> None:
    """Streams of a bot that says hello, mostly, and then anything; some of them read nothing."""
    async with target.channel() as channel:
        play: Any = channel.stream_stream(_PLAY)
        hello = pb.PlayRequest(hello=pb.Hello(protocol=PROTOCOL, bot=name)).SerializeToString()
        for _ in budget:
            call = play(metadata=target.bearing)
            reads = rubbish.chance.random() < 0.8
            try:
                async with asyncio.timeout(_SECONDS_OF_A_CALL):
                    await call.write(hello if rubbish.chance.random() < 0.9 else rubbish.frame())
                    reading = call.read() if reads else None
                    if reading is not None:
                        await reading
                    for _ in zip(range(rubbish.chance.randrange(_FRAMES_OF_A_STREAM)), budget, strict=False):
                        await call.write(rubbish.frame() if rubbish.chance.random() < 0.2 else rubbish.moves())
                        target.counts["frames"] += 1
                    await call.done_writing()
                    if reads:
                        while await call.read():
                            pass
                        await _ended(target, call)
            except grpc.aio.AioRpcError as error:
                _count(target, error, "Play")
            except (asyncio.InvalidStateError, TimeoutError) as error:
                target.counts[type(error).__name__] += 1
                if call.done():
                    await _ended(target, call)
            finally:
                call.cancel()


async def _ended(target: Target, call: Any) -> None:
    code = await call.code()
    target.counts[code.name] += 1
    if code in _OURS:
        target.counts[f"fault: Play {code.name} {await call.details()}"[:200]] += 1


async def _fuzz_calls(target: Target, rubbish: Rubbish, calls: int) -> None:
    """Calls of every method, with and without a token."""
    methods = [
        (f"/{service.full_name}/{method.name}", GetMessageClass(method.input_type), method.server_streaming)
        for file in _FILES
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    ]
    async with target.channel() as channel:
        for (path, kind, streams), _ in zip(cycle(methods), range(calls), strict=False):
            filled = rubbish.filled(kind()).SerializeToString()
            what = rubbish.chance.random()
            request = rubbish.noise() if what < 0.15 else rubbish.mutated(filled) if what < 0.4 else filled
            metadata = target.bearing if rubbish.chance.random() < 0.8 else ()
            target.counts["requests"] += 1
            try:
                async with asyncio.timeout(_SECONDS_OF_A_CALL):
                    method: Any = channel.unary_stream(path) if streams else channel.unary_unary(path)
                    call = method(request, metadata=metadata)
                    await (call.read() if streams else call)
                    call.cancel()
                target.counts["OK"] += 1
            except grpc.aio.AioRpcError as error:
                _count(target, error, path)
            except TimeoutError:
                target.counts[f"no answer: {path}"] += 1


async def _fuzz_connections(target: Target, rubbish: Rubbish, connections: int) -> None:
    """Connections that are cut, closed or left half open after any frames."""
    host, _, port = target.address.rpartition(":")
    for _ in range(connections):
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(rubbish.connection())
            with suppress(TimeoutError):
                async with asyncio.timeout(rubbish.chance.choice((0.0, 0.001, 0.05))):
                    await reader.read(1_000)
            ends: tuple[Callable[[], object], ...] = (writer.close, writer.transport.abort, writer.write_eof)
            rubbish.chance.choice(ends)()
            writer.transport.abort()
        target.counts["connections"] += 1
