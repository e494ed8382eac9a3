"""Random input to a port: bytes, changed frames, frames in a wrong order, and connections without a protocol.

Every call must end with a status that tells its fault. The statuses INTERNAL and UNKNOWN count as faults of the server.
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
    tunings_pb2,
    webhooks_pb2,
)
from noughts_proto.v1 import play_pb2 as pb
from tests.chaos.attacks import WRITTEN_TOO_LATE, Target

_FILES: Sequence[Any] = (
    bots_pb2, tournaments_pb2, games_pb2, leaderboards_pb2, tokens_pb2, challenges_pb2, status_pb2, feed_pb2, tests_pb2,
    webhooks_pb2, tunings_pb2,
)  # fmt: skip
_BOTS = 16
"""Bots that send random frames on streams."""
_FRAMES_OF_A_STREAM = 200
"""Limit of the random frames before the bot opens a new stream."""
_SECONDS_OF_A_CALL = 10.0
"""Limit of a call or stream, because random input can leave it open."""
_EDGES = (0, 1, 2, 127, 128, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
"""Limits of integers of 1, 2, 4 and 8 bytes, with their neighbours."""
_WORDS = ("", "x", "tournaments/", "tournaments/fast", "bots/honest0", "../..", "a" * 5_000, "\x00", "\u202e", "%s{}")
_SERVER_FAULTS = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
_PLAY = "/noughts.v1.PlayService/Play"


class RandomInput:
    """Random bytes and messages."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def random_bytes(self, most: int = 200) -> bytes:
        """Return fewer than `most` random bytes."""
        return self.rng.randbytes(self.rng.randrange(most))

    def mutate(self, data: bytes) -> bytes:
        """Return the data with a few bytes changed, removed, inserted or repeated."""
        changed = bytearray(data or b"\x00")
        for _ in range(self.rng.randint(1, 4)):
            place = self.rng.randrange(len(changed) or 1)
            change = self.rng.randrange(4)
            if change == 0:
                changed[place : place + 1] = self.rng.randbytes(1)
            elif change == 1:
                del changed[place : place + self.rng.randint(1, 8)]
            elif change == 2:
                changed[place:place] = self.random_bytes(16)
            else:
                changed += changed[place:]
        return bytes(changed[:100_000])

    def number(self) -> int:
        """Return a small number in 70 % of the calls, else one at the edge of an integer type."""
        return self.rng.randrange(12) if self.rng.random() < 0.7 else self.rng.choice(_EDGES)

    def fill(self, message: Message, depth: int = 3) -> Message:
        """Set some fields of the message to random values of their types, and return the message."""
        for field in message.DESCRIPTOR.fields:
            if self.rng.random() < 0.4:
                continue
            with suppress(ValueError, TypeError, AttributeError):  # a map, or a value that is too large for its type
                if field.is_repeated:
                    values = getattr(message, field.name)
                    for _ in range(self.rng.randrange(4)):
                        if field.type == FieldDescriptor.TYPE_MESSAGE:
                            self.fill(values.add(), depth - 1)
                        else:
                            values.append(self._value(field))
                elif field.type == FieldDescriptor.TYPE_MESSAGE:
                    if depth:
                        getattr(message, field.name).SetInParent()
                        self.fill(getattr(message, field.name), depth - 1)
                else:
                    setattr(message, field.name, self._value(field))
        return message

    def _value(self, field: Any) -> Any:
        if field.type == FieldDescriptor.TYPE_STRING:
            return self.rng.choice(_WORDS)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return self.random_bytes()
        if field.type in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
            return self.rng.choice((0.0, -1.5, 1e300, float("nan"), float("inf")))
        if field.type == FieldDescriptor.TYPE_BOOL:
            return self.rng.random() < 0.5
        return self.number()

    def frame(self) -> bytes:
        """Return a frame of a bot: valid protobuf, changed protobuf, or random bytes."""
        share = self.rng.random()
        if share < 0.15:
            return self.random_bytes()
        frame = self.fill(pb.PlayRequest()).SerializeToString()
        return self.mutate(frame) if share < 0.4 else frame

    def moves(self) -> bytes:
        """Return a frame of moves in columns of equal length, which answer questions that are open or not."""
        rows = range(self.rng.randrange(30))
        columns = [[self.number() % 2**32 for _ in rows] for _ in range(3)]
        moves = pb.Moves(game=columns[0], ply=columns[1], cell=columns[2])
        return pb.PlayRequest(done_through=self.number(), moves=moves).SerializeToString()

    def connection(self) -> bytes:
        """Return the first bytes of a connection that is not a client's of gRPC."""
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        return self.rng.choice(
            (
                b"",
                self.random_bytes(2_000),
                b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + self.random_bytes(500),
                preface,
                preface + self.random_bytes(2_000),
                self.mutate(preface + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
            )
        )


async def fuzz(target: Target, *, seed: int, frames: int, connections: int) -> None:
    """Send this number of frames, a fiftieth of it (at least 100) requests, and open the connections."""
    random_input = RandomInput(seed)
    budget = iter(range(frames))  # shared by all streams
    async with asyncio.TaskGroup() as tasks:
        for number in range(_BOTS):
            tasks.create_task(_fuzz_streams(target, f"fuzz{number}", random_input, budget))
        tasks.create_task(_fuzz_calls(target, random_input, max(100, frames // 50)))
        for _ in range(8):
            tasks.create_task(_fuzz_connections(target, random_input, connections // 8))


def _count_error(target: Target, error: grpc.aio.AioRpcError, sent: str) -> None:
    target.counts[error.code().name] += 1
    if error.code() in _SERVER_FAULTS and error.details() != WRITTEN_TOO_LATE:
        target.counts[f"fault: {sent} {error.code().name} {error.details()}"[:200]] += 1


async def _fuzz_streams(target: Target, name: str, random_input: RandomInput, budget: Iterator[int]) -> None:
    """Open streams of a bot that usually begins with a hello and continues with random frames; some read nothing."""
    async with target.channel() as channel:
        play: Any = channel.stream_stream(_PLAY)
        hello = pb.PlayRequest(hello=pb.Hello(protocol=PROTOCOL, bot=name)).SerializeToString()
        for _ in budget:
            call = play(metadata=target.metadata)
            reads = random_input.rng.random() < 0.8
            try:
                async with asyncio.timeout(_SECONDS_OF_A_CALL):
                    await call.write(hello if random_input.rng.random() < 0.9 else random_input.frame())
                    reading = call.read() if reads else None
                    if reading is not None:
                        await reading
                    for _ in zip(range(random_input.rng.randrange(_FRAMES_OF_A_STREAM)), budget, strict=False):
                        await call.write(
                            random_input.frame() if random_input.rng.random() < 0.2 else random_input.moves()
                        )
                        target.counts["frames"] += 1
                    await call.done_writing()
                    if reads:
                        while await call.read():
                            pass
                        await _count_status(target, call)
            except grpc.aio.AioRpcError as error:
                _count_error(target, error, "Play")
            except (asyncio.InvalidStateError, TimeoutError) as error:
                target.counts[type(error).__name__] += 1
                if call.done():
                    await _count_status(target, call)
            finally:
                call.cancel()


async def _count_status(target: Target, call: Any) -> None:
    code = await call.code()
    target.counts[code.name] += 1
    if code in _SERVER_FAULTS:
        target.counts[f"fault: Play {code.name} {await call.details()}"[:200]] += 1


async def _fuzz_calls(target: Target, random_input: RandomInput, calls: int) -> None:
    """Call every method, with and without a token."""
    methods = [
        (f"/{service.full_name}/{method.name}", GetMessageClass(method.input_type), method.server_streaming)
        for file in _FILES
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    ]
    async with target.channel() as channel:
        for (path, kind, streams), _ in zip(cycle(methods), range(calls), strict=False):
            request = random_input.fill(kind()).SerializeToString()
            share = random_input.rng.random()
            if share < 0.15:
                request = random_input.random_bytes()
            elif share < 0.4:
                request = random_input.mutate(request)
            metadata = target.metadata if random_input.rng.random() < 0.8 else ()
            target.counts["requests"] += 1
            try:
                async with asyncio.timeout(_SECONDS_OF_A_CALL):
                    method: Any = channel.unary_stream(path) if streams else channel.unary_unary(path)
                    call = method(request, metadata=metadata)
                    await (call.read() if streams else call)
                    call.cancel()
                target.counts["OK"] += 1
            except grpc.aio.AioRpcError as error:
                _count_error(target, error, path)
            except TimeoutError:
                target.counts[f"no answer: {path}"] += 1


async def _fuzz_connections(target: Target, random_input: RandomInput, connections: int) -> None:
    """Open connections, send random first bytes, and close, abort or half close them."""
    host, _, port = target.address.rpartition(":")
    for _ in range(connections):
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(random_input.connection())
            with suppress(TimeoutError):
                async with asyncio.timeout(random_input.rng.choice((0.0, 0.001, 0.05))):
                    await reader.read(1_000)
            ends: tuple[Callable[[], object], ...] = (writer.close, writer.transport.abort, writer.write_eof)
            random_input.rng.choice(ends)()
            writer.transport.abort()
        target.counts["connections"] += 1
