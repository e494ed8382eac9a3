"""Compare programs that play games, in alternating rounds. Prints one table.

    python benchmarks/peers.py [--rounds 5] [--gomoku PATH_OF_C_GOMOKU_CLI] [--python PYTHON] [--node FOLDER]

The rows are not a race between equals: the column `terms` says what a program does for each game. PettingZoo and
OpenSpiel belong to the development environment. `--python` is the Python of another environment, with
kaggle-environments and chess. `--node` is a folder in which `npm install boardgame.io` was run. A program that is not
given has no row. Start-up time is not included. Processor time is that of all processes, including engines; memory is
the peak of the largest process.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from engines import EXAMPLES, SIZE, build_engine, compile_program, plies_of, processor_seconds

AT_ONCE = 2
"""The number of concurrent games between engines."""
CHESS_PLIES = 61
"""The plies of a game, as many as in the games of the Gomocup engines on 15x15."""
_UCI = """
#include <stdio.h>
#include <string.h>
/* Plays the moves of its arguments. */
int main(int count, char **moves) {
    char line[4096];
    int ply = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "ucinewgame", 10)) continue;
        if (!strncmp(line, "uci", 3)) puts("uciok");
        else if (!strncmp(line, "isready", 7)) puts("readyok");
        else if (!strncmp(line, "position", 8)) {
            const char *at = strstr(line, " moves");
            for (ply = 0; at && (at = strchr(at + 1, ' ')); ply++) {}
        } else if (!strncmp(line, "go", 2)) printf("bestmove %s\\n", ply + 1 < count ? moves[ply + 1] : "0000");
        else if (!strncmp(line, "quit", 4)) return 0;
        fflush(stdout);
    }
    return 0;
}
"""
_NODE = """
const { Client } = require("boardgame.io/client");
const lines = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];
const game = {
  setup: () => ({ cells: Array(9).fill(null) }),
  turn: { minMoves: 1, maxMoves: 1 },
  moves: { place: ({ G, playerID }, cell) => { G.cells[cell] = playerID; } },
  endIf: ({ G, ctx }) => {
    const won = lines.some((line) => line.every((cell) => G.cells[cell] === ctx.currentPlayer));
    if (won || !G.cells.includes(null)) return { won };
  },
};
const games = Number(process.argv[1]);
const play = () => {
  const client = Client({ game, numPlayers: 2, debug: false });
  client.start();
  let moves = 0;
  for (; !client.getState().ctx.gameover; moves++) {
    const free = client.getState().G.cells.flatMap((owner, cell) => (owner === null ? [cell] : []));
    client.moves.place(free[Math.floor(Math.random() * free.length)]);
  }
  client.stop();
  return moves;
};
for (let each = 0; each < 50; each++) play();
const began = process.hrtime.bigint(), used = process.cpuUsage();
let moves = 0;
for (let each = 0; each < games; each++) moves += play();
const { user, system } = process.cpuUsage(used);
const wall = Number(process.hrtime.bigint() - began) / 1e9;
console.log(JSON.stringify({ games, moves, wall, processor: (user + system) / 1e6 }));
"""


class Run(NamedTuple):
    games: int
    moves: int
    wall: float
    """Seconds."""
    processor: float
    """Seconds."""
    mib: float = 0
    """Peak memory of the largest process."""


class Row(NamedTuple):
    program: str
    terms: str
    play: Callable[[], Run]


def pettingzoo(games: int) -> int:
    """Play random games and return the number of moves, as each of these functions does."""
    from pettingzoo.classic import connect_four_v3

    env, rng, moves = connect_four_v3.env(), random.Random(1), 0
    for _ in range(games):
        env.reset()
        for _ in env.agent_iter():
            observation, _, has_ended, is_cut_off, _ = env.last()
            if has_ended or is_cut_off:
                env.step(None)  # its API demands a last step of each player
                continue
            legal = [cell for cell, is_legal in enumerate(observation["action_mask"]) if is_legal]
            moves += 1
            env.step(rng.choice(legal))
    return moves


def openspiel(games: int) -> int:
    import pyspiel

    game, rng, moves = pyspiel.load_game("connect_four"), random.Random(1), 0
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
            moves += 1
    return moves


def kaggle(games: int) -> int:
    from kaggle_environments import make  # type: ignore[import-not-found]  # of another environment

    env, moves = make("connectx"), 0
    for _ in range(games):
        env.reset()
        moves += len(env.run(["random", "random"])) - 1
    return moves


def boards(games: int) -> int:
    import numpy as np

    from noughts_bots.adapters.gymnasium import NoughtsVectorEnv

    env, rng = NoughtsVectorEnv(1_024, "connect4", opponent=None), np.random.default_rng(1)
    _, info = env.reset(seed=1)
    moves = done = 0
    while done < games:
        mask = info["action_mask"]
        _, _, over, _, info = env.step((rng.random(mask.shape) * mask).argmax(axis=1))
        done += int(over.sum())
        moves += len(mask)
    return moves


def chess_engines(games: int) -> int:
    import chess  # type: ignore[import-not-found]  # of another environment
    import chess.engine  # type: ignore[import-not-found]  # as above

    moves: list[Any] = []
    rng, board = random.Random(1), chess.Board()
    while len(moves) < CHESS_PLIES:
        moves.append(rng.choice(list(board.legal_moves)))
        board.push(moves[-1])

    async def play(engines: Sequence[Any], games: int) -> None:
        for game in range(games):
            board = chess.Board()
            while len(board.move_stack) < CHESS_PLIES and not board.is_game_over():
                mover = engines[len(board.move_stack) % 2]
                board.push((await mover.play(board, chess.engine.Limit(time=5), game=game)).move)

    async def play_all(program: Path) -> None:
        words = [str(program), *map(str, moves)]
        engines = [(await chess.engine.popen_uci(words))[1] for _ in range(2 * AT_ONCE)]
        await asyncio.gather(
            *(play(engines[first : first + 2], games // AT_ONCE) for first in range(0, 2 * AT_ONCE, 2))
        )
        for engine in engines:
            await engine.quit()

    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "fixed.c"
        source.write_text(_UCI)
        asyncio.run(play_all(compile_program(Path(name), [source])))
    return games // AT_ONCE * AT_ONCE * CHESS_PLIES


PYTHON_PROGRAMS = {program.__name__: program for program in (pettingzoo, openspiel, kaggle, boards, chess_engines)}


def play_here(name: str, games: int) -> Run:
    """Play games in this process, after a few that load modules and fill caches."""
    play = PYTHON_PROGRAMS[name]
    play(AT_ONCE)
    began, used = time.perf_counter(), time.process_time() + processor_seconds()
    moves = play(games)
    return Run(games, moves, time.perf_counter() - began, time.process_time() + processor_seconds() - used)


def run_program(games: int, *words: str, folder: str | None = None) -> Run:
    """Run a program that prints its run as JSON."""
    with subprocess.Popen([*words, str(games)], stdout=subprocess.PIPE, cwd=folder) as process:
        assert process.stdout is not None
        output = process.stdout.read().decode()
        mib = _wait_for_end(process)
    return Run(**json.loads(output.splitlines()[-1]))._replace(mib=mib)


def _wait_for_end(process: subprocess.Popen[bytes]) -> float:
    """Wait for a program, which must succeed. Return its peak memory in MiB."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return usage.ru_maxrss / 1024


def command(games: int, *words: str) -> Run:
    """Run a program and return the cost of it and of all processes that it starts."""
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.perf_counter(), processor_seconds()
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder) as process:
            mib = _wait_for_end(process)
        return Run(games, 0, time.perf_counter() - began, processor_seconds() - used, mib)


def without_start(play: Callable[[int], Run], games: int, few: int, moves_a_game: float) -> Run:
    """Return the cost of `games - few` games."""
    most, least = play(games), play(few)
    counted = games - few
    moves = round(counted * moves_a_game)
    return Run(counted, moves, most.wall - least.wall, most.processor - least.processor, most.mib)


@contextmanager
def engine_rows(gomoku: str | None) -> Iterator[list[Row]]:
    with tempfile.TemporaryDirectory() as name:
        engine = build_engine(Path(name), EXAMPLES / "lowest.c")
        plies = plies_of(engine)
        at_once = str(AT_ONCE)

        def noughts(games: int) -> Run:
            return command(
                games, sys.executable, "-m", "noughts_server.cli", "match", *[f"gomocup:{engine}"] * 2,
                "--time", "5/move", "--variant", "gomoku", "--games", str(games), "--concurrency", at_once,
                "--processes", at_once, "--seed", "1", "--format", "json",
            )  # fmt: skip

        def peer(games: int) -> Run:
            assert gomoku is not None
            return command(
                games, gomoku, "-each", "tc=0/5", *("-engine", f"cmd={engine}", "name=one"),
                *("-engine", f"cmd={engine}", "name=two"), "-rule", "0", "-boardsize", str(SIZE),
                "-games", str(games), "-concurrency", at_once, "-sgf", "games.sgf",
            )  # fmt: skip

        terms = f"engines in C on pipes, gomoku, {at_once} games at once, "
        rows = [
            Row(
                "Noughts, `match`",
                terms + "sandbox, clocks, games in SQLite",
                lambda: without_start(noughts, 1_220, 20, plies),
            )
        ]
        if gomoku:
            rows.append(
                Row("c-gomoku-cli", terms + "clocks, games in a file", lambda: without_start(peer, 1_220, 20, plies))
            )
        yield rows


def server_row() -> Row:
    def play(games: int) -> Run:
        return command(
            games, sys.executable, "-m", "noughts_server.cli", "match", "random", "random", "--variant", "connect4",
            "--games", str(games), "--concurrency", "1024", "--seed", "1", "--format", "json",
        )  # fmt: skip

    terms = "server and two bot processes over gRPC, connect4, 1,024 games at once, Elo, games in SQLite"
    return Row("Noughts, `match`", terms, lambda: without_start(play, 12_000, 2_000, RANDOM_CONNECT4))


RANDOM_CONNECT4 = 21.4
"""Moves of a random game, on average."""


def player(name: str, games: int, python: str = sys.executable) -> Callable[[], Run]:
    """Return a function that runs a program of `PYTHON_PROGRAMS` in a new process."""
    return lambda: run_program(games, python, str(Path(__file__).resolve()), "--play", name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gomoku", help="the program c-gomoku-cli")
    parser.add_argument("--python", help="the Python of an environment with kaggle-environments and chess")
    parser.add_argument("--node", help="a folder with boardgame.io in its node_modules")
    parser.add_argument("--play", nargs=2, metavar=("NAME", "GAMES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play:
        name, games = options.play
        print(json.dumps(play_here(name, int(games))._asdict()))
        return
    with engine_rows(options.gomoku) as rows:
        if options.python:
            terms = f"engines in C on pipes, chess, {AT_ONCE} games at once, own loop; no records"
            rows.append(Row("python-chess", terms, player("chess_engines", 40, options.python)))
        rows.append(server_row())
        rows.append(
            Row("Noughts, `NoughtsVectorEnv`", "one process, connect4, 1,024 boards a step", player("boards", 100_000))
        )
        rows.append(Row("OpenSpiel", "one process, connect_four, rules in C++", player("openspiel", 4_000)))
        rows.append(Row("PettingZoo", "one process, connect_four_v3 with its checks", player("pettingzoo", 100)))
        if options.python:
            terms = "one process, connectx with its built-in random agents"
            rows.append(Row("Kaggle environments", terms, player("kaggle", 20, options.python)))
        if options.node:
            terms = "one process, tic-tac-toe through the client's moves"
            node = ["node", "-e", _NODE, "--"]
            rows.append(Row("boardgame.io", terms, lambda: run_program(300, *node, folder=options.node)))
        runs: list[list[Run]] = [[] for _ in rows]
        for _ in range(options.rounds):
            for row, runs_of_row in zip(rows, runs, strict=True):
                runs_of_row.append(row.play())
        print("| program | terms | games/s | moves/s | us of processor time a move | MiB |")
        print("|---|---|---|---|---|---|")
        for row, runs_of_row in zip(rows, runs, strict=True):
            games = statistics.median(run.games / run.wall for run in runs_of_row)
            moves = statistics.median(run.moves / run.wall for run in runs_of_row)
            move_us = statistics.median(run.processor / run.moves * 1e6 for run in runs_of_row)
            mib = statistics.median(run.mib for run in runs_of_row)
            print(f"| {row.program} | {row.terms} | {games:,.0f} | {moves:,.0f} | {move_us:,.1f} | {mib:,.0f} |")


if __name__ == "__main__":
    main()
