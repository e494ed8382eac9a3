"""Measure environments that step a thousand boards at once, compared with PettingZoo and pgx on the CPU.

    python -m benchmarks.gym [--runs 5] [--pgx PYTHON]

All do the same work: in each step each of 1,024 boards gets a random legal action from the action mask of its
environment, and a board whose game has ended begins again. PYTHON is an interpreter with pgx and JAX, which are not
dependencies of the project. Prints medians of alternating runs: boards a second, and microseconds of processor time a
board. Neither PettingZoo nor pgx has gomoku.
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
_ONLY_NOUGHTS = "gomoku"
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


def _measure(boards: int, work: Callable[[], None]) -> Speed:
    began, spent = time.perf_counter(), time.process_time()
    work()
    return boards / (time.perf_counter() - began), (time.process_time() - spent) / boards * 1e6


def noughts(variant: str) -> Speed:
    env = NoughtsVectorEnv(BOARDS, variant, opponent=None)
    _, info = env.reset(seed=1)
    rng = np.random.default_rng(1)

    def work() -> None:
        nonlocal info
        for _ in range(STEPS * 20):
            mask = info["action_mask"]
            _, _, _, _, info = env.step((rng.random(mask.shape, np.float32) * mask).argmax(axis=1))

    return _measure(BOARDS * STEPS * 20, work)


def pettingzoo(variant: str) -> Speed:
    """Measure PettingZoo's raw environments one after the other, without the wrappers that check each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pettingzoo.classic import connect_four_v3, tictactoe_v3
    make: Callable[[], object] = (tictactoe_v3 if variant == "tictactoe" else connect_four_v3).raw_env
    envs = [make() for _ in range(BOARDS)]
    for env in envs:
        env.reset(seed=1)  # type: ignore[attr-defined]  # PettingZoo has no types
    rng = np.random.default_rng(1)

    def work() -> None:
        for _ in range(STEPS):
            for env in envs:
                observation, _, is_over, _, _ = env.last()  # type: ignore[attr-defined]  # as above
                if is_over:
                    env.reset()  # type: ignore[attr-defined]  # as above
                    continue
                legal = np.flatnonzero(observation["action_mask"])
                env.step(int(legal[int(rng.random() * len(legal))]))  # type: ignore[attr-defined]  # as above

    return _measure(BOARDS * STEPS, work)


def pgx(python: str, variant: str) -> Speed:
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
    for variant in ("tictactoe", "connect4", _ONLY_NOUGHTS):
        runs: dict[str, list[Speed]] = {"Noughts": []}
        for _ in range(options.runs):
            runs["Noughts"].append(noughts(variant))
            if variant == _ONLY_NOUGHTS:
                continue
            runs.setdefault("PettingZoo", []).append(pettingzoo(variant))
            if options.pgx:
                runs.setdefault("pgx", []).append(pgx(options.pgx, variant))
        own = runs["Noughts"]
        for name, speeds in runs.items():
            speed, spent = (statistics.median(column) for column in zip(*speeds, strict=True))
            pairs = list(zip(own, speeds, strict=True))
            faster = statistics.median(ours[0] / other[0] for ours, other in pairs)
            cheaper = statistics.median(other[1] / ours[1] for ours, other in pairs)
            times = f"{faster:.1f} and {cheaper:.1f} times" if name != "Noughts" else ""
            print(f"{variant:<10} {name:<10} {speed:>12,.0f} boards/s {spent:>8.3f} us {times}", flush=True)


if __name__ == "__main__":
    main()
