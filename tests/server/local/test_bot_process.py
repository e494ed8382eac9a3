"""The processes of reference bots: one process forks them all, and each is its own."""

import asyncio
import signal
from contextlib import AsyncExitStack

import psutil

from noughts_bots.connection.event_loop import run_loop
from noughts_bots.reference.specs import parse_spec
from noughts_referee.children.start_retry import StartRetry
from noughts_server.local.bot_process import BotProcess, bot_process
from tests.support.loopback import wait_until


async def _start(stack: AsyncExitStack, *specs: str) -> list[BotProcess]:
    return [await stack.enter_async_context(bot_process(parse_spec(spec), 1, StartRetry(print))) for spec in specs]


def test_one_process_forks_the_reference_bots_of_all_runs() -> None:
    async def run(*specs: str) -> set[int]:
        async with AsyncExitStack() as stack:
            bots = [psutil.Process(bot.pid) for bot in await _start(stack, *specs)]
            await wait_until(lambda: [bot.cmdline()[4:6] for bot in bots] == [[spec, "1"] for spec in specs])
            parents = {bot.ppid() for bot in bots}
        assert not any(bot.is_running() for bot in bots)
        return parents

    first = run_loop(run("random", "nextstep:depth=3"))
    assert len(first) == 1
    assert asyncio.run(run("fives")) == first


async def test_the_end_of_a_reference_bot_costs_no_other_its_process() -> None:
    async with AsyncExitStack() as stack:
        crashing, other, refused = await _start(stack, "random", "random", "table:file=/nothing")
        psutil.Process(crashing.pid).kill()
        assert await crashing.play("127.0.0.1:1", "ticket") == -signal.SIGKILL
        assert await refused.play("127.0.0.1:1", "ticket") == 1
        assert "/nothing" in "".join(refused.lines)
        assert psutil.Process(other.pid).is_running()
