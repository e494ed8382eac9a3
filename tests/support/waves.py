"""Whole tournaments whose pairings depend on results, played without bots: chance says who wins."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

from noughts_server.competition.pairing_batch import Encounter, Field, PairingBatch, PlayedEncounter


@dataclass
class Chance:
    """Results of encounters, and bots that give up."""

    seed: int
    draws: float = 0.2
    """The chance that a game is drawn."""
    withdrawals: float = 0.0
    """The chance after each wave that an entry is withdrawn."""
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def played(self, number: int, encounter: Encounter, games: int) -> PlayedEncounter:
        """Better seeds win more often, which is what tournaments are like."""
        points = 0.0
        for _ in range(games):
            if self._random.random() < self.draws:
                points += 0.5
            else:
                points += self._random.random() < 1 / (1 + 1.1 ** (encounter.first - encounter.second))
        return PlayedEncounter(number, *encounter, points, games - points, games)

    def gone(self, entries: int) -> frozenset[int]:
        """The entry that is withdrawn now."""
        return frozenset({self._random.randrange(entries)} if self._random.random() < self.withdrawals else ())


def waves_of(
    next_wave: Callable[[Field], PairingBatch | None], begin: Field, chance: Chance
) -> Iterator[tuple[Field, PairingBatch | None]]:
    """Every wave with the field that it was made of, in turn. The last is None."""
    now = begin
    while True:
        wave = next_wave(now)
        yield now, wave
        if wave is None:
            return
        assert wave.encounters or wave.byes, "a wave in which nothing happens would come for ever"
        played = [chance.played(wave.round, encounter, wave.games) for encounter in wave.encounters]
        byes = [(wave.round, entry) for entry in wave.byes]
        now = replace(
            now,
            played=(*now.played, *played),
            byes=(*now.byes, *byes),
            withdrawn=dict.fromkeys(chance.gone(now.entries), len(now.played)) | dict(now.withdrawn),
        )
