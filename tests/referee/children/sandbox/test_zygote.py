"""The zygote: the children that it starts, how they end, and that no process remains."""

import asyncio
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest

from noughts_referee.children import sandbox_launcher, zygote
from noughts_referee.children.command import resolve
from noughts_referee.children.launcher import ChildCommand
from noughts_referee.children.sandbox import Limits, SandboxIncomplete, missing
from noughts_referee.children.sandbox_launcher import SandboxedChild, SandboxLauncher
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE
from tests.support.processes import children_that_run, eventually

from .drive import ENTRY, probe_command, wait_for_outcome
from .targets import processes_with, refuse_mounts

_HERE = Path(__file__).parent
_DIALLING = """
import grpc, os
with grpc.insecure_channel(os.environ["ADDRESS"]) as channel:
    try:
        channel.unary_unary("/noughts.Nothing/Nothing")(b"", timeout=20)
    except grpc.RpcError as error:
        print(error.code().name, flush=True)
"""
_STARTER = """
import asyncio, sys
from noughts_referee.children.launcher import ChildCommand
from noughts_referee.children.sandbox_launcher import SandboxLauncher

async def main():
    launcher = SandboxLauncher(sys.argv[1])
    await launcher.start(ChildCommand("exec", "sh -c '(setsid sleep 600 &); exec sleep 600'"))
    plugin = await launcher.start(ChildCommand("py", "stay", {"targets": "{}"}))
    print(plugin.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""

_REFUSING = """
import os
from pathlib import Path
from probes import main as main

_fork = os.fork

def fork():
    if Path(__file__).with_name("refuses").exists():
        raise BlockingIOError(11, "no processes")
    return _fork()

os.fork = fork
"""
_HOLDING = """
import time
from pathlib import Path
from noughts_referee.children import scratch
from probes import main as main

_clear = scratch._clear

def clear(*arguments):
    while not Path(__file__).with_name("released").exists():
        time.sleep(0.01)
    return _clear(*arguments)

scratch._clear = clear
"""


@pytest.fixture(autouse=True)
def _entry(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = os.pathsep.join([*(path for path in sys.path if path), str(_HERE)])
    monkeypatch.setenv("PYTHONPATH", paths)


@pytest.fixture
def targets(tmp_path: Path) -> dict[str, Any]:
    return {"bot": str(tmp_path), "marker": secrets.token_hex(8)}


def add_entry(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, text: str) -> Path:
    """Write an entry module that a zygote can import, and return its folder."""
    entry = folder / "entry"
    entry.mkdir()
    (entry / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], str(entry)]))
    return entry


@asynccontextmanager
async def running_launcher(limits: Limits | None = None, entry: str = ENTRY) -> AsyncIterator[SandboxLauncher]:
    launcher = SandboxLauncher(entry, limits)
    try:
        yield launcher
    finally:
        await launcher.close()


async def first_line(child: SandboxedChild) -> bytes:
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(child.stdout, readable.set)
    async with asyncio.timeout(PATIENCE):
        await readable.wait()
    loop.remove_reader(child.stdout)
    return os.read(child.stdout, 4096)


def zygotes() -> list[psutil.Process]:
    return children_that_run("noughts_referee.children.zygote")


def out_of_memory_score(pid: int) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


def close_pipes(child: SandboxedChild) -> None:
    for fd in (child.stdin, child.stdout, child.stderr):
        os.close(fd)


@pytest.mark.parametrize("probe", ["leave_a_daemon", "leave_a_hopper"])
async def test_processes_that_a_program_leaves_behind_are_killed(probe: str, targets: dict[str, Any]) -> None:
    async with running_launcher() as launcher:
        child = await launcher.start(probe_command("exec", probe, targets))
        outcome = await wait_for_outcome(child)
        assert (outcome.out, outcome.code) == ("left\n", 0)
        assert processes_with(targets["marker"]) == []


async def test_a_fork_bomb_is_limited_and_ends_with_its_leader(targets: dict[str, Any]) -> None:
    async with running_launcher(Limits(processes=40)) as launcher:
        outcome = await wait_for_outcome(await launcher.start(probe_command("exec", "bomb", targets)))
        assert outcome.out.startswith("refused after "), outcome
        forked = int(outcome.out.removeprefix("refused after ").partition(":")[0])
        # The limit of an ordinary user counts all tasks of that user, which begin and end meanwhile.
        assert 0 < forked <= (1_000 if os.getuid() else 40)
        await wait_until(lambda: not processes_with(targets["marker"]))  # on a busy machine, some take longer to end


async def test_a_killed_program_leaves_no_process(targets: dict[str, Any]) -> None:
    script = f"(setsid sleep 600 & setsid sleep 600 & echo {targets['marker']}); exec sleep 600"
    async with running_launcher() as launcher:
        child = await launcher.start(ChildCommand("exec", f"sh -c '{script}'"))
        assert (await first_line(child)).strip() == targets["marker"].encode()
        family = psutil.Process(child.pid).children(recursive=True)
        child.kill(signal.SIGKILL)
        outcome = await wait_for_outcome(child)
        assert outcome.code == -signal.SIGKILL
        assert not any(process.is_running() for process in family)


@pytest.mark.parametrize("kind", ["py", "exec"])
async def test_a_signal_reaches_the_child_and_is_its_exit_code(kind: str, targets: dict[str, Any]) -> None:
    async with running_launcher() as launcher:
        child = await launcher.start(probe_command(kind, "stay", targets))
        assert await first_line(child) == b"staying\n"
        child.kill(signal.SIGTERM)
        outcome = await wait_for_outcome(child)
        assert outcome.code == -signal.SIGTERM
        child.kill(signal.SIGTERM)  # has no effect


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_child_can_be_killed_right_after_its_start(number: int, targets: dict[str, Any]) -> None:
    async with running_launcher() as launcher:
        for _ in range(20):
            child = await launcher.start(probe_command("py", "stay", targets))
            child.kill(number)
            assert (await wait_for_outcome(child)).code == -number


async def test_a_sandboxed_program_reaches_only_its_port_with_grpc(targets: dict[str, Any]) -> None:
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    address = f"127.0.0.1:{port}"
    words = f"{sys.executable} -c '{_DIALLING}'"
    async with running_launcher() as launcher:
        reaches = await launcher.start(ChildCommand("exec", words, environment={"ADDRESS": address}, port=port))
        assert "UNIMPLEMENTED" in (await wait_for_outcome(reaches)).out
        refused = await launcher.start(ChildCommand("exec", words, environment={"ADDRESS": address}))
        assert "UNAVAILABLE" in (await wait_for_outcome(refused)).out
    await server.stop(None)


async def test_forty_children_start_at_once_and_have_separate_pipes(targets: dict[str, Any]) -> None:
    async with running_launcher() as launcher:
        children = await asyncio.gather(*[launcher.start(probe_command("py", "who", targets)) for _ in range(40)])
        outcomes = await asyncio.gather(*[wait_for_outcome(child) for child in children])
    assert all(f'"pid": {outcome.pid}' in outcome.out for outcome in outcomes)
    assert len({outcome.pid for outcome in outcomes}) == 40


async def test_ends_of_children_that_exit_at_once_are_reported(targets: dict[str, Any]) -> None:
    async with running_launcher() as launcher:
        children = await asyncio.gather(*[launcher.start(ChildCommand("exec", "true")) for _ in range(60)])
        assert {(await wait_for_outcome(child)).code for child in children} == {0}


async def test_scratch_folders_are_removed(targets: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # the child is another user
        monkeypatch.setattr(tempfile, "tempdir", folder)
        async with running_launcher() as launcher:
            outcome = await wait_for_outcome(await launcher.start(probe_command("exec", "write_in_scratch", targets)))
            assert outcome.out.startswith("allowed"), outcome
            (base,) = os.listdir(folder)
            await wait_until(lambda: os.listdir(os.path.join(folder, base)) == [])
        assert os.listdir(folder) == []


async def test_removing_a_scratch_folder_delays_no_child(
    targets: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_mounts(monkeypatch)  # a disk would be removed at once
    released = add_entry(monkeypatch, tmp_path, "holding", _HOLDING) / "released"
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        async with running_launcher(entry="holding:main") as launcher:
            try:
                assert (await wait_for_outcome(await launcher.start(ChildCommand("exec", "touch file")))).code == 0
                await wait_for_outcome(await launcher.start(probe_command("py", "who", targets)))
                (base,) = os.listdir(folder)
                assert os.listdir(os.path.join(folder, base, "1")) == ["file"]
            finally:
                released.touch()


async def test_a_scratch_folder_a_thousand_deep_is_removed(
    targets: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        async with running_launcher() as launcher:
            other = await launcher.start(probe_command("py", "stay", targets))
            assert await first_line(other) == b"staying\n"
            digger = await wait_for_outcome(await launcher.start(probe_command("py", "dig", targets)))
            assert digger.out == "allowed\n"
            (base,) = os.listdir(folder)
            await wait_until(lambda: len(os.listdir(os.path.join(folder, base))) == 1)
            other.kill(signal.SIGTERM)
            assert (await wait_for_outcome(other)).code == -signal.SIGTERM
        assert os.listdir(folder) == []


@pytest.mark.parametrize("kind", ["py", "exec"])
async def test_when_memory_runs_out_children_end_first(kind: str, targets: dict[str, Any]) -> None:
    async with running_launcher() as launcher:
        child = await launcher.start(probe_command(kind, "stay", targets))
        await first_line(child)
        assert out_of_memory_score(child.pid) == 1000
        child.kill(signal.SIGKILL)
        await wait_for_outcome(child)


async def test_children_end_with_a_killed_zygote_and_a_new_one_starts(targets: dict[str, Any]) -> None:
    async with running_launcher() as launcher:
        children = [await launcher.start(probe_command(kind, "stay", targets)) for kind in ("py", "exec")]
        for child in children:
            await first_line(child)
        (zygote,) = zygotes()
        zygote.kill()
        outcomes = [await wait_for_outcome(child) for child in children]
        assert [outcome.code for outcome in outcomes] == [-signal.SIGKILL] * 2
        await wait_until(lambda: not any(psutil.pid_exists(outcome.pid) for outcome in outcomes))
        outcome = await wait_for_outcome(await launcher.start(probe_command("py", "tell_the_time", targets)))
        assert outcome.out.startswith("allowed")


async def test_a_child_starts_although_the_spare_process_was_killed(targets: dict[str, Any]) -> None:
    async with running_launcher() as launcher:
        first = await launcher.start(probe_command("py", "stay", targets))
        await first_line(first)
        (zygote,) = zygotes()
        await wait_until(lambda: len(zygote.children()) == 2)
        (spare,) = (child for child in zygote.children() if child.pid != first.pid)
        zygote.suspend()  # it will read the end of the spare and the request together
        spare.kill()
        await wait_until(lambda: spare.status() == psutil.STATUS_ZOMBIE)
        asyncio.get_running_loop().call_later(0.1, zygote.resume)
        assert (
            await wait_for_outcome(await launcher.start(probe_command("py", "tell_the_time", targets)))
        ).out.startswith("allowed")
        first.kill(signal.SIGKILL)
        await first.wait()
        close_pipes(first)


async def test_starts_that_wait_for_a_busy_zygote_all_begin() -> None:
    async with running_launcher() as launcher:
        await wait_for_outcome(await launcher.start(ChildCommand("exec", "true")))
        (zygote,) = zygotes()
        zygote.suspend()  # it reads nothing, so the socket takes only the first of these large requests
        command = ChildCommand("exec", f"true {'x' * 100_000}")
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            starts = [tasks.create_task(launcher.start(command)) for _ in range(6)]
            await asyncio.sleep(0.1)
            zygote.resume()
        assert {(await wait_for_outcome(start.result())).code for start in starts} == {0}


async def run_three_children(launcher: SandboxLauncher) -> None:
    for _ in range(3):
        await wait_for_outcome(await launcher.start(ChildCommand("exec", "true")))


def status_of(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


async def test_a_zygote_that_cannot_fork_keeps_no_folder_and_no_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses = add_entry(monkeypatch, tmp_path, "refusing", _REFUSING) / "refuses"
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        launcher = SandboxLauncher("refusing:main")
        await wait_for_outcome(await launcher.start(ChildCommand("exec", "true")))
        refuses.touch()
        with pytest.raises(OSError, match="no processes"):
            await run_three_children(launcher)  # one process can have been forked in advance
        (zygote,) = zygotes()
        (base,) = os.listdir(folder)
        assert os.listdir(os.path.join(folder, base)) == []
        assert "SigBlk:\t0000000000000000\n" in status_of(zygote.pid)
        refuses.unlink()
        assert (await wait_for_outcome(await launcher.start(ChildCommand("exec", "true")))).code == 0
        await launcher.close()


async def test_closing_kills_running_children_and_their_descendants(targets: dict[str, Any]) -> None:
    launcher = SandboxLauncher(ENTRY)
    daemon = await launcher.start(ChildCommand("exec", "sh -c '(setsid sleep 600 & echo ok); exec sleep 600'"))
    plugin = await launcher.start(probe_command("py", "stay", targets))
    await first_line(daemon)
    await first_line(plugin)
    family = [*psutil.Process(daemon.pid).children(recursive=True), *map(psutil.Process, (daemon.pid, plugin.pid))]
    await launcher.close()
    assert await daemon.wait() == await plugin.wait() == -signal.SIGKILL
    assert not any(process.is_running() for process in family)
    assert zygotes() == []
    close_pipes(daemon)
    close_pipes(plugin)


async def test_children_end_with_the_process_that_started_the_zygote(targets: dict[str, Any]) -> None:
    words = [sys.executable, "-c", _STARTER, ENTRY]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as starter:  # noqa: ASYNC220  # nothing else runs here
        assert starter.stdout is not None
        plugin = int(starter.stdout.readline())
        started = psutil.Process(starter.pid).children(recursive=True)
        assert plugin in {process.pid for process in started}
        starter.kill()
    await wait_until(lambda: not any(process.is_running() for process in started))


@contextmanager
def zygote_without_launcher(scratch: Path) -> Iterator[tuple[socket.socket, "subprocess.Popen[str]"]]:
    """Start a zygote without a launcher; the block gets this end of its socket, and its process."""
    launcher_end, zygote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    settings = {"entry": ENTRY, "limits": asdict(Limits()), "scratch": str(scratch)}
    words = [sys.executable, "-m", zygote.__name__, str(zygote_end.fileno()), json.dumps(settings)]
    with (
        launcher_end,
        subprocess.Popen(words, pass_fds=[zygote_end.fileno()], stderr=subprocess.PIPE, text=True) as process,
    ):
        zygote_end.close()
        launcher_end.send(json.dumps({"number": 1, "kind": "unknown"}).encode())
        assert select.select([launcher_end], [], [], PATIENCE)[0], "no report came"
        yield launcher_end, process


def test_a_zygote_with_unread_reports_ends_without_a_traceback(tmp_path: Path) -> None:
    with zygote_without_launcher(tmp_path) as (launcher_end, process):
        launcher_end.close()
        assert process.communicate(timeout=PATIENCE)[1] == ""
        assert process.returncode == 0


def test_a_zygote_ends_at_any_number_of_signals_without_a_traceback(tmp_path: Path) -> None:
    with zygote_without_launcher(tmp_path) as (_, process):
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=PATIENCE)[1] == ""


async def test_the_error_output_says_why_a_program_cannot_run(tmp_path: Path) -> None:
    no_program = tmp_path / "notes.txt"
    no_program.write_text("to do")
    reasons = {"no-such-program": "No such file", "'": "No closing quotation", str(no_program): "Permission denied"}
    async with running_launcher() as launcher:
        for target, reason in reasons.items():
            outcome = await wait_for_outcome(await launcher.start(ChildCommand("exec", target)))
            assert outcome.code == 126
            assert reason in outcome.err


async def test_the_error_output_says_why_the_sandbox_refuses_a_program(tmp_path: Path) -> None:
    (tmp_path / "engine.exe").write_bytes(b"MZ")
    async with running_launcher() as launcher:
        outcome = await wait_for_outcome(await launcher.start(ChildCommand("exec", str(tmp_path / "engine.exe"))))
        assert outcome.code == 126
        assert outcome.err.endswith(
            "Wine needs Unix sockets, expected a program that the sandbox allows; use --no-lock\n"
        )


async def test_the_error_of_a_failing_entry_is_on_stderr(targets: dict[str, Any]) -> None:
    async with running_launcher() as launcher:
        outcome = await wait_for_outcome(await launcher.start(probe_command("py", "no_such_probe", targets)))
        assert outcome.code == 1
        assert "KeyError: 'no_such_probe'" in outcome.err


async def test_a_zygote_that_cannot_start_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    launcher = SandboxLauncher("no_such_module:main")
    with pytest.raises(ChildProcessError, match="zygote"):
        await launcher.start(ChildCommand("py", "anything"))
    await launcher.close()
    assert "no_such_module" in capfd.readouterr().err


def open_files_of(pid: int) -> list[str]:
    """Return the open files of a process."""
    files = []
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):
            files.append(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
    return files


def sockets(names: list[str]) -> int:
    return [name.partition(":")[0] for name in names].count("socket")


async def test_the_zygote_keeps_no_files_of_its_parent_and_imports_no_grpc(
    targets: dict[str, Any], tmp_path: Path
) -> None:
    async with running_launcher() as launcher:
        launcher_end = os.open(tmp_path / "ours", os.O_CREAT | os.O_WRONLY)
        os.set_inheritable(launcher_end, True)
        child = await launcher.start(probe_command("py", "stay", targets))
        await first_line(child)
        (zygote,) = zygotes()
        # Two sockets: to this process and to the next child. It closes those of this child soon after its start.
        open_files = await asyncio.to_thread(
            eventually, partial(open_files_of, zygote.pid), lambda names: sockets(names) <= 2
        )
        mapped = [row.path for row in zygote.memory_maps()]
        os.close(launcher_end)
        assert str(tmp_path / "ours") not in open_files
        assert not [path for path in mapped if "grpc" in path]
        child.kill(signal.SIGKILL)
        await child.wait()
        close_pipes(child)


def test_a_required_sandbox_refuses_a_kernel_without_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_launcher, "gaps", lambda: ("files (no Landlock)",))
    with pytest.raises(SandboxIncomplete, match=r"files \(no Landlock\).*do not require the sandbox"):
        SandboxLauncher(ENTRY, require_lock=True)
    assert SandboxLauncher(ENTRY).gaps == ("files (no Landlock)",)


@pytest.mark.parametrize(
    "version, has_seccomp, children, words",
    [
        (7, True, "others", []),
        (6, True, "this user", []),
        (5, True, "this user", ["signals"]),
        (5, True, "others", []),
        (3, True, "others", ["ports"]),
        (2, True, "others", ["truncating", "ports"]),
        (0, False, "root", ["files", "system calls", "ports", "the user"]),
    ],
)
def test_gaps_of_a_kernel_are_reported(version: int, has_seccomp: bool, children: Any, words: list[str]) -> None:
    reports = list(missing(version, has_seccomp=has_seccomp, children=children))
    assert [text.partition(" (")[0] for text in reports] == words


def test_paths_in_a_command_become_absolute_and_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bots").mkdir()
    (tmp_path / "bots" / "bot.py").write_text("")
    (tmp_path / "weights.bin").write_text("")
    resolved = resolve(ChildCommand("exec", "sh bots/bot.py --fast", {"weights": "weights.bin", "depth": "3"}))
    assert resolved.words[1:] == [str(tmp_path / "bots" / "bot.py"), "--fast"]
    assert resolved.options == {"weights": str(tmp_path / "weights.bin"), "depth": "3"}
    assert {str(tmp_path / "bots"), str(tmp_path)} <= set(resolved.readable)
    assert resolve(ChildCommand("py", "bots/bot.py:Bot")).target == f"{tmp_path}/bots/bot.py:Bot"
    module = resolve(ChildCommand("py", "bots:Bot"))
    assert module.target == "bots:Bot"
    assert str(tmp_path / "bots") in module.readable
    assert resolve(ChildCommand("py", "elsewhere.bots:Bot")).readable == ()
    assert resolve(ChildCommand("dll", "./weights.bin")).target == str(tmp_path / "weights.bin")


def test_a_file_in_a_home_does_not_open_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(os.path.expanduser("~")) / "bot.so"
    command_in_home = ChildCommand("dll", "/etc/hosts")
    assert resolve(command_in_home).readable == ("/etc/hosts",)
    monkeypatch.setattr(os.path, "exists", lambda path: True)
    assert resolve(ChildCommand("dll", str(file))).readable == (str(file),)


@pytest.mark.parametrize("word", ["/", "/tmp", "~", "/dev", "/dev/null", "/dev/shm", "/proc/self/status"])
def test_a_word_of_a_command_opens_no_shared_or_private_folder(word: str) -> None:
    path = os.path.expanduser(word)
    assert os.path.exists(path)
    assert resolve(ChildCommand("exec", f"true {path}")).readable == resolve(ChildCommand("exec", "true")).readable
    assert resolve(ChildCommand("dll", "player.so", {"book": path})).readable == ()
