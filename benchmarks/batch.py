"""What `choose_batch` is worth to a bot that computes with arrays: the same bot asked one by one, and by the frame.

A network of two layers, written in numpy with fixed weights, plays 3x3 against `first-free` on a real server, 128 games
at once, so that it is its turn in about 64. Both kinds play the same games. Runs alternate, the median of five counts.

Usage: python benchmarks/batch.py [--runs 5] [--games 20000]
"""

import argparse
import statistics
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from noughts_bots import Bot, Position
from noughts_server.cli.logs import configure_logs
from noughts_server.cli.options import LogLevel
from noughts_server.testing import ServerUnderTest, serving

CELLS = np.arange(9, dtype=np.uint64)
HIDDEN = 128


class ByTheFrame(Bot):
    """The free cell that the network likes best."""

    def __init__(self) -> None:
        chance = np.random.default_rng(1)
        self.first_layer = chance.normal(size=(18, HIDDEN)).astype(np.float32)
        self.second_layer = chance.normal(size=(HIDDEN, 9)).astype(np.float32)

    def choose_batch(self, positions: Sequence[Position]) -> NDArray[np.intp]:
        own = stones([position.own for position in positions])
        opponent = stones([position.opponent for position in positions])
        hidden = np.maximum(np.concatenate([own, opponent], axis=1) @ self.first_layer, 0)
        liked = hidden @ self.second_layer
        liked[(own + opponent) > 0] = -np.inf
        best: NDArray[np.intp] = liked.argmax(axis=1)
        return best


class OneByOne(ByTheFrame):
    """The same, asked for one game after the other."""

    def choose(self, position: Position) -> int:
        return int(self.choose_batch((position,))[0])


def stones(sets: list[int]) -> NDArray[np.float32]:
    """A row for each set of cells, 1.0 where a stone lies."""
    return (np.array(sets, dtype=np.uint64)[:, None] >> CELLS & np.uint64(1)).astype(np.float32)


def plies_a_second(server: ServerUnderTest, bot: Bot, games: int) -> tuple[float, list[tuple[int, ...]]]:
    """And the games, in order."""
    began = time.perf_counter()
    result = server.match(bot, "first-free", games=games, concurrency=128, seed=1)
    seconds = time.perf_counter() - began
    played = [tuple(game.moves) for game in result.games]
    return sum(map(len, played)) / seconds, played


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--games", type=int, default=20_000)
    options = parser.parse_args()
    configure_logs(LogLevel.WARNING)
    print(f"{'':>6} {'one by one, plies/s':>20} {'by the frame, plies/s':>22} {'ratio':>6}")
    rows = []
    with serving() as server:
        for run in range(1, options.runs + 1):
            slow, games = plies_a_second(server, OneByOne(), options.games)
            quick, same = plies_a_second(server, ByTheFrame(), options.games)
            if same != games:
                raise SystemExit("the two kinds played different games")
            rows.append((slow, quick, quick / slow))
            print(f"{run:>6} {slow:>20,.0f} {quick:>22,.0f} {quick / slow:>6.1f}", flush=True)
    slow, quick, ratio = (statistics.median(column) for column in zip(*rows, strict=True))
    print(f"{'median':>6} {slow:>20,.0f} {quick:>22,.0f} {ratio:>6.1f}")


if __name__ == "__main__":
    main()
