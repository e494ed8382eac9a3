"""Banks, increments and limits of a move against a slow model that is written from their definition."""

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tests.support.games import Table, conditions, verdict
from tests.support.settings import examples

MARGIN = 50_000
SECOND = 1_000_000


def model(bank: str, move: str, increment: str, times_us: Sequence[int]) -> tuple[list[Fraction], int | None]:
    """What is left of both banks in seconds, and the ply that came too late.

    A side's bank is what it began with, and what every move of its has added, less what every move has taken; but a
    move takes no more than there is, since what it oversteps is the margin's.
    """
    left = [Fraction(bank)] * 2
    for ply, took_us in enumerate(times_us):
        took, side = Fraction(took_us, SECOND), ply % 2
        limits = [left[side]] if bank != "0" else []
        if move != "0":
            limits.append(Fraction(move))
        if any(took > limit + Fraction(MARGIN, SECOND) for limit in limits):
            return left, ply
        left[side] = left[side] - min(took, left[side]) + Fraction(increment)
    return left, None


def written(bank: str, move: str, increment: str) -> str:
    if bank == "0":
        return "none" if move == "0" else f"{move}/move"
    return f"{bank}{'' if move == '0' else '/' + move}+{increment}"


# Close to the limits: at the margin, one microsecond more, and all that lies between.
moments = st.one_of(
    st.sampled_from([0, MARGIN, MARGIN + 1]),
    st.integers(0, 3 * SECOND),
    st.sampled_from([SECOND, SECOND + MARGIN, SECOND + MARGIN + 1, 2 * SECOND, 2 * SECOND + MARGIN + 1]),
)


@examples(400)
@given(
    bank=st.sampled_from(["0", "1", "2.5", "7"]),
    move=st.sampled_from(["0", "1", "2", "30"]),
    increment=st.sampled_from(["0", "0.25", "1"]),
    times_us=st.lists(moments, min_size=1, max_size=20),
)
def test_clocks_are_those_of_the_slow_model(bank: str, move: str, increment: str, times_us: list[int]) -> None:
    left, late = model(bank, move, increment, times_us)
    table = Table(margin_us=MARGIN)
    game = table.start(conditions("mnk:1,20,20", written(bank, move, increment)))
    for cell, took in enumerate(times_us):
        if table.arbiter.ended:
            break
        table.answer(game, cell, took)
    if late is not None:
        assert verdict(game) == ("1-0" if late % 2 else "0-1", "timeout")
        assert (game.ply, len(game.times_us)) == (late, late + 1)
    else:
        assert game.ply == len(times_us)
    if bank != "0":
        assert [Fraction(clock, SECOND) for clock in game.left_us] == left
        # Whoever reads the game later works out the same clocks.
        assert list(game.conditions.time.clocks_after(times_us[: game.ply])) == game.left_us


@examples(200)
@given(
    bank=st.sampled_from(["0", "1", "2.5"]),
    move=st.sampled_from(["0", "1", "2"]),
    times_us=st.lists(st.integers(0, SECOND // 2), max_size=4),
    silence_us=moments,
)
def test_silence_is_judged_as_an_answer_at_that_moment_would_be(
    bank: str, move: str, times_us: list[int], silence_us: int
) -> None:
    shared = conditions("mnk:1,20,20", written(bank, move, "0"))
    table = Table(margin_us=MARGIN)
    silent, answered = table.start(shared), table.start(shared)
    for game in (silent, answered):
        for cell, took in enumerate(times_us):
            table.answer(game, cell, took)
    table.arbiter.take_ended()
    table.arbiter.silent(silent.mover, [(silent.handle, silent.ply, silence_us)])
    table.answer(answered, len(times_us), silence_us)
    ended = table.arbiter.take_ended()
    assert (silent in ended) == (answered in ended)
