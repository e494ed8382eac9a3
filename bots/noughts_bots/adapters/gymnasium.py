"""Noughts as environments for learning, with the API of Gymnasium: one board, or a thousand in each step.

    env = NoughtsEnv("connect4", opponent="minimax:depth=2")
    boards = NoughtsVectorEnv(1024, "tictactoe")

An observation is an int8 array of shape (2, layers * rows, columns): the stones of the side to move, then those of the
other side. After the end of a game, the stones of the side that gets the reward are first: the learner, or without an
opponent the side that acted last. An action is a cell, or with gravity a column. `info["action_mask"]` marks the legal
actions. An illegal action loses. The reward is 1 for a win, -1 for a loss, 0 for a draw. Needs the `gym` extra.
"""

import math
from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from noughts_bots.adapters.planes import action_count, actions_of, cell_of_action, own_and_other
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.arrays import supports
from noughts_bots.sdk.bot import Bot, Move
from noughts_referee.rules import Position, parse_variant

Observation = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Info = dict[str, Any]
_SEEDS = 2**63
"""Seeds are below this number."""
_NAME = "Noughts-v0"
_OWN = 0
_OTHER = 1
_WORD_BITS = 64
"""Cells in one word of a set of cells."""


class NoughtsEnv(gymnasium.Env[Observation, np.int64]):
    """One board. Without an opponent, the steps are the moves of both sides in turn."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(
        self,
        variant: str = "tictactoe",
        opponent: str | Bot | None = "random",
        *,
        side: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """`opponent`: a bot, or the spec of a reference bot. `side`: the learner's, 0 moves first; None for random."""
        self.variant = parse_variant(variant)
        self.render_mode = render_mode
        self._opponent = make_bot(parse_spec(opponent), self.variant) if isinstance(opponent, str) else opponent
        self._side = side
        rows = self.variant.cells // self.variant.columns
        self.observation_space = spaces.Box(0, 1, (2, rows, self.variant.columns), np.int8)
        self.action_space = spaces.Discrete(action_count(self.variant))
        self._position = Position(self.variant)
        self._own_side = 0

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        super().reset(seed=seed)
        self._position = Position(self.variant, seed=int(self.np_random.integers(_SEEDS)))
        self._own_side = int(self.np_random.integers(2)) if self._side is None else self._side
        if self._opponent is not None and self._own_side == 1:
            self._reply()
        return self._observe(self._position.side)

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, Info]:
        position = self._position
        mover = position.side
        cell = cell_of_action(position, action)
        if cell not in position.free:
            observation, info = self._observe(mover)
            return observation, -1.0, True, False, {**info, "illegal": True}
        position.play(cell)
        outcome = position.outcome()
        if outcome is None and self._opponent is not None:
            self._reply()
            outcome = position.outcome()
        observation, info = self._observe(position.side if outcome is None else mover)
        if outcome is None:
            return observation, 0.0, False, False, info
        if outcome.winner is None:
            return observation, 0.0, True, False, info
        return observation, 1.0 if outcome.winner == mover else -1.0, True, False, info

    def render(self) -> str | None:
        return str(self._position) if self.render_mode == "ansi" else None

    def _reply(self) -> None:
        assert self._opponent is not None
        answer: Any = self._opponent.choose(self._position)
        self._position.play(answer.cell if isinstance(answer, Move) else answer)

    def _observe(self, side: int) -> tuple[Observation, Info]:
        """Return the planes with this side's stones first, and the legal actions."""
        mask = np.zeros(action_count(self.variant), np.int8)
        if self._position.outcome() is None:
            mask[actions_of(self._position)] = 1
        planes = np.stack(own_and_other(self._position))
        return planes if side == self._position.side else planes[::-1].copy(), {"action_mask": mask}


class NoughtsVectorEnv(VectorEnv[Observation, Ints, Any]):
    """Many boards of one variant, which all move in each step through numpy arrays.

    The `opponent` "random" answers at once on each board. With None, the steps are the moves of both sides in turn. A
    finished game is replaced in the same step (`AutoresetMode.SAME_STEP`): reward and `terminated` belong to the old
    game, the observation to the new one, and `info["final_obs"]` has the last observation of the old game. Only
    m,n,k games, with or without gravity, are supported.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(self, num_envs: int, variant: str = "tictactoe", opponent: str | None = "random") -> None:
        """Raises ValueError for a variant with rules other than lines and gravity, or another opponent."""
        self.variant = rules = parse_variant(variant)
        if rules.beside or rules.blocked_ends or rules.forbids is not None:
            raise ValueError(f"variant: got {rules.name}, expected one with plain lines, e.g. mnk:7,6,4 or connect4")
        if opponent not in (None, "random"):
            raise ValueError(f"opponent: got {opponent!r}, expected 'random' or None; NoughtsEnv takes any bot")
        self.num_envs = num_envs
        self._plays_random = opponent is not None
        self.single_observation_space = spaces.Box(0, 1, (2, rules.cells // rules.columns, rules.columns), np.int8)
        self.single_action_space = spaces.Discrete(action_count(rules))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._drops = bool(rules.gravity) and rules.layers == 1
        # `supports` pads its table with the number of cells. This is an additional cell on which both sides have a
        # stone.
        self._below = supports(rules) if rules.gravity and not self._drops else None
        self._width = rules.cells + 1
        self._stones: Observation = np.zeros((num_envs, 2, self._width), np.int8)
        """For each board: the stones of the learner and of the opponent; without an opponent, of the two sides."""
        self._stones[:, :, -1] = 1
        self._mover = _OWN
        words = range(math.ceil(rules.cells / _WORD_BITS))
        self._cell_bits = [_words([1 << cell for cell in range(rules.cells)], word) for word in words]
        most_lines = max(map(len, rules.lines_through))
        # The padding -1 is the set of all cells, a line that no side can complete.
        padded = [lines + (-1,) * (most_lines - len(lines)) for lines in rules.lines_through]
        self._line_bits = [np.array([_words(lines, word) for lines in padded]) for word in words]
        """The lines through each cell, by word of 64 cells."""
        self._bits: npt.NDArray[np.uint64] = np.zeros((2, len(words), num_envs), np.uint64)
        """The stones as sets of cells in words of 64 bits, in which `_move` finds lines."""
        self._plies: Ints = np.zeros(num_envs, np.int64)
        self._heights: Ints = np.zeros((num_envs, rules.columns), np.int64)
        """The number of stones in each column."""
        self._all_boards = np.arange(num_envs)

    def reset(self, *, seed: Any = None, options: Info | None = None) -> tuple[Observation, Info]:
        super().reset(seed=seed)
        self._clear(self._all_boards)
        return self._observation(), {"action_mask": self.action_masks()}

    def step(self, actions: Ints) -> tuple[Observation, Floats, Bools, Bools, Info]:
        rewards = np.zeros(self.num_envs)
        done = np.zeros(self.num_envs, np.bool_)
        self._move(self._all_boards, np.asarray(actions, np.int64), self._mover, rewards, done, 1.0)
        if self._plays_random and not done.all():
            running = np.flatnonzero(~done)
            self._move(running, self._random_actions(running), _OTHER, rewards, done, -1.0)
        info: Info = {}
        finished = np.flatnonzero(done)
        if finished.size:
            info["final_obs"] = self._observation()
            info["_final_obs"] = done
            self._clear(finished)
        if not self._plays_random:
            self._mover ^= 1
        info["action_mask"] = self.action_masks()
        return self._observation(), rewards, done, np.zeros(self.num_envs, np.bool_), info

    def action_masks(self) -> Observation:
        """Return the legal actions, as an array of shape (num_envs, actions)."""
        if self._drops:
            return (self._heights < self.variant.rows).view(np.int8)
        both = self._stones[:, 0] | self._stones[:, 1]
        free: Observation = 1 - both[:, :-1]
        return free if self._below is None else free & both[:, self._below].min(axis=2)

    def _move(self, boards: Ints, actions: Ints, mover: int, rewards: Floats, done: Bools, reward: float) -> None:
        """Play the actions of a side, `_OWN` or `_OTHER`, on these boards. Update the rewards and finished games.

        The reward is `reward` for a win and its negative for an illegal action.
        """
        rules = self.variant
        stones = self._stones.reshape(-1)
        clipped: Ints = np.clip(actions, 0, action_count(rules) - 1)
        cells = clipped
        if self._drops:
            cells = np.maximum(rules.rows - 1 - self._heights[boards, clipped], 0) * rules.columns + clipped
        # In the flat array, each board has the stones of `_OWN`, and after `_width` elements those of `_OTHER`.
        board_starts = boards * (2 * self._width)
        places = board_starts + cells
        occupied = stones[places] | stones[places + self._width]
        legal = (occupied == 0) & (clipped == actions)
        if self._below is not None:
            below = board_starts[:, None] + self._below[cells]
            legal &= (stones[below] | stones[below + self._width]).all(axis=1)
        stones[places + mover * self._width] |= legal
        self._heights[boards, clipped % rules.columns] += legal
        self._plies[boards] += 1
        is_complete: Any = True  # for each board and each line through the cell
        for side_words, cell_words, line_words in zip(self._bits[mover], self._cell_bits, self._line_bits, strict=True):
            side_words[boards] = own = side_words[boards] | cell_words[cells] * legal
            lines = line_words[cells]
            is_complete = ((own[:, None] & lines) == lines) & is_complete
        won = is_complete.any(axis=1) & legal
        rewards[boards] = np.where(won, reward, np.where(legal, rewards[boards], -reward))
        done[boards] = won | ~legal | (self._plies[boards] == rules.cells)

    def _random_actions(self, boards: Ints) -> Ints:
        """Return a random legal action for each of these boards."""
        masks = self.action_masks()[boards]
        chances = self.np_random.random(masks.shape) * masks
        actions: Ints = chances.argmax(axis=1)
        return actions

    def _clear(self, boards: Ints) -> None:
        """Begin new games. If there is an opponent, it makes the first move in about half of them, at random."""
        self._stones[boards, :, :-1] = 0
        self._bits[:, :, boards] = 0
        self._plies[boards] = 0
        self._heights[boards] = 0
        if self._plays_random:
            begun_by_opponent = boards[self.np_random.random(len(boards)) < 0.5]
            if begun_by_opponent.size:
                # A first move ends no game, so rewards and ends are not used.
                rewards = np.zeros(self.num_envs)
                done = np.zeros(self.num_envs, np.bool_)
                actions = self._random_actions(begun_by_opponent)
                self._move(begun_by_opponent, actions, _OTHER, rewards, done, 0.0)

    def _observation(self) -> Observation:
        sides = self._stones[:, ::-1] if self._mover else self._stones
        return sides[:, :, :-1].copy().reshape(self.observation_space.shape or ())


def _words(sets: Iterable[int], word: int) -> npt.NDArray[np.uint64]:
    """Return one word of 64 cells of each set."""
    mask = (1 << _WORD_BITS) - 1
    return np.array([cells >> word * _WORD_BITS & mask for cells in sets], np.uint64)


def register() -> None:
    """Register "Noughts-v0" for `gymnasium.make` and `make_vec`, e.g. with `variant="connect4"`. Idempotent."""
    if _NAME in gymnasium.registry:
        return
    gymnasium.register(
        _NAME,
        entry_point="noughts_bots.adapters.gymnasium:NoughtsEnv",
        vector_entry_point="noughts_bots.adapters.gymnasium:NoughtsVectorEnv",
        disable_env_checker=True,
    )
