"""Whole tournaments whose pairings depend on results, played without bots: their results are random."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

from noughts_server.competition.pairing_batch import Field, Pairing, PairingBatch, PlayedPairing


@dataclass
class Chance:
    """Random results of pairings, and random withdrawals."""

    seed: int
    draws: float = 0.2
    """The probability that a game is drawn."""
    withdrawals: float = 0.0
    """The probability that an entry is withdrawn after a wave."""
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def played(self, number: int, pairing: Pairing, games: int) -> PlayedPairing:
        """Return a random result of a pairing in the round of this number, in which better seeds win more often."""
        points = 0.0
        for _ in range(games):
            if self._random.random() < self.draws:
                points += 0.5
            else:
                points += self._random.random() < 1 / (1 + 1.1 ** (pairing.first - pairing.second))
        return PlayedPairing(number, *pairing, points, games - points, games)

    def withdrawn_entries(self, entries: int) -> frozenset[int]:
        """Return the entry that is withdrawn after this wave, if any."""
        if self._random.random() < self.withdrawals:
            return frozenset({self._random.randrange(entries)})
        return frozenset()


def waves_of(
    next_wave: Callable[[Field], PairingBatch | None], start: Field, chance: Chance
) -> Iterator[tuple[Field, PairingBatch | None]]:
    """Yield each wave in turn, with the field from which it was made. The last wave is None."""
    field_now = start
    while True:
        wave = next_wave(field_now)
        yield field_now, wave
        if wave is None:
            return
        assert wave.pairings or wave.byes, "a wave without pairings and byes would be repeated without end"
        played = [chance.played(wave.round, pairing, wave.games) for pairing in wave.pairings]
        byes = [(wave.round, entry) for entry in wave.byes]
        field_now = replace(
            field_now,
            played=(*field_now.played, *played),
            byes=(*field_now.byes, *byes),
            withdrawn=dict.fromkeys(chance.withdrawn_entries(field_now.entries), len(field_now.played))
            | dict(field_now.withdrawn),
        )
