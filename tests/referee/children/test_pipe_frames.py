"""Frames on real pipes, without a process at the other end."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from noughts_proto.pipes import LARGEST_FROM_BOT, packed
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.frames import MOST_UNASKED
from noughts_referee.children.pipe_frames import KEPT_BYTES, PipeFrames, Tail
from noughts_referee.monotonic import Now, microseconds
from tests.support.patience import PATIENCE

MOVE = pb.PlayRequest(done_through=1, moves=pb.Moves(game=[1], ply=[0], cell=[4]))


class ChildPipes:
    """The child's ends of two pipes; `frames` has the referee's pipes."""

    def __init__(self, now: Now = microseconds) -> None:
        self.input, referee_output = os.pipe()
        referee_input, self.output = os.pipe()
        for end in (referee_input, referee_output, self.input, self.output):
            os.set_blocking(end, False)
        self.frames = PipeFrames(referee_input, referee_output, now)

    def close(self) -> None:
        self.frames.close()
        for end in (self.input, self.output):
            if end >= 0:
                os.close(end)

    def close_output(self) -> None:
        os.close(self.output)
        self.output = -1

    def close_input(self) -> None:
        os.close(self.input)
        self.input = -1


@pytest.fixture
async def pipes() -> "Iterator[ChildPipes]":  # type: ignore[misc]
    pipes = ChildPipes()
    yield pipes
    pipes.close()


async def test_frames_arrive_whole_in_pieces_of_any_size(pipes: ChildPipes) -> None:
    data = packed(MOVE.SerializeToString())
    for byte in data * 2:
        os.write(pipes.output, bytes([byte]))
        await asyncio.sleep(0)
    assert [await pipes.frames.read(), await pipes.frames.read()] == [MOVE, MOVE]
    os.write(pipes.output, data * 5 + data[:3])
    assert [await pipes.frames.read() for _ in range(5)] == [MOVE] * 5
    os.write(pipes.output, data[3:])
    assert await pipes.frames.read() == MOVE


async def test_a_frame_larger_than_the_pipe_goes_through_both_ways(pipes: ChildPipes) -> None:
    down = pb.PlayResponse(frame=7, turns=pb.Turns(game=range(100_000), ply=[1] * 100_000, cell=[2] * 100_000))
    up = pb.PlayRequest(moves=pb.Moves(game=range(100_000), ply=[1] * 100_000, cell=[2] * 100_000))
    got = bytearray()

    async def child() -> None:
        expected = packed(down.SerializeToString())
        while len(got) < len(expected):
            try:
                got.extend(os.read(pipes.input, 1 << 16))
            except BlockingIOError:
                await asyncio.sleep(0)
        assert got == expected
        answer = memoryview(packed(up.SerializeToString()))
        while answer:
            try:
                answer = answer[os.write(pipes.output, answer) :]
            except BlockingIOError:
                await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(child())
        await pipes.frames.write(down)
        assert await pipes.frames.read() == up
    assert pipes.frames.written == 1


async def test_frames_sent_before_the_end_still_count(pipes: ChildPipes) -> None:
    os.write(pipes.output, packed(MOVE.SerializeToString()))
    pipes.close_input()
    pipes.close_output()
    # The pipe is broken before anything has been read.
    await pipes.frames.write(pb.PlayResponse(frame=1))
    assert await pipes.frames.read() == MOVE
    assert await pipes.frames.read() is None
    assert pipes.frames.reason == "closed its standard input"
    assert not pipes.frames.at_fault


async def test_an_end_within_a_frame_is_the_reason(pipes: ChildPipes) -> None:
    os.write(pipes.output, b"\x09\0\0\0half")
    pipes.close_output()
    assert await pipes.frames.read() is None
    assert pipes.frames.reason == "closed its standard output within a frame"


@pytest.mark.parametrize(
    "sent, reason",
    [
        ((LARGEST_FROM_BOT + 1).to_bytes(4, "little"), "announced an oversized message: got 2097153 bytes"),
        (packed(b"hello"), "sent 5 bytes that are not a PlayRequest"),
    ],
    ids=["too large", "not a PlayRequest"],
)
async def test_an_invalid_frame_ends_the_stream_and_is_kept(pipes: ChildPipes, sent: bytes, reason: str) -> None:
    os.write(pipes.output, packed(MOVE.SerializeToString()) + sent)
    assert await pipes.frames.read() == MOVE
    assert await pipes.frames.read() is None
    assert pipes.frames.reason.startswith(reason)
    assert pipes.frames.at_fault
    assert pipes.frames.offending in sent
    os.write(pipes.output, packed(MOVE.SerializeToString()))
    assert await pipes.frames.read() is None


async def test_too_many_unrequested_frames_end_the_stream(pipes: ChildPipes) -> None:
    data = packed(MOVE.SerializeToString())
    heard = 0
    while True:
        os.write(pipes.output, data * 1_000)
        for _ in range(1_000):
            if await pipes.frames.read() is None:
                assert heard == MOST_UNASKED
                assert pipes.frames.reason == f"sent {MOST_UNASKED + 1:,} unrequested frames"
                return
            heard += 1


async def test_a_flood_of_frames_does_not_block_the_event_loop(pipes: ChildPipes) -> None:
    os.write(pipes.output, packed(MOVE.SerializeToString()) * 1_000)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(other())
        for _ in range(1_000):
            assert await pipes.frames.read() == MOVE
        running.cancel()
    assert turns >= 1_000 // 128


async def test_frames_without_answers_are_read_slowly_after_a_while() -> None:
    pipes = ChildPipes(lambda: 0)
    empty = packed(pb.PlayRequest(hello=pb.Hello(agent="x" * 60_000)).SerializeToString())
    for _ in range(69):  # 4 MiB, because each frame counts more than its size
        os.write(pipes.output, empty)
        assert await pipes.frames.read() is not None
    os.write(pipes.output, empty)
    async with asyncio.TaskGroup() as tasks:
        late = tasks.create_task(pipes.frames.read())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not late.done()
    assert late.result() is not None
    pipes.close()


async def test_large_answers_to_questions_are_read_at_once() -> None:
    pipes = ChildPipes(lambda: 0)
    move = pb.PlayRequest(
        moves=pb.Moves(game=[1] * 8, ply=[0] * 8, cell=[4] * 8, commented=[0], comment=["x" * 60_000])
    )
    async with asyncio.timeout(PATIENCE):  # with waits, these take 250 s in all
        for _ in range(200):
            os.write(pipes.output, packed(move.SerializeToString()))
            assert await pipes.frames.read() == move
    pipes.close()


async def test_the_last_of_stderr_is_kept_and_all_of_it_is_read() -> None:
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    tail = Tail(reading)
    text = b"".join(b"line %07d\n" % number for number in range(50_000))
    left = memoryview(text)
    while left:
        try:
            left = left[os.write(writing, left) :]
        except BlockingIOError:
            await asyncio.sleep(0)
    os.close(writing)
    tail.close()
    assert tail.text == text[-KEPT_BYTES:].decode()


async def test_endless_output_on_stderr_is_read_slowly() -> None:
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    read: list[int] = []
    tail = Tail(reading, on_output=lambda data: read.append(len(data)))
    loop = asyncio.get_running_loop()
    start = loop.time()
    while loop.time() < start + 0.3 or len(read) < 2:
        with suppress(BlockingIOError):
            os.write(writing, b"x" * KEPT_BYTES)
        await asyncio.sleep(0)
    assert 2 <= len(read) <= 2 + (loop.time() - start) / 0.02
    os.close(writing)
    tail.close()
