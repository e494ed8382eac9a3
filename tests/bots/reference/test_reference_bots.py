"""The reference bots play exactly like the programs of their articles, on every board and for either side.

The oracle is an independent transcription of those programs; other boards are compared with plain recursions here.
"""

from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from noughts_bots.reference import caching_bot as remembering_module
from noughts_bots.reference import depth_search as depth_search_module
from noughts_bots.reference import minimax as minimax_module
from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation
from noughts_bots.reference.coursework import Coursework
from noughts_bots.reference.depth_search import DepthSearch
from noughts_bots.reference.minimax import FullSearch, Minimax
from noughts_bots.reference.nextstep import NextStep, default_depth
from noughts_bots.reference.pascal import Pascal
from noughts_bots.reference.random_ import Random
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.reference.three_stage import ThreeStage
from noughts_bots.sdk.bot import Move
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.rules import Position, Variant, parse_variant
from tests.support.settings import every_nth, examples

from .oracle import PLAYERS
from .oracle.boards import every_question, reachable_questions

TICTACTOE = parse_variant("tictactoe")

WITHOUT_SCORES = ("random", "first-free", "three-stage", "coursework:level=1", "coursework:level=2")
SPECS = (
    *WITHOUT_SCORES,
    "pascal:level=0",
    "pascal:level=1",
    "minimax",
    "minimax:faster=true",
    *(f"minimax:depth={depth}" for depth in range(1, 10)),
    *(f"minimax:faster=true,depth={depth}" for depth in (1, 4, 9)),
    "fives",
    *(f"nextstep:depth={depth}" for depth in range(1, 10)),
)


@cache
def every_position() -> tuple[tuple[str, str, Position], ...]:
    """Return each of the 3^9 boards with a free cell and either side to move, also unreachable ones."""
    return tuple((board, me, Position.parse(TICTACTOE, f"{board} {me}")) for board, me in every_question())


def bot_of(spec: str, variant: Variant = TICTACTOE) -> CachingBot:
    return make_bot(parse_spec(spec), variant)


def parts_of(evaluation: Evaluation) -> tuple[tuple[int, ...], tuple[int, ...], dict[int, int]]:
    """Return candidates, weights and scores, with equal weights written out."""
    weights = evaluation.weights or (1,) * len(evaluation.candidates)
    return evaluation.candidates, weights, evaluation.scores


@pytest.mark.long
@pytest.mark.parametrize("spec", SPECS)
def test_a_bot_has_the_candidates_of_its_article_on_every_board(spec: str) -> None:
    parsed = parse_spec(spec)
    options = {key: value == "true" if key == "faster" else int(value) for key, value in parsed.options.items()}
    oracle, bot = PLAYERS[parsed.target], bot_of(spec)
    for board, me, position in every_nth(every_position(), 20, SPECS.index(spec)):
        answer = oracle(board, me, **options)
        # The oracle's answer is valid: each candidate is free and listed once; all free cells have scores, or none.
        assert answer.candidates
        assert len(set(answer.candidates)) == len(answer.candidates) == len(answer.weights)
        assert min(answer.weights) > 0
        assert {*answer.candidates} <= {*position.free}
        assert tuple(answer.scores) in ((), position.free)
        assert parts_of(bot.consider(position)) == tuple(answer), (board, me)


def test_bots_default_to_the_strongest_option() -> None:
    for name, spec in (
        ("pascal", "pascal:level=1"),
        ("nextstep", "nextstep:depth=9"),
        ("coursework", "coursework:level=2"),
    ):
        default, explicit = bot_of(name), bot_of(spec)
        for _, _, position in every_position()[::97]:
            assert default.consider(position) == explicit.consider(position)


# Known behaviour of the articles' programs.


def test_pascal_may_lose_to_opposite_corners() -> None:
    evaluation = Pascal().consider(Position.parse(TICTACTOE, "X...O...X O"))
    assert evaluation.scores == dict.fromkeys((1, 2, 3, 5, 6, 7), 1001)
    assert evaluation.candidates == (1, 2, 3, 5, 6, 7)


def test_pascal_rates_an_empty_board_one_everywhere() -> None:
    assert set(Pascal().consider(Position(TICTACTOE)).scores.values()) == {1}


def test_pascal_holds_ratings_that_no_byte_could() -> None:
    pascal = Pascal()
    ratings = {rating for _, _, p in every_position() for rating in pascal.consider(p).scores.values()}
    assert {441, 4001, 101_001, 2_200_001} <= ratings


@pytest.mark.long
def test_nextstep_has_the_same_scores_at_depths_8_and_9() -> None:
    shallow, deep = NextStep(8), NextStep(9)
    assert all(shallow.consider(p) == deep.consider(p) for _, _, p in every_nth(every_position(), 7))


def test_nextstep_scores_both_lines_at_once_with_40() -> None:
    assert NextStep().consider(Position.parse(TICTACTOE, "XXXOO.... O")).scores == {5: 40, 6: 8, 7: 8, 8: 8}


def test_minimax_prefers_an_earlier_cell_to_an_immediate_win() -> None:
    evaluation = Minimax().consider(Position.parse(TICTACTOE, "X..XO..O. X"))
    assert evaluation.scores[6] == 10
    assert evaluation.candidates == (1,)


def reachable_positions() -> list[Position]:
    """Return the 4,520 positions of unfinished games."""
    return [Position.parse(TICTACTOE, f"{board} {me}") for board, me in reachable_questions()]


def test_faster_minimax_chooses_otherwise_in_485_positions() -> None:
    plain_bot, faster = Minimax(), Minimax(faster=True)
    positions = reachable_positions()
    assert len(positions) == 4520
    assert sum(plain_bot.consider(p).candidates != faster.consider(p).candidates for p in positions) == 485


@pytest.mark.parametrize("faster, skipped", [(False, 392), (True, 0)])
def test_minimax_skips_392_immediate_wins_unless_faster(faster: bool, skipped: int) -> None:
    bot = Minimax(faster=faster)
    skipped_wins = 0
    for position in reachable_positions():
        wins = [cell for cell in position.free if TICTACTOE.has_line(position.own | 1 << cell)]
        skipped_wins += bool(wins) and bot.consider(position).candidates[0] not in wins
    assert skipped_wins == skipped


def test_faster_minimax_values_near_wins_and_losses_higher() -> None:
    scores = Minimax(faster=True).consider(Position.parse(TICTACTOE, "XX.OO.... X")).scores
    assert scores[2] == 10
    assert scores[8] == -9


def test_minimax_with_a_depth_sees_no_win_beyond_it() -> None:
    # X can fork with the third half-move and win with the fifth.
    position = Position.parse(TICTACTOE, "X.O...... X")
    assert set(Minimax(depth=4).consider(position).scores.values()) == {0}
    assert max(Minimax(depth=5).consider(position).scores.values()) == 10
    assert max(Minimax(depth=5, faster=True).consider(position).scores.values()) == 6


def test_coursework_takes_the_last_match_and_the_centre_before_a_win() -> None:
    bot = Coursework()
    assert bot.consider(Position.parse(TICTACTOE, "OO.OX.... O")).candidates == (6,)
    assert bot.consider(Position.parse(TICTACTOE, "OO.X.X... O")).candidates == (4,)


def test_coursework_takes_the_last_cell_only_when_it_is_the_only_one_left() -> None:
    bot = Coursework(1)
    assert bot.consider(Position.parse(TICTACTOE, "XOXOXOO.. O")).candidates == (7,)
    assert bot.consider(Position.parse(TICTACTOE, "XOXOXOOX. X")).candidates == (8,)


def test_minimax_looks_at_the_opponents_line_first() -> None:
    assert set(Minimax().consider(Position.parse(TICTACTOE, "XXXOOO... X")).scores.values()) == {-10}


def test_three_stage_never_opens_in_the_first_row() -> None:
    evaluation = ThreeStage().consider(Position(TICTACTOE))
    assert dict(zip(evaluation.candidates, evaluation.weights, strict=True)) == {3: 2, 4: 2, 5: 2, 6: 2, 7: 2, 8: 1}


# Chance.


def count_moves(bot: CachingBot, position: Position, count: int) -> Counter[int]:
    """Count how often each cell is chosen with the seeds 0 to `count` - 1."""
    counts: Counter[int] = Counter()
    for seed in range(count):
        position.seed = seed
        cell = bot.choose(position)
        assert isinstance(cell, int)
        counts[cell] += 1
    return counts


@pytest.mark.parametrize(
    "spec, text",
    [
        ("random", "X...O.... X"),
        ("pascal:level=0", "X........ O"),
        ("pascal:level=0", "X...O.... X"),
        ("pascal:level=1", "X...O...X O"),
        ("nextstep", "X........ X"),
        ("nextstep:depth=1", "........."),
        ("three-stage", "........."),
        ("coursework:level=1", "........."),
        ("coursework:level=2", "....X.... O"),
    ],
)
def test_cells_are_chosen_in_proportion_to_their_weights(spec: str, text: str) -> None:
    bot, position, games = bot_of(spec), Position.parse(TICTACTOE, text), 20_000
    candidates, weights, _ = parts_of(bot.consider(position))
    counts = count_moves(bot, position, games)
    assert set(counts) <= set(candidates)
    chi_square = 0.0
    for cell, weight in zip(candidates, weights, strict=True):
        expected = games * weight / sum(weights)
        chi_square += (counts[cell] - expected) ** 2 / expected
    # The seeds are fixed, and so is the result. 27.9 is the 99.95 % quantile of chi-square for nine candidates.
    assert chi_square < 27.9


@pytest.mark.parametrize("spec", SPECS)
def test_same_seed_and_ply_give_the_same_move(spec: str) -> None:
    first, second = bot_of(spec), bot_of(spec)
    for _, _, position in every_position()[::211]:
        position = position.copy()
        for seed in (0, 1, 2**64 - 1):
            position.seed = seed
            assert first.choose(position) == first.choose(position) == second.choose(position)


@pytest.mark.parametrize("spec", SPECS)
def test_bot_chooses_one_of_its_candidates(spec: str) -> None:
    bot = bot_of(spec)
    for number, (_, _, position) in enumerate(every_position()[::53]):
        position = position.copy()
        position.seed = number
        assert bot.choose(position) in bot.consider(position).candidates


@pytest.mark.parametrize("spec", SPECS)
def test_with_a_clock_bots_report_scores_and_play_the_same_moves(spec: str) -> None:
    bot = bot_of(spec)
    for number, (_, _, position) in enumerate(every_position()[::211]):
        position = position.copy()
        position.seed = number
        cell = bot.choose(position)
        position.own_clock_us = 1
        scores = bot.consider(position).scores
        assert bool(scores) == (spec not in WITHOUT_SCORES)
        assert isinstance(cell, int)
        assert bot.choose(position) == (Move(cell, scores[cell]) if scores else cell)


@pytest.mark.parametrize(
    "spec", ["random", "pascal:level=0", "pascal:level=1", "nextstep", "three-stage", "coursework:level=1"]
)
def test_other_seeds_give_other_moves(spec: str) -> None:
    assert len(count_moves(bot_of(spec), Position(TICTACTOE), 100)) > 1


# Remembering.


@pytest.mark.long
@pytest.mark.parametrize(
    "spec", [f"{name}depth={n}" for name in ("nextstep:", "minimax:faster=true,") for n in (1, 2, 5, 8, 9)]
)
def test_depth_search_searches_no_position_twice(monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    searches: Counter[tuple[int, int, int, bool]] = Counter()
    search = DepthSearch._search

    def count_search(self: DepthSearch, mover: int, other: int, remaining: int, ours: bool, lines: Any) -> int:
        searches[mover, other, remaining, ours] += 1
        return search(self, mover, other, remaining, ours, lines)

    monkeypatch.setattr(DepthSearch, "_search", count_search)
    bot = bot_of(spec)
    for _, _, position in every_nth(every_position(), 7):
        bot.consider(position)
    assert set(searches.values()) <= {1}


def test_minimax_searches_no_position_twice_for_the_same_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: Counter[tuple[int, int, int]] = Counter()
    search = FullSearch._search

    def count_search(self: FullSearch, goal: int, mover: int, other: int, cells: int) -> bool:
        searches[goal, mover, other] += 1
        return search(self, goal, mover, other, cells)

    monkeypatch.setattr(FullSearch, "_search", count_search)
    bot = Minimax()
    for _, _, position in every_position():
        bot.consider(position)
    assert set(searches.values()) == {1}


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec != "random"])
def test_a_bot_computes_each_position_once(monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    bot = bot_of(spec)
    computed_positions: list[str] = []
    work_out = bot.work_out

    def record_position(position: Position) -> Evaluation:
        computed_positions.append(str(position))
        return work_out(position)

    monkeypatch.setattr(bot, "work_out", record_position)
    for _ in range(3):
        bot.choose(Position(TICTACTOE))
        bot.choose(Position.parse(TICTACTOE, "X...O...X O"))
    assert computed_positions == ["......... X", "X...O...X O"]


@pytest.mark.parametrize(
    "name, module",
    [
        ("nextstep", depth_search_module),
        ("minimax:faster=true", depth_search_module),
        ("minimax", minimax_module),
    ],
)
def test_search_scores_alike_after_it_has_forgotten(monkeypatch: pytest.MonkeyPatch, name: str, module: Any) -> None:
    remembering, forgetful = bot_of(name), bot_of(name)
    expected = [remembering.consider(position) for _, _, position in every_position()[::97]]
    monkeypatch.setattr(module, "_MOST_CACHED", 10)
    assert [forgetful.consider(position) for _, _, position in every_position()[::97]] == expected


def test_the_number_of_remembered_answers_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering_module, "_MOST_CACHED_CELLS", 90)
    bot = Pascal()
    for _, _, position in every_position()[::97]:
        bot.consider(position)
        assert len(bot._cache) <= 10


# Other boards.


@st.composite
def positions(draw: st.DrawFn, cells: int, *, from_stones: int = 0) -> Position:
    """Draw any stones on a board of at most `cells` cells, with a free cell."""
    columns = draw(st.integers(1, min(cells, 30)))
    rows = draw(st.integers(1, min(cells // columns, 30)))
    length = draw(st.integers(1, max(columns, rows)))
    variant = parse_variant(f"mnk:{columns},{rows},{length}")
    owners = draw(st.lists(st.sampled_from(".XO"), min_size=variant.cells, max_size=variant.cells))
    assume("." in owners and variant.cells - owners.count(".") >= from_stones)
    return Position.parse(variant, "".join(owners) + " " + draw(st.sampled_from("XO")))


class Article:
    """The article's `NextStep` and `Fin`, statement by statement, for the lines of any variant."""

    def __init__(self, variant: Variant, depth: int) -> None:
        self.lines = variant.line_cells
        self.depth = depth

    def rating(self, board: list[int]) -> dict[int, int]:
        return {cell: self.next_step(board, cell, 4, 0) for cell, mark in enumerate(board) if mark == 0}

    def next_step(self, board: list[int], cell: int, mark: int, level: int) -> int:
        board = [*board[:cell], mark, *board[cell + 1 :]]
        level += 1
        mark = 4 if mark == 1 else 1
        result = self.fin(board) << 3
        if result:
            return result
        if level == self.depth:
            return 16
        ratings = [self.next_step(board, free, mark, level) for free, on_it in enumerate(board) if on_it == 0]
        ratings = [rating + 1 if rating < 16 else rating - 1 if rating > 24 else rating for rating in ratings]
        return min([32, *ratings]) if mark == 1 else max([8, *ratings])

    def fin(self, board: list[int]) -> int:
        both, result = 5, 0
        for line in self.lines:
            in_all, in_any = 5, 0
            for cell in line:
                in_all &= board[cell]
                in_any |= board[cell]
            result |= in_all
            both &= in_any
        return 3 if both == 5 else result


def article_board(position: Position) -> list[int]:
    own, opponent = position.own, position.opponent
    return [4 * (own >> cell & 1) + (opponent >> cell & 1) for cell in range(position.variant.cells)]


@pytest.mark.long
@given(positions(8), st.integers(1, 9))
@examples(150)
def test_nextstep_scores_small_boards_like_the_plain_recursion(position: Position, depth: int) -> None:
    expected = Article(position.variant, depth).rating(article_board(position))
    assert NextStep(depth).consider(position).scores == expected


@pytest.mark.long
@given(positions(30, from_stones=14), st.integers(1, 3))
@examples(80)
def test_nextstep_scores_larger_boards_like_the_plain_recursion(position: Position, depth: int) -> None:
    expected = Article(position.variant, depth).rating(article_board(position))
    assert NextStep(depth).consider(position).scores == expected


@given(positions(16, from_stones=7), st.integers(4, 6))
@examples(40)
def test_nextstep_looks_farther_like_the_plain_recursion(position: Position, depth: int) -> None:
    assume(len(position.free) <= 7)
    expected = Article(position.variant, depth).rating(article_board(position))
    assert NextStep(depth).consider(position).scores == expected


def test_the_default_depth_of_nextstep_depends_on_the_board() -> None:
    variants = [parse_variant(text) for text in ("tictactoe", "mnk:4,4,4", "mnk:7,6,4", "mnk:15,15,5", "mnk:30,30,5")]
    assert [default_depth(variant) for variant in variants] == [9, 7, 5, 4, 3]


def test_nextstep_plays_gomoku_and_stops_an_open_three() -> None:
    variant = parse_variant("mnk:15,15,5")
    middle = 7 * 15 + 7
    position = Position.after(variant, (middle, 0, middle + 1, 14, middle + 2))
    evaluation = bot_of("nextstep", variant).consider(position)
    assert set(evaluation.candidates) == {middle - 1, middle + 3}


def plain_values(position: Position, *, faster: bool = False, depth: int = 1000) -> dict[int, int]:
    """Return the values of all free cells by the plain minimax recursion."""
    variant = position.variant

    @cache
    def value(own: int, opponent: int, away: int) -> int:
        if variant.has_line(opponent):
            return -10 + away * faster
        if variant.has_line(own):
            return 10 - away * faster
        free = variant.free_cells(own | opponent)
        if not free or away + 1 == depth:
            return 0
        if away % 2:
            return max(value(own | 1 << cell, opponent, away + 1) for cell in free)
        return min(value(own, opponent | 1 << cell, away + 1) for cell in free)

    return {cell: value(position.own | 1 << cell, position.opponent, 0) for cell in position.free}


@given(positions(12))
@examples(80)
def test_minimax_scores_other_boards_like_the_plain_recursion(position: Position) -> None:
    assume(len(position.free) <= 10)
    expected = plain_values(position)
    evaluation = Minimax().consider(position)
    assert evaluation.scores == expected
    best = max(expected.values())
    assert evaluation.candidates == (next(cell for cell in expected if expected[cell] == best),)


@given(positions(16, from_stones=6))
@examples(40)
def test_minimax_scores_boards_of_16_cells_like_the_plain_recursion(position: Position) -> None:
    assume(len(position.free) <= 10)
    assert Minimax().consider(position).scores == plain_values(position)


def nobody_has_a_line(position: Position) -> bool:
    return not position.variant.has_line(position.own) and not position.variant.has_line(position.opponent)


@pytest.mark.long
@given(positions(10))
@examples(80)
def test_faster_minimax_scores_other_boards_like_the_plain_recursion(position: Position) -> None:
    # On boards with lines of both sides the article 001 counts the first line found; `every_position` has such boards.
    assume(nobody_has_a_line(position))
    assert Minimax(faster=True).consider(position).scores == plain_values(position, faster=True)


@pytest.mark.long
@given(positions(30, from_stones=14), st.integers(1, 3), st.booleans())
@examples(80)
def test_minimax_with_a_depth_equals_the_plain_recursion(position: Position, depth: int, faster: bool) -> None:
    assume(nobody_has_a_line(position))
    expected = plain_values(position, faster=faster, depth=depth)
    evaluation = Minimax(faster=faster, depth=depth).consider(position)
    assert evaluation.scores == expected
    best = max(expected.values())
    assert evaluation.candidates == (next(cell for cell in expected if expected[cell] == best),)


@given(positions(60))
def test_first_free_takes_the_lowest_free_cell_of_any_board(position: Position) -> None:
    assert bot_of("first-free", position.variant).choose(position) == position.free[0]


def test_minimax_with_a_depth_plays_gomoku_and_stops_a_four() -> None:
    variant = parse_variant("mnk:15,15,5")
    # X has four in the top row from the corner on: O must take the fifth cell.
    position = Position.after(variant, (0, 100, 1, 120, 2, 140, 3))
    evaluation = bot_of("minimax:depth=2", variant).consider(position)
    assert evaluation.candidates == (4,)
    assert evaluation.scores.pop(4) == 0
    assert set(evaluation.scores.values()) == {-10}


@given(positions(60), st.integers(0, 2**64 - 1))
def test_random_chooses_a_free_cell_of_any_board(position: Position, seed: int) -> None:
    position.seed = seed
    bot = Random()
    assert bot.consider(position).candidates == position.free
    assert bot.choose(position) == position.rng().choice(position.free)


@pytest.mark.parametrize(
    "name, variant",
    [
        ("pascal", "mnk:4,4,4"),
        ("pascal", "mnk:3,3,2"),
        ("three-stage", "mnk:3,4,3"),
        ("coursework", "mnk:3,3,2"),
        ("minimax", "mnk:17,1,3"),
    ],
)
def test_bot_refuses_a_variant_that_it_does_not_play(name: str, variant: str) -> None:
    parsed_variant = parse_variant(variant)
    with pytest.raises(
        VariantRefused, match=f"^bot '{name}': got variant {variant} .*, expected .*; choose "
    ) as raised:
        bot_of(name, parsed_variant)
    assert "\n" not in str(raised.value)
    with pytest.raises(VariantRefused):
        bot_of(name).choose(Position(parsed_variant))


@pytest.mark.parametrize("spec, variant", [("minimax", "mnk:15,15,5"), ("minimax:faster=true", "mnk:4,4,4")])
def test_minimax_refuses_a_large_board_and_names_the_option_that_plays_it(spec: str, variant: str) -> None:
    parsed_variant = parse_variant(variant)
    with pytest.raises(VariantRefused, match=r"depth=N; choose such a variant, or a depth, as in `minimax:depth=4`$"):
        bot_of(spec, parsed_variant)
    with pytest.raises(VariantRefused):
        bot_of(spec).choose(Position(parsed_variant))


def test_minimax_plays_a_board_of_16_cells() -> None:
    # The first mover wins three in a row on 4x4.
    evaluation = bot_of("minimax", parse_variant("mnk:4,4,3")).consider(Position(parse_variant("mnk:4,4,3")))
    assert set(evaluation.scores.values()) == {10}
