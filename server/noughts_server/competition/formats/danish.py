"""Danish tournaments: each round pairs neighbours in the standings, even if they have met before.

The standings go by points, then Buchholz, then seed. If the number of entries is odd, the lowest of the entries with
the fewest byes gets a bye.
"""

from noughts_server.competition.formats.rounds_by_points import (
    RoundsByPoints,
    assign_sides,
    final_order,
    rounds_done,
    usual_rounds,
)
from noughts_server.competition.pairing_batch import Field, PairingBatch
from noughts_server.core.messages import N_


class Danish(RoundsByPoints):
    """Each round pairs neighbours in the standings, even repeatedly."""

    number = 6
    title = N_("Danish")
    summary = N_("each round pairs neighbours in the standings, even if they have met")

    def next_wave(self, field: Field) -> PairingBatch | None:
        """Return the next round; None after the last round, or if fewer than two entries are left."""
        done = rounds_done(field)
        order = [entry for entry in final_order(field) if entry not in field.withdrawn]
        if done >= (field.rounds or usual_rounds(field.entries)) or len(order) < 2:
            return None
        byes: tuple[int, ...] = ()
        if len(order) % 2:
            entries_with_byes = [entry for _, entry in field.byes]
            bye = min(reversed(order), key=entries_with_byes.count)
            byes = (bye,)
            order.remove(bye)
        pairs = list(zip(order[::2], order[1::2], strict=True))
        pairings = assign_sides(pairs, field, done + 1)
        return PairingBatch(round=done + 1, pairings=pairings, games=field.games, byes=byes)


DANISH = Danish()
