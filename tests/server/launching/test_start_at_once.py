"""The process that starts sandboxed children loads while a local run loads the server's parts."""

import psutil
import pytest

from noughts_server.launching.launcher import SandboxMode, launching
from tests.support.processes import children_that_run, eventually


def zygotes() -> list[psutil.Process]:
    return children_that_run("noughts_referee.children.zygote")


@pytest.mark.parametrize("at_once", [True, False])
async def test_zygote_starts_before_the_first_child_if_at_once(at_once: bool) -> None:
    async with launching(SandboxMode.USUAL, lambda line: None, at_once=at_once):
        eventually(lambda: len(zygotes()) == int(at_once))  # a process that has just begun has no command line yet
    assert zygotes() == []
