"""Noughts as a Gymnasium environment: Gymnasium's checker, and array boards compared with the rules."""

import random
from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from noughts_bots.adapters.gymnasium import NoughtsEnv, NoughtsVectorEnv, Observation, register
from noughts_bots.adapters.planes import cell_of_action
from noughts_bots.reference.random_ import Random
from noughts_referee.rules import Position, Variant, parse_variant

VARIANTS = ("tictactoe", "connect4", "mnk:6,5,4", "tictactoe3d", "qubic")


@pytest.mark.parametrize("variant", ["tictactoe", "connect4", "gomoku"])
def test_gymnasiums_checker_accepts_the_environment(variant: str) -> None:
    register()
    check_env(gymnasium.make("Noughts-v0", variant=variant, render_mode="ansi").unwrapped)


def test_the_environment_is_registered_alone_and_as_a_vector() -> None:
    register()
    env = gymnasium.make("Noughts-v0", variant="connect4", opponent="minimax:depth=2")
    observation, info = env.reset(seed=3)
    assert observation.shape == (2, 6, 7)
    assert info["action_mask"].shape == (7,)
    boards = gymnasium.make_vec("Noughts-v0", num_envs=7, vectorization_mode="vector_entry_point", variant="connect4")
    assert boards.reset(seed=3)[0].shape == (7, 2, 6, 7)


def test_a_perfect_opponent_never_loses_and_a_win_is_worth_one() -> None:
    env = NoughtsEnv("tictactoe", "minimax")
    rewards, generator = [], random.Random(1)
    for seed in range(60):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            action = np.int64(generator.choice(np.flatnonzero(info["action_mask"]).tolist()))
            _, reward, over, _, info = env.step(action)
        rewards.append(reward)
    assert set(rewards) == {-1.0, 0.0}
    env = NoughtsEnv("tictactoe", "first-free", side=0)
    env.reset(seed=1)
    assert [env.step(np.int64(cell))[1:3] for cell in (6, 7, 8)] == [(0.0, False), (0.0, False), (1.0, True)]


def test_an_illegal_action_loses() -> None:
    env = NoughtsEnv("tictactoe", None)
    env.reset(seed=1)
    env.step(np.int64(4))
    _, reward, over, _, info = env.step(np.int64(4))
    assert (reward, over, info["illegal"]) == (-1.0, True, True)


def test_without_an_opponent_the_reward_is_the_movers() -> None:
    env = NoughtsEnv("tictactoe", Random(), side=1)
    env.reset(seed=5)
    assert env.render() is None
    env = NoughtsEnv("tictactoe", None)
    env.reset(seed=5)
    for cell in (0, 3, 1, 4):
        env.step(np.int64(cell))
    assert env.step(np.int64(2))[1:3] == (1.0, True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_array_boards_follow_the_rules_at_each_ply(variant: str) -> None:
    rules, count = parse_variant(variant), 40
    boards = NoughtsVectorEnv(count, variant, opponent=None)
    observation, info = boards.reset(seed=2)
    games = [Position(rules) for _ in range(count)]
    generator = random.Random(7)
    drops = rules.gravity and rules.layers == 1
    draws_seen = set()
    for _ in range(150):
        cells = [generator.choice(game.free) for game in games]
        for game, mask in zip(games, info["action_mask"], strict=True):
            free = {cell % rules.columns for cell in game.free} if drops else set(game.free)
            assert set(np.flatnonzero(mask)) == free
        actions = np.array([cell % rules.columns if drops else cell for cell in cells])
        observation, rewards, done, truncated, info = boards.step(actions)
        for number, (game, cell) in enumerate(zip(games, cells, strict=True)):
            game.play(cell)
            outcome = game.outcome()
            assert bool(done[number]) == (outcome is not None)
            if outcome is not None:
                assert rewards[number] == (0.0 if outcome.winner is None else 1.0)
                draws_seen.add(outcome.winner is None)
                final_planes = info["final_obs"][number].reshape(2, -1)
                assert final_planes.sum() == len(game.moves)
                games[number] = game = Position(rules)
            own, other = observation[number].reshape(2, -1)
            assert set(np.flatnonzero(own)) == set(_cells(game.own))
            assert set(np.flatnonzero(other)) == set(_cells(game.opponent))
        assert not truncated.any()
    assert False in draws_seen


def _cells(stones: int) -> list[int]:
    return [cell for cell in range(stones.bit_length()) if stones >> cell & 1]


@dataclass
class GameByRules:
    """A game by the rules that repeats the moves of an environment and checks its observations."""

    position: Position
    is_alone: bool
    """Whether the environment has no opponent, so that actions move both sides."""

    @classmethod
    def from_planes(cls, rules: Variant, planes: Observation, is_alone: bool) -> "GameByRules":
        return cls(Position.after(rules, np.flatnonzero(planes.reshape(2, -1)[1]).tolist()), is_alone)

    def check_action(self, action: int, planes: Observation, over: bool) -> str:
        """Check the planes after an action; return `win`, `loss`, `draw` or `illegal`, or "" if the game continues."""
        position = self.position
        side, cell = position.side, cell_of_action(position, action)
        legal = cell in position.free
        if legal:
            position.play(cell)
            if position.outcome() is None and not self.is_alone:
                (added,) = set(np.flatnonzero(planes.reshape(2, -1).any(axis=0)).tolist()) - set(position.moves)
                position.play(added)
        outcome, viewer = position.outcome(), side if over or not self.is_alone else position.side
        stones = [_cells(position.own), _cells(position.opponent)]
        if viewer != position.side:
            stones.reverse()
        assert [np.flatnonzero(plane).tolist() for plane in planes.reshape(2, -1)] == stones
        assert over == (outcome is not None or not legal)
        if outcome is None:
            return "illegal" if over else ""
        if outcome.winner is None:
            return "draw"
        return "win" if outcome.winner == side else "loss"


def random_action(mask: Observation, generator: random.Random) -> int:
    """Return a legal action at random, and sometimes one that may be illegal."""
    if generator.random() < 0.04:
        return generator.randrange(len(mask))
    return int(generator.choice(np.flatnonzero(mask).tolist()))


@pytest.mark.parametrize(
    "variant, opponent, ends",
    [
        ("tictactoe", "random", {"win", "loss", "draw", "illegal"}),
        ("tictactoe", None, {"win", "draw", "illegal"}),
        ("connect4", "random", {"win", "loss", "illegal"}),
        ("tictactoe3d", None, {"win", "illegal"}),
    ],
)
def test_the_last_observation_shows_the_actors_stones(variant: str, opponent: str | None, ends: set[str]) -> None:
    generator, is_alone, ends_seen = random.Random(3), opponent is None, {""}
    env = NoughtsEnv(variant, opponent)
    for seed in range(200):
        planes, info = env.reset(seed=seed)
        game, over = GameByRules.from_planes(env.variant, planes, is_alone), False
        while not over:
            action = random_action(info["action_mask"], generator)
            planes, _, over, _, info = env.step(np.int64(action))
            ends_seen.add(game.check_action(action, planes, over))
    assert ends_seen == {"", *ends}


@pytest.mark.parametrize("variant", ["tictactoe", "connect4", "tictactoe3d"])
@pytest.mark.parametrize("opponent", ["random", None])
def test_last_observations_of_array_boards_equal_those_of_one_board(variant: str, opponent: str | None) -> None:
    generator, is_alone, ends_seen = random.Random(3), opponent is None, set()
    boards = NoughtsVectorEnv(16, variant, opponent)
    observation, info = boards.reset(seed=3)
    games = [GameByRules.from_planes(boards.variant, planes, is_alone) for planes in observation]
    for _ in range(200):
        actions = [random_action(mask, generator) for mask in info["action_mask"]]
        observation, _, done, _, info = boards.step(np.array(actions))
        for number, action in enumerate(actions):
            planes = info["final_obs"][number] if done[number] else observation[number]
            ends_seen.add(games[number].check_action(action, planes, bool(done[number])))
            if done[number]:
                games[number] = GameByRules.from_planes(boards.variant, observation[number], is_alone)
    assert ends_seen >= {"win", "illegal", *(() if is_alone else ["loss"])}


def test_random_actions_win_as_often_as_theory_says() -> None:
    boards = NoughtsVectorEnv(512, "tictactoe")
    _, info = boards.reset(seed=4)
    results = []
    generator = np.random.default_rng(4)
    for _ in range(60):
        actions = (generator.random(info["action_mask"].shape) * info["action_mask"]).argmax(axis=1)
        _, rewards, done, _, info = boards.step(actions)
        results += rewards[done].tolist()
    # Between random players the first mover wins 58.5 % and the second 28.8 %. The agent is each in half of the games.
    share = [results.count(value) / len(results) for value in (1.0, -1.0, 0.0)]
    assert share == pytest.approx([0.437, 0.437, 0.127], abs=0.03)


def test_the_same_seed_gives_the_same_boards() -> None:
    runs = []
    for _ in range(2):
        boards = NoughtsVectorEnv(64, "connect4")
        boards.reset(seed=9)
        runs.append([boards.step(np.full(64, ply % 7))[0].tobytes() for ply in range(30)])
    assert runs[0] == runs[1]


def test_unsupported_variants_of_array_boards_are_refused() -> None:
    with pytest.raises(ValueError, match="got renju"):
        NoughtsVectorEnv(4, "renju")
    with pytest.raises(ValueError, match="expected 'random' or None"):
        NoughtsVectorEnv(4, "tictactoe", opponent="minimax")
