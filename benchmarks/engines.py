"""Games of Gomocup engines against a bare loop over the same engines' pipes, in alternating rounds.

    python benchmarks/engines.py [--rounds 5] [--games 2000] [--thinking]

The engines are `bots/examples/c/lowest.c` with a `main`: they answer in some microseconds, so what is measured is the
manager. The bare loop is a selector over their pipes: it says TURN, notes the stone, looks for five in a row and says
RESTART; it starts no tournament, has no clock, no lock and no records, and stores nothing. Noughts plays the same games
as `noughts match` does: behind the lock, judged, and stored in SQLite. Start-up is left out of both: of Noughts by
taking the time of a short match away.

With `--thinking` the engines sleep 5 ms a move, and say between games how long they did: wall time beside that.
"""

import argparse
import json
import os
import selectors
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "bots" / "examples" / "c"
HEADER = Path(__file__).resolve().parents[1] / "bots" / "noughts_bots" / "include"
SIZE, FIVE = 15, 5
FEW_GAMES, THINKING_GAMES = 20, 20
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
static double thought;
static void *create(const noughts_variant *variant, const char *options) {
    (void)variant, (void)options;
    printf("MESSAGE thought %.6f\\n", thought);
    thought = 0;
    return &thought;
}
static int32_t play(void *bot, const noughts_turn *turn) {
    uint32_t free_cells[900];
    struct timespec pause = {0, 5000000};
    double began = now();
    (void)bot;
    nanosleep(&pause, 0);
    noughts_free(turn, free_cells);
    thought += now() - began;
    return (int32_t)free_cells[0];
}
static const noughts_bot_api api = {sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, create, 0, "thinker", 0};
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
        self.thought = 0.0
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
        self.tell(self.first, b"BEGIN\n")

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
        self.tell(1 - side, b"TURN %d,%d\n" % (column, row))
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


def bare_loop(engine: Path, games: int, at_once: int) -> tuple[float, float, int]:
    """Seconds of wall time, seconds that the engines say they thought, and plies."""
    running = [_Game(engine) for _ in range(at_once)]
    with selectors.DefaultSelector() as selector:
        for game in running:
            for side in (0, 1):
                selector.register(game.descriptor(side), selectors.EVENT_READ, (game, side))
        waiting, done, plies = games - at_once, 0, 0
        began = time.perf_counter()
        for game in running:
            game.begin()
        while done < games:
            for key, _ in selector.select():
                game, side = key.data
                for line in os.read(key.fd, 4096).splitlines():
                    if line.startswith(b"MESSAGE"):
                        game.thought += float(line.rpartition(b" ")[2])
                    elif game.restarting:
                        game.restarting -= 1
                        if not game.restarting and waiting > 0:
                            waiting -= 1
                            game.begin()
                    else:
                        plies += 1
                        done += not game.played(side, line)
        took = time.perf_counter() - began
    for game in running:
        game.close()
    return took, sum(game.thought for game in running), plies


def match(engine: Path, games: int, at_once: int, folder: Path | None = None) -> tuple[float, float]:
    """Seconds of wall time of a whole `noughts match`, and seconds that the engines say they thought."""
    messages = ["--messages", str(folder / "messages.jsonl")] if folder else []
    began = time.perf_counter()
    subprocess.run(
        [
            sys.executable, "-m", "noughts_server.cli", "match", f"gomocup:{engine}", f"gomocup:{engine}",
            "--variant", "gomoku", "--games", str(games), "--concurrency", str(at_once), "--processes", str(at_once),
            "--seed", "1", "--format", "json", *messages,
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    took = time.perf_counter() - began
    return took, _thought(folder / "messages.jsonl") if folder else 0.0


def _thought(messages: Path) -> float:
    return sum(float(json.loads(line)["line"].rpartition(" ")[2]) for line in messages.read_text().splitlines())


def show_trivial(engine: Path, rounds: int, games: int) -> None:
    print(f"{'at once':>8} {'bare, games/s':>14} {'us a ply':>9} {'Noughts':>8} {'us a ply':>9} {'share':>6}")
    for at_once in (1, 2, 8):
        rows = []
        for _ in range(rounds):
            bare, _, plies = bare_loop(engine, games, at_once)
            ours = match(engine, games, at_once)[0] - match(engine, FEW_GAMES, at_once)[0]
            played = (games - FEW_GAMES) / games
            rows.append((games / bare, bare / plies * 1e6, played * games / ours, ours / (plies * played) * 1e6))
        medians = [statistics.median(column) for column in zip(*rows, strict=True)]
        share = statistics.median(ours / bare for bare, _, ours, _ in rows)
        print(
            f"{at_once:>8} {medians[0]:>14.0f} {medians[1]:>9.1f} {medians[2]:>8.0f} {medians[3]:>9.1f} {share:>6.0%}"
        )


def show_thinking(engine: Path, rounds: int, folder: Path) -> None:
    print(f"{'at once':>8} {'bare, s over thinking':>22} {'Noughts, s over thinking':>25}")
    for at_once in (1, 2):
        rows = []
        for _ in range(rounds):
            bare, bare_thought, _ = bare_loop(engine, THINKING_GAMES, at_once)
            # Both end with one game of each process that it does not tell of any more.
            long, long_thought = match(engine, THINKING_GAMES + 2 * at_once, at_once, folder)
            short, short_thought = match(engine, 2 * at_once, at_once, folder)
            ours, ours_thought = long - short, long_thought - short_thought
            rows.append((bare * at_once / bare_thought - 1, ours * at_once / ours_thought - 1))
        bare_over, ours_over = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{at_once:>8} {bare_over:>22.1%} {ours_over:>25.1%}", flush=True)


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
            show_thinking(built(folder, source), options.rounds, folder)
        else:
            show_trivial(built(folder, EXAMPLES / "lowest.c"), options.rounds, options.games)


if __name__ == "__main__":
    main()
