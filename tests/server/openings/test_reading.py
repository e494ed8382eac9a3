"""Openings from files: every form, and the error for a wrong line."""

import runpy
from itertools import islice
from pathlib import Path

import pytest

from noughts_referee.rules import Variant, cell_names, parse_variant, symmetries
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.openings import read_openings as read_openings_option
from noughts_server.openings import settings
from noughts_server.openings.books import BOOKS, book_lines
from noughts_server.openings.reading import OpeningsFileError, read_opening, read_openings, read_openings_file
from noughts_server.openings.settings import Openings
from tests.support.root import ROOT

GOMOKU, GOMOKU20 = parse_variant("gomoku"), parse_variant("gomoku20")


@pytest.mark.parametrize(
    "line, cells",
    [
        # Column and row from the middle (10, 10), downwards; the first line of a published file of such openings.
        ("8,-3, 6,-4, 5,-4, 4,-3, 2,-8, -1,-5", (158, 136, 135, 154, 52, 109)),
        ("0,0", (210,)),
        ("0,0,1,1,", (210, 231)),
        ("h8i9", (247, 228)),
        ("H8 i9", (247, 228)),
        ("a20,t1", (0, 399)),
        ("[0, 399]", (0, 399)),
        ('{"variant": "gomoku20", "moves": [0, 399]}', (0, 399)),
        ('{"moves": [5, 6]}', (5, 6)),
        # A line of a file of games.
        ('{"variant": "mnk:20,20,5", "moves": [1, 2, 3, 4], "opening": [1, 2], "result": "*"}', (1, 2)),
    ],
)
def test_every_form_is_read(line: str, cells: tuple[int, ...]) -> None:
    assert read_opening(line, GOMOKU20) == cells


def test_offsets_of_15x15_count_from_the_middle_cell() -> None:
    assert read_opening("0,0, -7,-7, 7,7", GOMOKU) == (112, 0, 224)


def test_empty_lines_and_comments_are_skipped() -> None:
    lines = ["\ufeff# a book\n", "\n", "h8 i9\n", "   \n", "[1]\n"]
    assert read_openings(Openings(), "book", lines, GOMOKU).listed == ((112, 98), (1,))


@pytest.mark.parametrize(
    "line, message",
    [
        ("0,0, 0,0", "a move 2 that placed a stone on h8 (cell 112), which is occupied"),
        ("8,0", "got offset 8,0, which is off the board, expected cells of 15x15"),
        ("p8", "got cell p8, which is off the board"),
        ("h16", "got cell h16, which is off the board"),
        ("1,2,3", "got 3 numbers, expected pairs"),
        ("1,,2", "got '' among the offsets, expected whole numbers"),
        ("h8 and i9", "got 'h8 and i9', expected `x,y, x,y` from the middle"),
        ("[1, 2", "got broken JSON"),
        ('[1, "b"]', "got no list of cells"),
        ("[true]", "got no list of cells"),
        ("[]", "got no moves, expected at least one"),
        ("[-1]", "a move 1 that placed a stone on cell -1, off the board"),
        (
            '{"variant": "tictactoe", "moves": [1]}',
            "got an opening of 'tictactoe', expected one on the board of gomoku",
        ),
        ('{"variant": "chess", "moves": [1]}', "got an opening of 'chess'"),
        ("[0, 15, 1, 16, 2, 17, 3, 18, 4]", "move 9 on e15, which ends the game (line)"),
    ],
)
def test_error_of_a_wrong_line_has_its_number_and_what_is_expected(line: str, message: str) -> None:
    with pytest.raises(OpeningsFileError) as refused:
        read_openings(Openings(), "book.txt", ["h8\n", line], GOMOKU)
    assert str(refused.value).startswith("line 2: ")
    assert message in str(refused.value)


def test_opening_with_a_move_that_renju_forbids_is_refused() -> None:
    overline = "[0, 224, 1, 223, 2, 220, 4, 208, 5, 200, 3]"
    with pytest.raises(OpeningsFileError, match=r"forbidden for this side \(overline\)"):
        read_openings(Openings(), "book", [overline], parse_variant("renju"))


def test_cells_of_a_board_with_layers_begin_with_the_layer() -> None:
    qubic = parse_variant("qubic")
    assert read_opening("[0, 63]", qubic) == read_opening("1a4 4d1", qubic) == (0, 63)
    with pytest.raises(OpeningsFileError, match="expected cells or JSON for qubic, which has layers"):
        read_openings(Openings(), "book", ["0,0"], qubic)
    with pytest.raises(OpeningsFileError, match="line 1: got 'a1'"):
        read_openings(Openings(), "book", ["a1"], qubic)
    with pytest.raises(OpeningsFileError, match="cell 5a1, which is off the board"):
        read_openings(Openings(), "book", ["1a1 5a1"], qubic)


def test_a_file_without_openings_or_with_too_many_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OpeningsFileError, match="got no openings, expected one per line"):
        read_openings(Openings(), "book", ["# nothing"], GOMOKU)
    many = [f"[{cell}]" for cell in range(225)] * (settings.MOST_OPENINGS // 225 + 1)
    with pytest.raises(OpeningsFileError, match="line 10001: got more openings, expected at most 10,000"):
        read_openings(Openings(), "book", many, GOMOKU)
    binary = tmp_path / "picture.png"
    binary.write_bytes(b"\x89PNG\xff")
    with pytest.raises(OpeningsFileError, match="got the byte 0x89, which is not utf-8, at offset 0"):
        read_openings_file(Openings(), binary, GOMOKU)


def stones_of_image(cells: tuple[int, ...], image: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the cells of X and those of O, in any order of moves, after a symmetry of the board."""
    return tuple(sorted(image[cell] for cell in cells[::2])), tuple(sorted(image[cell] for cell in cells[1::2]))


@pytest.mark.long
def test_tool_makes_the_committed_books() -> None:
    # Only the first two openings: all of them take minutes. After a change of `threats`, make the books again.
    make = runpy.run_path(str(ROOT / "tools/make_books.py"))["make"]
    lines = [line for line in book_lines("balanced15") if not line.startswith("#")]
    assert [cell_names(GOMOKU, cells) for cells in islice(make("balanced15"), 2)] == lines[:2]


@pytest.mark.parametrize("name, board", list(zip(BOOKS, (GOMOKU, GOMOKU20), strict=True)))
def test_books_have_hundreds_of_legal_openings_without_symmetries(name: str, board: Variant) -> None:
    listed = read_openings(Openings(), name, book_lines(name), board).listed
    assert len(listed) >= 200
    assert {len(cells) for cells in listed} == {4, 5, 6, 7}
    assert len({min(stones_of_image(cells, image) for image in symmetries(board)) for cells in listed}) == len(listed)


@pytest.mark.parametrize(
    "option, cells",
    [
        ("book.txt", [(112, 98, 1), (112, 98, 2), (5, 6)]),
        ("book.txt,start=2", [(112, 98, 2), (5, 6), (112, 98, 1)]),
        ("book.txt,plies=2", [(112, 98), (5, 6)]),
        ("book.txt,plies=1,start=3", [(5,), (112,)]),
        ("book.txt,plies=9", [(112, 98, 1), (112, 98, 2), (5, 6)]),
        ("a,start=2", [(7,)]),
    ],
)
def test_part_of_a_file_is_chosen_by_start_and_plies(
    option: str, cells: list[tuple[int, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("book.txt").write_text("[112, 98, 1]\n[112, 98, 2]\n[5, 6]\n")
    Path("a,start=2").write_text("[7]\n")
    openings = read_openings_option(option, "sequential", False, GOMOKU)
    assert (list(openings.listed), str(openings)) == (cells, option)


def test_part_of_a_book_is_chosen_by_start_and_plies() -> None:
    whole, part = (
        read_openings_option(f"balanced15{options}", "sequential", False, GOMOKU).listed
        for options in ("", ",start=100,plies=4")
    )
    assert part[0] == whole[99][:4]
    assert {cells[:4] for cells in whole} == set(part)


@pytest.mark.parametrize(
    "options, order, message",
    [
        ("start=0", "sequential", "got start=0, expected a whole number from 1"),
        ("start=241", "sequential", "got start=241, expected 1 to 240, the number of its openings"),
        ("plies=x", "sequential", "got plies=x, expected a whole number from 1"),
        ("plies=4,plies=5", "sequential", "got plies twice, expected it once"),
        ("start=3", "random", "got start with --openings-order random"),
        ("foo=3", "sequential", "got the key foo, expected start or plies"),
        ("start=3,foo=3", "sequential", "got the key foo, expected start or plies"),
    ],
)
def test_wrong_parts_are_refused_in_the_words_of_the_option(options: str, order: str, message: str) -> None:
    with pytest.raises(UsageProblem) as refused:
        read_openings_option(f"balanced15,{options}", order, False, GOMOKU)
    assert message in refused.value.message
    assert refused.value.message.count(options) <= 2  # in the option as typed, and as its wrong part


@pytest.mark.parametrize("text", ["random:4,start=2", "balanced:4,plies=2", "random:4,foo=1"])
def test_random_openings_have_no_other_key(text: str) -> None:
    with pytest.raises(UsageProblem) as refused:
        read_openings_option(text, "sequential", False, GOMOKU)
    kind, _, rest = text.partition(",")
    assert f"got {rest} after {kind}, expected only a number of plies" in refused.value.message
    assert refused.value.hint.startswith(f"Write {kind}.")
