"""Base times, increments, move limits and margins, compared with a slow model of their definitions."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.clock import clocks_after
from noughts_referee.work_units import GameConditions
from tests.support.games import ArbiterDriver, conditions, verdict
from tests.support.settings import examples

MARGIN = 50_000
SECOND = 1_000_000


class Limits(NamedTuple):
    """The time limits of a side, in seconds; `0` means no limit."""

    bank: str
    move: str
    increment: str
    margin_us: int = MARGIN

    def __str__(self) -> str:
        if self.bank == "0":
            return "none" if self.move == "0" else f"{self.move}/move"
        return f"{self.bank}{'' if self.move == '0' else '/' + self.move}+{self.increment}"


class Model:
    """A side's clock: base time, plus the increments, minus the times of its moves.

    A move takes at most the remaining time: any time beyond it belongs to the margin.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left = Fraction(limits.bank)

    def may_take(self, took_us: int) -> bool:
        limits = [self.left] if self.limits.bank != "0" else []
        if self.limits.move != "0":
            limits.append(Fraction(self.limits.move))
        return all(Fraction(took_us - self.limits.margin_us, SECOND) <= limit for limit in limits)

    def charge(self, took_us: int) -> None:
        if self.limits.bank != "0":
            self.left += Fraction(self.limits.increment) - min(Fraction(took_us, SECOND), self.left)

    @property
    def clock_us(self) -> int:
        return int((self.left if self.limits.bank != "0" else Fraction(self.limits.move)) * SECOND)


def late_ply(sides: Sequence[Model], times_us: Sequence[int]) -> int | None:
    """Charge the moves to the sides' clocks, and return the ply of the first late move."""
    for ply, took_us in enumerate(times_us):
        if not sides[ply % 2].may_take(took_us):
            return ply
        sides[ply % 2].charge(took_us)
    return None


def players_with(first: Limits, second: Limits) -> tuple[ArbiterDriver, GameConditions]:
    """Return an arbiter with two players, and conditions whose general limits are the first player's."""
    own = {} if str(first) == str(second) else {"bot-2": str(second)}
    driver = ArbiterDriver()
    driver.player(1).margin_us, driver.player(2).margin_us = first.margin_us, second.margin_us
    return driver, conditions("mnk:1,20,20", str(first), own_times=own)


limits = st.builds(
    Limits,
    bank=st.sampled_from(["0", "1", "2.5", "7"]),
    move=st.sampled_from(["0", "1", "2", "30"]),
    increment=st.sampled_from(["0", "0.25", "1"]),
    margin_us=st.sampled_from([0, MARGIN, SECOND]),
)
# Durations at a limit plus a margin, one microsecond longer, and any other ones.
durations = st.one_of(
    st.integers(0, 4 * SECOND),
    st.builds(
        lambda limit, margin, more: limit + margin + more,
        st.sampled_from([0, SECOND, 2 * SECOND, 5 * SECOND // 2]),
        st.sampled_from([0, MARGIN, SECOND]),
        st.sampled_from([0, 1]),
    ),
)


@examples(200)
@given(limits, limits, st.lists(durations, min_size=1, max_size=19))
def test_clocks_are_those_of_the_slow_model(first: Limits, second: Limits, times_us: list[int]) -> None:
    sides = Model(first), Model(second)
    late = late_ply(sides, times_us)
    driver, shared = players_with(first, second)
    game = driver.start(shared)
    for cell, took_us in enumerate(times_us):
        if not driver.arbiter.ended:
            driver.answer(game, cell, took_us)
    if late is not None:
        assert verdict(game) == ("1-0" if late % 2 else "0-1", "timeout")
        assert (game.ply, len(game.times_us)) == (late, late + 1)
    else:
        assert (game.ply, driver.arbiter.ended) == (len(times_us), [])
    assert game.left_us == [side.clock_us for side in sides]
    # Readers of the stored game compute the same clocks.
    clocks = clocks_after(shared.limits, times_us[: game.ply])
    assert clocks == tuple(None if str(side.limits) == "none" else side.clock_us for side in sides)


@examples(120)
@given(limits, limits, st.integers(0, 4), durations)
def test_silence_is_judged_like_an_answer_at_the_same_time(
    first: Limits, second: Limits, moves: int, silence_us: int
) -> None:
    driver, shared = players_with(first, second)
    silent, answered = driver.start(shared), driver.start(shared)
    for game in (silent, answered):
        driver.play(game, range(moves), SECOND // 8)
    driver.arbiter.end_overdue(silent.mover, [(silent.handle, silent.ply, silence_us)])
    driver.answer(answered, answered.ply, silence_us)
    assert (silent in driver.arbiter.ended) == (answered in driver.arbiter.ended)
