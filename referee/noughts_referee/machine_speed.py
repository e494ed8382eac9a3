"""The speed of this machine, to scale the times of games between machines.

A machine is compared with the reference by a fixed piece of work: a search of tic-tac-toe without pruning. The work is
the same on every machine, needs no other module, and uses what bots in Python use: calls, loops and integers. Changing
it makes speeds incomparable with stored ones.

A machine multiplies base time, increment and limit of a move, but not the time margin, by its factor: the speed of the
reference divided by the machine's speed. fishtest and OpenBench do the same, but their work is the search of the engine
under test; bots of many kinds need a common one.
"""

import time
from collections.abc import Callable
from functools import cache
from statistics import median

REFERENCE_LOOPS_PER_SECOND = 250.0
"""Loops a second of the reference machine: a round number for one core of a server at 3 GHz with CPython 3.11."""
# Bounds of the factor, so that a wrong measurement cannot stop a tournament.
LEAST_FACTOR = 0.25
MOST_FACTOR = 4.0
_SAMPLES = 11
"""An odd number of loops, of which the median counts."""
_PLIES = 5
_LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o124, 0o421)
"""The rows, columns and diagonals of the board, as sets of bits."""


def loop() -> int:
    """Do the work once. Return the number of positions, which is always the same."""
    return _count(0, 0, _PLIES)


def _count(own: int, opponent: int, plies: int) -> int:
    """Return the number of positions up to `plies` plies after this one. The opponent has made the last move."""
    if not plies or any(opponent & line == line for line in _LINES):
        return 1
    positions = 1
    occupied = own | opponent
    for cell in range(9):
        stone = 1 << cell
        if not occupied & stone:
            positions += _count(opponent, own | stone, plies - 1)
    return positions


def measured_speed(clock: Callable[[], float] = time.thread_time) -> float:
    """Return the speed of this machine: 1 for the reference, 2 for one twice as fast.

    `clock` returns seconds. The processor time of the thread does not count the time that other processes use.
    """
    durations = []
    for _ in range(_SAMPLES):
        began = clock()
        loop()
        durations.append(clock() - began)
    return 1 / (REFERENCE_LOOPS_PER_SECOND * median(durations))


@cache
def machine_speed() -> float:
    """Return the speed of this machine, measured once in a process."""
    return measured_speed()


def time_factor(speed: float) -> float:
    """Return the number by which a machine of this speed multiplies times, within the bounds, with three decimals."""
    return round(min(max(1 / speed, LEAST_FACTOR), MOST_FACTOR), 3)


def is_out_of_range(speed: float) -> bool:
    """Return whether the factor of a machine of this speed would be outside its bounds."""
    return not LEAST_FACTOR <= 1 / speed <= MOST_FACTOR
