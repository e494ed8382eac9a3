"""Bots of OpenSpiel (`pyspiel.Bot`) for its games `tic_tac_toe` and `connect_four`, among them its MCTS.

The spec is `py{simulations=200}:noughts_bots.adapters.openspiel:Mcts`. Needs the `openspiel` extra.
"""

from collections.abc import Callable
from typing import Any

import pyspiel

from noughts_bots.adapters.planes import cell_of_action
from noughts_bots.sdk.bot import Bot
from noughts_referee.rules import Position, Variant

GAMES = {"tictactoe": "tic_tac_toe", "connect4": "connect_four"}
"""OpenSpiel's games, by variant."""


class OpenSpielBot(Bot):
    """A bot of OpenSpiel. `make(game, player)` makes it for each variant and side. Each question replays the game."""

    variants = tuple(GAMES)

    def __init__(self, make: Callable[[Any, int], Any]) -> None:
        self._make = make
        self._bots: dict[tuple[str, int], tuple[Any, Any]] = {}

    def choose(self, position: Position) -> int:
        variant = position.variant
        key = variant.name, position.side
        if key not in self._bots:
            game = pyspiel.load_game(GAMES[variant.name])
            self._bots[key] = game, self._make(game, position.side)
        game, bot = self._bots[key]
        state = game.new_initial_state()
        for cell in position.moves:
            state.apply_action(action_of(variant, cell))
        self.begin(bot, position)
        return cell_of_action(position, bot.step(state))

    def begin(self, bot: Any, position: Position) -> None:
        """Prepare the bot for a question. By default it restarts, because most bots keep no state."""
        bot.restart()


class Mcts(OpenSpielBot):
    """OpenSpiel's Monte Carlo tree search in C++, with rollouts. `simulations` sets its strength."""

    def __init__(self, simulations: int = 100, rollouts: int = 1, exploration: float = 2.0, seed: int = 0) -> None:
        self.name = f"mcts-{simulations}"

        def make(game: Any, player: int) -> Any:
            evaluator = pyspiel.RandomRolloutEvaluator(rollouts, seed)
            solves = True
            verbose = False
            memory_mb = 100
            return pyspiel.MCTSBot(game, evaluator, exploration, simulations, memory_mb, solves, seed, verbose)

        super().__init__(make)


def action_of(variant: Variant, cell: int) -> int:
    """Return OpenSpiel's action for a cell: in connect four the column."""
    return cell % variant.columns if variant.gravity else cell
