"""Microseconds a move of `wasm:` beside `dll:` and a bare call of wasmtime: `python -m benchmarks.wasm`.

The same C bot (bots/examples/c/lots.c, built by Zig) in the same positions, in this process: what a host does for each
question, without the frames around it, which are the same for both. The bare call is the module's `play` on a question
that lies in its memory already, by wasmtime's public API, with its fuel set. In alternating runs; medians of seven.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import wasmtime

from noughts_bots.hosts.dll import HEADER
from noughts_bots.hosts.dll import load as load_library
from noughts_bots.hosts.wasm import load as load_module
from noughts_referee.rules import Position, parse_variant

RUNS, MOVES = 7, 3_000
SOURCE = Path(__file__).parents[1] / "bots" / "examples" / "c" / "lots.c"


def built(folder: Path) -> tuple[Path, Path]:
    """The library and the module."""
    library, module = folder / "lots.so", folder / "lots.wasm"
    zig = (sys.executable, "-m", "ziglang", "cc", "-O2", "-I", str(HEADER.parent), str(SOURCE))
    subprocess.run([*zig, "-fPIC", "-shared", "-o", str(library)], check=True)
    target = ("-target", "wasm32-freestanding", "-nostdlib", "-Wl,--no-entry", "-Wl,--export-table", "-s")
    subprocess.run([*zig, *target, "-o", str(module)], check=True)
    return library, module


def timed(choose: Callable[[Position], object], position: Position) -> float:
    """Microseconds a move."""
    began = time.perf_counter()
    for _ in range(MOVES):
        choose(position)
    return (time.perf_counter() - began) / MOVES * 1e6


def bare_call(module: Path) -> Callable[[Position], object]:
    """`play` by wasmtime's own API: of a bot without arguments that need writing, the least that a call costs."""
    engine = wasmtime.Engine()
    text = '(module (func (export "play") (param i32 i32) (result i32) (i32.const 4)))'
    store = wasmtime.Store(engine)
    play = wasmtime.Instance(store, wasmtime.Module(engine, bytes(wasmtime.wat2wasm(text))), []).exports(store)["play"]
    assert isinstance(play, wasmtime.Func)
    return lambda position: play(store, 0, 0)


def main() -> None:
    """Prints a line for each variant."""
    with tempfile.TemporaryDirectory() as folder:
        library, module = built(Path(folder))
        bots = {
            "wasm:": load_module(str(module), {}).choose,
            "dll:": load_library(str(library), {}).choose,
            "bare call": bare_call(module),
        }
        for name in ("tictactoe", "gomoku"):
            position = Position(parse_variant(name), seed=7)
            for _ in range(position.variant.cells // 3):
                position.play(position.rng().choice(position.free))
            found: dict[str, list[float]] = {each: [] for each in bots}
            for _ in range(RUNS):
                for each, choose in bots.items():
                    found[each].append(timed(choose, position))
            told = ", ".join(f"{each} {statistics.median(times):.1f} us" for each, times in found.items())
            print(f"{name}, after {len(position.moves)} plies: {told}")  # its output


if __name__ == "__main__":
    main()
