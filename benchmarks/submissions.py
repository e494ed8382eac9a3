"""A thousand bots handed in, one after the other, and the server's memory: `python -m benchmarks.submissions`."""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc.aio

from noughts_proto.transport import CLIENT_OPTIONS, TOKEN_KEY
from noughts_proto.v1 import bots_pb2 as pb
from noughts_proto.v1 import bots_pb2_grpc
from noughts_server.cli.logs import configure_logs
from noughts_server.cli.options import LogLevel
from noughts_server.hosting.submitted import Acceptance, hosting_submissions
from noughts_server.limits import Limits
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.people.tokens import create_token

SOURCE = """from noughts_bots import Bot


class Mine(Bot):
    def choose(self, position):
        return position.free[{} % len(position.free)]
"""
_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_mib() -> float:
    """Of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / (1 << 20)


async def measured(count: int, warm: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        limits = Limits(submissions=10**6, bots=10**6, versions=10**6, token_rate=10**6)
        settings = ServerSettings("127.0.0.1:0", f"sqlite:///{folder}/x.sqlite", limits=limits)
        async with (
            running_server(settings) as server,
            hosting_submissions(server, Acceptance(("wasm", "py"))) as bots,
            grpc.aio.insecure_channel(server.address, options=CLIENT_OPTIONS) as channel,
        ):
            now = server.store.now_ms()
            token = await server.store.write(
                lambda connection: create_token(connection, owner="ada", scopes=("submit",), now_ms=now)
            )
            stub: bots_pb2_grpc.BotServiceAsyncStub = bots_pb2_grpc.BotServiceStub(channel)
            metadata = ((TOKEN_KEY, f"Bearer {token.secret}"),)

            async def submit(number: int) -> None:
                source = SOURCE.format(number).encode()

                async def requests() -> AsyncIterator[pb.SubmitBotRequest]:
                    announced = pb.Submission(bot=f"bot{number % 100}", kind="py", size=len(source))
                    yield pb.SubmitBotRequest(submission=announced)
                    yield pb.SubmitBotRequest(chunk=source)

                await stub.SubmitBot(requests(), metadata=metadata)

            for number in range(warm):
                await submit(number)
            before, began = resident_mib(), time.monotonic()
            for number in range(warm, warm + count):
                await submit(number)
            seconds = time.monotonic() - began
            print(  # its output
                f"{count:,} bots handed in: {before:.1f} MiB before, {resident_mib():.1f} after,"
                f" {seconds / count * 1e3:.0f} ms each; {len(bots.playing())} play"
            )


def main() -> None:
    """Prints one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--warm", type=int, default=100)
    chosen = parser.parse_args()
    configure_logs(LogLevel.WARNING)
    asyncio.run(measured(chosen.count, chosen.warm))


if __name__ == "__main__":
    main()
