"""The heat map of `noughts bot ask`."""

import re
from io import StringIO

from rich.console import Console

from noughts_bots.reference.ask import Answer, answer
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_referee.rules import Position, Variant, parse_variant
from noughts_server.cli.drawing.heat_map import heat_map
from tests.support.boards import layered


def drawn(position: Position, given: Answer, width: int = 80) -> str:
    written = StringIO()
    console = Console(width=width, force_terminal=True, color_system="truecolor", file=written)
    console.print(heat_map(position, given, width), soft_wrap=True)
    return written.getvalue()


def plain(position: Position, given: Answer, width: int = 80) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", drawn(position, given, width))


def asked(spec: str, variant: Variant, text: str) -> tuple[Position, Answer]:
    position = Position.parse(variant, text)
    return position, answer(make_bot(parse_spec(spec), variant), position)


def colour_of(shown: str, score: str) -> set[str]:
    """The backgrounds on which this score is printed."""
    return set(re.findall(rf"48;2;(\d+;\d+;\d+)m[ (\[]{score}[ )\]]", shown))


def test_better_scores_are_warmer_and_equal_ones_alike() -> None:
    shown = drawn(*asked("nextstep", parse_variant("tictactoe"), "X...O...X O"))
    good, bad = colour_of(shown, "24"), colour_of(shown, "11")
    assert (len(good), len(bad)) == (1, 1)
    assert int(next(iter(good)).split(";")[0]) > int(next(iter(bad)).split(";")[0])


def test_numbers_are_left_out_where_they_do_not_fit() -> None:
    position, given = asked("nextstep", parse_variant("tictactoe"), "X...O...X O")
    assert "(24)" in plain(position, given, 80)
    assert "(24)" not in plain(position, given, 10)
    assert "(.)" in plain(position, given, 10)


def test_the_largest_board_fits_a_terminal_of_eighty_columns() -> None:
    variant = parse_variant("mnk:30,30,5")
    given = Answer(31, (30, 31, 59), {cell: cell % 7 for cell in range(1, 900)})
    lines = plain(Position.parse(variant, "X" + 899 * "." + " O"), given).split("\n")
    board = lines[1:32]
    assert max(map(len, board)) <= 80
    assert board[0].split()[:3] == ["a", "b", "c"]
    assert board[1].startswith("30  X . . ")
    assert board[2].startswith("29 (.[.]. . ")
    assert board[2].endswith(" .(.)")
    assert {line.index(".") % 2 for line in board[1:]} == {board[0].index("a") % 2}


def test_sums_that_grow_fast_do_not_make_all_others_look_equal() -> None:
    variant = parse_variant("tictactoe")
    given = Answer(0, (0,), {0: 2_200_001, 1: 441, 2: 1})
    shown = drawn(Position.parse(variant, "...XO.... X"), given)
    assert len(set(re.findall(r"48;2;(\d+;\d+;\d+)m", shown))) == 3


def test_one_score_for_all_is_one_colour() -> None:
    shown = drawn(*asked("pascal", parse_variant("tictactoe"), "X...O...X O"))
    assert len(set(re.findall(r"48;2;(\d+;\d+;\d+)m", shown))) == 1


def test_layers_stand_side_by_side() -> None:
    cube = layered(3)
    lines = plain(Position(cube), Answer(13, (13, 14), {13: 5, 14: 5, 0: 1})).split("\n")
    assert lines[1].split() == ["a", "b", "c"] * 3
    assert "[5](5)" in lines[3].replace(" ", "")
    assert "X plays 2b2" in lines[0]
