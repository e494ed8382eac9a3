"""Limits that the kernel does not enforce: running threads, scratch folders, and the memory of all children.

Checks run four times a second. If a child runs more threads than its share of the cores, their priority is lowered
until they weigh as much as that share. A child that computes while it has nothing to do also gets a low priority. A
child that fills its scratch folder, or hides its memory, is ended. If all children together use too much memory, the
largest is ended.
"""

import math
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from noughts_referee.children.sandbox import Limits
from noughts_referee.children.scratch_disks import disk_usage

CHECK_SECONDS = 0.25
"""Seconds between two checks of the children."""
_SLOW_CHECK_SECONDS = 1.0
"""Seconds between two checks of memory and folders, which change more slowly and take longer to check."""
_CHECKS_BEFORE_CHANGE = 2
"""Checks in a row with too many threads before the priority changes, to allow for bursts."""
_WEIGHT_OF_A_STEP = 1.25
"""The factor by which one nice value more reduces a thread's share of processor time."""
_MOST_NICE = 19
"""The lowest priority of a process on Linux."""
_NICE_AT_REST = 15
"""The nice value of a child that computes while it has nothing to do: a thirtieth of the weight of others."""
_KIB, _MIB = 1024, 1024 * 1024
_BLOCK = 512
"""Bytes of the blocks in which `stat` counts."""
_SHARED_MEMORY = (b"/dev/zero ", b"/SYSV", b"/memfd:")
"""Names in /proc of memory that processes share and that is on no disk."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Watched(Protocol):
    """A child, as the checks see it."""

    scratch: str
    """The path of its scratch folder."""
    on_disk: bool
    """Whether its scratch folder is a disk of its own, in memory."""
    starts_programs: bool
    """Whether it can start other processes."""
    gives_way: bool
    """Whether it computes while it has nothing to do, and must not disturb others."""


@dataclass(slots=True)
class _Threads:
    """The priority of the threads of a child, and the checks since its last change."""

    nice: int = 0
    """The nice value of the threads."""
    change: int = 0
    """The result of the last check: lower the priority (1), raise it (-1), or neither (0)."""
    checks: int = 0
    """The number of checks in a row with this result."""


class Watch:
    """Watches children that their parent has not reaped, so that their process IDs are still theirs."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._all_memory = limits.all_memory_bytes or machine_memory() * 3 // 4
        self._cores = len(os.sched_getaffinity(0))
        self._threads: dict[int, _Threads] = {}
        self._hidden: set[int] = set()
        """The children with a process without its first thread at the last slow check."""
        self._checked_at = self._slowly_checked_at = 0.0

    def find_offenders(self, children: Mapping[int, Watched]) -> Iterator[tuple[int, str]]:
        """Yield the process IDs of children to end, each with a phrase that follows "it"."""
        now = time.monotonic()
        if not children or now - self._checked_at < CHECK_SECONDS:
            return
        self._checked_at = now
        families = {pid: family(pid) if child.starts_programs else (pid,) for pid, child in children.items()}
        share = max(1, self._cores // len(families))
        self._threads = {pid: self._threads.get(pid, _Threads()) for pid in families}
        for pid, processes in families.items():
            self._give_way(self._threads[pid], processes, share, least=_NICE_AT_REST if children[pid].gives_way else 0)
        if now - self._slowly_checked_at < _SLOW_CHECK_SECONDS:
            return
        self._slowly_checked_at = now
        # During an ordinary end a process also lacks its first thread for a moment, so two checks must agree.
        before, self._hidden = self._hidden, {pid for pid in families if any(map(lacks_first_thread, families[pid]))}
        for pid in before & self._hidden:
            yield pid, "ended its first thread and kept others, so that no check could see its memory and files"
        for pid, child in children.items():
            if limit := self._exceeded_limit(child, families[pid]):
                yield pid, f"filled its scratch folder: it holds more than {limit}"
        yield from self._greedy(families, children)

    def _give_way(self, threads: _Threads, processes: tuple[int, ...], share: int, *, least: int) -> None:
        """Set the nice value of all threads of a child, at least `least`, if several checks call for a change."""
        running = sum(map(running_threads, processes))
        niceness = max(nice_for(running, share), least)
        change = 0
        if niceness != threads.nice:
            change = 1 if niceness > threads.nice else -1
        threads.checks = threads.checks + 1 if change == threads.change else 1
        threads.change = change
        if change and threads.checks >= _CHECKS_BEFORE_CHANGE:
            threads.nice = niceness
            for process in processes:
                _renice(process, niceness)

    def _exceeded_limit(self, child: Watched, processes: tuple[int, ...]) -> str:
        """Return which limit of the scratch folder is exceeded, in words; empty if none is."""
        limits = self._limits
        if child.on_disk:
            size, files = disk_usage(child.scratch)
        else:
            size, files = folder_usage(child.scratch, limits.scratch_bytes, limits.scratch_files)
            size += deleted_bytes(processes, limits.file_bytes)
        if size > limits.scratch_bytes:
            return f"{limits.scratch_bytes // _MIB} MiB"
        return f"{limits.scratch_files:,} files" if files > limits.scratch_files else ""

    def _greedy(
        self, families: Mapping[int, tuple[int, ...]], children: Mapping[int, Watched]
    ) -> Iterator[tuple[int, str]]:
        """Yield the largest child if all children together use too much memory, which includes their disks."""
        disks = {pid: disk_usage(child.scratch)[0] if child.on_disk else 0 for pid, child in children.items()}
        shared = sum(resident(process) for processes in families.values() for process in processes)
        if shared + sum(disks.values()) <= self._all_memory:
            return
        # Shared memory was counted several times. Count each page once, which takes longer.
        own = {pid: disks[pid] + sum(map(proportional, processes)) for pid, processes in families.items()}
        if (total := sum(own.values())) > self._all_memory:
            largest = max(own, key=lambda pid: own[pid])
            used = f"{total // _MIB:,} MiB of memory, of {self._all_memory // _MIB:,} (--memory-total)"
            yield largest, f"was the largest ({own[largest] // _MIB:,} MiB) when all children together used {used}"


def nice_for(running: int, share: int) -> int:
    """Return the nice value at which this many running threads weigh as much as `share` threads at 0."""
    if running <= share:
        return 0
    return min(_MOST_NICE, math.ceil(math.log(running / share, _WEIGHT_OF_A_STEP)))


def machine_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * _PAGE


def family(pid: int) -> tuple[int, ...]:
    """Return a process and all its descendants."""
    pids = [pid]
    for parent in pids:  # the list grows during the loop
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{parent}/task"):
                with suppress(OSError), open(f"/proc/{parent}/task/{thread}/children", "rb") as children:
                    pids += map(int, children.read().split())
    return tuple(pids)


def running_threads(pid: int) -> int:
    """Return how many threads of a process run or wait for a core."""
    running = 0
    with suppress(OSError):
        threads = os.listdir(f"/proc/{pid}/task")
        for thread in threads:
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat", "rb") as stat:
                # The program name is in parentheses and can contain anything.
                _, _, after_name = stat.read().rpartition(b") ")
                if after_name.startswith(b"R"):
                    running += 1
    return running


def lacks_first_thread(pid: int) -> bool:
    """Return whether the first thread of a process has ended, and others have not.

    Linux then shows neither the memory nor the open files of the process.
    """
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:
        fields = stat.read().rpartition(b") ")[2].split()
        return fields[0] == b"Z" and int(fields[17]) > 1
    return False


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and its ended children so far, in seconds."""
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:
        fields = stat.read().rpartition(b") ")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def resident(pid: int) -> int:
    """Return the memory of a process in bytes, including shared memory."""
    with suppress(OSError), open(f"/proc/{pid}/statm", "rb") as statm:
        return int(statm.read().split()[1]) * _PAGE
    return 0


def proportional(pid: int) -> int:
    """Return the memory of a process in bytes, with its part of shared memory."""
    with suppress(OSError), open(f"/proc/{pid}/smaps_rollup", "rb") as rollup:
        for line in rollup:
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * _KIB
    return 0


def folder_usage(folder: str, most_bytes: int, most_files: int) -> tuple[int, int]:
    """Return the bytes and the number of files in a folder. Counting stops when either is too large."""
    size = files = 0
    folders = [folder]
    while folders and size <= most_bytes and files <= most_files:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                files += 1
                with suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                if files > most_files or size > most_bytes:
                    break
    return size, files


def deleted_bytes(processes: Iterable[int], largest: int) -> int:
    """Return the bytes of the deleted files that processes hold open or in their memory, as far as /proc shows them.

    The size of a file that is only in memory is unknown without further rights. It counts as `largest`.
    """
    sizes: dict[int, int] = {}
    """Sizes by inode."""
    for pid in processes:
        with suppress(OSError):
            for end in os.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    state = os.stat(f"/proc/{pid}/fd/{end}")
                    if stat.S_ISREG(state.st_mode) and not state.st_nlink:
                        sizes[state.st_ino] = state.st_blocks * _BLOCK
        with suppress(OSError), open(f"/proc/{pid}/maps", "rb") as maps:
            for line in maps:
                *_, inode, path = line.split(maxsplit=5)
                if path.endswith(b" (deleted)\n") and not path.startswith(_SHARED_MEMORY):
                    sizes.setdefault(int(inode), largest)
    return sum(sizes.values())


def nice_above_own(nice: int) -> int:
    """Return a nice value that is this much above the one of this process, as far as there is such a value."""
    return min(_MOST_NICE, os.getpriority(os.PRIO_PROCESS, 0) + nice)


def _renice(pid: int, nice: int) -> None:
    """Set the nice value of all threads of a process, and of its autogroup if the kernel schedules by sessions.

    The value is relative to this process, because an operator can run all of Noughts with a low priority. An autogroup
    does not inherit that priority.
    """
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):  # only root can lower a nice value again
                os.setpriority(os.PRIO_PROCESS, int(thread), nice_above_own(nice))
    with suppress(OSError), open(f"/proc/{pid}/autogroup", "w") as group:
        group.write(str(nice))
