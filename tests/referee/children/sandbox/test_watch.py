"""Limits that Noughts enforces itself: busy threads, full scratch folders, the memory of all children."""

import os
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from noughts_proto.interpreter import python
from noughts_referee.children import sandbox_launcher, watch
from noughts_referee.children.launcher import ChildCommand
from noughts_referee.children.sandbox import Limits
from noughts_referee.children.sandbox_launcher import SandboxedChild, SandboxLauncher
from tests.support.processes import eventually
from tests.support.tools import NOT_TRIED

from .drive import probe_command
from .targets import refuse_mounts

_MIB = 1024 * 1024
_FILL_FOLDER = "mkdir d; cd d; i=0; while :; do i=$((i+1)); {}; done"


@pytest.fixture
def disk() -> None:
    """A machine on which each child gets a disk of its own."""
    if os.geteuid():
        pytest.skip(f"{NOT_TRIED}disks of children; they need root here")
    try:
        subprocess.run(["unshare", "--mount", "true"], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"{NOT_TRIED}disks of children; no unshare here")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{NOT_TRIED}disks of children; mount: {error.stderr.strip()}")


@pytest.fixture(params=["a disk of its own", "a folder"])
def scratch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The kind of a child's scratch folder: a disk of its own, or a folder if the machine refuses mounts."""
    kind: str = request.param
    if kind == "a folder":
        refuse_mounts(monkeypatch)
    return kind


@asynccontextmanager
async def sandboxed_shells(*scripts: str, limits: Limits | None = None) -> AsyncIterator[list[SandboxedChild]]:
    """Run these scripts in sandboxed shells."""
    launcher = SandboxLauncher("noughts_bots.hosts.warm:main", limits)
    try:
        yield [await launcher.start(ChildCommand("exec", f"sh -c '{script}'")) for script in scripts]
    finally:
        await launcher.close()


def close_pipes(*children: SandboxedChild) -> None:
    for child in children:
        for fd in (child.stdin, child.stdout, child.stderr):
            os.close(fd)


def niceness(pid: int) -> int:
    """The nice value of a process, compared with that of this one."""
    return os.getpriority(os.PRIO_PROCESS, pid) - os.getpriority(os.PRIO_PROCESS, 0)


def can_trace() -> bool:
    """Return whether this process has the capability CAP_SYS_PTRACE."""
    cap_sys_ptrace = 19
    (capabilities,) = re.findall(r"^CapEff:\s*(\w+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return bool(int(capabilities, 16) >> cap_sys_ptrace & 1)


@pytest.mark.parametrize(
    "running, share, nice",
    [(0, 1, 0), (1, 1, 0), (2, 1, 4), (4, 1, 7), (4, 4, 0), (8, 4, 4), (60, 1, 19), (1_000, 1, 19)],
)
def test_the_nice_value_grows_with_threads_beyond_the_share(running: int, share: int, nice: int) -> None:
    assert watch.nice_for(running, share) == nice


async def test_a_child_that_spins_in_many_processes_gives_way_until_it_stops() -> None:
    eight_loops = 'for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & p="$p $!"; done'
    spinning = f"{eight_loops}; read line; kill $p; wait; exec sleep 600"
    async with sandboxed_shells(spinning, "exec sleep 600") as (busy, quiet):
        least = watch.nice_above_own(4) - watch.nice_above_own(0)
        eventually(lambda: niceness(busy.pid), lambda nice: nice >= least)
        assert max(niceness(pid) for pid in watch.family(busy.pid)) >= least
        assert niceness(quiet.pid) == 0
        if os.getuid() == 0:  # only root can lower a nice value again
            os.write(busy.stdin, b"\n")
            eventually(lambda: niceness(busy.pid), lambda nice: nice == 0)
        close_pipes(busy, quiet)


async def test_a_child_that_fills_its_scratch_folder_ends_with_a_reason(scratch: str) -> None:
    limits = Limits(scratch_bytes=4 * _MIB, scratch_files=50)
    scripts = [_FILL_FOLDER.format(writing) for writing in ("head -c 1000000 /dev/zero > $i", "touch $i")]
    async with sandboxed_shells(*scripts, "exec sleep 600", limits=limits) as (large, many, other):
        for child, limit in ((large, "4 MiB"), (many, "50 files")):
            assert await child.wait() == -9
            assert child.ended_for == f"filled its scratch folder: it holds more than {limit}"
            eventually(lambda folder=child.scratch: os.path.exists(folder), lambda is_there: not is_there)  # type: ignore[misc]
        assert niceness(other.pid) == 0  # the other child still runs
        close_pipes(large, many, other)


async def test_a_child_gives_way_until_give_way_is_false() -> None:
    async with sandboxed_shells("exec sleep 600", "exec sleep 600") as (child, other):
        child.give_way(True)
        eventually(lambda: niceness(child.pid), lambda nice: nice == watch.nice_above_own(15) - watch.nice_above_own(0))
        assert niceness(other.pid) == 0
        if os.getuid() == 0:
            child.give_way(False)
            eventually(lambda: niceness(child.pid), lambda nice: nice == 0)
        close_pipes(child, other)


async def test_a_child_gives_way_from_the_priority_of_its_referee(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_launcher, "python", lambda *words: ["nice", "-n", "3", *python(*words)])
    low, lower = watch.nice_above_own(3), watch.nice_above_own(3 + 15)
    async with sandboxed_shells("exec sleep 600") as (child,):
        assert os.getpriority(os.PRIO_PROCESS, child.pid) == low
        child.give_way(True)
        eventually(lambda: os.getpriority(os.PRIO_PROCESS, child.pid), lambda nice: nice == lower)
        if os.getuid() == 0:
            child.give_way(False)
            eventually(lambda: os.getpriority(os.PRIO_PROCESS, child.pid), lambda nice: nice == low)
        close_pipes(child)


@pytest.mark.parametrize("probe", ["hold_deleted_files", "map_deleted_files"])
async def test_a_child_that_holds_deleted_files_ends_with_a_reason(scratch: str, probe: str, tmp_path: Path) -> None:
    if scratch == "a folder" and os.geteuid() == 0 and not can_trace():
        pytest.skip(f"{NOT_TRIED}deleted files of children of root; they need CAP_SYS_PTRACE here")
    launcher = SandboxLauncher("noughts_bots.hosts.warm:main", Limits(scratch_bytes=4 * _MIB, file_bytes=2 * _MIB))
    child = await launcher.start(probe_command("exec", probe, {"bot": str(tmp_path)}))
    assert await child.wait() == -9
    assert child.ended_for == "filled its scratch folder: it holds more than 4 MiB"
    close_pipes(child)
    await launcher.close()


async def test_a_child_without_its_first_thread_ends_with_a_reason(tmp_path: Path) -> None:
    launcher = SandboxLauncher("noughts_bots.hosts.warm:main")
    child = await launcher.start(probe_command("exec", "end_its_first_thread", {"bot": str(tmp_path)}))
    assert await child.wait() == -9
    assert child.ended_for.startswith("ended its first thread and kept others")
    close_pipes(child)
    await launcher.close()


async def test_a_child_can_fill_only_its_own_disk(disk: None) -> None:
    writing = 'stat -f -c "%b %S" .; i=0; while head -c 1000000 /dev/zero > $((i+=1)); do :; done; sleep 600'
    async with sandboxed_shells(writing, limits=Limits(scratch_bytes=64 * _MIB)) as (child,):
        assert await child.wait() == -9
        assert child.ended_for.startswith("filled its scratch folder")
        blocks, block_size = map(int, os.read(child.stdout, 4096).split())
        assert blocks * block_size == 68 * _MIB
        close_pipes(child)


async def test_the_largest_child_is_ended_if_all_use_too_much_memory() -> None:
    holder = 'exec python3 -c "import time; held = bytearray({} * 1048576); time.sleep(600)"'
    limits = Limits(all_memory_bytes=150 * _MIB)
    async with sandboxed_shells(holder.format(120), holder.format(60), limits=limits) as (large, small):
        assert await large.wait() == -9
        assert large.ended_for.startswith("was the largest (")
        assert large.ended_for.endswith(" MiB of memory, of 150 (--memory-total)")
        assert niceness(small.pid) == 0  # the other child still runs
        close_pipes(large, small)


def test_folder_usage_stops_at_its_limits(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).write_bytes(bytes(8_192))
    assert watch.folder_usage(str(tmp_path), 10**9, 10**9) == (20 * 8_192, 20)
    assert watch.folder_usage(str(tmp_path), 10**9, 5)[1] == 6
    assert watch.folder_usage(str(tmp_path), 20_000, 10**9)[0] <= 3 * 8_192


def test_a_family_is_a_process_and_all_its_descendants() -> None:
    with subprocess.Popen(["sh", "-c", "sh -c 'sleep 600 & wait' & wait"]) as process:
        family = eventually(lambda: watch.family(process.pid), lambda found: len(found) == 3)
        # Kill the oldest first: each of the others ends by itself once the process that it waits for has ended.
        for pid in family:
            os.kill(pid, 9)
    assert watch.family(process.pid) == (process.pid,)
