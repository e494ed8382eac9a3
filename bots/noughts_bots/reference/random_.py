"""`random`: any free cell."""

from collections.abc import Sequence

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation
from noughts_referee.rules import Choice, OpeningChoice, Position, Put, Take, first_choice, first_choices, free_of_each


class Random(CachingBot):
    """Plays a random free cell, all with the same probability.

    Source: article 003, level 1 of the C++ coursework and step 9 of the Windows Forms lesson.
    """

    name = "random"
    heeds_forbidden_moves = True

    def choose(self, position: Position) -> int:
        # This chooses the same cell as `CandidateBot.choose`, without an `Evaluation` object for each position.
        occupied = position.own | position.opponent
        variant = position.variant
        ply = occupied.bit_count()
        if variant.lists_free_cells:
            free = variant.free_cells(occupied) if variant.forbids is None else position.free
            return first_choice(position.seed, ply, free)
        return variant.free_cell(occupied, first_choice(position.seed, ply, range(variant.cells - ply)))

    def choose_batch(self, positions: Sequence[Position]) -> list[int]:
        seeds = [position.seed for position in positions]
        plies = [(position.own | position.opponent).bit_count() for position in positions]
        variant = positions[0].variant
        if variant.lists_free_cells:
            return first_choices(seeds, plies, free_of_each(positions))
        numbers = first_choices(seeds, plies, [range(variant.cells - ply) for ply in plies])
        return list(map(variant.free_cell, [position.own | position.opponent for position in positions], numbers))

    def open(self, opening: OpeningChoice) -> Choice:
        rng = opening.rng()
        free = [cell for cell in range(opening.variant.cells) if cell not in opening.stones]
        choices: list[Choice] = [Take(0), Take(1)] if opening.may_take else []
        if opening.may_put:
            choices.append(Put(tuple(free.pop(rng.below(len(free))) for _ in range(opening.may_put))))
        return rng.choice(choices)

    def consider(self, position: Position) -> Evaluation:
        return Evaluation(position.free)
