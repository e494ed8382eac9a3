"""A program that connects to a referee by itself, with our SDK or only with grpc, and has a bad habit.

    python dialler.py NOTES HABIT [PORT]

Each process writes its process ID as a line into the file NOTES. PORT is one to which it must not connect.
"""

import contextlib
import os
import signal
import sys
from typing import Any

HABIT = sys.argv[2]


def wait_for_ever() -> None:
    while True:
        signal.pause()


with contextlib.suppress(PermissionError), open(sys.argv[1], "a") as notes:  # a sandboxed process cannot write
    notes.write(f"{os.getpid()}\n")
if HABIT == "never dials":
    wait_for_ever()
if HABIT == "dies at once":
    sys.exit("no licence found")

import asyncio  # noqa: E402  # only programs that connect need the rest
import queue  # noqa: E402
import socket  # noqa: E402
from collections.abc import Callable  # noqa: E402

import grpc  # noqa: E402

from noughts_bots import Bot, run  # noqa: E402
from noughts_bots.connection.run import run_async  # noqa: E402
from noughts_proto.v1 import play_pb2 as pb  # noqa: E402

PLAY = "/noughts.v1.PlayService/Play"


def raw_stream(requests: Any, ticket: str) -> Any:
    """A stream without our SDK, whose requests are bytes."""
    channel = grpc.insecure_channel(os.environ["NOUGHTS_SERVER"])
    return channel.stream_stream(PLAY)(requests, metadata=(("authorization", f"Bearer {ticket}"),))


def hello() -> bytes:
    return pb.PlayRequest(hello=pb.Hello(protocol=1)).SerializeToString()


def write_stderr(text: str) -> None:
    os.write(2, f"{text}\n".encode())


def try_forbidden_things() -> None:
    """Connect to another port, and use the ticket a second time; write the outcomes to stderr."""
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[3])), 5)
        write_stderr("another port: allowed")
    except OSError as error:
        write_stderr(f"another port: {error.strerror}")
    try:
        next(raw_stream(iter([hello()]), os.environ["NOUGHTS_TICKET"]))
        write_stderr("its ticket again: allowed")
    except grpc.RpcError as error:
        write_stderr(f"its ticket again: {error.code().name}")


class Lowest(Bot):
    """Takes the lowest free cell, and has the habit at ply 2 or 3."""

    def choose(self, position: Any) -> int:
        if position.ply in (2, 3):
            if HABIT == "crash":
                os.write(1, b"what a pity\n")
                os._exit(3)
            if HABIT == "tries more":
                try_forbidden_things()
                os._exit(3)
            if HABIT == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            if HABIT == "leaves":
                self.leave()
        return int(position.free[0])

    leave: Callable[[], object] = staticmethod(lambda: None)


async def play_and_leave() -> None:
    """Play until the bot ends its stream, and then keep the process alive."""
    bot = Lowest()
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(run_async(bot))
        bot.leave = playing.cancel
    await asyncio.Event().wait()


def send(message: bytes, times: int) -> None:
    """Connect without our SDK, and send this message `times` times for each frame of questions."""
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    requests.put(hello())
    with contextlib.suppress(grpc.RpcError):
        for frame in raw_stream(iter(requests.get, None), os.environ["NOUGHTS_TICKET"]):
            response = pb.PlayResponse.FromString(frame)
            if response.HasField("turns"):
                for _ in range(times):
                    requests.put(message)
    wait_for_ever()


match HABIT:
    case "wrong ticket":
        run(Lowest(), token="ticket_guessed")
    case "leaves":
        asyncio.run(play_and_leave())
    case "no message":
        send(b"\xff\xff\xff", 1)
    case "endless frames":
        send(b"", 5_000)
    case "much to print":
        sys.stdout.write("blah " * 40_000)
        run(Lowest())
    case _:
        run(Lowest())
