"""`fives` compared with the text of its article on boards of any size; 3x3 is in `test_reference_bots.py`."""

import random

import pytest

from noughts_bots.reference.fives import Fives
from noughts_bots.reference.random_ import Random
from noughts_referee.rules import Position, Variant, parse_variant, side_seed

from .oracle import fives as article

GOMOKU = parse_variant("mnk:15,15,5")


def random_board(rng: random.Random, variant: Variant) -> str:
    """Return a board with few or many random marks, and at least one free cell."""
    density = rng.random()
    board = [rng.choice("XO") if rng.random() < density else "." for _ in range(variant.cells)]
    board[rng.randrange(variant.cells)] = "."
    return "".join(board)


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.parametrize(
    "name, boards",
    [("tictactoe", 2000), ("mnk:5,5,4", 2000), ("mnk:7,6,4", 2000), ("mnk:10,10,5", 1000), ("mnk:15,15,5", 500)],
)
def test_fives_rates_random_boards_like_the_article(name: str, boards: int) -> None:
    variant, bot, rng = parse_variant(name), Fives(), random.Random(name)
    k = len(variant.line_cells[0])
    for _ in range(boards):
        board, me = random_board(rng, variant), rng.choice("XO")
        expected = article.consider(board, me, columns=variant.columns, rows=variant.rows, k=k)
        evaluation = bot.consider(Position.parse(variant, f"{board} {me}"))
        assert (evaluation.candidates, evaluation.scores) == (expected.candidates, expected.scores), (board, me)


def test_fives_rates_boards_of_real_games_like_the_article() -> None:
    bot = Fives()
    for seed in range(10):
        position = Position(GOMOKU, seed=seed)
        while position.free and not GOMOKU.has_line(position.opponent):
            board, me = str(position).split()
            expected = article.consider(board, me, columns=15, rows=15, k=5)
            evaluation = bot.consider(position)
            assert (evaluation.candidates, evaluation.scores) == (expected.candidates, expected.scores), (board, me)
            position.play(move_of(bot, position))


def test_fives_rates_alike_when_all_marks_are_swapped() -> None:
    bot, rng = Fives(), random.Random(4)
    swapped = str.maketrans("XO", "OX")
    for _ in range(200):
        text = random_board(rng, GOMOKU) + " X"
        mirrored = Position.parse(GOMOKU, text.translate(swapped))
        assert bot.consider(mirrored) == bot.consider(Position.parse(GOMOKU, text))


# The article's examples: one line of the board, for the cross to move.


def candidates_in(line: str, variant: Variant = GOMOKU) -> tuple[int, ...]:
    """Return the columns of the candidates on a board with only this line, in its middle row."""
    middle = variant.rows // 2
    text = "." * middle * variant.columns + line + "." * (variant.rows - middle - 1) * variant.columns
    evaluation = Fives().consider(Position.parse(variant, text + " X"))
    assert all(cell // variant.columns == middle for cell in evaluation.candidates)
    return tuple(cell % variant.columns for cell in evaluation.candidates)


@pytest.mark.parametrize(
    "example, line, column",
    [
        # Two windows contain three noughts. Both contain the cell on their right, one contains the cell on their left.
        ("red III", "....X.OOO..X...", 9),
        ("red III, mirrored", "...X..OOO.X....", 5),
        ("red IV", "....XOOOO......", 9),
        ("blue III, with a nought on the left", "....OXX........", 7),
        ("blue V", "..XXX.X........", 5),
        ("own four before the opponent's", "XXXX..OOOO.....", 4),
        ("the opponent's four before own three", "OOOO..XXX......", 4),
        ("own three before the opponent's", "OOO.......XXXO.", 9),
    ],
)
def test_fives_plays_the_examples_of_the_article(example: str, line: str, column: int) -> None:
    assert candidates_in(line) == (column,), example


def test_fives_plays_on_either_side_of_two_open_stones() -> None:
    assert candidates_in("......XX.......") == (5, 8)


def test_fives_ignores_noughts_that_cannot_become_five() -> None:
    # Red I: every neighbour of a stone is as good as any other.
    variant = parse_variant("mnk:15,1,5")
    assert candidates_in("....XOOO.X.....", variant) == (3, 8, 10)


@pytest.mark.parametrize("name", ["mnk:15,15,5", "mnk:30,30,15", "mnk:30,30,16", "mnk:30,30,30"])
def test_at_most_60_windows_contain_any_cell(name: str) -> None:
    assert max(map(len, parse_variant(name).lines_through)) <= 60


def test_digits_of_a_priority_count_the_windows_of_each_kind() -> None:
    board = Position.parse(parse_variant("mnk:9,1,5"), "..XX...OO X")
    # From the right: a neighbour, windows with two noughts, windows with two crosses.
    assert Fives().consider(board).scores == {0: 1_00_00, 1: 2_00_01, 4: 3_01_01, 5: 2_01_00, 6: 1_01_01}


@pytest.mark.parametrize("text, candidates", [("X.... O", (1,)), ("X..O. X", (1,)), ("X..O. O", (2, 4))])
def test_fives_completes_or_blocks_two_in_a_row(text: str, candidates: tuple[int, ...]) -> None:
    assert Fives().consider(Position.parse(parse_variant("mnk:5,1,2"), text)).candidates == candidates


@pytest.mark.parametrize(
    "name, columns, rows",
    [
        ("mnk:15,15,5", range(5, 10), range(5, 10)),
        ("mnk:11,20,5", range(5, 6), range(5, 15)),
        ("mnk:10,9,5", range(4, 6), range(4, 5)),
        ("tictactoe", range(1, 2), range(1, 2)),
        ("mnk:4,1,3", range(1, 3), range(1)),
    ],
)
def test_fives_begins_anywhere_far_from_the_edge(name: str, columns: range, rows: range) -> None:
    variant, bot = parse_variant(name), Fives()
    expected = {row * variant.columns + column for row in rows for column in columns}
    assert {move_of(bot, Position(variant, seed=seed)) for seed in range(1000)} == expected


def move_of(bot: Fives | Random, position: Position) -> int:
    move = bot.choose(position)
    assert isinstance(move, int)
    return move


def winner(variant: Variant, players: tuple[Fives | Random, Fives | Random], seed: int) -> Fives | Random | None:
    position = Position(variant)
    while position.free:
        mover = players[position.side]
        position.seed = side_seed(seed, position.side)
        position.play(move_of(mover, position))
        if variant.has_line(position.opponent):
            return mover
    return None


def test_fives_wins_nearly_every_gomoku_game_against_random() -> None:
    fives, random_bot = Fives(), Random()
    wins = sum(winner(GOMOKU, (fives, random_bot), seed) is fives for seed in range(50))
    wins += sum(winner(GOMOKU, (random_bot, fives), seed) is fives for seed in range(50))
    assert wins >= 95


@pytest.mark.parametrize(
    "name, cached_positions", [("tictactoe", 1), ("mnk:4,3,3", 1), ("mnk:5,5,4", 0), ("mnk:15,15,5", 0)]
)
def test_fives_keeps_no_positions_of_large_boards(name: str, cached_positions: int) -> None:
    variant, bot = parse_variant(name), Fives()
    bot.choose(Position(variant))
    assert len(bot._cache) == cached_positions
