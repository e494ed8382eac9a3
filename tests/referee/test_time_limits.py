"""Banks, increments, limits of a move, times and margins of one's own, against a slow model of their definition."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.clock import clocks_after
from noughts_referee.work_units import GameConditions
from tests.support.games import Table, conditions, verdict
from tests.support.settings import examples

MARGIN = 50_000
SECOND = 1_000_000


class Limits(NamedTuple):
    """A side's, in seconds; `0` where there is none."""

    bank: str
    move: str
    increment: str
    margin_us: int = MARGIN

    def __str__(self) -> str:
        if self.bank == "0":
            return "none" if self.move == "0" else f"{self.move}/move"
        return f"{self.bank}{'' if self.move == '0' else '/' + self.move}+{self.increment}"


class Model:
    """A side's clock. It has what it began with, and what every move of its has added, less what every move has taken;
    but a move takes no more than there is, since what it oversteps is the margin's."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left = Fraction(limits.bank)

    def may_take(self, took_us: int) -> bool:
        bounds = [self.left] if self.limits.bank != "0" else []
        if self.limits.move != "0":
            bounds.append(Fraction(self.limits.move))
        return all(Fraction(took_us - self.limits.margin_us, SECOND) <= bound for bound in bounds)

    def charge(self, took_us: int) -> None:
        if self.limits.bank != "0":
            self.left += Fraction(self.limits.increment) - min(Fraction(took_us, SECOND), self.left)

    @property
    def shown_us(self) -> int:
        return int((self.left if self.limits.bank != "0" else Fraction(self.limits.move)) * SECOND)


def late_ply(sides: Sequence[Model], times_us: Sequence[int]) -> int | None:
    """Plays the moves; the ply of the one that comes too late."""
    for ply, took_us in enumerate(times_us):
        if not sides[ply % 2].may_take(took_us):
            return ply
        sides[ply % 2].charge(took_us)
    return None


def seated(first: Limits, second: Limits) -> tuple[Table, GameConditions]:
    """A table of two players with these limits; the first player's are the general ones, the second has its own."""
    own = {} if str(first) == str(second) else {"bot-2": str(second)}
    table = Table()
    table.player(1).margin_us, table.player(2).margin_us = first.margin_us, second.margin_us
    return table, conditions("mnk:1,20,20", str(first), own_times=own)


limits = st.builds(
    Limits,
    bank=st.sampled_from(["0", "1", "2.5", "7"]),
    move=st.sampled_from(["0", "1", "2", "30"]),
    increment=st.sampled_from(["0", "0.25", "1"]),
    margin_us=st.sampled_from([0, MARGIN, SECOND]),
)
# At the limits, at the margins, one microsecond more, and all that lies between.
moments = st.one_of(
    st.integers(0, 4 * SECOND),
    st.builds(
        lambda limit, margin, more: limit + margin + more,
        st.sampled_from([0, SECOND, 2 * SECOND, 5 * SECOND // 2]),
        st.sampled_from([0, MARGIN, SECOND]),
        st.sampled_from([0, 1]),
    ),
)


@examples(200)
@given(limits, limits, st.lists(moments, min_size=1, max_size=19))
def test_clocks_are_those_of_the_slow_model(first: Limits, second: Limits, times_us: list[int]) -> None:
    sides = Model(first), Model(second)
    late = late_ply(sides, times_us)
    table, shared = seated(first, second)
    game = table.start(shared)
    for cell, took_us in enumerate(times_us):
        if not table.arbiter.ended:
            table.answer(game, cell, took_us)
    if late is not None:
        assert verdict(game) == ("1-0" if late % 2 else "0-1", "timeout")
        assert (game.ply, len(game.times_us)) == (late, late + 1)
    else:
        assert (game.ply, table.arbiter.ended) == (len(times_us), [])
    assert game.left_us == [side.shown_us for side in sides]
    # Whoever reads the game later works out the same clocks.
    shown = clocks_after(shared.limits, times_us[: game.ply])
    assert shown == tuple(None if str(side.limits) == "none" else side.shown_us for side in sides)


@examples(120)
@given(limits, limits, st.integers(0, 4), moments)
def test_silence_is_judged_as_an_answer_at_that_moment_would_be(
    first: Limits, second: Limits, moves: int, silence_us: int
) -> None:
    table, shared = seated(first, second)
    silent, answered = table.start(shared), table.start(shared)
    for game in (silent, answered):
        table.play(game, range(moves), SECOND // 8)
    table.arbiter.end_overdue(silent.mover, [(silent.handle, silent.ply, silence_us)])
    table.answer(answered, answered.ply, silence_us)
    assert (silent in table.arbiter.ended) == (answered in table.arbiter.ended)
