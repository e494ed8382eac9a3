"""Train the network of agent.py by self-play, and write its weights: `python train.py`; `--help` lists options.

A thousand boards move at once, each side by the same network. The value of the board after a move is corrected
towards the result of the game, or else towards the negative value of the opponent's best answer (temporal-difference
learning; Sutton and Barto, "Reinforcement Learning", chapter 6). Needs the `gym` extra.
"""

import argparse
import time
from typing import Any

import numpy as np
from agent import FOLDER, VARIANT, WEIGHTS, Floats, Network, States

from noughts_bots.adapters import NoughtsVectorEnv

BOARDS = 1_024
RANDOM_MOVES = 0.1
"""The share of moves that are random, so that the network sees other boards than those it likes."""
RATES = 3e-3, 1e-4
"""The learning rate at the beginning and at the end."""


class Learner:
    """Corrects a network by Adam (Kingma and Ba, 2015)."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.means = {name: np.zeros_like(value) for name, value in network.weights.items()}
        self.squares = {name: np.zeros_like(value) for name, value in network.weights.items()}
        self.steps = 0

    def correct(self, states: States, targets: Floats, rate: float) -> float:
        """Move the values of boards, given by the states of their lines, towards targets. Return the mean error."""
        weights, size = self.network.weights, len(states)
        hidden = weights["table"][self.network.numbers, states].sum(axis=1) + weights["bias"]
        active = np.maximum(hidden, 0)
        values = np.tanh(active @ weights["output"])
        errors = values - targets
        slopes = (errors * (1 - values**2) / size).astype(np.float32)
        behind = np.outer(slopes, weights["output"]) * (hidden > 0)
        chosen = np.zeros((size, len(self.network.numbers), self.network.states), np.float32)
        np.put_along_axis(chosen, states[:, :, None], 1, axis=2)
        gradients = {
            "table": (chosen.reshape(size, -1).T @ behind).reshape(weights["table"].shape),
            "bias": behind.sum(axis=0),
            "output": slopes @ active,
        }
        self.steps += 1
        for name, gradient in gradients.items():
            mean, square = self.means[name], self.squares[name]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            step = mean / (1 - 0.9**self.steps) / (np.sqrt(square / (1 - 0.999**self.steps)) + 1e-8)
            weights[name] -= rate * step
        return float(np.abs(errors).mean())


def train(steps: int, seed: int) -> Network:
    boards = NoughtsVectorEnv(BOARDS, VARIANT, opponent=None)
    rng = np.random.default_rng(seed)
    network = Network(boards.variant, rng)
    learner = Learner(network)
    seen, info = boards.reset(seed=seed)
    before: tuple[Any, ...] | None = None
    began, error = time.monotonic(), 0.0
    for step in range(steps):
        own, other = (seen.reshape(BOARDS, 2, -1) == 1).swapaxes(0, 1)
        legal = info["action_mask"] == 1
        values, lines = network.rate(own, other)
        values[~legal] = -1
        if before is not None:
            states, rewards, done = before
            targets = np.where(done, rewards, -values.max(axis=1)).astype(np.float32)
            rate = RATES[0] + (RATES[1] - RATES[0]) * step / steps
            error += (learner.correct(states, targets, rate) - error) / 100
        cells = np.where(legal, values, -2).argmax(axis=1)
        at_random = rng.random(BOARDS) < RANDOM_MOVES
        cells[at_random] = (rng.random(legal.shape) * legal).argmax(axis=1)[at_random]
        changed = network.through[cells] == 1
        states = np.where(changed, lines[1], lines[0])
        seen, rewards, done, _, info = boards.step(cells)
        before = states, rewards, done
        if (step + 1) % 1_000 == 0 or step + 1 == steps:
            print(f"{step + 1} steps, {time.monotonic() - began:.0f} s, mean error {error:.3f}", flush=True)
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=8_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--to", default=WEIGHTS, help="the file, in the folder of agent.py")
    options = parser.parse_args()
    file = FOLDER / options.to
    train(options.steps, options.seed).save(file)
    print(f"{file.name}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
