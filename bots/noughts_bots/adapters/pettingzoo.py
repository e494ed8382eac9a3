"""Agents for PettingZoo's `tictactoe_v3` and `connect_four_v3` as bots.

An agent is a function that takes an observation and returns an action. The observation is a dict with "observation", an
array of shape (rows, columns, 2) with the own and the other stones, and "action_mask". If the agent has a method
`predict`, as in Stable-Baselines3, that is called instead.
"""

from typing import Any

import numpy as np

from noughts_bots.adapters.planes import action_count, actions_of, cell_of_action, own_and_other
from noughts_bots.sdk.bot import Bot
from noughts_referee.rules import Position

Observation = dict[str, Any]


class PettingZooBot(Bot):
    """A bot that plays an agent: a function, or an object with a method `predict`."""

    variants = ("tictactoe", "connect4")

    def __init__(self, agent: Any) -> None:
        self._agent = agent

    def choose(self, position: Position) -> int:
        agent_view = observation(position)
        agent = self._agent
        if not hasattr(agent, "predict"):
            return cell_of_action(position, agent(agent_view))
        try:
            action, _ = agent.predict(
                agent_view["observation"], action_masks=agent_view["action_mask"], deterministic=True
            )
        except TypeError:  # its `predict` takes no masks
            action, _ = agent.predict(agent_view["observation"], deterministic=True)
        return cell_of_action(position, action)


def observation(position: Position) -> Observation:
    """Return the observation of the side to move, as PettingZoo's environment of the variant returns it."""
    mask = np.zeros(action_count(position.variant), np.int8)
    mask[actions_of(position)] = 1
    return {"observation": np.stack(own_and_other(position), axis=2), "action_mask": mask}
