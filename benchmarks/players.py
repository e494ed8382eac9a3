"""Measure the moves and the start of child players, compared with a bare pipe and a bare asyncio pipe.

    python benchmarks/players.py [--rounds 5] [--seconds 1] [--flight 1024] [--no-lock] [--spec NAME=KIND:TARGET ...]
    python benchmarks/players.py --arrays [--rounds 5] [--seconds 1] [--flight 1024] [--no-lock]

Each round measures, one after the other: the round trip of a byte to an echoing process on two pipes, blocking and
with asyncio's streams; a bare gRPC ping-pong; and for each kind a pair of sandboxed players in a referee without a
server. For each pair it measures microseconds per ply with one game at a time, milliseconds from the request to the
warm launcher to the first answer, and plies per second with many concurrent games (`gomoku`). Prints medians.
The library is `bots/examples/c/lowest.c`, compiled with gcc.

With `--arrays`, each round measures a bot that plays a random free cell, with many games at once on 3x3 and 15x15:
as an `ArrayBot`, with `choose_batch` and arrays made of its positions, and with `choose_batch` and `position.free`. All
play the same games. Prints medians of plies per second, and of microseconds of processor time per ply.
"""

import argparse
import asyncio
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import psutil

from noughts_bots.connection.event_loop import run_loop
from noughts_bots.connection.process import tune_collector
from noughts_bots.hosts.dll import HEADER
from noughts_bots.reference.specs import parse_spec
from noughts_proto.child_kinds import child_kind
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.child_player import ChildPlayer, Fault
from noughts_referee.children.launcher import ChildCommand, Launcher
from noughts_referee.children.running_child import ChildSettings, start_child
from noughts_referee.clock import TimeControl
from noughts_referee.frame_connection import FrameConnection, WireCounts
from noughts_referee.referee import Referee
from noughts_referee.rules import parse_variant
from noughts_referee.work_units import GameConditions, ScheduledGame, Unit
from noughts_server.launching.launcher import SandboxMode, launching

_EXAMPLES = Path(__file__).resolve().parents[1] / "bots" / "examples"
_TIMES = ChildSettings()
_WARM_SECONDS = 0.3
_STARTS, _PAUSE_SECONDS = 6, 0.05
"""The number of starts that are measured, and the pause between them."""
_ECHO = "import os\nwhile data := os.read(0, 64): os.write(1, data)"
# A program that knows only protobuf and the messages.
_FRAMES = """
import os, struct
from noughts_proto.v1 import play_pb2 as pb
def read(size):
    data = os.read(0, size)
    while len(data) < size:
        data += os.read(0, size - len(data)) or exit()
    return data
def send(message):
    body = message.SerializeToString()
    data = struct.pack("<I", len(body)) + body
    while data:
        data = data[os.write(1, data):]
send(pb.PlayRequest(hello=pb.Hello(protocol=1)))
games = {}
while True:
    frame = pb.PlayResponse.FromString(read(struct.unpack("<I", read(4))[0]))
    for starts in frame.starts:
        games.update((game, []) for game in starts.game)
    reply = pb.PlayRequest(done_through=frame.frame)
    if frame.heartbeat.id:
        reply.heartbeat.id = frame.heartbeat.id
    cells = []
    for game, ply, cell in zip(frame.turns.game[:], frame.turns.ply[:], frame.turns.cell[:]):
        moves = games[game]
        if len(moves) < ply:
            moves.append(cell)
        # Both players place stones in the order of the cells, so the ply is the next free cell.
        cells.append(ply)
        moves.append(ply)
    if cells:
        reply.moves.game.extend(frame.turns.game)
        reply.moves.ply.extend(frame.turns.ply)
        reply.moves.cell.extend(cells)
    for game in frame.ends.game[:]:
        games.pop(game, None)
    send(reply)
"""
_PLUGIN = """
from noughts_bots import Bot
class Next(Bot):
    def choose(self, position):
        return len(position.moves)
"""
_ARRAYS = """
from noughts_bots import Bot
from noughts_bots.sdk.arrays import ArrayBot, batch_of
class Arrays(ArrayBot):
    def choose_arrays(self, batch):
        return batch.pick(batch.legal)
class Converted(Bot):
    def choose_batch(self, positions):
        batch = batch_of(positions)
        return batch.pick(batch.legal)
class Lists(Bot):
    def choose_batch(self, positions):
        return [position.rng().choice(position.free) for position in positions]
"""
_PIPED = """
import os, sys
from noughts_bots.connection.pipe_session import play_on_pipes
from next_bot import Next
play_on_pipes(Next(), sys.stdin.buffer, os.fdopen(1, "wb", buffering=0))
"""


class _Pair:
    """Two players of one kind in a referee without a server."""

    def __init__(self, command: ChildCommand, variant: str, flight: int, sandbox_mode: SandboxMode) -> None:
        self._command = command
        self._locking = sandbox_mode
        self.referee = Referee(lambda games: None)
        self.referee.on_progress = self._add_games
        self._conditions = GameConditions(
            1, "tournaments/1", parse_variant(variant), TimeControl(), 1, flight, (1, 2), ("first", "second")
        )
        self._slots = 0
        self._playing = asyncio.Event()

    def _add_games(self) -> None:
        """Keep enough games in the queue, a few at a time, as a director does."""
        if self.referee.plies:
            self._playing.set()
        flight = self._conditions.concurrency
        if self.referee.count_queued(1) < flight:
            first, self._slots = self._slots + 1, self._slots + 2 * flight
            slots = [
                ScheduledGame(ordinal, (ordinal + 1) % 2, ordinal % 2) for ordinal in range(first, self._slots + 1)
            ]
            self.referee.add(Unit(self._conditions, 1, slots))

    async def plies_per_second(self, seconds: float) -> float:
        """Return plies per second."""
        return (await self.speed(seconds))[0]

    async def speed(self, seconds: float) -> tuple[float, float, float]:
        """Return plies per second, and microseconds of processor time per ply of both players and of the referee."""
        async with launching(self._locking, _print_note) as launcher, asyncio.TaskGroup() as tasks:
            playing = [tasks.create_task(self._player(key, launcher).play()) for key in (1, 2)]
            self._add_games()
            await self._playing.wait()
            await asyncio.sleep(_WARM_SECONDS)
            before, began = self.referee.plies, time.perf_counter()
            players_before, referee_before = _processor_seconds()
            await asyncio.sleep(seconds)
            took, plies = time.perf_counter() - began, self.referee.plies - before
            players_after, referee_after = _processor_seconds()
            players, referee = players_after - players_before, referee_after - referee_before
            for player in playing:
                player.cancel()
        return plies / took, players / plies * 1e6, referee / plies * 1e6

    def _player(self, key: int, launcher: Launcher) -> ChildPlayer:
        wire = FrameConnection(self.referee.player(key), self.referee, _TIMES.wire, WireCounts())
        return ChildPlayer(
            child_kind(self._command.kind),
            wire,
            _TIMES,
            start=partial(start_child, launcher, self._command, _TIMES),
            accept=lambda hello: pb.Welcome(protocol=hello.protocol),
            on_fault=_report_fault,
        )


def _processor_seconds() -> tuple[float, float]:
    """Return the processor time of all running child processes, and that of this process."""
    this = psutil.Process()
    players = sum(sum(child.cpu_times()[:2]) for child in this.children(recursive=True))
    return players, sum(this.cpu_times()[:2])


def _report_fault(fault: Fault) -> None:
    print(f"a player failed: {fault.death.text}", file=sys.stderr)
    if fault.disabled:
        raise SystemExit("cannot start a player")


def _print_note(note: str) -> None:
    print(note, file=sys.stderr)


async def _start_ms(command: ChildCommand, sandbox_mode: SandboxMode) -> float:
    """Return the median milliseconds from the request to the launcher to the first answer."""
    took = []
    async with launching(sandbox_mode, _print_note) as launcher:
        for _ in range(_STARTS):
            began = time.perf_counter()
            child = await start_child(launcher, command, _TIMES)
            hello = await child.hello()
            await child.frames.write(pb.PlayResponse(welcome=pb.Welcome(protocol=hello.protocol)))
            await child.frames.write(_first_question())
            while (answer := await child.frames.read()) is not None and not answer.moves.game:
                pass  # an acknowledgement
            took.append((time.perf_counter() - began) * 1e3)
            assert answer is not None
            await child.stop()
            await asyncio.sleep(_PAUSE_SECONDS)
    # The first start is left out, because it also starts the zygote.
    return statistics.median(took[1:])


def _first_question() -> pb.PlayResponse:
    frame = pb.PlayResponse(frame=1)
    frame.starts.add(
        variant="gomoku", game=[1], number=[1], side=[1], seed=[1], opponent=[0], opponents=["other"], move_count=[0]
    )
    frame.turns.game.append(1)
    frame.turns.ply.append(0)
    frame.turns.cell.append(0)
    return frame


def _ping_pongs() -> float:
    """Return the exchanges per second of gRPC with its defaults."""
    program = (sys.executable, str(Path(__file__).with_name("bare.py")), "pingpong")
    done = subprocess.run(
        program, capture_output=True, text=True, env={**os.environ, "GRPC_EXPERIMENTS": ""}, check=True
    )
    return float(json.loads(done.stdout)["per_second"])


def _bare_us(seconds: float) -> float:
    with subprocess.Popen([sys.executable, "-c", _ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as echo:
        assert echo.stdin is not None
        assert echo.stdout is not None
        down, up = echo.stdin.fileno(), echo.stdout.fileno()

        def exchange() -> None:
            os.write(down, b"x")
            os.read(up, 64)

        exchange()
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            exchange()
            count += 1
        took = time.perf_counter() - began
        echo.stdin.close()
    return took / count * 1e6


async def _asyncio_us(seconds: float) -> float:
    echo = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _ECHO, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert echo.stdin is not None
    assert echo.stdout is not None

    count, began = -1, time.perf_counter()  # the first exchange is not measured, because it waits for the start
    while time.perf_counter() - began < seconds:
        echo.stdin.write(b"x")
        await echo.stdout.read(64)
        count += 1
        if not count:
            began = time.perf_counter()
    took = time.perf_counter() - began
    echo.stdin.close()
    await echo.wait()
    return took / count * 1e6


def compile_library(folder: Path) -> Path:
    library = folder / "lowest.so"
    source = _EXAMPLES / "c" / "lowest.c"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", f"-I{HEADER.parent}", source, "-o", library], check=True)
    return library


def _commands(folder: Path, specs: list[str]) -> dict[str, ChildCommand]:
    """Return the commands of all players, by the name of the player."""
    (folder / "frames.py").write_text(_FRAMES)
    (folder / "next_bot.py").write_text(_PLUGIN)
    (folder / "piped.py").write_text(_PIPED)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    commands = {
        "exec, bare frames": ChildCommand("exec", shlex.join([sys.executable, str(folder / "frames.py")])),
        "exec, our SDK": ChildCommand("exec", shlex.join([sys.executable, str(folder / "piped.py")])),
    }
    commands["py"] = ChildCommand("py", f"{folder / 'next_bot.py'}:Next")
    commands["dll, C"] = ChildCommand("dll", str(compile_library(folder)))
    for text in specs:
        spec = parse_spec(text)
        commands[spec.label or str(spec)] = ChildCommand(spec.kind, spec.target, spec.options)
    return commands


def _compare_arrays(rounds: int, seconds: float, flight: int, sandbox_mode: SandboxMode) -> None:
    print("us of processor time per ply: both players + referee")
    print(f"{'board':<10} {'bot':<34} {'plies/s':>10} {'us a ply':>14} {'plies/s of arrays to it':>24}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "array_bots.py"
        file.write_text(_ARRAYS)
        names = {
            "Arrays": "choose_arrays",
            "Converted": "choose_batch, arrays of positions",
            "Lists": "choose_batch, position.free",
        }
        for variant in ("tictactoe", "gomoku"):
            found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
            for _ in range(rounds):
                for name, speeds in found.items():
                    pair = _Pair(ChildCommand("py", f"{file}:{name}"), variant, flight, sandbox_mode)
                    speeds.append(run_loop(pair.speed(seconds)))
            for name, speeds in found.items():
                rate, players, referee = (statistics.median(column) for column in zip(*speeds, strict=True))
                ratio = statistics.median(fast[0] / slow[0] for fast, slow in zip(found["Arrays"], speeds, strict=True))
                spent = f"{players:.2f} + {referee:.2f}"
                print(f"{variant:<10} {names[name]:<34} {rate:>10,.0f} {spent:>14} {ratio:>24.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--flight", type=int, default=1_024)
    parser.add_argument("--spec", action="append", default=[], help="another player, e.g. C=dll:./corner.so")
    parser.add_argument("--no-lock", action="store_true")
    parser.add_argument("--arrays", action="store_true", help="compare array bots with bots that get positions")
    options = parser.parse_args()
    sandbox_mode = SandboxMode.OFF if options.no_lock else SandboxMode.USUAL
    tune_collector()  # as a server does
    if options.arrays:
        return _compare_arrays(options.rounds, options.seconds, options.flight, sandbox_mode)
    bare: list[tuple[float, float, float]] = []
    found: dict[str, list[tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        commands = _commands(Path(folder), options.spec)
        for _ in range(options.rounds):
            bare.append((_bare_us(options.seconds), run_loop(_asyncio_us(options.seconds)), _ping_pongs()))
            for name, command in commands.items():
                alone = run_loop(_Pair(command, "gomoku", 1, sandbox_mode).plies_per_second(options.seconds))
                many = run_loop(
                    _Pair(command, "gomoku", options.flight, sandbox_mode).plies_per_second(options.seconds)
                )
                found.setdefault(name, []).append((1e6 / alone, run_loop(_start_ms(command, sandbox_mode)), many))
    pipe, streams, pings = (statistics.median(column) for column in zip(*bare, strict=True))
    print(
        f"bare pipe {pipe:.1f} us, bare asyncio pipe {streams:.1f} us, there and back; {pings:,.0f} gRPC ping-pongs/s"
    )
    many_games = f"{options.flight:,} games, plies/s"
    print(
        f"{'player':<20} {'us a move':>10} {'asyncio pipes':>14} {'ms to answer':>12} {many_games:>24} "
        f"{'per ping-pong':>14}"
    )
    for name, rows in found.items():
        alone, start, many = (statistics.median(column) for column in zip(*rows, strict=True))
        # Each round is compared with the reference programs of the same round: the machine's speed changes.
        ratio = statistics.median(row[0] / streams for row, (_, streams, _) in zip(rows, bare, strict=True))
        per_ping = statistics.median(row[2] / pings for row, (_, _, pings) in zip(rows, bare, strict=True))
        print(f"{name:<20} {alone:>10.1f} {ratio:>14.2f} {start:>12.1f} {many:>24,.0f} {per_ping:>14.1f}", flush=True)
    return None


if __name__ == "__main__":
    main()
