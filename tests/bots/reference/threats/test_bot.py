"""The bot `threats`: positions with known answers, repeatable games, and time limits with a simulated clock."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from noughts_bots.reference.exact import Solver
from noughts_bots.reference.random_ import Random
from noughts_bots.reference.threats.bot import ThreatsBot
from noughts_bots.reference.threats.effort import Effort
from noughts_bots.reference.threats.search import CERTAIN
from noughts_bots.sdk.bot import GameEnd, GameInfo, Move, TimeLimits
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import OpeningChoice, Position, Result, Take, Termination, Variant, parse_variant
from tests.support.reference_bots import bot_of

GOMOKU = parse_variant("mnk:15,15,5")
TIC_TAC_TOE = parse_variant("tictactoe")


def move_of(bot: ThreatsBot | Random, position: Position) -> int:
    move = bot.choose(position)
    assert isinstance(move, int | Move)
    return move.cell if isinstance(move, Move) else move


def gomoku_position(**rows: str) -> Position:
    """Return a 15x15 position with X to move: `r7` is row 7; rows that are not given are empty."""
    lines = [rows.get(f"r{row}", "").ljust(15, ".") for row in range(15)]
    return Position.parse(GOMOKU, "/".join(lines) + " X")


def cell(row: int, column: int) -> int:
    return row * 15 + column


# Known answers.


@pytest.mark.parametrize(
    "description, position, cells, score",
    [
        ("wins at once", gomoku_position(r7="..XXXX.....OOOO"), {cell(7, 1), cell(7, 6)}, 999_999),
        ("stops a four", gomoku_position(r7="..XOOOO....", r9="..XX"), {cell(7, 7)}, None),
        ("makes an open four", gomoku_position(r7="....XXX......", r9="...OO.O"), {cell(7, 3), cell(7, 7)}, 999_997),
        (
            "makes two fours at once",
            gomoku_position(r3="OXXX", r4="....X", r5="....X", r6="....X", r7="....O"),
            {cell(3, 4)},
            999_997,
        ),
        (
            "stops an open three",
            gomoku_position(r7="....OOO......", r9="..X.X"),
            {cell(7, n) for n in (2, 3, 7, 8)},
            None,
        ),
        ("four and three", gomoku_position(r7=".OXXX", r8=".....X", r9=".....X", r13="O..O..O"), {cell(7, 5)}, 999_995),
        (
            "three and three",
            gomoku_position(r5="......X", r6="......X", r7="....XX.", r13="O..O..O", r0="O"),
            {cell(7, 6)},
            999_995,
        ),
    ],
)
def test_tactics_with_known_answers(description: str, position: Position, cells: set[int], score: int | None) -> None:
    evaluation = ThreatsBot().consider(position)
    assert set(evaluation.candidates) <= cells, description
    if score is not None:
        assert {evaluation.scores[candidate] for candidate in evaluation.candidates} == {score}


def test_in_a_lost_position_the_bot_delays_the_loss_and_scores_it() -> None:
    evaluation = ThreatsBot().consider(gomoku_position(r7=".....OOOO......", r9="..X.X.X.X"))
    (candidate,) = evaluation.candidates
    assert candidate in (cell(7, 4), cell(7, 9))
    assert evaluation.scores == {candidate: -999_998}


def test_the_bot_wins_before_it_blocks() -> None:
    position = Position.parse(TIC_TAC_TOE, "XX.OO.... X")
    assert ThreatsBot().consider(position).candidates == (2,)


@pytest.mark.parametrize("text", ["XXX...OO. O", "XXXOOO... X", "XOXXOXOX. O"])
def test_any_board_is_answered_with_a_free_cell(text: str) -> None:
    position = Position.parse(TIC_TAC_TOE, text)
    assert move_of(ThreatsBot(), position) in position.free


def test_the_score_of_the_best_move_of_a_drawn_position_is_a_draw() -> None:
    evaluation = ThreatsBot().consider(Position.parse(TIC_TAC_TOE, "X........ O"))
    assert evaluation.candidates == (4,)
    assert evaluation.scores[4] == 0
    assert max(evaluation.scores.values()) == 0


def test_the_first_stone_is_drawn_from_the_cells_with_the_most_lines() -> None:
    bot = ThreatsBot()
    expected = {cell(row, column) for row in range(4, 11) for column in range(4, 11)}
    assert {move_of(bot, Position(GOMOKU, seed=seed)) for seed in range(2000)} == expected
    assert ThreatsBot().consider(Position(TIC_TAC_TOE)).candidates == (4,)


# Play.


def play(variant: Variant, players: tuple[ThreatsBot | Random, ThreatsBot | Random], seed: int) -> int | None:
    """Play a game, and return the side that wins."""
    position = Position(variant)
    while position.free:
        mover = position.side
        position.seed = 2 * seed + mover
        cell = move_of(players[mover], position)
        assert cell in position.free
        position.play(cell)
        if variant.completes(position.opponent, cell):
            return mover
    return None


BOARDS = ("mnk:1,1,1", "mnk:1,5,3", "mnk:5,1,2", "mnk:7,6,4", "mnk:12,3,8", "mnk:15,15,5", "mnk:30,30,3", "mnk:30,30,6")


@pytest.mark.parametrize("name", BOARDS)
def test_threats_plays_every_board_and_does_not_lose_to_random(name: str) -> None:
    variant, bot, random_bot = parse_variant(name), ThreatsBot(nodes=100), Random()
    assert play(variant, (bot, random_bot), seed=1) in (0, None)
    if name != "mnk:1,1,1":
        assert play(variant, (random_bot, bot), seed=2) in (1, None)


@pytest.mark.long
@pytest.mark.parametrize("name", ["tictactoe", "mnk:4,4,4"])
def test_threats_does_not_lose_to_minimax(name: str) -> None:
    variant = parse_variant(name)
    bots = [ThreatsBot(nodes=1000), bot_of("minimax", variant)]
    # A corner, an edge and an inner cell: by symmetry each first stone equals one of these.
    for first in (0, 1, variant.columns + 1):
        for side in (0, 1):
            position = Position.after(variant, [first])
            while position.free:
                mover = bots[position.side ^ side]
                evaluation = mover.consider(position)
                position.play(evaluation.candidates[0])
                if variant.has_line(position.opponent):
                    assert mover is bots[0]
                    break


def lines_of_a_cube(edge: int) -> tuple[int, ...]:
    """Every straight line of `edge` cells in a cube of that edge."""
    lines = set()
    for start in product(range(edge), repeat=3):
        for step in product((-1, 0, 1), repeat=3):
            places = [tuple(s + i * d for s, d in zip(start, step, strict=True)) for i in range(edge)]
            if any(step) and all(0 <= part < edge for place in places for part in place):
                lines.add(sum(1 << (layer * edge + row) * edge + column for layer, row, column in places))
    return tuple(sorted(lines))


def test_threats_plays_qubic() -> None:
    qubic = replace(parse_variant("mnk:4,16,4"), name="qubic", lines=lines_of_a_cube(4))
    assert len(qubic.lines) == 76
    bot, random_bot = ThreatsBot(nodes=200), Random()
    bot.require(qubic)
    assert play(qubic, (bot, random_bot), seed=1) == 0
    assert play(qubic, (random_bot, bot), seed=1) == 1


@pytest.mark.parametrize("name", ["connect4", "tictactoe3d:5"])
def test_threats_refuses_variants_with_gravity_and_unknown_cubes(name: str) -> None:
    variant = replace(parse_variant("mnk:7,6,4"), name=name)
    with pytest.raises(VariantRefused, match="threats"):
        ThreatsBot().require(variant)


def test_threats_takes_the_side_with_the_better_score() -> None:
    three_of_x, three_of_o = (112, 0, 113, 14, 114), (0, 112, 14, 113, 210)
    for clock_us in (0, 10_000_000):
        bot = ThreatsBot(nodes=300, clock=lambda: 0.0)
        assert bot.open(OpeningChoice(GOMOKU, "swap2", three_of_x, clock_us=clock_us)) == Take(0)
        assert bot.open(OpeningChoice(GOMOKU, "swap2", three_of_o, clock_us=clock_us)) == Take(1)
        assert bot.open(OpeningChoice(GOMOKU, "swap2", seed=3)) == OpeningChoice(GOMOKU, "swap2", seed=3).usual()
    in_no_time = ThreatsBot(clock=Ticking(1.0))
    assert in_no_time.open(OpeningChoice(GOMOKU, "swap", three_of_x[:3], clock_us=1)) in (Take(0), Take(1))


# Games that can be repeated.


def test_without_a_clock_answers_depend_on_the_position_alone() -> None:
    positions = [Position.after(GOMOKU, [112, 98, *range(40, 40 + count)]) for count in range(0, 12, 3)]
    bot = ThreatsBot(nodes=500)
    forwards = [bot.consider(position) for position in positions]
    position_with_clock = ThreatsBot(nodes=500, clock=lambda: 0.0)
    for position in positions:
        in_time = position.copy()
        in_time.own_clock_us = 1_000_000
        position_with_clock.consider(in_time)
    backwards = [position_with_clock.consider(position) for position in reversed(positions)]
    assert forwards == backwards[::-1]


def test_more_nodes_make_a_different_bot() -> None:
    position = Position.after(GOMOKU, [112, 98, 97])
    few, many = (bot_of(f"threats:nodes={nodes}", GOMOKU).consider(position) for nodes in (20, 2000))
    assert few.scores != many.scores


# Clocks.


class Ticking:
    """A clock that advances by `step` seconds at each look."""

    def __init__(self, step: float) -> None:
        self.now = 0.0
        self.looks = 0
        self._step = step

    def __call__(self) -> float:
        self.looks += 1
        self.now += self._step
        return self.now


def position_with_clock(variant: Variant, moves: list[int], seconds_left: float) -> Position:
    position = Position.after(variant, moves)
    position.own_clock_us = round(seconds_left * 1e6)
    return position


def game(number: int, time: TimeLimits) -> GameInfo:
    return GameInfo(f"tournaments/t/games/{number}", GOMOKU, 0, "other", time)


def thinking_time(
    seconds_left: float,
    time: TimeLimits,
    *,
    step: float = 0.001,
    prepare: Callable[[ThreatsBot], None] = lambda bot: None,
) -> float:
    """Return how long the bot thinks about a position in which only its clock ends its thinking."""
    clock = Ticking(step)
    bot = ThreatsBot(clock=clock)
    bot.start(game(1, time))
    prepare(bot)
    bot.choose(position_with_clock(GOMOKU, [112, 98, 97], seconds_left))
    return clock.now


def test_threats_uses_most_of_the_move_limit_and_never_more() -> None:
    assert 0.15 < thinking_time(0.2, TimeLimits(move=0.2)) < 0.2
    assert 0.75 < thinking_time(1.0, TimeLimits(move=1.0)) < 1.0


def test_base_time_lasts_for_the_game() -> None:
    limits = TimeLimits(bank=60.0, increment=0.5)
    seconds_left = 60.0
    for _ in range(60):
        used = thinking_time(seconds_left, limits, step=0.02)
        assert 0.2 < used < seconds_left
        seconds_left += 0.5 - used
    assert thinking_time(0.3, limits) < 0.3


def test_base_time_without_increment_is_never_used_up() -> None:
    seconds_left = 1.0
    for _ in range(100):
        used = thinking_time(seconds_left, TimeLimits(bank=1.0))
        assert used < seconds_left
        seconds_left -= used


def test_games_that_are_asked_together_share_the_time() -> None:
    def among_four(bot: ThreatsBot) -> None:
        bot.max_games = 4
        for number in (2, 3, 4, 5):
            bot.start(game(number, TimeLimits(move=1.0)))
        bot.end(game(5, TimeLimits(move=1.0)), GameEnd(Result.DRAW, Termination.BOARD_FULL, ()))

    assert thinking_time(1.0, TimeLimits(move=1.0), prepare=among_four) < 0.25


@pytest.mark.parametrize("seconds_left", [0.000001, 0.001, 0.005])
def test_without_time_threats_still_wins_and_blocks(seconds_left: float) -> None:
    for text, expected in (("XX.OO.... X", 2), ("X..OO.X.. X", 5)):
        position = Position.parse(TIC_TAC_TOE, text)
        position.own_clock_us = max(1, round(seconds_left * 1e6))
        clock = Ticking(0.01)
        assert move_of(ThreatsBot(clock=clock), position) == expected
        assert clock.looks < 10


def test_a_forced_move_takes_little_time() -> None:
    clock = Ticking(0.001)
    position = gomoku_position(r7="..XOOOO....", r9="..XX")
    position.own_clock_us = 60_000_000
    assert move_of(ThreatsBot(clock=clock), position) == cell(7, 7)
    assert clock.looks < 10


def test_a_proven_result_ends_the_thinking() -> None:
    clock = Ticking(0.0001)
    bot = ThreatsBot(clock=clock)
    bot.choose(position_with_clock(TIC_TAC_TOE, [4, 1], 3600.0))
    assert clock.now < 10


def test_a_hurried_answer_is_not_reused_with_more_time() -> None:
    bot = ThreatsBot(clock=Ticking(0.001))
    hurried = bot.consider(position_with_clock(GOMOKU, [112, 98, 97], 0.001))
    at_leisure = bot.consider(position_with_clock(GOMOKU, [112, 98, 97], 1.0))
    assert len(at_leisure.scores) > len(hurried.scores)


def test_remembered_answers_belong_to_their_variant() -> None:
    # The same stones have different values on 9x1, where only a row can win, and on 3x3.
    square, row = TIC_TAC_TOE, parse_variant("mnk:9,1,3")
    both = ThreatsBot(nodes=3000, clock=lambda: 0.0)
    for variant in (square, row, square, row):
        alone = ThreatsBot(nodes=3000, clock=lambda: 0.0)
        assert both.consider(position_with_clock(variant, [4], 1.0)) == alone.consider(
            position_with_clock(variant, [4], 1.0)
        ), variant.name


@pytest.mark.parametrize(
    "name, moves, nodes",
    [
        ("mnk:4,4,3", (12, 5, 0, 11), 60),
        ("mnk:5,5,4", (9, 0, 21, 20, 18, 19, 15, 12, 24, 5, 6), 60),
        ("mnk:5,5,4", (11, 24, 2, 19, 20, 3, 5, 7, 4, 15), 150),
        ("mnk:5,4,4", (7, 18, 2, 4, 5, 0, 11, 9, 1), 20),
    ],
)
def test_a_search_that_ends_early_proves_no_loss(name: str, moves: tuple[int, ...], nodes: int) -> None:
    position = Position.after(parse_variant(name), moves)
    assert Solver(position.variant, Effort(None)).result(position) >= 0
    evaluation = ThreatsBot(nodes=nodes).consider(position)
    assert evaluation.scores[evaluation.candidates[0]] >= -CERTAIN
