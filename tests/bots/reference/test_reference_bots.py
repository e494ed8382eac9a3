"""The reference bots play exactly like the programs of their articles, on every board and for either side.

The oracle is an independent transcription of those programs; other boards are compared with plain recursions here.
"""

from collections import Counter
from functools import cache
from typing import Any

import pytest

from noughts_bots.reference import caching_bot as remembering_module
from noughts_bots.reference import depth_search as depth_search_module
from noughts_bots.reference import minimax as minimax_module
from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.reference.candidate_bot import Evaluation
from noughts_bots.reference.coursework import Coursework
from noughts_bots.reference.depth_search import DepthSearch
from noughts_bots.reference.minimax import FullSearch, Minimax
from noughts_bots.reference.nextstep import NextStep
from noughts_bots.reference.pascal import Pascal
from noughts_bots.reference.specs import parse_spec
from noughts_bots.reference.three_stage import ThreeStage
from noughts_bots.sdk.bot import Move
from noughts_referee.rules import Position, parse_variant
from tests.support.reference_bots import bot_of
from tests.support.settings import every_nth

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
