"""Games of long time controls that resume from their journal end as without an interruption."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.arbiter import Answers
from noughts_referee.clock import parse_time_control
from noughts_referee.game import Game
from noughts_referee.rules import Draws, Position, Put, Take
from noughts_referee.work_units import GameConditions, GameSoFar, Slot
from tests.support.games import Table, conditions, unit, verdict
from tests.support.settings import examples

SLOT = Slot(1, 0, 1)
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
def test_a_game_is_journaled_where_forty_moves_may_take_a_second_each(text: str, is_long: bool) -> None:
    assert parse_time_control(text).long is is_long
    assert conditions(time=text).journaled is is_long
    assert conditions(time="none", own_times={"bot-2": text}).journaled is is_long


class Play:
    """A game with two players that always move in the same way, however often it is resumed."""

    def __init__(self, shared: GameConditions, opening: tuple[int, ...], seed: int) -> None:
        self.shared = shared
        self.opening = opening
        self.seed = seed
        self.begin(None)

    def begin(self, begun: GameSoFar | None) -> None:
        """Another server, and the bots log in there."""
        self.table = Table(margin_us=0)
        first, second = self.table.player(1), self.table.player(2)
        first.opens = second.opens = True
        slots = unit(self.shared, [SLOT])._replace(openings={1: self.opening} if self.opening else {})
        if begun is not None:
            slots = slots._replace(begun={1: begun})
        self.game: Game = self.table.arbiter.start(slots, SLOT, first, second)

    def step(self) -> None:
        """Answer as the player to move."""
        game, arbiter = self.game, self.table.arbiter
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

    def until(self, over: Callable[[Game], bool] = lambda game: False) -> None:
        """Plays to the end, or until it holds."""
        while not self.table.arbiter.ended and not over(self.game):
            self.step()


def told(play: Play) -> tuple[object, ...]:
    """All that is kept of a game."""
    game = play.game
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
    own = {"bot-2": "none"} if one_is_untimed else {}
    shared = replace(conditions(board, time, own_times=own), draw_after=draw_after)
    opening = () if "+" in board or board == "renju" else (0, 1, 2)[: seed % 4]
    whole, broken = Play(shared, opening, seed), Play(shared, opening, seed)
    whole.until()
    kept: list[GameSoFar | None] = [None]
    for plies, lost in sorted(kills):
        while len(broken.game.moves) < plies and not broken.table.arbiter.ended:
            broken.step()
            if broken.table.arbiter.advanced and broken.game.is_undecided:
                kept.append(broken.game.so_far())
                broken.table.arbiter.advanced.clear()
        if broken.table.arbiter.ended:
            break
        # The last plies had not been committed.
        del kept[max(1, len(kept) - lost) :]
        broken.begin(kept[-1])
        begun = kept[-1]
        if begun is not None:
            assert broken.game.moves == whole.game.moves[: len(broken.game.moves)]
            assert broken.game.left_us == [begun.first_clock_us, begun.second_clock_us]
            assert [game.handle for game in broken.game.mover.outbox.turns_timed] == [1]
            assert all(player.outbox.starts == [broken.game] for player in broken.game.players)
    broken.until()
    assert told(broken) == told(whole)


def test_the_journal_has_each_ply_and_no_finished_game() -> None:
    table = Table()
    game = table.start(conditions(time="1/move"))
    quick = table.start(conditions(time="0.5/move", tournament=2))
    table.play(quick, [4])
    assert table.arbiter.advanced == []
    for ply, cell in enumerate((0, 3, 1, 4), start=1):
        table.play(game, [cell], took=1_000)
        assert table.arbiter.advanced == [game] * ply
        assert game.so_far().moves == bytes(game.moves)
    table.play(game, [2])
    assert len(table.arbiter.advanced) == 4
    assert not game.is_undecided


def test_a_game_that_the_server_interrupts_continues_and_a_lost_one_not() -> None:
    table = Table()
    games = [table.start(conditions(time="10+1")) for _ in range(2)]
    table.arbiter.abandon(games[:1])
    assert games[0].is_undecided
    table.answer(games[1], 0, resigns=True)
    assert not games[1].is_undecided


def test_an_unagreed_opening_begins_anew_and_an_agreed_one_stays() -> None:
    play = Play(conditions("gomoku+swap2", "120+1"), (), 1)
    play.step()
    assert play.game.ply < 0
    assert play.table.arbiter.advanced == []
    play.until(lambda game: game.ply > 0)
    assert play.table.arbiter.advanced == [play.game]
    agreed = play.game
    play.begin(agreed.so_far())
    assert play.table.arbiter.agreed == [play.game]
    assert (play.game.slot, play.game.moves, play.game.left_us) == (agreed.slot, agreed.moves, agreed.left_us)
    assert [player.key for player in play.game.players] == [player.key for player in agreed.players]
