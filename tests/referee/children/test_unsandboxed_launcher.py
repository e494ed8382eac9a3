"""The launcher without a sandbox: files, variables and signals of children, and their end."""

import asyncio
import gc
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from noughts_bots.connection.event_loop import run_loop
from noughts_referee.children.launcher import ChildCommand
from noughts_referee.children.plain_launcher import PlainChild, PlainLauncher, command_line
from noughts_referee.children.running_child import ended_with
from tests.support.patience import PATIENCE

REPORT = """
import json, os, sys
json.dump({"pid": os.getpid(), "session": os.getsid(0), "group": os.getpgid(0), "environment": dict(os.environ),
           "files": sorted(map(int, os.listdir("/proc/self/fd")))[:-1], "folder": os.getcwd()}, sys.stdout)
"""


@pytest.fixture
async def launcher() -> AsyncIterator[PlainLauncher]:
    launcher = PlainLauncher()
    yield launcher
    await launcher.close()


async def wait_for_output(child: PlainChild) -> tuple[int, bytes, bytes]:
    """Return the exit code, stdout and stderr of a child, whose output must fit into its pipes."""
    code = await child.wait()
    outputs = [os.read(end, 1 << 16) for end in (child.stdout, child.stderr)]
    for end in (child.stdin, child.stdout, child.stderr):
        os.close(end)
    return code, outputs[0], outputs[1]


def python(script: str) -> ChildCommand:
    return ChildCommand("exec", f"{sys.executable} -c '{script}'")


async def test_a_child_leads_a_session_and_gets_neither_files_nor_secrets(
    launcher: PlainLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOUGHTS_TOKEN", "secret")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent")
    inheritable = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(inheritable, True)
    try:
        child = await launcher.start(python(REPORT))
        code, printed, _ = await wait_for_output(child)
    finally:
        os.close(inheritable)
    report = json.loads(printed)
    assert (code, report["pid"], report["session"], report["group"]) == (0, child.pid, child.pid, child.pid)
    assert report["files"] == [0, 1, 2]
    assert not {"NOUGHTS_TOKEN", "SSH_AUTH_SOCK"} & set(report["environment"])
    assert report["environment"]["PATH"] == os.environ["PATH"]
    assert report["folder"] == os.getcwd()
    # Its own folder for temporary files has been removed.
    assert os.listdir(os.path.dirname(report["environment"]["TMPDIR"])) == []


async def test_a_program_that_cannot_run_exits_with_127_and_an_error(launcher: PlainLauncher) -> None:
    code, _, errors = await wait_for_output(await launcher.start(ChildCommand("exec", "./no-such-program")))
    assert (code, errors) == (127, b"cannot run ./no-such-program: No such file or directory\n")


async def test_a_signal_reaches_the_group_and_is_the_exit_code(launcher: PlainLauncher) -> None:
    child = await launcher.start(ChildCommand("exec", "sleep 1000"))
    child.kill(signal.SIGKILL)
    code, _, _ = await wait_for_output(child)
    assert code == -signal.SIGKILL
    assert ended_with(code) == "was ended by signal 9 (SIGKILL)"
    child.kill(signal.SIGKILL)  # has no effect: the group has ended


def test_cancelled_wait_leaves_no_child_process() -> None:
    async def abandon() -> PlainChild:
        child = await plain_launcher.start(ChildCommand("exec", "sleep 1000"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(child.wait(), 0.01)
        for end in (child.stdin, child.stdout, child.stderr):
            os.close(end)
        return child

    plain_launcher = PlainLauncher()
    child = run_loop(abandon())
    assert not psutil.pid_exists(child.pid)
    assert not os.path.exists(child.scratch)
    del child
    gc.collect()  # a child process without an owner would warn here
    run_loop(plain_launcher.close())


async def test_a_refused_start_raises_and_leaks_no_file(launcher: PlainLauncher) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    before, limits = open_files(), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before + 2, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            await launcher.start(ChildCommand("exec", "sleep 1000"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert open_files() == before


def test_children_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = """
import asyncio, os
from noughts_referee.children.launcher import ChildCommand
from noughts_referee.children.plain_launcher import PlainLauncher
async def main():
    program = "sh -c 'echo there; trap \\"\\" TERM HUP; exec sleep 1000'"
    child = await PlainLauncher().start(ChildCommand("exec", program))
    while True:
        try:
            assert os.read(child.stdout, 10) == b"there\\n"
            break
        except BlockingIOError:
            await asyncio.sleep(0)
    print(child.pid, flush=True)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""
    # No process remains to remove the scratch folder, so it lies in the folder of this test.
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(process.stdout)).wait(timeout=PATIENCE)


def test_plugins_are_played_by_their_host() -> None:
    line = command_line(ChildCommand("py", "my.bots:Corner", {"depth": "3"}))
    assert line == [sys.executable, "-P", "-m", "noughts_bots.hosts", "py", "my.bots:Corner", "depth=3"]
