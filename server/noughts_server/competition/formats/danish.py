"""Danish tournaments: each round pairs neighbours in the standings, even if they have met before.

The standings go by points, then Buchholz, then seed. Of an odd number, the lowest with the fewest byes gets a bye.
"""

from noughts_server.competition.formats.rounds_by_points import (
    RoundsByPoints,
    final_order,
    rounds_done,
    usual_rounds,
    with_sides,
)
from noughts_server.competition.pairing_batch import Field, PairingBatch


class Danish(RoundsByPoints):
    """Each round pairs neighbours in the standings, even repeatedly."""

    number = 6
    title = "Danish"
    summary = "each round pairs neighbours in the standings, even if they have met"

    def next_wave(self, field: Field) -> PairingBatch | None:
        """Return the next round; None after the last, and if fewer than two entries are left."""
        done = rounds_done(field)
        order = [entry for entry in final_order(field) if entry not in field.withdrawn]
        if done >= (field.rounds or usual_rounds(field.entries)) or len(order) < 2:
            return None
        byes: tuple[int, ...] = ()
        if len(order) % 2:
            had = [entry for _, entry in field.byes]
            byes = (min(reversed(order), key=had.count),)
            order.remove(byes[0])
        pairs = list(zip(order[::2], order[1::2], strict=True))
        return PairingBatch(done + 1, with_sides(pairs, field, done + 1), field.games, byes)


DANISH = Danish()
