"""Starts of processes that the machine refuses are repeated and reported."""

import asyncio
import errno
import os
import resource
from contextlib import suppress
from pathlib import Path

import pytest

from noughts_referee.children.launcher import ChildCommand, Launcher, Started
from noughts_referee.children.plain_launcher import PlainLauncher
from noughts_referee.children.sandbox_launcher import SandboxLauncher
from noughts_referee.children.start_retry import REFUSALS, RetryingLauncher, StartRetry
from tests.support.loopback import wait_until
from tests.support.mounts import small_disk


class FailingStart:
    """A start that fails with these errors before it succeeds."""

    def __init__(self, *refusals: OSError) -> None:
        self._refusals = list(refusals)

    async def __call__(self) -> str:
        if self._refusals:
            raise self._refusals.pop(0)
        return "started"


async def test_a_refused_start_is_repeated_and_reported_once() -> None:
    reports: list[str] = []
    refusals = (OSError(errno.EAGAIN, "no processes"), OSError(errno.ENOMEM, "no memory"))
    assert await StartRetry(reports.append).until_possible(FailingStart(*refusals)) == "started"
    assert reports == [
        "this machine cannot start more processes now: [Errno 11] no processes; games wait, and Noughts tries again",
        "this machine starts processes again",
    ]


async def test_a_start_that_fails_after_a_wait_is_not_reported_as_possible_again() -> None:
    reports: list[str] = []
    refusals = (OSError(errno.EAGAIN, "no processes"), FileNotFoundError(errno.ENOENT, "no such program"))
    with pytest.raises(FileNotFoundError):
        await StartRetry(reports.append).until_possible(FailingStart(*refusals))
    assert len(reports) == 1


async def test_the_end_of_refusals_is_reported_after_another_start_was_cancelled() -> None:
    reports: list[str] = []
    retry, can_start = StartRetry(reports.append), asyncio.Event()

    async def start() -> None:
        if not can_start.is_set():
            raise OSError(errno.EAGAIN, "no processes")

    async def never_start() -> None:
        raise OSError(errno.EAGAIN, "no processes")

    async with asyncio.TaskGroup() as tasks:
        started = tasks.create_task(retry.until_possible(start))
        cancelled = tasks.create_task(retry.until_possible(never_start))
        await wait_until(lambda: reports)
        can_start.set()
        await started
        assert len(reports) == 1  # one start still waits
        cancelled.cancel()
    await retry.until_possible(start)
    assert reports[1:] == ["this machine starts processes again"]


async def test_other_errors_are_raised() -> None:
    assert errno.ENOENT not in REFUSALS
    with pytest.raises(FileNotFoundError):
        await StartRetry(pytest.fail).until_possible(FailingStart(FileNotFoundError(errno.ENOENT, "no such program")))


@pytest.mark.parametrize("kind", [SandboxLauncher, PlainLauncher])
async def test_a_child_starts_once_file_descriptors_are_free(kind: type[SandboxLauncher | PlainLauncher]) -> None:
    reports: list[str] = []
    launcher = RetryingLauncher(_create_launcher(kind), StartRetry(reports.append))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        async with asyncio.TaskGroup() as tasks:
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
            try:
                starting = tasks.create_task(launcher.start(ChildCommand("exec", "sleep 600")))
                await wait_until(lambda: reports)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        started = starting.result()
        assert "Too many open files" in reports[0]
        assert reports[1:] == ["this machine starts processes again"]
        await _end(started)
    finally:
        await launcher.close()


async def test_a_child_starts_once_there_is_space_for_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[str] = []
    with small_disk(tmp_path / "disk", "size=1m,nr_inodes=100") as disk:
        monkeypatch.setattr("tempfile.tempdir", str(disk.own_path))
        launcher = RetryingLauncher(_create_launcher(SandboxLauncher), StartRetry(reports.append))
        taken = _fill(disk.own_path)
        async with asyncio.TaskGroup() as tasks:
            starting = tasks.create_task(launcher.start(ChildCommand("exec", "sleep 600")))
            await wait_until(lambda: reports)
            for path in taken[:20]:
                path.unlink()
        assert "No space left on device" in reports[0]
        await _end(starting.result())
        await launcher.close()


def _fill(disk: Path) -> list[Path]:
    """Create files until the disk has no free inode, which a new folder would need."""
    taken: list[Path] = []
    with suppress(OSError):
        while True:
            path = disk / str(len(taken))
            path.touch()
            taken.append(path)
    return taken


async def _end(child: Started) -> None:
    child.kill(9)
    assert await child.wait() == -9
    for fd in (child.stdin, child.stdout, child.stderr):
        os.close(fd)


def _create_launcher(kind: type[SandboxLauncher | PlainLauncher]) -> Launcher:
    return SandboxLauncher("noughts_bots.hosts.warm:main") if kind is SandboxLauncher else PlainLauncher()
