"""Games of Gomocup engines, in alternating rounds: a bare loop over their pipes, c-gomoku-cli, and Noughts.

    python benchmarks/engines.py [--rounds 5] [--games 2000] [--peer PATH_OF_C_GOMOKU_CLI] [--commit PATH_OF_PYTHON]

The engines are `bots/examples/c/lowest.c` with a `main`, which answers in a few microseconds, and two that take
exactly 1 ms and 5 ms per move. The bare loop is a selector over their pipes: it sends TURN, stores the stone, checks
for five in a row and sends RESTART. It has no tournament, clock, sandbox or records. c-gomoku-cli and `noughts match`
play the same games with their usual options; Noughts stores them in SQLite. To exclude the start-up time, the time of
a short match is subtracted; `--only start` measures it. `--commit` is the Python of another checkout's environment to
measure as well.
"""

import argparse
import os
import resource
import selectors
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

EXAMPLES = Path(__file__).resolve().parents[1] / "bots" / "examples" / "c"
HEADER = Path(__file__).resolve().parents[1] / "bots" / "noughts_bots" / "include"
SIZE, FIVE = 15, 5
FEW_GAMES = 20
THINKING_GAMES = {1: 240, 5: 60}
"""The number of games of each thinking engine, by its milliseconds per move."""
FEW_THINKING_GAMES = 4
_DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))
_THINKER = """
#define _POSIX_C_SOURCE 200809L
#define THINKING_MS %d
#include <stdio.h>
#include <time.h>
#include "noughts_bot.h"
static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}
static int32_t play(void *bot, const noughts_turn *turn) {
    const double until = now() + THINKING_MS / 1e3;
    const struct timespec pause = {0, THINKING_MS * 1000000 - 200000};
    /* A sleep ends some microseconds late, so the last part is a busy loop. */
    uint32_t free_cells[900];
    (void)bot;
    noughts_free(turn, free_cells);
    nanosleep(&pause, 0);
    while (now() < until) {}
    return (int32_t)free_cells[0];
}
static const noughts_bot_api api = {sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, 0, 0, "thinker", 0};
NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) { return &api; }
"""


class Cost(NamedTuple):
    """Wall time and processor time, in seconds."""

    wall: float
    processor: float


class Row(NamedTuple):
    name: str
    games_per_second: float
    processor: float
    """Seconds of processor time per game."""


Manager = Callable[[Path, int, int], Cost]
"""Plays games of an engine against itself. Arguments: its program, the number of games, and of concurrent games."""


def build_engine(folder: Path, source: Path) -> Path:
    """Return the engine, built from a bot in C."""
    return compile_program(folder, [EXAMPLES / "engine.c", source])


def compile_program(folder: Path, sources: Sequence[Path]) -> Path:
    """Compile a program from C sources and name it after the last one."""
    target = folder / f"pbrain-{sources[-1].stem}"
    installed = shutil.which("cc")
    compiler = [installed] if installed else [sys.executable, "-m", "ziglang", "cc"]
    line = [*compiler, "-std=c99", "-O2", "-I", str(HEADER), "-o", str(target), *map(str, sources)]
    subprocess.run(line, check=True)
    return target


class _Game:
    """A game of the bare loop: two engines, the side to move, and their stones."""

    def __init__(self, engine: Path) -> None:
        self.engines = [
            subprocess.Popen([engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) for _ in range(2)
        ]
        self.first = 1
        """The side that moves first."""
        self.restarting = 0
        """The number of engines that have not answered RESTART yet."""
        for side in (0, 1):
            self.write(side, f"START {SIZE}\n".encode())
            output = b""
            while b"OK" not in output:
                output += os.read(self.descriptor(side), 100)

    def descriptor(self, side: int) -> int:
        pipe = self.engines[side].stdout
        assert pipe is not None
        return pipe.fileno()

    def write(self, side: int, line: bytes) -> None:
        pipe = self.engines[side].stdin
        assert pipe is not None
        os.write(pipe.fileno(), line)

    def begin(self) -> None:
        self.first ^= 1
        self.stones: tuple[set[tuple[int, int]], set[tuple[int, int]]] = (set(), set())
        self.write(self.first, b"BEGIN\n")

    def play(self, side: int, line: bytes) -> bool:
        """Make a move. Return whether the game continues."""
        column, row = map(int, line.split(b","))
        stones = self.stones[side]
        stones.add((column, row))
        if len(stones) + len(self.stones[1 - side]) == SIZE * SIZE or _has_five(stones, column, row):
            self.restarting = 2
            for player in (0, 1):
                self.write(player, b"RESTART\n")
            return False
        self.write(1 - side, b"TURN %d,%d\n" % (column, row))
        return True

    def close(self) -> None:
        for engine in self.engines:
            engine.kill()
            engine.wait()


def _has_five(stones: set[tuple[int, int]], column: int, row: int) -> bool:
    for across, down in _DIRECTIONS:
        length = 1
        for sign in (1, -1):
            for steps in count(1):
                if (column + sign * steps * across, row + sign * steps * down) not in stones:
                    break
                length += 1
        if length >= FIVE:
            return True
    return False


def bare_loop(engine: Path, games: int, at_once: int) -> Cost:
    """Return the cost of this number of games in this process."""
    running = [_Game(engine) for _ in range(at_once)]
    with selectors.DefaultSelector() as selector:
        for game in running:
            for side in (0, 1):
                selector.register(game.descriptor(side), selectors.EVENT_READ, (game, side))
        waiting, done = games - at_once, 0
        began, used = time.perf_counter(), time.process_time()
        for game in running:
            game.begin()
        while done < games:
            for key, _ in selector.select():
                game, side = key.data
                for line in os.read(key.fd, 4096).splitlines():
                    if game.restarting:
                        game.restarting -= 1
                        if not game.restarting and waiting > 0:
                            waiting -= 1
                            game.begin()
                    else:
                        done += int(not game.play(side, line))
        wall, own = time.perf_counter() - began, time.process_time() - used
    before = processor_seconds()
    for game in running:
        game.close()
    return Cost(wall, own + processor_seconds() - before)


def processor_seconds() -> float:
    """Return the processor time of all ended processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Peer:
    """Runs matches with the c-gomoku-cli program at this path."""

    def __init__(self, program: str) -> None:
        self.program = program

    def __call__(self, engine: Path, games: int, at_once: int) -> Cost:
        player = ["-engine", f"cmd={engine}"]
        return command(
            self.program, "-each", "tc=0/5", *player, "name=one", *player, "name=two", "-rule", "0",
            "-boardsize", str(SIZE), "-games", str(games), "-concurrency", str(at_once), "-sgf", "games.sgf",
        )  # fmt: skip


class Noughts:
    """Runs `noughts match` with a Python interpreter in which Noughts is installed."""

    def __init__(self, python: str) -> None:
        self.python = python

    def __call__(self, engine: Path, games: int, at_once: int) -> Cost:
        return command(
            self.python, "-m", "noughts_server.cli", "match", *[f"gomocup:{engine}"] * 2,
            "--time", "5/move",
            "--variant", "gomoku", "--games", str(games), "--concurrency", str(at_once), "--processes", str(at_once),
            "--seed", "1", "--format", "json",
        )  # fmt: skip


def command(*words: str) -> Cost:
    """Return the cost of a command and of all processes that it starts."""
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.perf_counter(), processor_seconds()
        subprocess.run(words, check=True, capture_output=True, cwd=folder)
        return Cost(time.perf_counter() - began, processor_seconds() - used)


def cost_without_start(manager: Manager, engine: Path, games: int, few: int, at_once: int) -> Cost:
    """Return the cost of `games - few` games."""
    if manager is bare_loop:
        return manager(engine, games - few, at_once)
    most, least = manager(engine, games, at_once), manager(engine, few, at_once)
    return Cost(most.wall - least.wall, most.processor - least.processor)


def plies_of(engine: Path) -> int:
    """Return the number of plies of a game of this engine against itself; all its games are the same."""
    game = _Game(engine)
    plies, is_over = 0, False
    game.begin()
    while not is_over:
        side = (game.first + plies) % 2
        is_over = not game.play(side, os.read(game.descriptor(side), 4096))
        plies += 1
    game.close()
    return plies


def compare(
    managers: Mapping[str, Manager], engine: Path, games: int, few: int, at_once: int, rounds: int
) -> list[Row]:
    """Return the medians for each manager: games per second, processor seconds per game."""
    rows: dict[str, list[Cost]] = {name: [] for name in managers}
    for _ in range(rounds):
        for name, manager in managers.items():
            rows[name].append(cost_without_start(manager, engine, games, few, at_once))
    counted = games - few
    return [
        Row(name, counted / statistics.median(cost.wall for cost in costs), median_processor(costs) / counted)
        for name, costs in rows.items()
    ]


def start_cost(manager: Manager, engine: Path, rounds: int) -> Cost:
    """Return the median cost of a match of one short game, which is mostly that of its start."""
    costs = [manager(engine, 1, 1) for _ in range(rounds)]
    return Cost(statistics.median(cost.wall for cost in costs), median_processor(costs))


def median_processor(costs: Sequence[Cost]) -> float:
    return statistics.median(cost.processor for cost in costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--games", type=int, default=2000)
    parser.add_argument("--peer", help="the program c-gomoku-cli")
    parser.add_argument("--commit", help="the Python of another checkout of Noughts")
    parser.add_argument("--only", choices=["start", "thinking", "quick"])
    options = parser.parse_args()
    managers: dict[str, Manager] = {"bare loop": bare_loop}
    if options.peer:
        managers["c-gomoku-cli"] = Peer(options.peer)
    if options.commit:
        managers["other commit"] = Noughts(options.commit)
    managers["Noughts"] = Noughts(sys.executable)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as place:
        folder = Path(place)
        if options.only in (None, "start"):
            print("a match of one game: seconds, and seconds of processor time")
            engine = build_engine(folder, EXAMPLES / "lowest.c")
            for name, manager in managers.items():
                once = start_cost(manager, engine, options.rounds)
                print(f"{name:<14} {once.wall:.2f} {once.processor:.2f}", flush=True)
        if options.only in (None, "thinking"):
            print("wall time per ply x games at once / thinking time")
            for milliseconds, games in THINKING_GAMES.items():
                source = folder / f"thinker{milliseconds}.c"
                source.write_text(_THINKER % milliseconds)
                engine = build_engine(folder, source)
                plies = plies_of(engine)
                for at_once in (1, 2):
                    for row in compare(managers, engine, games, FEW_THINKING_GAMES, at_once, options.rounds):
                        ratio = at_once / row.games_per_second / plies / (milliseconds / 1e3)
                        print(f"{milliseconds} ms, {at_once} at once  {row.name:<14} {ratio:.3f}", flush=True)
        if options.only in (None, "quick"):
            print("engines that answer immediately: games/s, and ms of processor time per game")
            engine = build_engine(folder, EXAMPLES / "lowest.c")
            for at_once in (1, 2, 8):
                for row in compare(managers, engine, options.games, FEW_GAMES, at_once, options.rounds):
                    cost = f"{row.games_per_second:>6.0f} {row.processor * 1e3:>6.2f}"
                    print(f"{at_once} at once  {row.name:<14} {cost}", flush=True)


if __name__ == "__main__":
    main()
