"""Games of long time controls that resume from their journal end as without an interruption."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.arbiter import Answers
from noughts_referee.clock import parse_time_control
from noughts_referee.game import Game
from noughts_referee.rules import Adjudication, Draws, Position, Put, Take
from noughts_referee.work_units import GameConditions, GameSoFar, ScheduledGame
from tests.support.games import ArbiterDriver, conditions, unit, verdict
from tests.support.settings import examples

SLOT = ScheduledGame(1, 0, 1)
BOARDS = ("tictactoe", "mnk:5,4,4", "connect4", "renju", "gomoku+swap2", "gomoku+swap")


@pytest.mark.parametrize(
    "text, is_long",
    [
        ("none", False),
        ("1/move", True),
        ("0.999/move", False),
        ("120+1", True),
        ("0.1+1", True),
        ("40", True),
        ("39.9", False),
        ("20+0.5", True),
        ("20+0.4", False),
        ("180/0.5", False),
        ("30/10+0", False),
        ("180/10+0", True),
    ],
)
def test_games_of_40_seconds_or_more_for_40_moves_are_journaled(text: str, is_long: bool) -> None:
    assert parse_time_control(text).long is is_long
    assert conditions(time=text).journaled is is_long
    assert conditions(time="none", own_times={"bot-2": text}).journaled is is_long


class DeterministicGame:
    """A game whose players choose each answer by its ply alone, so that a resumed game continues in the same way."""

    def __init__(self, shared: GameConditions, opening: tuple[int, ...], seed: int) -> None:
        self.shared = shared
        self.opening = opening
        self.seed = seed
        self.begin(None)

    def begin(self, so_far: GameSoFar | None) -> None:
        """Start or resume the game on a new arbiter, as after a restart of the server."""
        self.driver = ArbiterDriver(margin_us=0)
        first, second = self.driver.player(1), self.driver.player(2)
        first.opens = second.opens = True
        slots = unit(self.shared, [SLOT])._replace(openings={1: self.opening} if self.opening else {})
        if so_far is not None:
            slots = slots._replace(begun={1: so_far})
        self.game: Game = self.driver.arbiter.start(slots, SLOT, first, second)

    def step(self) -> None:
        """Answer as the player to move."""
        game, arbiter = self.game, self.driver.arbiter
        draws = Draws(self.seed, game.ply & 0xFFFF)
        took = draws.below(2_500_000)
        if game.ply < 0:
            step = game.opening.step
            put = step == 0 or (step == 1 and game.opening.may_put and draws.below(2))
            stones = [112, 113, 98] if step == 0 else [7, 200]
            choice = Put(tuple(stones)) if put else Take(draws.below(2))
            assert arbiter.judge_choice(game.mover, game.handle, step, choice, took) == []
            return
        cells = Position.after(game.conditions.variant, game.moves).free
        cell = draws.choice(cells)
        resigns = [0] if draws.below(40) == 0 else []
        assert arbiter.judge_answers(game.mover, Answers([game.handle], [game.ply], [cell], [took], resigns)) == []

    def play(self, until: Callable[[Game], bool] = lambda game: False) -> None:
        """Play to the end, or until the condition `until` holds."""
        while not self.driver.arbiter.ended and not until(self.game):
            self.step()


def record_of(game: Game) -> tuple[object, ...]:
    """Return the data of a game that the server stores."""
    return verdict(game), game.slot, game.moves, game.times_us, game.left_us, game.fault


@examples(60)
@given(
    st.sampled_from(BOARDS),
    st.sampled_from(("120+1", "1.5/move", "30/2.4+0.5", "40+0")),
    st.booleans(),
    st.sampled_from((0, 9, 30)),
    st.integers(0, 1 << 32),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=5),
)
def test_an_interrupted_game_has_the_same_moves_and_clocks(
    board: str, time: str, one_is_untimed: bool, draw_after: int, seed: int, kills: Sequence[tuple[int, int]]
) -> None:
    own_times = {"bot-2": "none"} if one_is_untimed else {}
    shared = replace(conditions(board, time, own_times=own_times), adjudication=Adjudication(draw_after=draw_after))
    opening = () if "+" in board or board == "renju" else (0, 1, 2)[: seed % 4]
    uninterrupted, interrupted = DeterministicGame(shared, opening, seed), DeterministicGame(shared, opening, seed)
    uninterrupted.play()
    journal: list[GameSoFar | None] = [None]
    for plies, lost_plies in sorted(kills):
        while len(interrupted.game.moves) < plies and not interrupted.driver.arbiter.ended:
            interrupted.step()
            if interrupted.driver.arbiter.advanced and interrupted.game.is_undecided:
                journal.append(interrupted.game.so_far())
                interrupted.driver.arbiter.advanced.clear()
        if interrupted.driver.arbiter.ended:
            break
        # The server dies before it commits the last plies.
        del journal[max(1, len(journal) - lost_plies) :]
        interrupted.begin(journal[-1])
        so_far = journal[-1]
        if so_far is not None:
            assert interrupted.game.moves == uninterrupted.game.moves[: len(interrupted.game.moves)]
            assert interrupted.game.left_us == [so_far.first_clock_us, so_far.second_clock_us]
            assert [game.handle for game in interrupted.game.mover.outbox.turns_timed] == [1]
            assert all(player.outbox.starts == [interrupted.game] for player in interrupted.game.players)
    interrupted.play()
    assert record_of(interrupted.game) == record_of(uninterrupted.game)


def test_the_journal_has_each_ply_and_no_finished_game() -> None:
    driver = ArbiterDriver()
    game = driver.start(conditions(time="1/move"))
    quick = driver.start(conditions(time="0.5/move", tournament=2))
    driver.play(quick, [4])
    assert driver.arbiter.advanced == []
    for ply, cell in enumerate((0, 3, 1, 4), start=1):
        driver.play(game, [cell], took=1_000)
        assert driver.arbiter.advanced == [game] * ply
        assert game.so_far().moves == bytes(game.moves)
    driver.play(game, [2])
    assert len(driver.arbiter.advanced) == 4
    assert not game.is_undecided


def test_an_abandoned_game_can_resume_and_a_lost_one_cannot() -> None:
    driver = ArbiterDriver()
    games = [driver.start(conditions(time="10+1")) for _ in range(2)]
    driver.arbiter.abandon(games[:1])
    assert games[0].is_undecided
    driver.answer(games[1], 0, resigns=True)
    assert not games[1].is_undecided


def test_an_unfinished_opening_restarts_and_a_finished_one_stays() -> None:
    deterministic = DeterministicGame(conditions("gomoku+swap2", "120+1"), (), 1)
    deterministic.step()
    assert deterministic.game.ply < 0
    assert deterministic.driver.arbiter.advanced == []
    deterministic.play(until=lambda game: game.ply > 0)
    assert deterministic.driver.arbiter.advanced == [deterministic.game]
    agreed = deterministic.game
    deterministic.begin(agreed.so_far())
    assert deterministic.driver.arbiter.agreed == [deterministic.game]
    assert (deterministic.game.slot, deterministic.game.moves, deterministic.game.left_us) == (
        agreed.slot,
        agreed.moves,
        agreed.left_us,
    )
    assert [player.key for player in deterministic.game.players] == [player.key for player in agreed.players]
