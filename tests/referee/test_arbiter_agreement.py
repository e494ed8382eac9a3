"""Games that begin by agreement, as the arbiter sees them: choices, clocks, faults, and the game that follows."""

import pytest

from noughts_referee.arbiter import Answers
from noughts_referee.game import Game
from noughts_referee.rules import Choice, Put, Take, Termination, side_seed
from noughts_referee.work_units import Slot
from tests.support.games import Table, conditions, verdict

STONES = (112, 113, 98)
MORE = (20, 200)


def begun(rule: str = "swap2", time: str = "none") -> tuple[Table, Game]:
    """A game between players 1, who opens, and 2; both can be asked."""
    table = Table(margin_us=0)
    for key in (1, 2):
        table.player(key).opens = True
    return table, table.start(conditions(f"gomoku+{rule}", time))


def choose(table: Table, game: Game, *choices: Choice | None, took: int = 0) -> None:
    """The side that must choose does so."""
    for choice in choices:
        assert table.arbiter.judge_choice(game.mover, game.handle, game.opening.step, choice, took) == []


def asked(table: Table, key: int) -> list[int]:
    return [game.handle for game in table.player(key).outbox.openings]


def test_nobody_is_told_of_a_start_before_the_sides_are_known() -> None:
    table, game = begun()
    assert asked(table, 1) == [game.handle]
    assert not table.player(2).outbox
    choose(table, game, Put(STONES))
    assert asked(table, 2) == [game.handle]
    assert not any(player.outbox.starts for player in table.players.values())
    assert table.arbiter.agreed == []


@pytest.mark.parametrize(
    "choices, first",
    [
        ((Put(STONES), Take(1)), 1),
        ((Put(STONES), Take(0)), 2),
        ((Put(STONES), Put(MORE), Take(0)), 1),
        ((Put(STONES), Put(MORE), Take(1)), 2),
    ],
)
def test_whoever_took_x_has_moved_first_and_o_is_asked(choices: tuple[Choice, ...], first: int) -> None:
    table, game = begun()
    choose(table, game, *choices)
    assert [player.key for player in game.players] == [first, 3 - first]
    assert game.slot == Slot(1, first - 1, 2 - first)
    assert game.moves == [*STONES, *MORE][: 5 if len(choices) > 2 else 3]
    assert (game.ply, game.mover.key) == (len(game.moves), 3 - first)
    assert table.arbiter.agreed == [game]
    for player in table.players.values():
        assert player.outbox.starts == [game]
    assert table.told(3 - first) == [(game.handle, game.ply, game.moves[-1])]
    assert table.told(first) == []
    # X has 112 and 98; the game continues by the rules of Gomoku.
    table.play(game, [0, 84, 1, 70, 2, 56])
    assert verdict(game) == ("1-0", "line")


def test_the_first_times_are_those_of_the_choices() -> None:
    table, game = begun()
    choose(table, game, Put(STONES), took=5)
    assert game.times_us == [5, 0, 0]
    choose(table, game, Put(MORE), took=7)
    assert game.opening_plies == 5
    choose(table, game, Take(0), took=0)
    assert game.times_us == [5, 7, 0, 0, 0]
    assert game.opening_plies == 5
    table, game = begun()
    choose(table, game, Put(STONES), Take(0), took=3)
    assert game.times_us == [3, 3, 0]
    assert game.opening_plies == 3


def test_choices_are_charged_to_the_side_that_makes_them() -> None:
    table, game = begun(time="10+0")
    choose(table, game, Put(STONES), took=1_000_000)
    choose(table, game, Take(0), took=2_000_000)
    assert [player.key for player in game.players] == [2, 1]
    assert game.left_us == [8_000_000, 9_000_000]
    assert table.player(1).outbox.turns_timed == [game]


def test_a_choice_that_takes_too_long_loses() -> None:
    table, game = begun(time="1/move")
    choose(table, game, Put(STONES))
    choose(table, game, Take(0), took=1_000_001)
    assert verdict(game) == ("1-0", "timeout")
    assert (game.moves, game.times_us) == ([*STONES], [0, 0, 0, 1_000_001])
    table, game = begun(time="1/move")
    table.arbiter.end_overdue(table.player(1), [(game.handle, game.ply, 1_000_001)])
    assert verdict(game) == ("0-1", "timeout")


@pytest.mark.parametrize(
    "choices, expected",
    [
        ((Put((1, 1, 2)),), ("0-1", "illegal_move")),
        ((Take(0),), ("0-1", "illegal_move")),
        ((None,), ("0-1", "resigned")),
        ((Put(STONES), Put((112, 5))), ("1-0", "illegal_move")),
        ((Put(STONES), None), ("1-0", "resigned")),
        ((Put(STONES), Put(MORE), Put(MORE)), ("0-1", "illegal_move")),
    ],
)
def test_a_choice_that_is_not_allowed_loses_as_an_illegal_move(
    choices: tuple[Choice | None, ...], expected: tuple[str, str]
) -> None:
    table, game = begun()
    choose(table, game, *choices)
    assert verdict(game) == expected
    assert game.ply == 0
    assert [player.games for player in table.players.values()] == [{}, {}]


def test_by_swap_no_more_stones_are_put() -> None:
    table, game = begun("swap")
    choose(table, game, Put(STONES), Put(MORE))
    assert verdict(game) == ("1-0", "illegal_move")


def test_for_those_who_cannot_be_asked_the_usual_choices_are_made() -> None:
    table = Table()
    game = table.start(conditions("gomoku+swap2"))
    assert (len(game.moves), game.ply) == (3, 3)
    assert table.arbiter.agreed == [game]
    table = Table()
    table.player(2).opens = True
    game = table.start(conditions("gomoku+swap"))
    assert asked(table, 2) == [game.handle]
    assert game.opening.seed == side_seed(game.seed, 1)


def test_answers_to_what_was_not_asked_change_nothing() -> None:
    table, game = begun()
    one, two = table.player(1), table.player(2)
    arbiter = table.arbiter
    assert arbiter.judge_choice(two, game.handle, 0, Put(STONES), 0)
    assert arbiter.judge_choice(one, game.handle, 1, Put(STONES), 0)
    assert arbiter.judge_choice(one, 99, 0, Put(STONES), 0)
    assert arbiter.judge_answers(one, Answers([game.handle], [0], [112], [0]))
    assert (game.ply, game.moves) == (-4, [])
    choose(table, game, Put(STONES), Take(1))
    # A step that would be the ply of the running game.
    arbiter.judge_choice(two, game.handle, 7, Put(MORE), 0)
    assert game.moves == [*STONES]
    assert table.arbiter.ended == []


def test_a_player_that_returns_is_asked_again_and_one_that_left_loses() -> None:
    table, game = begun()
    table.player(1).resend()
    table.player(2).resend()
    assert asked(table, 1) == [game.handle]
    assert not table.player(2).outbox
    table.arbiter.forfeit(table.player(2), Termination.DISCONNECTED)
    assert verdict(game) == ("1-0", "disconnected")
    assert game.ply == 0
