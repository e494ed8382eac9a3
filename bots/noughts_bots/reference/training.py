"""Training of a `learner` in this process, and exact measures of its strength."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from noughts_bots.reference.candidate_bot import CandidateBot
from noughts_bots.reference.learner import Learner
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Draws, Position, Variant, first_choice, game_seed, side_seed

_OPENING = 2
"""The number with which a game's seed gives the seed of its opening. 0 and 1 give those of the two sides."""


class Trainer:
    """Plays games between a learner and its opponents, one after another.

    All randomness of a game follows from the seed and the game's number: the number of games from which the learner has
    learnt. So a run of 2,000 games gives the same table as two runs of 1,000. The opponent changes after every two
    games, the learner's side after every game. Half of the games begin with a random number of random moves by both
    sides (exploring starts). The averages include the last random move, if the learner made it, and the learner's own
    later choices.

    Args:
        opponents: None stands for the learner itself, which then learns from both sides.

    Raises:
        BotSpecError: an opponent's choice depends on more than the position.
        VariantRefused: the learner, or an opponent, does not play the variant.
    """

    def __init__(self, learner: Learner, variant: Variant, opponents: Sequence[BuiltInBot | None], seed: int) -> None:
        learner.require(variant)
        self.opponents = [None if bot is None else _checked(bot, variant) for bot in opponents]
        self._learner = learner
        self._variant = variant
        self._seed = seed
        learner.begin(variant)

    def play(self) -> None:
        """Play the next game, and let the learner learn from it."""
        number = self._learner.games
        seed = game_seed(self._seed, number)
        opponent = self.opponents[number // 2 % len(self.opponents)]
        side = number % 2
        other: CandidateBot = opponent or self._learner
        bots = (other, self._learner) if side else (self._learner, other)
        moves, random_moves = self._moves(bots, seed)
        first_counted = max(random_moves - 1, 0)
        counted = range(first_counted, len(moves))
        if opponent is not None:
            # Only the learner's own moves, which are every second ply.
            first_own = first_counted + (first_counted + side) % 2
            counted = range(first_own, len(moves), 2)
        self._learner.correct(self._variant, tuple(moves), counted)

    def _moves(self, bots: tuple[CandidateBot, CandidateBot], seed: int) -> tuple[list[int], int]:
        """Return the moves of a game between two bots, and the number of random moves at its beginning."""
        variant = self._variant
        opening = side_seed(seed, _OPENING)
        draws = Draws(opening, variant.cells)
        most_random_moves = draws.below(variant.cells) if draws.below(2) else 0
        seeds = side_seed(seed, 0), side_seed(seed, 1)
        position = Position(variant)
        while position.outcome() is None:
            if position.ply < most_random_moves:
                cell = first_choice(opening, position.ply, position.free)
            else:
                position.seed = seeds[position.side]
                answer = bots[position.side].choose(position)
                assert isinstance(answer, int)  # without a clock the answer has no score
                cell = answer
            position.play(cell)
        return position.moves, min(most_random_moves, len(position.moves))


def _checked(bot: BuiltInBot, variant: Variant) -> CandidateBot:
    """Return an opponent for training. Raises the errors of `Trainer`."""
    bot.require(variant)
    if bot.changes or not isinstance(bot, CandidateBot):
        advice = "choose a bot whose choice depends only on the position, or `self`"
        raise BotSpecError(f"--against {bot.name}", f"a choice that depends on {bot.changes}", "none", advice)
    return bot


class Chances(NamedTuple):
    """Exact probabilities of the results of games, for one of the two bots."""

    wins: Fraction
    draws: Fraction
    losses: Fraction

    @property
    def points(self) -> Fraction:
        """Return the expected points of a game: 1 for a win, half of one for a draw."""
        return self.wins + self.draws / 2


_WON = Chances(Fraction(1), Fraction(0), Fraction(0))
_DRAWN = Chances(Fraction(0), Fraction(1), Fraction(0))


def chances(first: CandidateBot, second: CandidateBot, variant: Variant) -> Chances:
    """Return the first mover's chances, by a search of the whole tree of both bots' choices. For small boards."""
    cache: dict[tuple[int, int], Chances] = {}

    def chances_of(own: int, opponent: int) -> Chances:
        """Return the chances of the side to move."""
        known_chances = cache.get((own, opponent))
        if known_chances is not None:
            return known_chances
        side = (own | opponent).bit_count() % 2
        evaluation = (first, second)[side].consider(Position(variant, own=own, opponent=opponent, side=side))
        weights = evaluation.weights or (1,) * len(evaluation.candidates)
        sums = [Fraction(0), Fraction(0), Fraction(0)]
        for cell, weight in zip(evaluation.candidates, weights, strict=True):
            for index, chance in enumerate(chances_after(own | 1 << cell, opponent, cell, side)):
                if chance:  # most are 0, and fractions are slow
                    sums[index] += chance * weight if weight > 1 else chance
        cache[own, opponent] = Chances(*(weighted_sum / sum(weights) for weighted_sum in sums))
        return cache[own, opponent]

    def chances_after(own: int, opponent: int, cell: int, side: int) -> Chances:
        """Return the chances of the side that has just placed a stone on the cell."""
        outcome = variant.outcome(own, opponent, cell, side)
        if outcome is None:
            replies = chances_of(opponent, own)
            return Chances(wins=replies.losses, draws=replies.draws, losses=replies.wins)
        return _DRAWN if outcome.winner is None else _WON

    return chances_of(0, 0)


def can_lose(bot: CandidateBot, side: int, variant: Variant) -> bool:
    """Return whether an opponent can win against the bot on this side (0 first, 1 second), for some choices of both."""
    seen = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        own, opponent = waiting.pop()
        mover = (own | opponent).bit_count() % 2
        cells = variant.legal_cells(own, opponent, mover)
        if mover == side:
            cells = bot.consider(Position(variant, own=own, opponent=opponent, side=mover)).candidates
        for cell in cells:
            following = (opponent, own | 1 << cell)
            outcome = variant.outcome(own | 1 << cell, opponent, cell, mover)
            if outcome is not None:
                if outcome.loser == side:
                    return True
            elif following not in seen:
                seen.add(following)
                waiting.append(following)
    return False
