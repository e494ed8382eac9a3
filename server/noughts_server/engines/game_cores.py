"""The core that the engines of a game run on.

Only one engine of a game thinks at a time, so both run on one core. Otherwise the scheduler sometimes puts the thinking
engines of two games on one core while another core is idle.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from noughts_referee.children.watch import family, processor_seconds

QUICK_US = 1_000
"""Engines that answer faster than this on average wait for the event loop more than they think.

Several games of such engines keep all cores busy with the event loop, so that the scheduler places them better.
"""
# An engine can use this factor of its thinking time, and this much more, before it counts as pondering.
_OWN_SHARE = 1.25
_OWN_SECONDS = 0.25


class GameCores:
    """Gives each running game a core. If quick engines play one game at a time, the event loop also runs on that core.

    The loop shares the core because waking an idle core takes longer than such an engine thinks.
    """

    def __init__(self, games_at_once: int) -> None:
        self._cores = sorted(os.sched_getaffinity(0))
        self._shares_loop = games_at_once == 1
        self._loop_is_bound = False
        self._is_quick = False
        """Whether the engines of the last game were quick."""
        self._games: dict[int, int] = {}
        """The core of each running game, by handle."""
        self._used: dict[int, float] = {}
        """The processor time of engines at the first question of their games, by process."""
        self._leaves_alone = False
        """Whether no game is placed because an engine thinks in its opponent's time or has several threads."""

    def begin(self, game: int, process: int) -> None:
        """Move the process of an engine, and what it has started, to the core of its game."""
        if not self._games:
            self._used.clear()
        # If the process has ended, or moving it is forbidden, the game continues without this.
        with suppress(OSError):
            before = os.sched_getaffinity(process)
            core = self._games.get(game)
            if core is None:
                core = self._games[game] = self._free_core(before)
            is_free = self._leaves_alone or (self._is_quick and not self._shares_loop)
            cores = set(self._cores) if is_free else {core}
            if before != cores:
                for member in family(process):
                    os.sched_setaffinity(member, cores)

    def record_first_question(self, process: int) -> None:
        """Note the processor time of an engine at the first question of a game. Preparation is not pondering."""
        if not self._is_quick:
            self._used[process] = _used_seconds(process)

    def record_thoughts(self, process: int, times_us: Sequence[int]) -> None:
        """At the end of a game, compare an engine's thinking times with its processor time to see if it ponders."""
        used_before = self._used.pop(process, None)
        if used_before is not None:
            most = sum(times_us) / 1e6 * _OWN_SHARE + _OWN_SECONDS
            self._leaves_alone |= _used_seconds(process) - used_before > most

    def end(self, game: int, times_us: Sequence[int]) -> None:
        """Release the core of a game. Further calls for the same game do nothing."""
        core = self._games.pop(game, None)
        if core is None or not times_us:
            return
        self._is_quick = sum(times_us) < QUICK_US * len(times_us)
        if self._shares_loop:
            self._bind_loop(core, self._is_quick and not self._leaves_alone)

    def close(self) -> None:
        """Let the event loop run on all cores again."""
        self._bind_loop(0, False)

    def _free_core(self, usual: set[int]) -> int:
        used_cores = list(self._games.values())
        return min(self._cores, key=lambda core: (used_cores.count(core), core not in usual))

    def _bind_loop(self, core: int, bound: bool) -> None:
        if bound != self._loop_is_bound:
            self._loop_is_bound = bound
            os.sched_setaffinity(0, (core,) if bound else self._cores)  # 0 is the thread that calls


def _used_seconds(process: int) -> float:
    """Return the processor time of a process and those that it has started."""
    return sum(map(processor_seconds, family(process)))
