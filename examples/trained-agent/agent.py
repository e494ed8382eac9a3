"""A bot with a small neural network in numpy: `noughts match py:agent.py:Trained fives --variant mnk:5,5,4`.

`train.py` makes the weights. The network rates the board after each move of its own. Its input is the state of every
line, because lines decide the game: how many stones of one side a line has, if it has none of the other side.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noughts_bots import ArrayBot, Batch, Variant, parse_variant, run

VARIANT = "mnk:5,5,4"
WEIGHTS = "weights.npz"
FOLDER = Path(__file__).parent
HIDDEN = 32

Floats = npt.NDArray[np.float32]
States = npt.NDArray[np.int64]


class Network:
    """One hidden layer: the value of a board is tanh(relu(table[line, state] summed up + bias) @ output)."""

    def __init__(self, variant: Variant, rng: np.random.Generator) -> None:
        lines, longest = len(variant.lines), max(map(len, variant.line_cells))
        self.through: Floats = np.zeros((variant.cells, lines), np.float32)
        """1 where a line goes through a cell."""
        for line, cells in enumerate(variant.line_cells):
            self.through[list(cells), line] = 1
        self.numbers = np.arange(lines)
        self.states = 2 * longest + 2
        """0: both sides have stones in the line, 1: no stones, then 1, 2, ... own stones, and as many of the other."""
        self.state_of: States = np.zeros((longest + 2, longest + 1), np.int64)
        """The state of a line by its own and its other stones."""
        self.state_of[:-1, 0] = 1 + np.arange(longest + 1)
        self.state_of[0, 1:] = 1 + longest + np.arange(1, longest + 1)
        self.weights: dict[str, Floats] = {
            "table": rng.normal(0, 0.1, (lines, self.states, HIDDEN)).astype(np.float32),
            "bias": np.zeros(HIDDEN, np.float32),
            "output": rng.normal(0, 0.1, HIDDEN).astype(np.float32),
        }

    def rate(self, own: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> tuple[Floats, States]:
        """Return the values of all boards after a stone on each cell, (boards, cells), and the states of their lines.

        A stone changes only the lines through its cell. The states are those of now and those with one more stone,
        (2, boards, lines).
        """
        table, numbers = self.weights["table"], self.numbers
        counts, others = ((stones @ self.through).astype(np.int64) for stones in (own, other))
        states = np.stack((self.state_of[counts, others], self.state_of[counts + 1, others]))
        now, after = table[numbers, states[0]], table[numbers, states[1]]
        hidden = (now.sum(axis=1) + self.weights["bias"])[:, None] + self.through @ (after - now)
        values: Floats = np.tanh(np.maximum(hidden, 0) @ self.weights["output"])
        return values, states

    def load(self, file: Path) -> None:
        with np.load(file) as weights:
            self.weights = {name: weights[name].astype(np.float32) for name in weights}

    def save(self, file: Path) -> None:
        halves: dict[str, Any] = {name: value.astype(np.float16) for name, value in self.weights.items()}
        np.savez_compressed(file, **halves)


class Trained(ArrayBot):
    """Plays the cell with the highest value; its score is that value. `weights` is a file next to this one."""

    variants = (VARIANT,)

    def __init__(self, weights: str = WEIGHTS) -> None:
        self.network = Network(parse_variant(VARIANT), np.random.default_rng(0))
        self.network.load(FOLDER / weights)

    def choose_arrays(self, batch: Batch) -> tuple[npt.NDArray[np.int64], Floats]:
        values, _ = self.network.rate(batch.boards == 1, batch.boards == 2)
        # A little noise, so that the bot does not play the same game again and again.
        rated = np.where(batch.legal, values + 0.01 * batch.random(values.shape[1]), -np.inf)
        cells = rated.argmax(axis=1)
        return cells, values[np.arange(len(batch)), cells]


if __name__ == "__main__":
    run(Trained(), name="trained")
