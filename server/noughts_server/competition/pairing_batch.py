"""Arguments and results of formats whose pairings depend on results.

Such a format pairs wave by wave: a wave is a set of pairings that can be played at the same time. The next wave
follows from the stored results of all earlier ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Pairing(NamedTuple):
    """Two entries, numbered from 0, that play an even number of games with alternating sides."""

    first: int
    """The entry that begins the first game."""
    second: int


class PlayedPairing(NamedTuple):
    """A pairing with its result; if games are left, with its result so far."""

    round: int
    first: int
    second: int
    first_points: float
    """The sum over its games: 1 for a win, 1/2 for a draw."""
    second_points: float
    games: int
    first_forfeits: int = 0
    """Games that the entry lost by its own fault."""
    second_forfeits: int = 0


class UnfinishedPairing(NamedTuple):
    """A pairing with games that are not over."""

    so_far: PlayedPairing
    games_left: int
    next_game: int
    """The number of the first of these games."""


class PairingBatch(NamedTuple):
    """A wave of pairings."""

    round: int
    """The number of the round, from 1. Extra pairs of a knockout are another wave of the same round."""
    pairings: tuple[Pairing, ...]
    games: int
    """The number of games of each pairing."""
    byes: tuple[int, ...] = ()
    """Entries with a bye, which counts as a win. Only the first wave of a round has byes."""


@dataclass(frozen=True, slots=True)
class Field:
    """The entries of a tournament and their results so far, from which a format pairs the next wave."""

    entries: int
    """The number of entries. They are numbered from 0 in the order of their seeds."""
    withdrawn: Mapping[int, int] = field(default_factory=dict)
    """The times of withdrawals by entry."""
    played: Sequence[PlayedPairing] = ()
    """All pairings that are over, in the order of pairing."""
    unfinished: Sequence[UnfinishedPairing] = ()
    """The other pairings. Brackets show them; there are none when a format pairs the next wave."""
    byes: Sequence[tuple[int, int]] = ()
    """All byes so far as (round, entry)."""
    rounds: int = 0
    """The rounds of a Swiss or Danish tournament; 0 means the usual number."""
    games: int = 2
    """The number of games of a pairing; even."""
    seed: int = 0
    """The tournament's seed, unsigned 64 bits."""
    stop_when_decided: bool = False
    """Whether a match of a knockout ends as soon as one side cannot be overtaken."""
