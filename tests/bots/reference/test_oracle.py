"""The oracle shows what the programs of the seed articles were found to do when they were compiled and run.

The bots are compared with the oracle; these tests say why the oracle can be believed. "Every position" is each of
the 4520 boards a game can come to while it is not over, asked for the mark that is to move.
"""

from collections.abc import Callable
from functools import cache
from itertools import combinations, permutations

import pytest

from .oracle import PLAYERS, Evaluation, coursework, fives, minimax, nextstep, pascal, three_stage
from .oracle.boards import EMPTY, LINES, every_question, free_cells, has_line, other, put, reachable_questions

POSITIONS = tuple(reachable_questions())

EVERY_PLAYER: tuple[tuple[str, dict[str, int]], ...] = (
    ("random", {}),
    ("first-free", {}),
    ("three-stage", {}),
    ("coursework", {"level": 1}),
    ("coursework", {"level": 2}),
    ("pascal", {"level": 0}),
    ("pascal", {"level": 1}),
    ("minimax", {}),
    ("minimax", {"faster": True}),
    ("fives", {}),
    *(("nextstep", {"depth": depth}) for depth in range(1, 10)),
)


def wins_at_once(board: str, mark: str) -> tuple[int, ...]:
    return tuple(cell for cell in free_cells(board) if has_line(put(board, cell, mark), mark))


def differing_positions(
    one: Callable[[str, str], object], another: Callable[[str, str], object]
) -> list[tuple[str, str]]:
    return [(board, me) for board, me in POSITIONS if one(board, me) != another(board, me)]


def test_there_are_4520_positions_in_which_a_move_is_asked_for() -> None:
    assert len(set(POSITIONS)) == 4520


@pytest.mark.long
@pytest.mark.parametrize("player, options", EVERY_PLAYER, ids=str)
def test_exchanging_all_marks_changes_nothing(player: str, options: dict[str, int]) -> None:
    exchange = str.maketrans("XO", "OX")
    for board, me in POSITIONS:
        exchanged = PLAYERS[player](board.translate(exchange), other(me), **options)
        assert PLAYERS[player](board, me, **options) == exchanged


@pytest.mark.parametrize("board, me", [("XOXOXOXOX", "X"), ("....", "X"), ("x........", "X"), (EMPTY, ".")])
def test_a_question_without_an_answer_is_refused(board: str, me: str) -> None:
    for player, options in EVERY_PLAYER:
        with pytest.raises(ValueError, match=r"^(not a 3x3 board|not a mark|no free cell): "):
            PLAYERS[player](board, me, **options)


# 003: random, first-free, three-stage


def test_random_takes_any_free_cell_with_the_same_chance() -> None:
    assert PLAYERS["random"]("X...O...X", "O") == Evaluation((1, 2, 3, 5, 6, 7), (1,) * 6, {})


def test_first_free_takes_the_lowest_free_cell() -> None:
    assert PLAYERS["first-free"]("XO.XO....", "X").candidates == (2,)


def test_three_stage_opens_in_cells_3_to_7_or_with_half_the_chance_in_8() -> None:
    assert three_stage.consider(EMPTY, "X") == Evaluation((3, 4, 5, 6, 7, 8), (2, 2, 2, 2, 2, 1), {})


def test_three_stage_wins_before_it_blocks() -> None:
    assert three_stage.consider("OO.XX....", "X").candidates == (5,)


def test_three_stage_blocks_before_it_takes_the_lowest_free_cell() -> None:
    assert three_stage.consider("X..OO....", "X").candidates == (5,)
    assert three_stage.consider("X...O....", "X").candidates == (1,)


def test_three_stage_takes_the_first_of_its_unordered_lines() -> None:
    assert three_stage.consider("XX.X.....", "X").candidates == (2,)
    # The column 147 comes before both diagonals; with the column closed, 159 comes before 357.
    assert three_stage.consider("XO..X.X..", "X").candidates == (3,)
    assert three_stage.consider("XO.OX.X..", "X").candidates == (8,)


def test_three_stage_answers_although_the_opponent_has_a_line() -> None:
    assert three_stage.consider("OOO.XX...", "X").candidates == (3,)
    assert three_stage.consider("OOO......", "X").candidates == (3,)


# 003: coursework


@pytest.mark.long
def test_the_printed_values_of_k_fit_the_pairs_of_cells_in_only_one_way() -> None:
    every_pair = {frozenset(pair) for line in LINES for pair in combinations(line, 2)}

    def questions(starts: tuple[int, ...]) -> list[tuple[frozenset[int], int]] | None:
        """The questions of `check`, in order, if its groups started from these cells: two marks, and the blank."""
        pairs_and_blanks = []
        for a, values in zip(starts, coursework.PRINTED_K, strict=True):
            for c in values:
                if a == c:
                    return None
                lines_through_both = [line for line in LINES if a in line and c in line]
                if not lines_through_both:
                    return None
                pairs_and_blanks.append((frozenset(lines_through_both[0]) - {c}, c))
        return pairs_and_blanks

    fitting = set()
    for starts in permutations(range(9), 8):
        pairs_and_blanks = questions(starts)
        if pairs_and_blanks is not None and {pair for pair, _ in pairs_and_blanks} == every_pair:
            fitting.add(tuple(pairs_and_blanks))
    # Groups of one value could start from the other cell of their pair: the same question in other words.
    assert fitting == {tuple(questions(tuple(range(8))) or ())}


@pytest.mark.long
def test_coursework_looks_at_every_line_and_takes_the_last_match() -> None:
    for board, me in every_question():
        x = [0 if mark == "." else 2 if mark == me else 1 for mark in board]
        missing = {cell for cell in free_cells(board) if has_line(put(board, cell, me), me)}
        if not has_line(board, me):
            assert (coursework.check(x, 2) in missing) if missing else (coursework.check(x, 2) == -1)
    # 0 and 1 miss 2, 0 and 3 miss 6; 6 comes later.
    assert coursework.consider("OO.OX.X..", "O", level=2).candidates == (2,)
    assert coursework.consider("OO.OX....", "O", level=2).candidates == (6,)


def test_coursework_level_2_takes_a_free_centre_even_before_a_win() -> None:
    assert coursework.consider("OO.X.X...", "O", level=2).candidates == (4,)


def test_coursework_level_2_wins_before_it_blocks_and_else_moves_by_chance() -> None:
    assert coursework.consider("OO.XX....", "O", level=2).candidates == (2,)
    assert coursework.consider("O..XX....", "O", level=2).candidates == (5,)
    assert coursework.consider("....X....", "O", level=2) == Evaluation((0, 1, 2, 3, 5, 6, 7), (1,) * 7, {})


def test_coursework_level_1_takes_cell_8_only_as_the_last() -> None:
    assert coursework.consider("XOXOXOO..", "O", level=1).candidates == (7,)
    assert coursework.consider("XOXOXOOX.", "X", level=1).candidates == (8,)


# 000: pascal


@cache
def ratings_that_occur() -> frozenset[int]:
    return frozenset(rating for board, me in POSITIONS for rating in pascal.consider(board, me).scores.values())


@pytest.mark.parametrize("rating", [441, 4001, 101001, 2200001])
def test_the_digits_of_a_rating_count_reasons(rating: int) -> None:
    assert rating in ratings_that_occur()


def test_no_rating_is_higher_than_2200001() -> None:
    assert max(ratings_that_occur()) == 2200001


def test_the_empty_board_rates_one_everywhere() -> None:
    for level in (0, 1):
        answer = pascal.consider(EMPTY, "O", level=level)
        assert answer == Evaluation(tuple(range(9)), (1,) * 9, dict.fromkeys(range(9), 1))


def test_cells_between_opposite_corners_rate_1001_and_two_lose() -> None:
    board = "X...O...X"
    answer = pascal.consider(board, "O", level=1)
    assert answer == Evaluation((1, 2, 3, 5, 6, 7), (1,) * 6, dict.fromkeys((1, 2, 3, 5, 6, 7), 1001))
    scores = minimax.consider(board, "O").scores
    assert [cell for cell in answer.candidates if scores[cell] == -10] == [2, 6]


def test_level_0_draws_by_rating_and_level_1_among_the_highest() -> None:
    for board, me in POSITIONS:
        by_rating = pascal.consider(board, me, level=0)
        assert by_rating.candidates == free_cells(board)
        assert by_rating.weights == tuple(by_rating.scores.values())
        highest = pascal.consider(board, me, level=1)
        top = max(highest.scores.values())
        assert highest.candidates == tuple(cell for cell in highest.scores if highest.scores[cell] == top)
        assert set(highest.weights) == {1}


def reversed_lines(kle: pascal.Kle) -> pascal.Kle:
    return ((), *((0, *reversed(row[1:])) for row in kle[1:]))


def test_12_positions_choose_otherwise_when_the_lines_of_kle_are_reversed() -> None:
    backwards = reversed_lines(pascal.KLE)
    changed = differing_positions(
        lambda board, me: pascal.consider(board, me, level=1).candidates,
        lambda board, me: pascal.consider(board, me, level=1, kle=backwards).candidates,
    )
    assert len(changed) == 12


def test_a_third_line_with_an_opposing_mark_adds_1000_again() -> None:
    # The corner 0 lies on the row (with 2), the column (with 6) and the diagonal (with 8), in this order: 1 and 3
    # are counted twice for it, 4 once, and 0 itself once for the second line and once for the third.
    kl = pascal.to_position("..X...X.X", "O")
    only_the_corner = ((), pascal.KLE[1], *((0, 0, 0, 0, 0),) * 8)
    ray = pascal.rayting(kl, pascal.fin(kl)[1], only_the_corner)
    assert ray[1:] == [2001, 2001, 0, 2001, 1001, 1, 0, 1, 0]


def test_the_order_of_the_cells_does_not_matter_to_the_ratings() -> None:
    # What each cell gives to itself and to others is the same whether or not other cells had their turn before.
    no_lines = (0, 0, 0, 0, 0)
    for board, me in POSITIONS:
        kl = pascal.to_position(board, me)
        li = pascal.fin(kl)[1]
        together = [int(kl[i] == 0) if i > 0 else 0 for i in range(10)]
        for ii in range(1, 10):
            alone = pascal.rayting(kl, li, tuple(row if i == ii else no_lines for i, row in enumerate(pascal.KLE)))
            for i in range(1, 10):
                together[i] += alone[i] - int(kl[i] == 0)
        assert together == pascal.rayting(kl, li)


def test_fin_calls_a_draw_as_soon_as_every_line_holds_both_marks() -> None:
    drawn_positions = [(board, me) for board, me in POSITIONS if pascal.fin(pascal.to_position(board, me))[0] == 3]
    assert drawn_positions
    assert all(pascal.fin(pascal.to_position(board, me))[0] in (0, 3) for board, me in POSITIONS)


def test_fin_joins_the_results_when_both_marks_have_a_line() -> None:
    assert pascal.fin(pascal.to_position("XXXOOO...", "O"))[0] == 5


# 000: nextstep


@cache
def choices_of_nextstep(depth: int) -> tuple[Evaluation, ...]:
    return tuple(nextstep.consider(board, me, depth=depth) for board, me in POSITIONS)


@pytest.mark.long
def test_the_root_scores_that_occur_are_9_11_13_16_24_28_30_and_32() -> None:
    occurring = {
        score for depth in range(1, 10) for answer in choices_of_nextstep(depth) for score in answer.scores.values()
    }
    assert occurring == {9, 11, 13, 16, 24, 28, 30, 32}


def test_depth_1_sees_immediate_ends_only() -> None:
    assert {score for answer in choices_of_nextstep(1) for score in answer.scores.values()} == {16, 24, 32}


def test_depth_8_equals_depth_9() -> None:
    assert choices_of_nextstep(8) == choices_of_nextstep(9)
    assert choices_of_nextstep(7) != choices_of_nextstep(8)


@pytest.mark.long
@pytest.mark.parametrize(
    "depth, mistakes", [(1, 1191), (2, 467), (3, 215), (4, 113), (5, 29), (6, 0), (7, 0), (8, 0), (9, 0)]
)
def test_depth_6_is_perfect_and_no_smaller_depth_is(depth: int, mistakes: int) -> None:
    imperfect = 0
    for (board, me), answer in zip(POSITIONS, choices_of_nextstep(depth), strict=True):
        scores = minimax.consider(board, me).scores
        best = max(scores.values())
        imperfect += any(scores[cell] < best for cell in answer.candidates)
    assert imperfect == mistakes


def draw_on_a_full_board_only(pos: list[int]) -> int:
    result = pascal.fin(pos)[0]
    return 0 if result == 3 and 0 in pos[1:] else result


def test_the_early_draw_changes_76_choices_of_depth_3() -> None:
    memory: nextstep.Memory = {}

    def late(board: str, me: str) -> list[int]:
        return nextstep.rayting(pascal.to_position(board, me), 3, memory, draw_on_a_full_board_only)

    def early(board: str, me: str) -> list[int]:
        return nextstep.rayting(pascal.to_position(board, me), 3)

    assert len(differing_positions(early, late)) == 256
    chosen_otherwise = differing_positions(
        lambda board, me: pascal.select_cell(early(board, me), 1),
        lambda board, me: pascal.select_cell(late(board, me), 1),
    )
    assert len(chosen_otherwise) == 76


def test_each_side_prefers_a_sure_draw_to_the_unknown() -> None:
    mover = nextstep.consider(".XO...XOX", "O", depth=3)
    assert mover == Evaluation((0,), (1,), {0: 24, 3: 16, 4: 16, 5: 16})
    # One of the opponent's replies to cell 3 is a sure draw, the two others are unknown: it leaves it unknown.
    after_cell_3 = pascal.to_position("..OO.XXOX", "O")
    replies = {
        j - 1: nextstep.next_step(after_cell_3, j, 1, 1, 3, None, nextstep.fin_of_the_article)
        for j in range(1, 10)
        if after_cell_3[j] == 0
    }
    assert replies == {0: 16, 1: 24, 4: 16}
    assert nextstep.consider("..O..XXOX", "O", depth=3).scores[3] == 16


def test_lines_of_both_marks_score_40() -> None:
    assert nextstep.consider("XXXOO....", "O", depth=1).scores[5] == 40


@pytest.mark.long
def test_the_memory_of_nextstep_changes_no_score() -> None:
    for board, me in POSITIONS:
        if board.count(".") <= 5:
            kl = pascal.to_position(board, me)
            for depth in (2, 9):
                plain = nextstep.rayting(kl, depth, memory=None)
                assert nextstep.rayting(kl, depth) == plain


# 001, 002, 003: minimax


def test_001_chooses_otherwise_than_003_in_485_positions() -> None:
    changed = differing_positions(
        lambda board, me: minimax.consider(board, me, faster=True).candidates,
        lambda board, me: minimax.consider(board, me).candidates,
    )
    assert len(changed) == 485


def test_003_skips_an_immediate_win_in_392_positions_and_001_in_none() -> None:
    for faster, expected in ((False, 392), (True, 0)):
        skipped = 0
        for board, me in POSITIONS:
            wins = wins_at_once(board, me)
            candidates = minimax.consider(board, me, faster=faster).candidates
            skipped += bool(wins) and candidates[0] not in wins
        assert skipped == expected


def test_003_scores_10_0_and_minus_10_and_001_takes_the_depth_off() -> None:
    ignoring = {score for board, me in POSITIONS for score in minimax.consider(board, me).scores.values()}
    counting = {score for board, me in POSITIONS for score in minimax.consider(board, me, faster=True).scores.values()}
    assert ignoring == {-10, 0, 10}
    # A win at once is worth 10, a loss next ply -9.
    assert counting == {-9, -7, -5, 0, 6, 8, 10}


def test_minimax_takes_the_first_of_the_best_cells() -> None:
    for faster in (False, True):
        for board, me in POSITIONS:
            answer = minimax.consider(board, me, faster=faster)
            top = max(answer.scores.values())
            first = next(cell for cell in free_cells(board) if answer.scores[cell] == top)
            assert answer.candidates == (first,)


def test_minimax_programs_differ_on_boards_with_two_lines() -> None:
    board = "XXXOO...."
    assert minimax.consider(board, "O").scores[5] == -10
    assert minimax.consider(board, "X").scores[5] == 10
    # 001 finds the upper row first, no matter which side owns it.
    assert minimax.consider(board, "O", faster=True).scores[5] == -10
    assert minimax.consider(board, "X", faster=True).scores[5] == 10
    assert minimax.consider("OOOXX....", "X", faster=True).scores[5] == -10


def test_the_plain_recursion_makes_549946_calls() -> None:
    @cache
    def calls(board: str, player: str) -> int:
        """One for this board and those below: what the recursion costs that remembers nothing."""
        if has_line(board, "X") or has_line(board, "O"):
            return 1
        return 1 + sum(calls(put(board, cell, player), other(player)) for cell in free_cells(board))

    assert calls(EMPTY, "X") == 549946


# 004: fives


def test_the_sum_of_five_cells_determines_their_marks() -> None:
    sums = {
        (noughts, crosses): noughts * fives.NOUGHT + crosses * fives.CROSS
        for noughts in range(6)
        for crosses in range(6 - noughts)
    }
    assert len(set(sums.values())) == len(sums)
    assert set(fives.PRIORITY_BY_SUM) == {sums[pair] for marks in (2, 3, 4) for pair in ((marks, 0), (0, marks))}


def test_three_noughts_are_blocked_in_the_cell_of_both_windows() -> None:
    # Red III: the cell on the left is in one of the two windows, the cell on the right in both.
    answer = fives.consider("X.OOO..X", "X", columns=8, rows=1, k=5)
    assert answer.scores == {1: 1_000_001, 5: 2_000_001, 6: 1_000_001}
    assert answer.candidates == (5,)
