"""A table plays exactly like its bot until it is edited; a faulty one is refused with the place and the reason."""

from functools import cache
from pathlib import Path

import pytest

from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation
from noughts_bots.reference.learner import Learner
from noughts_bots.reference.positions import positions
from noughts_bots.reference.registry import REFERENCE_BOTS
from noughts_bots.reference.specs import make_bot, parse_spec, unique_labels
from noughts_bots.reference.table import Table, build
from noughts_bots.reference.table_file import TableFile, load, save
from noughts_bots.sdk.errors import BotSpecError, TableError, VariantRefused
from noughts_referee.rules import Position, parse_variant
from tests.support.reference_bots import bot_of
from tests.support.root import ROOT
from tests.support.settings import every_nth

from .oracle import pascal as pascal_oracle
from .oracle import table as oracle
from .oracle.boards import every_question, reachable_questions

TICTACTOE = parse_variant("tictactoe")
BUILDABLE = (
    "random",
    "first-free",
    "three-stage",
    "coursework:level=1",
    "coursework:level=2",
    "pascal:level=0",
    "pascal:level=1",
    "nextstep",
    "nextstep:depth=2",
    "minimax",
    "minimax:faster=true",
    "fives",
)
HEADER = "noughts table 1\nvariant tictactoe\nlevel 1\n"
CORNERS = "X...O...X O  - 1 2 3 - 5 6 7 -\n"


def no_progress(done: int, total: int) -> None:
    """Ignore the progress of `build`."""


@cache
def build_table(spec: str, variant: str = "tictactoe") -> TableFile:
    parsed_variant = parse_variant(variant)
    return build(make_bot(parse_spec(spec), parsed_variant), parsed_variant, no_progress)


def write_file(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "edited.table"
    file.write_text(text, encoding="utf-8")
    return file


def position_of(text: str, seed: int = 0) -> Position:
    return Position.parse(TICTACTOE, text, seed=seed)


# Playing like the original bot.


@pytest.mark.long
@pytest.mark.parametrize("spec", BUILDABLE)
def test_a_table_plays_the_moves_of_its_bot_for_every_seed(spec: str, tmp_path: Path) -> None:
    file = tmp_path / "bot.table"
    save(file, build_table(spec))
    bot, table = make_bot(parse_spec(spec)), make_bot(parse_spec(f"table:file={file}"), TICTACTOE)
    for position in every_nth(positions(TICTACTOE), 4, BUILDABLE.index(spec)):
        for seed in range(3):
            position.seed = seed * 0x9E3779B97F4A7C15 + 1
            assert table.choose(position) == bot.choose(position), position


@pytest.mark.long
@pytest.mark.parametrize("level", [0, 1])
def test_table_of_pascal_has_its_two_levels_whichever_it_was_built_from(level: int, tmp_path: Path) -> None:
    file = tmp_path / "pascal.table"
    save(file, build_table(f"pascal:level={1 - level}"))
    bot, table = bot_of(f"pascal:level={level}"), Table(file, level)
    assert all(table.consider(position) == bot.consider(position) for position in positions(TICTACTOE))


@pytest.mark.parametrize(
    "spec, level, rated",
    [
        ("pascal:level=0", 0, True),
        ("pascal:level=1", 1, True),
        ("nextstep", 1, True),
        # `minimax` takes the first of equal scores, which no level does, and `random` has no scores.
        ("minimax", 0, False),
        ("random", 0, False),
    ],
)
def test_a_table_has_its_bots_scores_if_they_determine_the_choice(spec: str, level: int, rated: bool) -> None:
    table, bot = build_table(spec), bot_of(spec)
    assert table.level == level
    position = position_of("XO....... X")
    scores = bot.consider(position).scores
    ratings = table.rows[position.own, position.opponent].ratings
    assert ({cell: ratings[cell] for cell in position.free} == scores) is rated


def test_table_holds_the_4520_positions_in_which_a_move_is_made() -> None:
    expected = {
        (position.own, position.opponent) for position in (position_of(f"{b} {m}") for b, m in reachable_questions())
    }
    assert set(build_table("random").rows) == expected
    assert len(expected) == 4520


def test_table_of_another_small_board_plays_like_its_bot(tmp_path: Path) -> None:
    variant = parse_variant("mnk:3,2,2")
    file = tmp_path / "small.table"
    save(file, build_table("nextstep", "mnk:3,2,2"))
    bot, table = make_bot(parse_spec("nextstep")), make_bot(parse_spec(f"table:file={file}"), variant)
    assert len(positions(variant)) > 10
    assert all(table.choose(position) == bot.choose(position) for position in positions(variant))


def test_file_that_is_read_and_written_again_has_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    save(first, build_table("pascal:level=0"))
    save(second, load(first))
    assert first.read_bytes() == second.read_bytes()
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["first", "second"]


def test_board_of_13_cells_is_refused_in_one_line() -> None:
    with pytest.raises(VariantRefused, match=r"got variant mnk:13,1,3 \(13 cells\), expected a board of at most 12"):
        build_table("random", "mnk:13,1,3")


def test_a_bot_that_learns_cannot_be_written_as_a_table(tmp_path: Path) -> None:
    with pytest.raises(BotSpecError, match=r"^bot 'learner': got a bot whose choice depends on what it has learnt"):
        build(Learner(tmp_path / "none", learn=True), TICTACTOE, no_progress)


# Files that people edit.


def test_hand_edited_file_changes_the_play(tmp_path: Path) -> None:
    file = tmp_path / "pascal.table"
    save(file, build_table("pascal:level=1"))
    text = file.read_text()
    line = next(line for line in text.splitlines() if line.startswith("X...O...X O"))
    assert line == "X...O...X O  - 1001 1001 1001 - 1001 1001 1001 -"
    table = Table(file)
    assert len({table.choose(position_of("X...O...X O", seed)) for seed in range(50)}) == 6
    file.write_text(text.replace(line, "X...O...X O  - 1001 1001 1001 - 1002 1001 1001 -"))
    table = Table(file)
    assert {table.choose(position_of("X...O...X O", seed)) for seed in range(50)} == {5}


def test_a_missing_position_rates_all_its_cells_alike(tmp_path: Path) -> None:
    table = Table(write_file(tmp_path, HEADER + CORNERS))
    assert table.consider(position_of("X........ O")) == Evaluation(tuple(range(1, 9)))
    assert len({table.choose(position_of("X........ O", seed)) for seed in range(200)}) == 8


@pytest.mark.parametrize("level", [0, 1])
def test_a_position_with_only_zero_ratings_rates_all_cells_alike(tmp_path: Path, level: int) -> None:
    table = Table(write_file(tmp_path, HEADER + "X...O...X O  - 0 0 0 - 0 0 0 -\n"), level)
    assert table.consider(position_of("X...O...X O")).candidates == (1, 2, 3, 5, 6, 7)
    assert len({table.choose(position_of("X...O...X O", seed)) for seed in range(100)}) == 6


def test_a_table_is_valid_for_exchanged_marks(tmp_path: Path) -> None:
    table = Table(write_file(tmp_path, HEADER + CORNERS))
    assert table.consider(position_of("O...X...O X")) == table.consider(position_of("X...O...X O"))
    assert table.consider(position_of("X...O...X O")).candidates == (7,)


def test_comments_empty_lines_rows_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    text = HEADER + "# mine\n\n  X../.O./..X   O   - 1 2  3 - 5 6 7 -  \n"
    table = Table(write_file(tmp_path, text.replace("\n", "\r\n")), 0)
    assert table.consider(position_of("X...O...X O")).weights == (1, 2, 3, 5, 6, 7)


def test_a_table_can_have_a_few_positions_of_a_large_board(tmp_path: Path) -> None:
    variant = parse_variant("mnk:15,15,5")
    ratings = " ".join("9" if cell == 112 else "0" for cell in range(225))
    text = f"noughts table 1\nvariant mnk:15,15,5\n{'.' * 225} X {ratings}\n"
    table = bot_of(f"table:file={write_file(tmp_path, text)}", variant)
    assert table.choose(Position(variant)) == 112
    assert len(table.consider(Position.after(variant, [0])).candidates) == 224


@pytest.mark.parametrize(
    "text, line, got, expected",
    [
        ("", 1, "''", "`noughts table 1`"),
        ("hello\n", 1, "'hello'", "`noughts table 1`"),
        ("noughts table 2\n", 1, "'noughts table 2'", "`noughts table 1`"),
        ("noughts table 1\n", 1, "no variant yet", "a line such as `variant tictactoe`"),
        ("noughts table 1\n\n" + CORNERS, 3, "no variant yet", "a line such as"),
        ("noughts table 1\nvariant chess\n", 2, "'chess'", ""),  # the rules name their variants
        (HEADER + "level 0\n", 4, "`level` here", "it once, before the first position"),
        ("noughts table 1\nlevel 2\n", 2, "'level 2'", "`level 0|1`"),
        (HEADER + CORNERS + "variant tictactoe\n", 5, "`variant` here", "it once"),
        (HEADER + "X...O...X O\n", 4, "0 numbers", "9 for tictactoe"),
        (HEADER + "X...O...X O - 1 2 3 - 5 6 7 - 9\n", 4, "10 numbers", "9 for tictactoe"),
        (HEADER + "X...O...X - 1 2 3 - 5 6 7 -\n", 4, "'X...O...X -'", "X or O as the side to move"),
        (HEADER + "X...O..X O - 1 2 3 - 5 6 7 -\n", 4, "'X...O..X O'", "9 cells"),
        (HEADER + "X...O...X O 4 1 2 3 - 5 6 7 -\n", 4, "'4' for cell 0", "`-`"),
        (HEADER + "X...O...X O - - 2 3 - 5 6 7 -\n", 4, "'-' for cell 1", "a whole number, at least 0"),
        (HEADER + "X...O...X O - 1 -2 3 - 5 6 7 -\n", 4, "'-2' for cell 2", "a whole number, at least 0"),
        (HEADER + "X...O...X O - 1 2.5 3 - 5 6 7 -\n", 4, "'2.5' for cell 2", "a whole number, at least 0"),
        (HEADER + "X...O...X O - 1 2 3 - 5 6 7 - | - 1 2 3 - 5 6 7 -\n", 4, "2 columns", "1 or 3"),
        (HEADER + "XOXOXOOXO X - - - - - - - - -\n", 4, "'XOXOXOOXO X'", "a position with a free cell"),
        (HEADER + "# twice\n" + CORNERS + CORNERS, 6, "the position on line 5 again", "each position once"),
        (HEADER + CORNERS + "O...X...O X - 1 2 3 - 5 6 7 -\n", 5, "the position on line 4 again", "each"),
        (HEADER + "games 3\n" + CORNERS, 5, "the end of the file", "`checksum sha256 ...`"),
        (HEADER + CORNERS + "checksum sha256 00\n", 5, "a checksum that does not match", "one that matches"),
    ],
)
def test_a_faulty_table_is_refused_with_the_line_and_the_expected_text(
    text: str, line: int, got: str, expected: str, tmp_path: Path
) -> None:
    file = write_file(tmp_path, text)
    with pytest.raises(TableError) as raised:
        Table(file)
    error = raised.value
    assert error.subject == f"table {file}, line {line}"
    assert error.got.startswith(got)
    assert error.expected.startswith(expected)
    assert error.advice
    assert "\n" not in str(error)


def test_a_table_can_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert Table(write_file(tmp_path, "\ufeff" + HEADER + CORNERS), 0).plays(TICTACTOE)


def test_a_table_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "picture"
    file.write_bytes(b"noughts table 1\n\xff\xfe\n")
    with pytest.raises(TableError, match="line 2: got bytes that are not text"):
        Table(file)


# Specs.


def test_a_missing_file_is_found_when_the_bot_is_made(tmp_path: Path) -> None:
    spec = parse_spec(f"table:file={tmp_path / 'none.table'}")
    syntaxes = {row.syntax for row in REFERENCE_BOTS.values()}
    assert syntaxes >= {"table:file=FILE[,level=0..1]", "learner:file=FILE[,learn=true|false]"}
    with pytest.raises(TableError, match=r"none\.table: got No such file or directory, expected a file"):
        make_bot(spec, TICTACTOE)


@pytest.mark.parametrize("name", ["table", "learner"])
def test_file_must_be_named(name: str) -> None:
    with pytest.raises(
        BotSpecError, match=rf"^bot '{name}': got no file, expected {name}:file=FILE\[.*\]; add file=FILE"
    ):
        make_bot(parse_spec(name))


def test_a_relative_file_of_a_spec_is_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path, HEADER + CORNERS)
    monkeypatch.chdir(tmp_path)
    assert make_bot(parse_spec("table:file=edited.table"), TICTACTOE).choose(position_of("X...O...X O")) == 7
    monkeypatch.setenv("HOME", str(tmp_path))
    assert make_bot(parse_spec("table:file=~/edited.table"), TICTACTOE).choose(position_of("X...O...X O")) == 7


def test_table_refuses_another_variant_than_its_own(tmp_path: Path) -> None:
    file = write_file(tmp_path, HEADER + CORNERS)
    with pytest.raises(VariantRefused, match=r"got variant mnk:4,4,3, expected tictactoe; choose that variant"):
        make_bot(parse_spec(f"table:file={file}"), parse_variant("mnk:4,4,3"))
    with pytest.raises(VariantRefused):
        Table(file).choose(Position(parse_variant("mnk:4,4,3")))


def test_labels_of_bots_with_files_are_valid_names() -> None:
    specs = [parse_spec(f"table:file={folder}/my best.table,level=0") for folder in ("/tmp/a", "b")]
    assert unique_labels(specs) == ["table:file=my_best.table,level=0", "table:file=my_best.table,level=0#2"]
    assert len(parse_spec(f"learner:file={'x' * 300}").short) == 60


# Comparison with the oracle.


@pytest.mark.long
@pytest.mark.parametrize("level", [None, 0, 1])
def test_a_table_has_the_candidates_of_its_article_on_every_board(level: int | None, tmp_path: Path) -> None:
    ratings = {
        (board, me): pascal_oracle.rayting(kl := pascal_oracle.to_position(board, me), pascal_oracle.fin(kl)[1])
        for board, me in reachable_questions()
    }
    lines = [
        f"{board} {me} {' '.join(str(ray[i]) if board[i - 1] == '.' else '-' for i in range(1, 10))}"
        for number, ((board, me), ray) in enumerate(ratings.items())
        if number % 5
    ]
    text = "\n".join(["noughts table 1", "variant tictactoe", "level 0", *lines, ""])
    bot: CachingBot = Table(write_file(tmp_path, text), level)
    table, lvl = oracle.read_file(text)
    for board, me in every_question():
        evaluation = bot.consider(position_of(f"{board} {me}"))
        weights = evaluation.weights or (1,) * len(evaluation.candidates)
        expected = oracle.consider(board, me, table, lvl if level is None else level)
        assert (evaluation.candidates, weights, evaluation.scores) == tuple(expected), (board, me)


def test_the_table_of_the_documentation_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "tables.md").read_text(encoding="utf-8")
    table_text = page.partition("```text\n")[2].partition("```")[0]
    table = Table(write_file(tmp_path, table_text))
    assert table.choose(position_of("X...O...X O")) == 5
