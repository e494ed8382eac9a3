"""The data that the organiser and the referee exchange: slots to play, and finished games."""

import math
import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from sys import byteorder
from types import MappingProxyType
from typing import Any, NamedTuple

from noughts_referee.clock import TimeControl
from noughts_referee.rules import NO_ADJUDICATION, Adjudication, Outcome, Result, Termination, Variant

_LARGEST_SCORE = 3e38
"""The largest score that four bytes can hold."""
_NO_OPENINGS: Mapping[int, tuple[int, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GameConditions:
    """The conditions that all games of a tournament share."""

    tournament: int
    """The tournament's key in the store."""
    name: str
    """`tournaments/ID`."""
    variant: Variant
    time: TimeControl
    """The time control of every entry without its own."""
    seed: int
    concurrency: int
    players: tuple[int, ...]
    """The bot version of each entry, by entry number: the key of its player."""
    labels: tuple[str, ...]
    """The name of each entry, by entry number."""
    own_times: Mapping[str, TimeControl] = field(default_factory=dict)
    """The time controls of entries with their own, by label."""
    withdrawn: Mapping[int, str] = field(default_factory=dict)
    """Entries withdrawn before the unit was read, by number, with the reason. Their opponents win."""
    adjudication: Adjudication = NO_ADJUDICATION
    """The rules by which games end before the board decides them."""
    fuel: int = 0
    """The fuel of each move of a WebAssembly module. 0: the usual one."""
    margin_ms: int = 0
    """The time margin of every bot in milliseconds. 0: each player's own time margin."""
    live_scores: bool = False
    """Whether scores in games with clocks are public at once."""
    endless: bool = False
    """Whether the tournament has no end. An entry that is away then loses the games that wait for it, and stays."""
    scale_time: bool = False
    """Whether the times of a game are multiplied by the factor of the machine that begins it (`machine_speed`)."""
    keep_scores: bool = False
    """Whether the scores, thoughts and comments of bots are stored with the game."""
    guest: bool = False
    """Whether this is a challenge, or a test against another owner's bot. Tournaments take precedence over guests."""
    guest_test: bool = False
    """Whether the guest is a test. Its games begin only while its bots have no game of a tournament."""
    limits: tuple[TimeControl | None, ...] = field(init=False)
    """The time control of each entry, by entry number; None without a limit. `Game.limits` are the scaled ones."""
    timed: bool = field(init=False)
    """Whether any entry has a limit."""
    journaled: bool = field(init=False)
    """Whether games are journaled move by move and resume after a crash (see `TimeControl.long`)."""
    adjudicated_from: int = field(init=False)
    """The ply from which `adjudication` can end a game."""
    undecided_until: int = field(init=False)
    """The ply before which only a line can end a game, so no other end is checked."""

    def __post_init__(self) -> None:
        times = [self.own_times.get(label, self.time) for label in self.labels]
        object.__setattr__(self, "limits", tuple(time if time.timed else None for time in times))
        object.__setattr__(self, "timed", any(time.timed for time in times))
        object.__setattr__(self, "journaled", any(time.long for time in times))
        object.__setattr__(self, "adjudicated_from", self.adjudication.first_ply)
        # Before the board is full, a side can be without a move only if the variant forbids some free cells.
        fewest_plies = self.variant.cells if self.variant.forbids is None else 0
        object.__setattr__(self, "undecided_until", min(fewest_plies, self.adjudicated_from))


class ScheduledGame(NamedTuple):
    """A scheduled game, in short a slot. Its ordinal counts from 1 and is fixed at the start of the tournament."""

    ordinal: int
    first: int
    """The number of the entry that moves first."""
    second: int
    """The number of the other entry."""


class GameSoFar(NamedTuple):
    """The journaled state of a running game. After a crash, a referee resumes the game from this state."""

    tournament: int
    ordinal: int
    attempt: int
    """The attempt of the slot's unit."""
    first: int
    """The number of the entry that moves first, after the players have agreed on their sides."""
    second: int
    """The number of the other entry."""
    moves: bytes
    """See `pack_moves`."""
    times: bytes
    """See `pack_times`."""
    first_clock_us: int
    """The clock of the first mover after the last move, without the time of the open question."""
    second_clock_us: int
    """The clock of the other side."""
    opening_plies: int = 0
    """See `Game.opening_plies`."""
    scores: bytes | None = None
    """See `pack_scores`."""
    comments: bytes | None = None
    """See `pack_comments`."""
    thoughts: bytes | None = None
    """See `pack_thoughts`."""
    time_factor: float | None = None
    """See `Game.time_factor`."""


_NO_GAMES_SO_FAR: Mapping[int, GameSoFar] = MappingProxyType({})


class Unit(NamedTuple):
    """Slots to play, claimed under an attempt. A later attempt invalidates the results of this one."""

    conditions: GameConditions
    attempt: int
    slots: Sequence[ScheduledGame]
    openings: Mapping[int, tuple[int, ...]] = _NO_OPENINGS
    """Moves on the board when a game begins, by ordinal. They are legal and do not end the game.

    Slots that are not listed begin with the empty board.
    """
    begun: Mapping[int, GameSoFar] = _NO_GAMES_SO_FAR
    """Games to resume from an earlier attempt, by ordinal."""


class FinishedGame(NamedTuple):
    """One finished game, ready to be stored."""

    tournament: int
    ordinal: int
    attempt: int
    first: int
    second: int
    result: int
    termination: int
    moves: bytes
    """See `pack_moves`."""
    times: bytes
    """See `pack_times`."""
    fault: str = ""
    """Why the loser lost, if through its own fault: a phrase that follows "it"."""
    opening_plies: int = 0
    """See `Game.opening_plies`. The times of a given opening are 0."""
    allowances: bytes | None = None
    """See `pack_allowances`; None in games without clocks."""
    scores: bytes | None = None
    """See `pack_scores`; None without scores, or if the tournament does not keep them."""
    comments: bytes | None = None
    """See `pack_comments`; None without comments, or if the tournament does not keep them."""
    thoughts: bytes | None = None
    """See `pack_thoughts`; None without thoughts, or if the tournament does not keep them."""
    time_factor: float | None = None
    """See `Game.time_factor`."""

    @property
    def outcome(self) -> Outcome:
        return _outcome(self.result, self.termination)


@cache
def _outcome(result: int, termination: int) -> Outcome:
    """Return the outcome for two stored numbers. There are few, and each game would look up both enumerations."""
    return Outcome(Result(result), Termination(termination))


def bytes_of_a_move(cells: int) -> int:
    """Return the size of a packed move on a board with this number of cells."""
    return 1 if cells <= 256 else 2


def pack_moves(moves: Sequence[int], cells: int) -> bytes:
    """Pack cells as `bytes_of_a_move` each, little endian."""
    return bytes(moves) if bytes_of_a_move(cells) == 1 else _packer("H", len(moves))(*moves)


def unpack_moves(packed: bytes, cells: int) -> list[int]:
    return list(packed) if bytes_of_a_move(cells) == 1 else _unpack("H", packed)


def pack_times(times_us: Sequence[int]) -> bytes:
    """Pack microseconds as four bytes each, little endian. Values above the maximum (71 minutes) are cut."""
    pack = _packer("I", len(times_us))
    try:
        return pack(*times_us)
    except struct.error:
        return pack(*[min(time, 0xFFFFFFFF) for time in times_us])


def unpack_times(packed: bytes) -> list[int]:
    return _unpack("I", packed)


class Allowance(NamedTuple):
    """Extra time of each move of a side, beyond its clock."""

    network_us: int
    """Network time that was not charged."""
    margin_us: int
    """The time margin: the time by which a move could exceed its limit."""


def pack_allowances(first: Allowance, second: Allowance) -> bytes:
    """Pack both sides as four numbers of four bytes, little endian. Values above the maximum (71 minutes) are cut."""
    return pack_times((*first, *second))


def unpack_allowances(packed: bytes) -> tuple[Allowance, Allowance]:
    first_network, first_margin, second_network, second_margin = unpack_times(packed)
    first = Allowance(network_us=first_network, margin_us=first_margin)
    return first, Allowance(network_us=second_network, margin_us=second_margin)


def pack_scores(scores: Mapping[int, float] | None, plies: int) -> bytes | None:
    """Pack the scores of the first `plies` plies as four-byte floats, little endian; NaN for a ply without a score.

    Return None if no ply has a score.
    """
    if not scores:
        return None
    column = (min(max(scores.get(ply, math.nan), -_LARGEST_SCORE), _LARGEST_SCORE) for ply in range(plies))
    return _packer("f", plies)(*column)


def stored_score(score: float) -> float:
    """Return a score as `unpack_scores` returns it after `pack_scores`."""
    return unpack_scores(pack_scores({0: score}, 1))[0]


def unpack_scores(packed: bytes | None) -> dict[int, float]:
    """Return the scores by ply, rounded to six significant digits."""
    column = _unpack("f", packed) if packed else []
    return {ply: float(f"{score:.6g}") for ply, score in enumerate(column) if not math.isnan(score)}


@cache
def _packer(code: str, count: int) -> Callable[..., bytes]:
    """Return the packer of `count` numbers, little endian. Creating one takes longer than packing, so it is cached."""
    return struct.Struct(f"<{count}{code}").pack


def _unpack(code: str, packed: bytes) -> list[Any]:
    column = array(code, packed)
    if byteorder == "big":
        column.byteswap()
    return column.tolist()
