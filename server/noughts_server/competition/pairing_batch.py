"""Arguments and results of formats whose pairings depend on results, wave by wave.

A wave is what can be paired at once. After its games, the next one follows only from what is stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Encounter(NamedTuple):
    """Two entries, numbered from 0, that play an even number of games with alternating sides."""

    first: int
    """Begins the first game."""
    second: int


class Played(NamedTuple):
    round: int
    first: int
    second: int
    first_points: float
    """1 for a win, 1/2 for a draw."""
    second_points: float
    games: int
    first_forfeits: int = 0
    """Games lost through a crash, a late move or an illegal move."""
    second_forfeits: int = 0


class PairingBatch(NamedTuple):
    """The next encounters."""

    round: int
    """From 1. Extra pairs of a knockout are another wave of the same round."""
    encounters: tuple[Encounter, ...]
    games: int
    """The games of each pairing."""
    byes: tuple[int, ...] = ()
    """Entries with a bye, which counts as a win. The first wave of a round has all of them."""


@dataclass(frozen=True, slots=True)
class Field:
    """The state of a tournament."""

    entries: int
    """Their number; entries are numbered from 0 in the order of their seeds."""
    withdrawn: Mapping[int, int] = field(default_factory=dict)
    """Withdrawn entries, with the time of each."""
    played: Sequence[Played] = ()
    """Encounters in the order of pairing. All of them are over."""
    byes: Sequence[tuple[int, int]] = ()
    """(round, entry), as returned with the waves."""
    rounds: int = 0
    """The rounds of a Swiss tournament; 0 means the usual number."""
    games: int = 2
    """The games of a pairing; even."""
    seed: int = 0
    """The tournament's seed, unsigned 64 bits."""
    stop_when_decided: bool = False
    """Whether a match of a knockout ends as soon as one side cannot be overtaken."""
