"""Games of Gomocup engines against a bare loop over the same engines' pipes, in alternating rounds.

    python benchmarks/engines.py [--rounds 5] [--games 2000] [--thinking]

The engines are `bots/examples/c/lowest.c` with a `main`: they answer in some microseconds, so what is measured is the
manager. The bare loop is a selector over their pipes: it says TURN, notes the stone, looks for five in a row and says
RESTART; it starts no tournament, has no clock, no lock and no records, and stores nothing. Noughts plays the same games
as `noughts match` does: behind the lock, judged, and stored in SQLite. Start-up is left out of both: of Noughts by
taking the time of a short match away.

With `--thinking` the engines take 5 ms a move, to the microsecond, and wall time (start-up left out in the same way) is
compared with what they took: with 5 ms a move, and with their time from the question written to the line read, which is
what is charged to them. The first holds what the machine takes to wake a
process, twice a move, whoever manages the games; the second only what the manager takes between an answer and the next
question.
"""

import argparse
import os
import selectors
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from itertools import count
from operator import sub
from pathlib import Path

from noughts_referee.work_units import unpack_times

EXAMPLES = Path(__file__).resolve().parents[1] / "bots" / "examples" / "c"
HEADER = Path(__file__).resolve().parents[1] / "bots" / "noughts_bots" / "include"
SIZE, FIVE = 15, 5
FEW_GAMES = 20
THINKING_GAMES, FEW_THINKING_GAMES, THINKING_SECONDS = 60, 4, 0.005
_WAYS = ((1, 0), (0, 1), (1, 1), (1, -1))
_THINKER = """
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>
#include "noughts_bot.h"
static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}
static int32_t play(void *bot, const noughts_turn *turn) {
    const double until = now() + 0.005;
    const struct timespec pause = {0, 4800000}; /* a sleep is late by some microseconds: the rest is waited awake */
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


def built(folder: Path, source: Path) -> Path:
    """The engine of a bot in C."""
    target = folder / f"pbrain-{source.stem}"
    compiler = [found] if (found := shutil.which("cc")) else [sys.executable, "-m", "ziglang", "cc"]
    subprocess.run(
        [*compiler, "-std=c99", "-O2", "-I", str(HEADER), "-o", str(target), str(EXAMPLES / "engine.c"), str(source)],
        check=True,
    )
    return target


class _Game:
    """A game of the bare loop: two engines, whose turn it is, and their stones."""

    def __init__(self, engine: Path) -> None:
        self.engines = [
            subprocess.Popen([engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) for _ in range(2)
        ]
        self.first = 1
        self.restarting = 0
        self.asked = 0.0
        for side in (0, 1):
            self.tell(side, f"START {SIZE}\n".encode())
            said = b""
            while b"OK" not in said:
                said += os.read(self.descriptor(side), 100)

    def descriptor(self, side: int) -> int:
        pipe = self.engines[side].stdout
        assert pipe is not None
        return pipe.fileno()

    def tell(self, side: int, line: bytes) -> None:
        pipe = self.engines[side].stdin
        assert pipe is not None
        os.write(pipe.fileno(), line)

    def begin(self) -> None:
        self.first ^= 1
        self.stones: tuple[set[tuple[int, int]], set[tuple[int, int]]] = (set(), set())
        self.ask(self.first, b"BEGIN\n")

    def ask(self, side: int, line: bytes) -> None:
        self.tell(side, line)
        self.asked = time.perf_counter()

    def played(self, side: int, line: bytes) -> bool:
        """Takes a move; whether the game goes on."""
        column, row = map(int, line.split(b","))
        stones = self.stones[side]
        stones.add((column, row))
        if len(stones) + len(self.stones[1 - side]) == SIZE * SIZE or _has_five(stones, column, row):
            self.restarting = 2
            for each in (0, 1):
                self.tell(each, b"RESTART\n")
            return False
        self.ask(1 - side, b"TURN %d,%d\n" % (column, row))
        return True

    def close(self) -> None:
        for engine in self.engines:
            engine.kill()
            engine.wait()


def _has_five(stones: set[tuple[int, int]], column: int, row: int) -> bool:
    for across, down in _WAYS:
        length = 1
        for sign in (1, -1):
            for steps in count(1):
                if (column + sign * steps * across, row + sign * steps * down) not in stones:
                    break
                length += 1
        if length >= FIVE:
            return True
    return False


def bare_loop(engine: Path, games: int, at_once: int) -> tuple[float, int, float]:
    """Seconds of wall time, plies, and the seconds of all engines together from a question to its answer."""
    running = [_Game(engine) for _ in range(at_once)]
    with selectors.DefaultSelector() as selector:
        for game in running:
            for side in (0, 1):
                selector.register(game.descriptor(side), selectors.EVENT_READ, (game, side))
        waiting, done, plies, charged = games - at_once, 0, 0, 0.0
        began = time.perf_counter()
        for game in running:
            game.begin()
        while done < games:
            for key, _ in selector.select():
                now = time.perf_counter()
                game, side = key.data
                for line in os.read(key.fd, 4096).splitlines():
                    if game.restarting:
                        game.restarting -= 1
                        if not game.restarting and waiting > 0:
                            waiting -= 1
                            game.begin()
                    else:
                        plies += 1
                        charged += now - game.asked
                        done += not game.played(side, line)
        took = time.perf_counter() - began
    for game in running:
        game.close()
    return took, plies, charged


def match(engine: Path, games: int, at_once: int, database: Path | None = None) -> float:
    """Seconds of wall time of a whole `noughts match`."""
    kept = ["--db", f"sqlite:///{database}"] if database else []
    began = time.perf_counter()
    subprocess.run(
        [
            sys.executable, "-m", "noughts_server.cli", "match", f"gomocup:{engine}", f"gomocup:{engine}",
            "--variant", "gomoku", "--games", str(games), "--concurrency", str(at_once), "--processes", str(at_once),
            "--seed", "1", "--format", "json", *kept,
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return time.perf_counter() - began


def timed_match(engine: Path, games: int, at_once: int) -> tuple[float, float]:
    """Seconds of wall time, and what all engines together took, as it is stored."""
    with tempfile.TemporaryDirectory() as apart:  # from the engines, which may read their folder
        database = Path(apart) / "games.db"
        took = match(engine, games, at_once, database)
        with closing(sqlite3.connect(database)) as connection:
            charged = sum(sum(unpack_times(row[0])) for row in connection.execute("SELECT times FROM games"))
    return took, charged / 1e6


def show_trivial(engine: Path, rounds: int, games: int) -> None:
    print(f"{'at once':>8} {'bare, games/s':>14} {'us a ply':>9} {'Noughts':>8} {'us a ply':>9} {'share':>6}")
    for at_once in (1, 2, 8):
        rows = []
        for _ in range(rounds):
            bare, plies, _ = bare_loop(engine, games, at_once)
            ours = match(engine, games, at_once) - match(engine, FEW_GAMES, at_once)
            played = (games - FEW_GAMES) / games
            rows.append((games / bare, bare / plies * 1e6, played * games / ours, ours / (plies * played) * 1e6))
        medians = [statistics.median(column) for column in zip(*rows, strict=True)]
        share = statistics.median(ours / bare for bare, _, ours, _ in rows)
        print(
            f"{at_once:>8} {medians[0]:>14.0f} {medians[1]:>9.1f} {medians[2]:>8.0f} {medians[3]:>9.1f} {share:>6.0%}"
        )


def show_thinking(engine: Path, rounds: int) -> None:
    print(f"{'':>8} {'bare, wall time over':>24} {'Noughts, wall time over':>24}")
    print(f"{'at once':>8}" + f" {'5 ms a move':>12} {'charged':>11}" * 2)
    for at_once in (1, 2):
        rows = []
        for _ in range(rounds):
            bare, plies, charged = bare_loop(engine, THINKING_GAMES, at_once)
            few = timed_match(engine, FEW_THINKING_GAMES, at_once)
            ours, ours_charged = map(sub, timed_match(engine, THINKING_GAMES, at_once), few)
            thinking = plies * THINKING_SECONDS / at_once
            ours_thinking = thinking * (1 - FEW_THINKING_GAMES / THINKING_GAMES)
            over = bare / thinking, bare * at_once / charged, ours / ours_thinking, ours * at_once / ours_charged
            rows.append([ratio - 1 for ratio in over])
        medians = [statistics.median(column) for column in zip(*rows, strict=True)]
        print(f"{at_once:>8}" + " {:>12.1%} {:>11.1%} {:>12.1%} {:>11.1%}".format(*medians), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--games", type=int, default=2000)
    parser.add_argument("--thinking", action="store_true", help="engines of 5 ms a move")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        if options.thinking:
            source = folder / "thinker.c"
            source.write_text(_THINKER)
            show_thinking(built(folder, source), options.rounds)
        else:
            show_trivial(built(folder, EXAMPLES / "lowest.c"), options.rounds, options.games)


if __name__ == "__main__":
    main()
