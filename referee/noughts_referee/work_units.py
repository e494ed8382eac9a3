"""What passes between the organiser and the referee: slots to play and games that were played."""

import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from sys import byteorder
from types import MappingProxyType
from typing import NamedTuple

from noughts_referee.clock import TimeControl
from noughts_referee.rules import Outcome, Result, Termination, Variant


@dataclass(frozen=True, slots=True)
class GameConditions:
    """What all games of a tournament share."""

    tournament: int
    """The store's key of the tournament."""
    name: str
    """`tournaments/ID`."""
    variant: Variant
    time: TimeControl
    """Of every entry that has none of its own."""
    seed: int
    concurrency: int
    """Games in flight at most."""
    players: tuple[int, ...]
    """The bot version of each entry, by entry number: the key under which its player logs in."""
    labels: tuple[str, ...]
    """The name of each entry, by entry number."""
    own_times: Mapping[str, TimeControl] = field(default_factory=dict)
    """The times of entries that have their own, by label."""
    withdrawn: Mapping[int, str] = field(default_factory=dict)
    """Entries that had left when this was read, by number, and why: whoever was to meet them has won."""
    draw_after: int = 0
    """A game that has so many plies is a draw, adjudicated; 0: none is."""
    live_scores: bool = False
    """Whether scores in games with clocks are public at once."""
    guest: bool = False
    """Whether it is a challenge, which gives way to tournaments."""
    limits: tuple[TimeControl | None, ...] = field(init=False)
    """The time of each entry, by entry number; None where there is no limit."""
    timed: bool = field(init=False)
    """Whether any entry has a limit."""
    journaled: bool = field(init=False)
    """Whether its games are kept move by move, and go on where they were after a crash (see `TimeControl.long`)."""

    def __post_init__(self) -> None:
        times = [self.own_times.get(label, self.time) for label in self.labels]
        object.__setattr__(self, "limits", tuple(time if time.timed else None for time in times))
        object.__setattr__(self, "timed", any(time.timed for time in times))
        object.__setattr__(self, "journaled", any(time.long for time in times))


class Slot(NamedTuple):
    """One scheduled game. Its ordinal counts from 1 and is fixed at the start of the tournament."""

    ordinal: int
    first: int
    """Entry numbers."""
    second: int


class GameSoFar(NamedTuple):
    """A game that is being played, as it is journaled: whoever plays its slot after a crash goes on from here."""

    tournament: int
    ordinal: int
    attempt: int
    """Of the unit that the slot belongs to."""
    first: int
    """Entry numbers, as the players have agreed on their sides."""
    second: int
    moves: bytes
    """See `pack_moves`."""
    times: bytes
    """See `pack_times`."""
    first_clock_us: int
    """What the clocks showed after the last move: the question that is open has cost nothing yet."""
    second_clock_us: int
    opening_plies: int = 0
    """How many of the moves were on the board when the game began."""


_NO_OPENINGS: Mapping[int, tuple[int, ...]] = MappingProxyType({})
_NOTHING_BEGUN: Mapping[int, GameSoFar] = MappingProxyType({})


class Unit(NamedTuple):
    """Some slots to play, claimed under an attempt: a later attempt makes the results of this one void."""

    conditions: GameConditions
    attempt: int
    slots: Sequence[Slot]
    openings: Mapping[int, tuple[int, ...]] = _NO_OPENINGS
    """What is on the board when a game begins, by ordinal: legal moves from the empty board on, after which the game is
    open. Slots that are not here begin with the empty board."""
    begun: Mapping[int, GameSoFar] = _NOTHING_BEGUN
    """Games that go on from where an earlier attempt left them, by ordinal."""


class FinishedGame(NamedTuple):
    """One played slot, ready to be stored."""

    tournament: int
    ordinal: int
    attempt: int
    """Of the unit that the slot belongs to."""
    first: int
    second: int
    result: int
    termination: int
    moves: bytes
    """See `pack_moves`."""
    times: bytes
    """See `pack_times`."""
    fault: str = ""
    """Why the loser lost, if by its own doing: a phrase that follows "it"."""
    opening_plies: int = 0
    """How many of the moves were on the board when the game began; their times are 0."""
    allowances: bytes | None = None
    """See `pack_allowances`; None in games without clocks."""

    @property
    def outcome(self) -> Outcome:
        """Its result and termination."""
        return Outcome(Result(self.result), Termination(self.termination))


def agreed_stones(moves: int, times_us: Sequence[int]) -> int:
    """How many of so many moves were put by agreement, in a game of a variant with one.

    The first three times of such a game are those of its choices: the third is 0 unless there were five stones.
    """
    return min(moves, 5 if any(times_us[2:3]) else 3)


def pack_moves(moves: Sequence[int], cells: int) -> bytes:
    """Cells as one byte each on boards of at most 256 cells, else as two (little endian)."""
    return _packer("B" if cells <= 256 else "H", len(moves))(*moves)


def unpack_moves(packed: bytes, cells: int) -> list[int]:
    """The inverse of `pack_moves`."""
    return list(packed) if cells <= 256 else _unpack("H", packed)


def pack_times(times_us: Sequence[int]) -> bytes:
    """Microseconds as four bytes each, little endian; what does not fit (71 minutes) is cut."""
    pack = _packer("I", len(times_us))
    try:
        return pack(*times_us)
    except struct.error:
        return pack(*[min(time, 0xFFFFFFFF) for time in times_us])


def unpack_times(packed: bytes) -> list[int]:
    """The inverse of `pack_times`."""
    return _unpack("I", packed)


class Allowance(NamedTuple):
    """What the moves of a side were allowed beyond its clock."""

    network_us: int
    """What the network took of each, which was not charged."""
    margin_us: int
    """What each might overstep its limit."""


def pack_allowances(first: Allowance, second: Allowance) -> bytes:
    """The two sides' as four numbers of four bytes, little endian; what does not fit (71 minutes) is cut."""
    return pack_times((*first, *second))


def unpack_allowances(packed: bytes) -> tuple[Allowance, Allowance]:
    """The inverse of `pack_allowances`."""
    network, margin, *second = unpack_times(packed)
    return Allowance(network, margin), Allowance(*second)


@cache
def _packer(code: str, count: int) -> Callable[..., bytes]:
    """Packs so many numbers, little endian. Every game needs two of them, and making one takes longer than packing."""
    return struct.Struct(f"<{count}{code}").pack


def _unpack(code: str, packed: bytes) -> list[int]:
    column = array(code, packed)
    if byteorder == "big":
        column.byteswap()
    return column.tolist()
