"""Noughts as environments for learning, with the API of Gymnasium: one board, or a thousand in each step.

    env = NoughtsEnv("connect4", opponent="minimax:depth=2")
    boards = NoughtsVectorEnv(1024, "tictactoe")

An observation is an int8 array of shape (2, layers * rows, columns): the mover's stones, and the other side's. An
action is a cell, or with gravity a column. `info["action_mask"]` marks the legal ones; an illegal action loses. The
reward is 1 for a win, -1 for a loss, 0 for a draw. Needs the extra `gym`.
"""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from noughts_bots.adapters.planes import action_count, actions_of, cell_of_action, own_and_other
from noughts_bots.arrays import supports
from noughts_bots.bot import Bot, Move
from noughts_bots.specs import make_bot, parse_spec
from noughts_referee.rules import Position, Variant, parse_variant

Observation = npt.NDArray[np.int8]
_SEEDS = 2**63
_NAME = "Noughts-v0"
_HELD, _FREE = -2, -1
"""Two cells after those of the board: one that both sides always hold, and one that neither ever holds."""


class NoughtsEnv(gymnasium.Env[Observation, np.int64]):
    """One board, against an opponent, or without one against oneself: then each step is the other side's."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(
        self,
        variant: str = "tictactoe",
        opponent: str | Bot | None = "random",
        *,
        side: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """`opponent`: a bot, or the spec of a reference bot. `side`: the learner's, 0 moves first; None: at random."""
        self.variant = parse_variant(variant)
        self.render_mode = render_mode
        self._opponent = make_bot(parse_spec(opponent), self.variant) if isinstance(opponent, str) else opponent
        self._side = side
        rows = self.variant.cells // self.variant.columns
        self.observation_space = spaces.Box(0, 1, (2, rows, self.variant.columns), np.int8)
        self.action_space = spaces.Discrete(action_count(self.variant))
        self._position = Position(self.variant)
        self._own_side = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        self._position = Position(self.variant, seed=int(self.np_random.integers(_SEEDS)))
        self._own_side = int(self.np_random.integers(2)) if self._side is None else self._side
        if self._opponent is not None and self._own_side == 1:
            self._reply()
        return self._observed()

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        position = self._position
        cell = cell_of_action(position, action)
        if cell not in position.free:
            observation, info = self._observed()
            return observation, -1.0, True, False, {**info, "illegal": True}
        position.play(cell)
        outcome = position.outcome()
        mover = 1 - position.side
        if outcome is None and self._opponent is not None:
            self._reply()
            outcome = position.outcome()
        observation, info = self._observed()
        if outcome is None:
            return observation, 0.0, False, False, info
        reward = 0.0 if outcome.winner is None else 1.0 if outcome.winner == mover else -1.0
        return observation, reward, True, False, info

    def render(self) -> str | None:
        return str(self._position) if self.render_mode == "ansi" else None

    def _reply(self) -> None:
        assert self._opponent is not None
        chosen: Any = self._opponent.choose(self._position)
        self._position.play(chosen.cell if isinstance(chosen, Move) else chosen)

    def _observed(self) -> tuple[Observation, dict[str, Any]]:
        mask = np.zeros(action_count(self.variant), np.int8)
        if self._position.outcome() is None:
            mask[actions_of(self._position)] = 1
        return np.stack(own_and_other(self._position)), {"action_mask": mask}


class NoughtsVectorEnv(VectorEnv[Observation, npt.NDArray[np.int64], Any]):
    """Many boards of one variant, which all move in each step through numpy arrays.

    `opponent`: "random" answers at once on each board; None: each step is the other side's, on all boards. A finished
    game is replaced in the same step (`AutoresetMode.SAME_STEP`): reward and `terminated` belong to the old game, the
    observation to the new one, and `info["final_obs"]` has the old game's last one. Only m,n,k games, with or without
    gravity, are supported.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(self, num_envs: int, variant: str = "tictactoe", opponent: str | None = "random") -> None:
        """Raises ValueError for a variant with rules other than lines and gravity, or another opponent."""
        self.variant = rules = parse_variant(variant)
        if rules.beside or rules.blocked_ends or rules.forbids is not None:
            raise ValueError(f"variant: got {rules.name}, expected one of plain lines, e.g. mnk:7,6,4 or connect4")
        if opponent not in (None, "random"):
            raise ValueError(f"opponent: got {opponent!r}, expected 'random' or None; NoughtsEnv takes any bot")
        self.num_envs = num_envs
        self._plays_random = opponent is not None
        self.single_observation_space = spaces.Box(0, 1, (2, rules.cells // rules.columns, rules.columns), np.int8)
        self.single_action_space = spaces.Discrete(action_count(rules))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._lines = _lines_through(rules)
        self._drops = bool(rules.gravity) and rules.layers == 1
        # The padding of this table, the number of cells, is `_HELD`.
        self._below = supports(rules) if rules.gravity and not self._drops else None
        self._stones: Observation = np.zeros((2, num_envs, rules.cells + 2), np.int8)
        """Stones of the side to move, and of the other side."""
        self._plies: npt.NDArray[np.int64] = np.zeros(num_envs, np.int64)
        self._every = np.arange(num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        self._clear(self._every)
        return self._observation(), {"action_mask": self.action_masks()}

    def step(
        self, actions: npt.NDArray[np.int64]
    ) -> tuple[Observation, npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        rewards = np.zeros(self.num_envs)
        done = np.zeros(self.num_envs, np.bool_)
        self._move(self._every, np.asarray(actions, np.int64), rewards, done, 1.0)
        if self._plays_random:
            going = np.flatnonzero(~done)
            if going.size:
                self._move(going, self._drawn(going), rewards, done, -1.0)
        info: dict[str, Any] = {}
        over = np.flatnonzero(done)
        if over.size:
            info["final_obs"], info["_final_obs"] = self._observation(), done
            self._clear(over)
        info["action_mask"] = self.action_masks()
        return self._observation(), rewards, done, np.zeros(self.num_envs, np.bool_), info

    def action_masks(self) -> Observation:
        """Return the legal actions, as an array of shape (num_envs, actions)."""
        both = self._stones[0] | self._stones[1]
        free: Observation = 1 - both[:, : self.variant.columns if self._drops else _HELD]
        return free if self._below is None else free & both[:, self._below].min(axis=2)

    def _move(
        self,
        boards: npt.NDArray[np.int64],
        actions: npt.NDArray[np.int64],
        rewards: npt.NDArray[np.float64],
        done: npt.NDArray[np.bool_],
        reward: float,
    ) -> None:
        """Play the mover's actions on these boards. The other side is to move afterwards."""
        cells = self._cells(boards, actions)
        legal = self._legal(boards, actions, cells)
        self._stones[0, boards[legal], cells[legal]] = 1
        self._plies[boards] += 1
        lines = self._lines[cells]
        won = self._stones[0][boards[:, None, None], lines].all(axis=2).any(axis=1) & legal
        full = self._plies[boards] == self.variant.cells
        rewards[boards] = np.where(won, reward, np.where(legal, rewards[boards], -reward))
        done[boards] = won | full | ~legal
        self._stones[:, boards] = self._stones[::-1, boards]

    def _cells(self, boards: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        inside: npt.NDArray[np.int64] = np.clip(actions, 0, action_count(self.variant) - 1)
        if not self._drops:
            return inside
        columns = self.variant.columns
        taken = (self._stones[0] | self._stones[1])[boards, :_HELD].reshape(len(boards), -1, columns)
        height = taken[np.arange(len(boards)), :, inside].sum(axis=1, dtype=np.int64)
        cells: npt.NDArray[np.int64] = np.maximum(self.variant.rows - 1 - height, 0) * columns + inside
        return cells

    def _legal(
        self, boards: npt.NDArray[np.int64], actions: npt.NDArray[np.int64], cells: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        both = self._stones[0] | self._stones[1]
        legal: npt.NDArray[np.bool_] = (both[boards, cells] == 0) & (actions >= 0)
        legal &= actions < action_count(self.variant)
        if self._below is not None:
            legal &= both[boards[:, None], self._below[cells]].all(axis=1)
        return legal

    def _drawn(self, boards: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        masks = self.action_masks()[boards]
        chances = self.np_random.random(masks.shape) * masks
        drawn: npt.NDArray[np.int64] = chances.argmax(axis=1)
        return drawn

    def _clear(self, boards: npt.NDArray[np.int64]) -> None:
        """Begin new games. With an opponent, it begins half of them."""
        self._stones[:, boards] = 0
        self._stones[:, boards, _HELD] = 1
        self._plies[boards] = 0
        if self._plays_random:
            begun = boards[self.np_random.random(len(boards)) < 0.5]
            if begun.size:
                nothing, nobody = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
                self._move(begun, self._drawn(begun), nothing, nobody, 0.0)

    def _observation(self) -> Observation:
        shape = (2, self.num_envs, -1, self.variant.columns)
        return np.ascontiguousarray(self._stones[:, :, :_HELD].reshape(shape).swapaxes(0, 1))


def _lines_through(variant: Variant) -> npt.NDArray[np.int64]:
    """Return the cells of the lines through each cell, in the shape (cells, most lines, longest line).

    Shorter lines are padded with `_HELD`, and missing lines consist of `_FREE`.
    """
    through: list[list[tuple[int, ...]]] = [[] for _ in range(variant.cells)]
    for line in variant.line_cells:
        for cell in line:
            through[cell].append(tuple(line))
    most, longest = max(map(len, through)), max(map(len, variant.line_cells))
    table = np.full((variant.cells, most, longest), _FREE, np.int64)
    for cell, lines in enumerate(through):
        for row, line in enumerate(lines):
            table[cell, row, : len(line)] = line
            table[cell, row, len(line) :] = _HELD
    return table


def register() -> None:
    """Register "Noughts-v0" for `gymnasium.make` and `make_vec`, e.g. with `variant="connect4"`. Idempotent."""
    if _NAME in gymnasium.registry:
        return
    gymnasium.register(
        _NAME,
        entry_point="noughts_bots.gym_env:NoughtsEnv",
        vector_entry_point="noughts_bots.gym_env:NoughtsVectorEnv",
        disable_env_checker=True,
    )
