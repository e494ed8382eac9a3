"""Formats whose pairings depend on results, wave by wave: the values that they take and give.

A wave is what can be paired at once. The next one is asked for when every game of the waves before it is over, and
follows from what is stored alone: the same field gives the same wave, whenever and wherever it is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Encounter(NamedTuple):
    """Two entries, numbered from 0, who play an even number of games with alternating sides."""

    first: int
    """Begins the first game."""
    second: int


class Played(NamedTuple):
    """One encounter that is over."""

    round: int
    """From 1."""
    first: int
    second: int
    first_points: float
    """One for a win, half of one for a draw."""
    second_points: float
    games: int
    first_forfeits: int = 0
    """Games that it lost by a crash, a late or an illegal move."""
    second_forfeits: int = 0


class PairingBatch(NamedTuple):
    """What is played next."""

    round: int
    """From 1. Two waves have the same round where a knockout's matches go on."""
    encounters: tuple[Encounter, ...]
    games: int
    """Of each encounter."""
    byes: tuple[int, ...] = ()
    """Entries that sit out the round and count as having won it. They are named in the round's first wave."""


@dataclass(frozen=True, slots=True)
class Field:
    """A tournament as far as it has come."""

    entries: int
    """How many; they are numbered from 0 in the order of their seeds."""
    withdrawn: Mapping[int, int] = field(default_factory=dict)
    """The entries that left, with the time of each."""
    played: Sequence[Played] = ()
    """Encounters in the order in which they were paired. All that were paired are over."""
    byes: Sequence[tuple[int, int]] = ()
    """(round, entry), as the waves gave them."""
    rounds: int = 0
    """Of a Swiss tournament; 0: as many as usual."""
    games: int = 2
    """Of an encounter; even."""
    seed: int = 0
    """Unsigned 64 bits: the tournament's."""
    stop_when_decided: bool = False
    """A knockout's match ends as soon as nobody can catch up."""
