"""Games do not notice each other: played all at once in any order they end as when played one at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.arbiter import Answers
from noughts_referee.game import Game
from noughts_referee.work_units import GameConditions, Slot
from tests.support.games import Table, conditions
from tests.support.settings import examples

MARGIN = 50_000


class Act(NamedTuple):
    """A side's response to a question."""

    cell: int
    took: int
    kind: str


class Script(NamedTuple):
    """A game and what happens in it, ply by ply."""

    shared: GameConditions
    slot: Slot
    acts: tuple[Act, ...]


acts = st.builds(
    Act,
    cell=st.integers(0, 12),  # the board has 12 cells
    took=st.integers(0, 1_100_000),
    kind=st.sampled_from(["move"] * 12 + ["resign", "silence"]),
)


@st.composite
def scripts(draw: st.DrawFn) -> list[Script]:
    players = (1, 2, 3, 4)
    kinds = [
        conditions("mnk:4,3,3", time, tournament=number, players=players)
        for number, time in enumerate(["none", "1/move", "2+0.2", "2/0.8+0.1"])
    ]
    pairs = st.sampled_from([(one, other) for one in range(4) for other in range(4) if one != other])
    return [
        Script(draw(st.sampled_from(kinds)), Slot(ordinal, *draw(pairs)), draw(st.tuples(*[acts] * 12)))
        for ordinal in range(draw(st.integers(1, 12)))
    ]


def act(table: Table, games: list[tuple[Game, Act]], *, echo: bool) -> None:
    """One frame: these games' movers, who are one player, do what their scripts say; `echo` says it all twice."""
    player = games[0][0].mover
    silent = [(game.handle, game.ply, 10**9) for game, what in games if what.kind == "silence" and game.time]
    rows = [(game.handle, game.ply, what) for game, what in games if what.kind != "silence" or not game.time]
    resigned = [row for row, (_, _, what) in enumerate(rows) if what.kind == "resign"]
    table.arbiter.end_overdue(player, silent)
    for _ in range(2 if echo else 1):
        answers = Answers(
            [handle for handle, _, _ in rows],
            [ply for _, ply, _ in rows],
            [what.cell for _, _, what in rows],
            [what.took for _, _, what in rows],
            resigned,
        )
        assert table.arbiter.judge_answers(player, answers) == []


def record(game: Game) -> tuple[object, ...]:
    return game.slot, game.result, game.termination, tuple(game.moves), tuple(game.times_us), tuple(game.left_us)


def one_at_a_time(games: list[Script]) -> Iterator[tuple[object, ...]]:
    table = Table(margin_us=MARGIN)
    for script in games:
        game = table.start(script.shared, script.slot)
        while not table.arbiter.ended:
            act(table, [(game, script.acts[game.ply])], echo=False)
        assert table.arbiter.take_ended() == [game]
        yield record(game)


@pytest.mark.long
@examples(60)
@given(scripts(), st.lists(st.integers(0, 2**16), min_size=1, max_size=40))
def test_any_interleaving_gives_the_same_records(games: list[Script], numbers: list[int]) -> None:
    expected = list(one_at_a_time(games))
    table = Table(margin_us=MARGIN)
    running: dict[int, tuple[Game, Script]] = {}
    waiting = list(games)
    finished: list[tuple[object, ...]] = []
    step = 0
    while running or waiting:
        number = numbers[step % len(numbers)] + step
        step += 1
        if waiting and (not running or number % 3 == 0):
            script = waiting.pop()
            game = table.start(script.shared, script.slot)
            running[game.handle] = (game, script)
            continue
        movers = sorted({game.mover.key for game, _ in running.values()})
        mover = movers[number % len(movers)]
        asked = [(game, script.acts[game.ply]) for game, script in running.values() if game.mover.key == mover]
        batch = asked[number % len(asked) :][: 1 + number % 5]
        before = table.arbiter.late_answers
        echo = number % 4 == 0
        act(table, batch, echo=echo)
        assert echo or table.arbiter.late_answers == before
        for game in table.arbiter.take_ended():
            del running[game.handle]
            finished.append(record(game))
    assert sorted(finished, key=repr) == sorted(expected, key=repr)
    assert all(player.games == {} for player in table.players.values())
