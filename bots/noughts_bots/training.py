"""Trains a `learner` in this process, and says exactly what it is worth."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from noughts_bots.errors import BotSpecError
from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import CandidateBot
from noughts_bots.reference.learner import Learner
from noughts_referee.rules import Draws, Position, Variant, first_choice, game_seed, side_seed

# The stream of a game's seed that says how it begins; 0 and 1 are those of the two sides.
_OPENING = 2


class Trainer:
    """Plays games between a learner and its opponents, one after the other.

    All chance of a game follows from the seed and its number, which is how many games the learner has learnt from: so
    2,000 games learn the same as 1,000 and 1,000 more. Opponents take turns every two games, the learner's side
    changes every game. Half of the games begin with random moves of both sides, up to the last one but one (exploring
    starts); the last random move, if it was the learner's, and its own choices after that count for the averages.

    Args:
        opponents: None stands for the learner itself, which then learns from both sides.

    Raises:
        BotSpecError: an opponent's choice depends on more than the position.
        VariantRefused: the learner, or an opponent, does not play the variant.
    """

    def __init__(self, learner: Learner, variant: Variant, opponents: Sequence[CachingBot | None], seed: int) -> None:
        for bot in (learner, *opponents):
            if bot is not None:
                bot.require(variant)
            if bot is not None and bot is not learner and bot.changes:
                advice = "choose a bot whose choice depends on the position alone, or `self`"
                raise BotSpecError(f"--against {bot.name}", f"a choice that depends on {bot.changes}", "none", advice)
        self._learner = learner
        self._variant = variant
        self._opponents = opponents
        self._seed = seed
        learner.begin(variant)

    def play(self) -> None:
        """Plays one game and has the learner learn from it."""
        number = self._learner.games
        seed = game_seed(self._seed, number)
        opponent, side = self._opponents[number // 2 % len(self._opponents)], number % 2
        seats: tuple[CandidateBot, CandidateBot] = (self._learner, opponent or self._learner)
        moves, random_moves = self._moves(seats[::-1] if side else seats, seed)
        first_counted = max(random_moves - 1, 0)
        counted = range(first_counted, len(moves))
        if opponent is not None:
            counted = range(first_counted + (first_counted + side) % 2, len(moves), 2)
        self._learner.correct(self._variant, tuple(moves), counted)

    def _moves(self, seats: tuple[CandidateBot, ...], seed: int) -> tuple[list[int], int]:
        """A whole game, and how many of its first moves were random."""
        variant, opening = self._variant, side_seed(seed, _OPENING)
        draws = Draws(opening, variant.cells)
        to_explore = draws.below(variant.cells) if draws.below(2) else 0
        seeds = side_seed(seed, 0), side_seed(seed, 1)
        position = Position(variant)
        while position.outcome() is None:
            if position.ply < to_explore:
                cell = first_choice(opening, position.ply, position.free)
            else:
                position.seed = seeds[position.side]
                chosen = seats[position.side].choose(position)
                assert isinstance(chosen, int)  # there is no clock: it gives no score along
                cell = chosen
            position.play(cell)
        return position.moves, min(to_explore, len(position.moves))


class Chances(NamedTuple):
    """How games end, as exact chances, for one of the two bots."""

    wins: Fraction
    draws: Fraction
    losses: Fraction

    @property
    def points(self) -> Fraction:
        """A game's points: 1 for a win, half of one for a draw."""
        return self.wins + self.draws / 2


_WON = Chances(Fraction(1), Fraction(0), Fraction(0))
_DRAWN = Chances(Fraction(0), Fraction(1), Fraction(0))


def chances(first: CandidateBot, second: CandidateBot, variant: Variant) -> Chances:
    """The first mover's chances, by going through the whole tree of what the two may choose. For small boards."""
    known: dict[tuple[int, int], Chances] = {}

    def of(own: int, opponent: int) -> Chances:
        """Those of the side to move."""
        found = known.get((own, opponent))
        if found is not None:
            return found
        side = (own | opponent).bit_count() % 2
        considered = (first, second)[side].consider(Position(variant, own=own, opponent=opponent, side=side))
        weights = considered.weights or (1,) * len(considered.candidates)
        sums = [Fraction(0), Fraction(0), Fraction(0)]
        for cell, weight in zip(considered.candidates, weights, strict=True):
            for index, chance in enumerate(after(own | 1 << cell, opponent, cell, side)):
                if chance:  # most are nothing, and fractions are slow
                    sums[index] += chance * weight if weight > 1 else chance
        known[own, opponent] = Chances(*(each / sum(weights) for each in sums))
        return known[own, opponent]

    def after(own: int, opponent: int, cell: int, side: int) -> Chances:
        """Those of the side that has just placed a stone on the cell."""
        outcome = variant.outcome(own, opponent, cell, side)
        if outcome is None:
            return Chances(*reversed(of(opponent, own)))
        return _DRAWN if outcome.winner is None else _WON

    return of(0, 0)


def can_lose(bot: CandidateBot, side: int, variant: Variant) -> bool:
    """Whether any opponent at all could win when the bot is on this side (0 first, 1 second).

    Goes through every move that the bot may choose, and every reply.
    """
    seen = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        own, opponent = waiting.pop()
        mover = (own | opponent).bit_count() % 2
        cells = variant.free_cells(own | opponent)
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
