"""A child process of a server that is restarted when it ends."""

import asyncio
import errno
from typing import Any

import pytest
from structlog.testing import capture_logs

from noughts_server.runtime import supervised_child
from tests.support.patience import PATIENCE


@pytest.mark.processes
async def test_child_that_the_machine_cannot_start_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    start, failures = asyncio.create_subprocess_exec, [errno.EMFILE, errno.EAGAIN]

    async def fail_or_start(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        if failures:
            raise OSError(failures.pop(), "too much is open")
        return await start(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", fail_or_start)
    monkeypatch.setattr(supervised_child, "_FIRST_WAIT", 0.01)
    ended: asyncio.Queue[int] = asyncio.Queue()
    with capture_logs() as logs:
        async with supervised_child.supervised_child(("platform",), "{}", lambda code, wait: ended.put_nowait(code)):
            assert await asyncio.wait_for(ended.get(), PATIENCE) == 0
    assert [(line["event"], line["module"]) for line in logs] == [("child_not_started", "platform")] * 2
