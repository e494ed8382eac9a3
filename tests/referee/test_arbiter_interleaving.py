"""Games do not affect each other: concurrent games in any order end like games that run one at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.arbiter import Answers
from noughts_referee.game import Game
from noughts_referee.work_units import GameConditions, ScheduledGame
from tests.support.games import ArbiterDriver, conditions
from tests.support.settings import examples

MARGIN = 50_000


class Response(NamedTuple):
    """A side's response to a question."""

    cell: int
    took: int
    kind: str


class Script(NamedTuple):
    """A game and its responses by ply."""

    shared: GameConditions
    slot: ScheduledGame
    responses: tuple[Response, ...]


responses = st.builds(
    Response,
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
        Script(draw(st.sampled_from(kinds)), ScheduledGame(ordinal, *draw(pairs)), draw(st.tuples(*[responses] * 12)))
        for ordinal in range(draw(st.integers(1, 12)))
    ]


def answer_frame(driver: ArbiterDriver, games: list[tuple[Game, Response]], *, twice: bool) -> None:
    """Give one player's responses in these games as one frame, which is judged again if `twice`."""
    player = games[0][0].mover
    # Without a time limit silence would last for ever, so it counts as a move there.
    silent = [(game.handle, game.ply, 10**9) for game, response in games if response.kind == "silence" and game.time]
    rows = [
        (game.handle, game.ply, response) for game, response in games if response.kind != "silence" or not game.time
    ]
    resigned = [row for row, (_, _, response) in enumerate(rows) if response.kind == "resign"]
    driver.arbiter.end_overdue(player, silent)
    for _ in range(2 if twice else 1):
        answers = Answers(
            [handle for handle, _, _ in rows],
            [ply for _, ply, _ in rows],
            [response.cell for _, _, response in rows],
            [response.took for _, _, response in rows],
            resigned,
        )
        assert driver.arbiter.judge_answers(player, answers) == []


def record(game: Game) -> tuple[object, ...]:
    return game.slot, game.result, game.termination, tuple(game.moves), tuple(game.times_us), tuple(game.left_us)


def records_of_single_games(scripts_of_games: list[Script]) -> Iterator[tuple[object, ...]]:
    driver = ArbiterDriver(margin_us=MARGIN)
    for script in scripts_of_games:
        game = driver.start(script.shared, script.slot)
        while not driver.arbiter.ended:
            answer_frame(driver, [(game, script.responses[game.ply])], twice=False)
        assert driver.arbiter.take_ended() == [game]
        yield record(game)


@pytest.mark.long
@examples(60)
@given(scripts(), st.lists(st.integers(0, 2**16), min_size=1, max_size=40))
def test_interleaved_games_have_the_same_records_as_single_ones(games: list[Script], random_numbers: list[int]) -> None:
    expected = list(records_of_single_games(games))
    driver = ArbiterDriver(margin_us=MARGIN)
    running: dict[int, tuple[Game, Script]] = {}
    unstarted = list(games)
    finished: list[tuple[object, ...]] = []
    step = 0
    while running or unstarted:
        number = random_numbers[step % len(random_numbers)] + step
        step += 1
        if unstarted and (not running or number % 3 == 0):
            script = unstarted.pop()
            game = driver.start(script.shared, script.slot)
            running[game.handle] = (game, script)
            continue
        movers = sorted({game.mover.key for game, _ in running.values()})
        mover = movers[number % len(movers)]
        to_move = [(game, script.responses[game.ply]) for game, script in running.values() if game.mover.key == mover]
        batch = to_move[number % len(to_move) :][: 1 + number % 5]
        before = driver.arbiter.late_answers
        twice = number % 4 == 0
        answer_frame(driver, batch, twice=twice)
        assert twice or driver.arbiter.late_answers == before
        for game in driver.arbiter.take_ended():
            del running[game.handle]
            finished.append(record(game))
    assert sorted(finished, key=repr) == sorted(expected, key=repr)
    assert all(player.games == {} for player in driver.players.values())
