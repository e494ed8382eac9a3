"""Compare a thousand boards per step with PettingZoo's environments: `python -m benchmarks.gym`.

Both sides do the same work. In each step, each of 1,024 boards gets a legal action, chosen at random from the mask of
the environment, and finished boards restart. PettingZoo's environments run one after the other. The results are
medians of alternating runs.
"""

import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np

from noughts_bots.gym_env import NoughtsVectorEnv

BOARDS, STEPS, RUNS = 1_024, 20, 5


def arrays(variant: str) -> float:
    """Return the number of boards per second."""
    env = NoughtsVectorEnv(BOARDS, variant, opponent=None)
    _, info = env.reset(seed=1)
    draw = np.random.default_rng(1)
    began = time.perf_counter()
    for _ in range(STEPS * 10):
        mask = info["action_mask"]
        _, _, _, _, info = env.step((draw.random(mask.shape) * mask).argmax(axis=1))
    return BOARDS * STEPS * 10 / (time.perf_counter() - began)


def one_by_one(variant: str) -> float:
    """Return the same for PettingZoo's raw environments, without the wrappers that check each call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pettingzoo.classic import connect_four_v3, tictactoe_v3
    make: Callable[[], object] = (tictactoe_v3 if variant == "tictactoe" else connect_four_v3).raw_env
    envs = [make() for _ in range(BOARDS)]
    for env in envs:
        env.reset(seed=1)  # type: ignore[attr-defined]  # PettingZoo has no types
    draw = np.random.default_rng(1)
    began = time.perf_counter()
    for _ in range(STEPS):
        for env in envs:
            seen, _, over, _, _ = env.last()  # type: ignore[attr-defined]  # as above
            if over:
                env.reset()  # type: ignore[attr-defined]  # as above
                continue
            legal = np.flatnonzero(seen["action_mask"])
            env.step(int(legal[int(draw.random() * len(legal))]))  # type: ignore[attr-defined]  # as above
    return BOARDS * STEPS / (time.perf_counter() - began)


def main() -> None:
    """Print a line for each variant."""
    for variant in ("tictactoe", "connect4"):
        ours, theirs = [], []
        for _ in range(RUNS):
            ours.append(arrays(variant))
            theirs.append(one_by_one(variant))
        one, other = statistics.median(ours), statistics.median(theirs)
        print(f"{variant}: {one:,.0f} boards/s, PettingZoo {other:,.0f}: {one / other:.0f} times")  # its output


if __name__ == "__main__":
    main()
