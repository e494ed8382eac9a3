"""A thousand boards in each step, compared with PettingZoo's environments one after the other, and with pgx on the CPU.

    python -m benchmarks.gym [--runs 5] [--pgx PYTHON]

Everywhere the same work: in each step each of 1,024 boards gets a random legal action from the mask that its
environment shows, and a board whose game is over begins again. PYTHON is an interpreter with pgx and JAX, which do not
belong to the project. Prints medians of alternating runs: boards a second, and microseconds of processor time a board.
Neither PettingZoo nor pgx has gomoku.
"""

import argparse
import statistics
import subprocess
import time
import warnings
from collections.abc import Callable

import numpy as np

from noughts_bots.adapters.gymnasium import NoughtsVectorEnv

BOARDS, STEPS = 1_024, 20
_OURS_ONLY = "gomoku"
_PGX = """
import sys, time, jax, jax.numpy as jnp, pgx
from pgx.experimental import auto_reset
boards, steps = 1024, 400
env = pgx.make(sys.argv[1])
step, init = auto_reset(env.step, env.init), jax.jit(jax.vmap(env.init))

@jax.jit
def advance(state, key):
    key, drawn, begun = jax.random.split(key, 3)
    mask = state.legal_action_mask
    actions = (jax.random.uniform(drawn, mask.shape) * mask).argmax(axis=1)
    return jax.vmap(step)(state, actions, jax.random.split(begun, boards)), key

state, key = init(jax.random.split(jax.random.PRNGKey(0), boards)), jax.random.PRNGKey(1)
for _ in range(20):
    state, key = advance(state, key)
jax.block_until_ready(state)
began, spent = time.perf_counter(), time.process_time()
for _ in range(steps):
    state, key = advance(state, key)
jax.block_until_ready(state)
print(boards * steps / (time.perf_counter() - began), (time.process_time() - spent) / boards / steps * 1e6)
"""

Speed = tuple[float, float]
"""Boards a second, and microseconds of processor time a board."""


def _speed(boards: int, work: Callable[[], None]) -> Speed:
    began, spent = time.perf_counter(), time.process_time()
    work()
    return boards / (time.perf_counter() - began), (time.process_time() - spent) / boards * 1e6


def arrays(variant: str) -> Speed:
    env = NoughtsVectorEnv(BOARDS, variant, opponent=None)
    _, info = env.reset(seed=1)
    draw = np.random.default_rng(1)

    def work() -> None:
        nonlocal info
        for _ in range(STEPS * 20):
            mask = info["action_mask"]
            _, _, _, _, info = env.step((draw.random(mask.shape, np.float32) * mask).argmax(axis=1))

    return _speed(BOARDS * STEPS * 20, work)


def one_by_one(variant: str) -> Speed:
    """PettingZoo's raw environments, without the wrappers that check each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pettingzoo.classic import connect_four_v3, tictactoe_v3
    make: Callable[[], object] = (tictactoe_v3 if variant == "tictactoe" else connect_four_v3).raw_env
    envs = [make() for _ in range(BOARDS)]
    for env in envs:
        env.reset(seed=1)  # type: ignore[attr-defined]  # PettingZoo has no types
    draw = np.random.default_rng(1)

    def work() -> None:
        for _ in range(STEPS):
            for env in envs:
                seen, _, over, _, _ = env.last()  # type: ignore[attr-defined]  # as above
                if over:
                    env.reset()  # type: ignore[attr-defined]  # as above
                    continue
                legal = np.flatnonzero(seen["action_mask"])
                env.step(int(legal[int(draw.random() * len(legal))]))  # type: ignore[attr-defined]  # as above

    return _speed(BOARDS * STEPS, work)


def with_jax(python: str, variant: str) -> Speed:
    game = {"tictactoe": "tic_tac_toe", "connect4": "connect_four"}[variant]
    done = subprocess.run([python, "-c", _PGX, game], capture_output=True, text=True, check=True)
    speed, spent = map(float, done.stdout.split())
    return speed, spent


def main() -> None:
    """Print a line for each variant and environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pgx", metavar="PYTHON", help="an interpreter that has pgx and JAX")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    for variant in ("tictactoe", "connect4", _OURS_ONLY):
        found: dict[str, list[Speed]] = {"Noughts": []}
        for _ in range(options.runs):
            found["Noughts"].append(arrays(variant))
            if variant == _OURS_ONLY:
                continue
            found.setdefault("PettingZoo", []).append(one_by_one(variant))
            if options.pgx:
                found.setdefault("pgx", []).append(with_jax(options.pgx, variant))
        own = found["Noughts"]
        for name, speeds in found.items():
            speed, spent = (statistics.median(column) for column in zip(*speeds, strict=True))
            ratios = [statistics.median(a[i] / b[i] for a, b in zip(own, speeds, strict=True)) for i in (0, 1)]
            times = f"{ratios[0]:.1f} and {1 / ratios[1]:.1f} times" if name != "Noughts" else ""
            print(f"{variant:<10} {name:<10} {speed:>12,.0f} boards/s {spent:>8.3f} us {times}", flush=True)


if __name__ == "__main__":
    main()
