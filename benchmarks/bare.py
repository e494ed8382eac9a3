"""Reference programs: the speed of bare grpc.aio on this machine, without games.

    python benchmarks/bare.py pingpong          one small message back and forth on a bidi stream
    python benchmarks/bare.py echo --flight N   frames of the size of N concurrent games, two bots, no rules

Prints one line of JSON, {"per_second": ...}: exchanges per second (pingpong), or turns per second (echo).
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from typing import Any

import grpc
import grpc.aio

from noughts_proto.transport import CLIENT_OPTIONS, SERVER_OPTIONS
from noughts_proto.v1 import play_pb2 as pb

_METHOD = "/bare.Bare/Play"
_WARM_SECONDS = 0.5
"""The time before the measurement begins."""


class _Exchange:
    """The server's side: write a message and wait for the answer, repeatedly, and count the exchanges."""

    def __init__(self, message: bytes, bots: int) -> None:
        self.count = 0
        self.ready = asyncio.Event()
        self._message = message
        self._waiting_for = bots

    async def play(self, _: Any, context: Any) -> None:
        await context.read()
        self._waiting_for -= 1
        if not self._waiting_for:
            self.ready.set()
        await self.ready.wait()
        while True:
            await context.write(self._message)
            if await context.read() is grpc.aio.EOF:
                return
            self.count += 1


class _FrameExchange(_Exchange):
    """An exchange of frames of turns, which are composed and parsed every time, as in a referee."""

    def __init__(self, turns: int, bots: int) -> None:
        super().__init__(b"", bots)
        self._turns = turns

    async def play(self, _: Any, context: Any) -> None:
        await context.read()
        self._waiting_for -= 1
        if not self._waiting_for:
            self.ready.set()
        await self.ready.wait()
        games, plies, cells = list(range(1, self._turns + 1)), [5] * self._turns, [4] * self._turns
        frame = 0
        while True:
            frame += 1
            message = pb.PlayResponse(frame=frame, turns=pb.Turns(game=games, ply=plies, cell=cells))
            await context.write(message.SerializeToString())
            answer = await context.read()
            if answer is grpc.aio.EOF:
                return
            moves = pb.PlayRequest.FromString(answer).moves
            games, plies, cells = list(moves.game), list(moves.ply), list(moves.cell)
            self.count += len(games)


def _start_clients(kind: str, port: int, bots: int) -> list[subprocess.Popen[bytes]]:
    command = [sys.executable, __file__, f"{kind}-client", "--port", str(port)]
    return [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(bots)]


async def _serve(exchange: _Exchange, kind: str, bots: int, seconds: float) -> float:
    server = grpc.aio.server(options=SERVER_OPTIONS)
    handler: Any = grpc.stream_stream_rpc_method_handler(exchange.play)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bare.Bare", {"Play": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    children = _start_clients(kind, port, bots)
    try:
        await exchange.ready.wait()
        await asyncio.sleep(_WARM_SECONDS)
        count, began = exchange.count, time.perf_counter()
        await asyncio.sleep(seconds)
        return (exchange.count - count) / (time.perf_counter() - began)
    finally:
        for child in children:
            child.kill()
            child.wait()
        await server.stop(0)


async def _echo_bytes(port: int) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=CLIENT_OPTIONS) as channel:
        call: Any = channel.stream_stream(_METHOD)()
        await call.write(b"hello")
        while (message := await call.read()) is not grpc.aio.EOF:
            await call.write(message)


async def _echo_frames(port: int) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=CLIENT_OPTIONS) as channel:
        call: Any = channel.stream_stream(_METHOD)()
        await call.write(b"hello")
        while (message := await call.read()) is not grpc.aio.EOF:
            frame = pb.PlayResponse.FromString(message)
            turns = frame.turns
            moves = pb.Moves(game=list(turns.game), ply=list(turns.ply), cell=list(turns.cell))
            await call.write(pb.PlayRequest(done_through=frame.frame, moves=moves).SerializeToString())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["pingpong", "echo", "pingpong-client", "echo-client"])
    parser.add_argument("--flight", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    if options.kind == "pingpong-client":
        asyncio.run(_echo_bytes(options.port))
    elif options.kind == "echo-client":
        asyncio.run(_echo_frames(options.port))
    else:
        asyncio.run(_measure(options))


async def _measure(options: argparse.Namespace) -> None:
    if options.kind == "pingpong":
        rate = await _serve(_Exchange(b"ping", 1), "pingpong", 1, options.seconds)
    else:
        bots = min(2, options.flight)
        turns = max(1, options.flight // 2)
        rate = await _serve(_FrameExchange(turns, bots), "echo", bots, options.seconds)
    print(json.dumps({"per_second": rate}))


if __name__ == "__main__":
    main()
