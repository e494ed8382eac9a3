"""The judge that proves positions: right on every position of small boards, and in the way of no game."""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import psutil
import pytest

from noughts_bots.reference.analysis import Analyst
from noughts_bots.reference.exact import Solver
from noughts_bots.reference.positions import positions
from noughts_bots.reference.threats.effort import Effort
from noughts_referee.game import JUDGE, Game
from noughts_referee.rules import Adjudication, Position, Variant, parse_variant
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.proof_process import EFFORT, effort, proven_value
from noughts_server.runtime.proofs import Proofs
from tests.referee.referee_driver import RefereeDriver
from tests.support.games import conditions, unit, verdict
from tests.support.loopback import wait_until
from tests.support.processes import children_that_run

pytestmark = pytest.mark.processes


def plain_value(variant: Variant) -> Callable[[int, int], int]:
    """Return a function that plays every move to the end."""

    @cache
    def value(own: int, other: int) -> int:
        best = -1
        for cell in variant.free_cells(own | other):
            outcome = variant.outcome(own | 1 << cell, other, cell, 0)
            after = -value(other, own | 1 << cell) if outcome is None else int(outcome.winner == 0)
            best = max(best, after)
        return best

    return value


@pytest.mark.parametrize("name", ["tictactoe", "mnk:3,3,2", "mnk:4,2,3"])
def test_every_position_of_a_small_board_has_its_value(name: str) -> None:
    variant = parse_variant(name)
    analyst, value = Analyst(variant, effort=0, nodes=1), plain_value(variant)
    for position in positions(variant):
        assert analyst.proven_value(position, EFFORT) == value(position.own, position.opponent), position


@pytest.mark.parametrize("name, free", [("connect4", 10), ("mnk:5,5,4", 9), ("mnk:4,4,4", 9), ("qubic", 7)])
@pytest.mark.parametrize("effort", [EFFORT, 0])
def test_a_value_on_a_larger_board_is_right_or_unknown(name: str, free: int, effort: int) -> None:
    variant = parse_variant(name)
    analyst, rng, proven = Analyst(variant, effort=0, nodes=400), random.Random(7), 0
    solver = Solver(variant, Effort(None))  # once, because its memory is large
    for _ in range(60):
        position = Position(variant)
        while position.outcome() is None and position.ply < variant.cells - free:
            quiet = [cell for cell in position.free if not variant.completes(position.own | 1 << cell, cell)]
            position.play(rng.choice(quiet or position.free))
        if position.outcome() is not None:
            continue
        value = analyst.proven_value(position, effort)
        proven += value is not None
        assert value in (None, solver.result(position))
    assert proven or name == "connect4"  # without effort, no solver knows columns


def test_a_position_of_a_large_board_is_proven_only_if_it_is_won() -> None:
    gomoku = parse_variant("gomoku")
    three = [112, 0, 113, 14, 114, 210]
    assert [proven_value(gomoku, three[:plies]) for plies in (1, 4, 5, 6)] == [None, None, None, 1]


@pytest.mark.parametrize("name", ["renju", "caro"])
def test_wins_by_fours_are_proven_in_renju_and_caro(name: str) -> None:
    variant = parse_variant(name)
    three = [112, 0, 113, 14, 114, 210]
    assert [proven_value(variant, three[:plies]) for plies in (1, 4, 5, 6)] == [None, None, None, 1]
    assert proven_value(variant, [*three, 115, 224]) == 1  # the next stone completes a line
    shut_three = [112, 111, *three[2:]]
    assert proven_value(variant, shut_three) is None


@pytest.mark.parametrize("name", ["gomoku", "gomoku:exact:20", "mnk:30,30,5"])
def test_a_position_of_a_board_with_many_lines_takes_no_longer(name: str) -> None:
    # The time of each position of the search grows with the number of lines.
    most = effort(parse_variant("qubic")) * 128
    assert most / 2 < effort(parse_variant(name)) * len(parse_variant(name).lines) <= most


def proof_processes() -> list[psutil.Process]:
    return children_that_run("noughts_server.runtime.proof_process")


@contextmanager
def exact_games(driver: RefereeDriver, variant: str, games: int = 1) -> Iterator[None]:
    driver.join(1)
    driver.join(2)
    shared = replace(conditions(variant), adjudication=Adjudication(exact=True))
    driver.referee.add(unit(shared, games))
    yield
    assert driver.referee.count_running() == 0


async def test_a_game_waits_for_the_proof_and_ends_with_it() -> None:
    driver = RefereeDriver()
    proofs = Proofs(driver.referee)
    with exact_games(driver, "tictactoe"):
        (game,) = driver.running(1)
        async with running(proofs.run()):
            driver.answer(1, [game], [4])
            assert game.mover is JUDGE
            await wait_until(lambda: not game.is_undecided)
    assert verdict(game) == ("1/2-1/2", "adjudicated")
    assert proof_processes() == []


async def test_a_game_continues_if_the_process_of_proofs_is_killed() -> None:
    driver = RefereeDriver()
    proofs = Proofs(driver.referee)
    with exact_games(driver, "gomoku"):
        (game,) = driver.running(1)
        async with running(proofs.run()):
            driver.answer(1, [game], [112])
            await wait_until(lambda: game.mover is not JUDGE)
            (process,) = proof_processes()
            process.kill()
            driver.answer(2, [game], [0])
            await wait_until(lambda: game.mover is not JUDGE)
            for key, cell in ((1, 113), (2, 14), (1, 114), (2, 210)):
                driver.answer(key, [game], [cell])
                await wait_until(lambda: game.mover is not JUDGE or not game.is_undecided)
    assert verdict(game) == ("1-0", "adjudicated")


async def test_a_game_does_not_wait_for_positions_after_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = RefereeDriver()
    proofs = Proofs(driver.referee)
    concluded: list[list[int]] = []
    conclude = driver.referee.conclude

    def note(values: Iterable[tuple[Game, int, int | None]]) -> None:
        values = list(values)
        concluded.append([game.slot.ordinal for game, _, _ in values])
        conclude(values)

    monkeypatch.setattr(driver.referee, "conclude", note)
    with exact_games(driver, "tictactoe", 6):
        games = driver.running(1)
        async with running(proofs.run()):
            for key in (1, 2):
                own = [game for game in games if game.mover.key == key]
                driver.answer(key, own, [game.slot.ordinal for game in own])
            await wait_until(lambda: driver.referee.count_running() == 0)
    assert concluded == [[1], [3], [5], [2], [4], [6]]
