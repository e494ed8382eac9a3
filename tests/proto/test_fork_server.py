"""A fork server: the processes that it forks, and their ends."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from noughts_proto.fork_server import ForkedProcess, ForkServer
from tests.support.loopback import wait_until
from tests.support.processes import children_that_run, eventually

pytestmark = pytest.mark.processes

_MODULE = """
import os, resource, sys, time
from noughts_proto.forking import serve

def run(arguments):
    exec(arguments[0])
    return 0

if "LC_ONE_PROCESS" in os.environ:  # descriptors of a pipe, and of one request
    free = [file for file in range(64) if not os.path.exists(f"/proc/self/fd/{file}")]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[6], free[6]))
serve(int(sys.argv[1]), run)
"""
_OWNER = """
import asyncio
from noughts_proto.fork_server import ForkServer

async def main():
    process = await ForkServer("forks_anything").start(["time.sleep(600)"], {}, stderr=2)
    print(process.pid, flush=True)
    await process.ended()

asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "forks_anything.py").write_text(_MODULE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))


@pytest.fixture
def server() -> Iterator[ForkServer]:
    server = ForkServer("forks_anything")
    yield server
    server.close()


@asynccontextmanager
async def running(server: ForkServer, code: str, *, stderr: int = 2, **variables: str) -> AsyncIterator[ForkedProcess]:
    process = await server.start([code], variables, stderr=stderr)
    try:
        yield process
    finally:
        process.close()


async def test_a_process_has_its_own_folder_and_variables(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.load()
    monkeypatch.chdir(tmp_path)
    code = "os.write(2, f'{os.getcwd()} {sorted(os.environ.items())}'.encode())"
    with (tmp_path / "written").open("w+") as file:
        async with running(server, code, stderr=file.fileno(), COLOUR="green") as process:
            assert await process.ended() == 0
    assert (tmp_path / "written").read_text() == f"{tmp_path} [('COLOUR', 'green')]"


@pytest.mark.parametrize("code, expected", [("sys.exit(3)", 3), ("1 / 0", 1), ("os.abort()", -signal.SIGABRT)])
async def test_the_end_of_a_process_is_its_own(server: ForkServer, code: str, expected: int) -> None:
    async with running(server, "time.sleep(600)") as other, running(server, code) as process:
        assert await process.ended() == expected
        assert not other.has_ended


async def test_a_process_reads_its_standard_input_and_is_shown_as_itself(server: ForkServer) -> None:
    async with running(server, "sys.exit(int(sys.stdin.readline()))") as process:
        await wait_until(lambda: "int(sys.stdin" in " ".join(psutil.Process(process.pid).cmdline()))
        process.stdin.write(b"7\n")
        assert await process.ended() == 7


async def test_a_signal_reaches_one_process(server: ForkServer) -> None:
    async with running(server, "time.sleep(600)") as other, running(server, "time.sleep(600)") as process:
        assert psutil.Process(process.pid).ppid() == psutil.Process(other.pid).ppid()
        process.send_signal(signal.SIGTERM)
        assert await process.ended() == -signal.SIGTERM
        process.send_signal(signal.SIGTERM)  # nothing happens
        assert not other.has_ended
    await wait_until(lambda: not psutil.pid_exists(other.pid))


def test_no_process_outlives_the_one_that_asked_for_it() -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        process = psutil.Process(int(owner.stdout.readline()))
        server = process.parent()
        owner.kill()
    eventually(lambda: not process.is_running() and not (server and server.is_running()))


async def test_processes_end_with_a_killed_server_and_a_new_one_starts(server: ForkServer) -> None:
    async with running(server, "time.sleep(600)") as process:
        forks = psutil.Process(process.pid).parent()
        assert forks is not None
        forks.kill()
        assert await process.ended() == -signal.SIGKILL
    await wait_until(lambda: not psutil.pid_exists(process.pid))
    async with running(server, "sys.exit(3)") as process:
        assert await process.ended() == 3


async def test_a_server_without_free_descriptors_refuses_a_process(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ONE_PROCESS", "1")
    async with running(server, "time.sleep(600)"):
        with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
            await server.start(["0"], {}, stderr=2)


async def test_a_server_that_does_not_answer_is_an_error() -> None:
    server = ForkServer("forks_anything", answer_seconds=0.2)
    server.load()
    (stopped,) = eventually(lambda: children_that_run("forks_anything"))
    stopped.suspend()
    try:
        with pytest.raises(TimeoutError, match=r"did not answer within 0\.2 s"):
            await server.start(["0"], {}, stderr=2)
    finally:
        stopped.kill()
        server.close()


def test_one_server_serves_all_loops_until_variables_of_python_change(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def parent() -> int:
        async with running(server, "time.sleep(600)") as process:
            return psutil.Process(process.pid).ppid()

    first = asyncio.run(parent())
    assert asyncio.run(parent()) == first
    monkeypatch.setenv("PYTHONUTF8", "1")
    assert asyncio.run(parent()) != first
    eventually(lambda: not psutil.pid_exists(first))
