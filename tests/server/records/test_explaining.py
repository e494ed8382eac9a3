"""The moves that change the value of a game, compared with a plain recursion, and the sentences about them."""

import random
from dataclasses import replace
from functools import cache

import pytest

from noughts_referee.rules import Position, cell_name, parse_variant
from noughts_server.records.explaining import explanation, sentences
from noughts_server.records.recorded_game import RecordError
from noughts_server.tables.recorded_game import RecordedGame

TICTACTOE = parse_variant("tictactoe")
NAMES = {1: "win", 0: "draw", -1: "loss"}


def game(variant: str, moves: str, result: str = "1-0", termination: str = "line") -> RecordedGame:
    """Return a game of a and b from the names of its cells."""
    board = parse_variant(variant)
    cells = {cell_name(board, cell): cell for cell in range(board.cells)}
    return RecordedGame(variant, "a", "b", result, tuple(cells[name] for name in moves.split()), termination)


@cache
def value(own: int, other: int) -> int:
    """Return the result for the side to move, by playing every move to the end."""
    return max(value_of_move(own, other, cell) for cell in TICTACTOE.free_cells(own | other))


def value_of_move(own: int, other: int, cell: int) -> int:
    outcome = TICTACTOE.outcome(own | 1 << cell, other, cell, 0)
    return -value(other, own | 1 << cell) if outcome is None else outcome.winner is not None


def test_turning_moves_are_those_that_make_the_exact_value_worse() -> None:
    rng = random.Random(35)
    for _ in range(50):
        position, expected = Position(TICTACTOE), []
        while (outcome := position.outcome()) is None:
            before, cell = value(position.own, position.opponent), rng.choice(position.free)
            after = value_of_move(position.own, position.opponent, cell)
            if after < before:
                expected.append((position.ply + 1, NAMES[before], NAMES[after]))
            position.play(cell)
        record = RecordedGame("tictactoe", "a", "b", str(outcome.result), tuple(position.moves))
        turns = explanation(record)["turns"]
        assert [(turn["ply"], turn["before"], turn["after"]) for turn in turns] == expected
        assert all(turn["exact"] and turn["move"] not in turn["better"] and turn["better"] for turn in turns)


@pytest.mark.parametrize(
    "fault, expected",
    [
        ("placed a stone off the board", "a lost through its own fault: it placed a stone off the board."),
        ("", "a lost through its own fault: illegal move."),
    ],
)
def test_a_game_lost_by_a_fault_begins_with_the_fault(fault: str, expected: str) -> None:
    facts = explanation(replace(game("gomoku", "a15 l1 b15 d8", "0-1", "illegal_move"), fault=fault))
    assert facts["fault"] == {"bot": "a", "termination": "illegal_move", "reason": fault}
    assert sentences(facts) == [
        expected,
        "The moves: cannot say: all positions have too many free cells to be solved, and no forced win was found.",
    ]
    facts = explanation(replace(game("tictactoe", "b2 b1", "0-1", "illegal_move"), fault=fault))
    assert sentences(facts)[:2] == [expected, "Ply 2: O (b) played b1 and turned a draw into a loss."]


def test_the_line_after_a_turn_is_best_play_to_the_end() -> None:
    facts = explanation(game("tictactoe", "b2 b1 a1 c3 a3 a2 c1"))
    (turn,) = facts["turns"]
    assert (turn["ply"], turn["side"], turn["bot"], turn["move"], turn["plies"]) == (2, "O", "b", "b1", 5)
    assert turn["better"] == ["a3", "c3", "a1", "c1"]
    moves = ["b2", "b1", *turn["line"]]
    assert Position.after(TICTACTOE, game("tictactoe", " ".join(moves)).moves).outcome() is not None
    assert len(turn["line"]) == 5
    assert sentences(facts)[:3] == [
        "Ply 2: O (b) played b1 and turned a draw into a loss.",
        "  Better: a3 c3 a1 c1",
        f"  After b1, with best play: {' '.join(turn['line'])}",
    ]


def test_a_forced_win_on_a_large_board_is_allowed_and_missed() -> None:
    # O leaves an open three; then X plays elsewhere, and O answers too late.
    facts = explanation(game("gomoku", "h8 a1 i8 a3 j8 a5 a15 k8", "0-1", "resigned"))
    first, second = facts["turns"][-2:]
    assert (first["ply"], first["move"], first["before"], first["after"], first["exact"]) == (
        *(6, "a5"), "unknown", "loss", False,
    )  # fmt: skip
    assert (second["ply"], second["before"], second["after"]) == (7, "win", "unknown")
    words = sentences(facts)
    assert "Ply 6: O (b) played a5 and allowed a forced win." in words
    assert "Ply 7: X (a) played a15 and missed a forced win." in words


def test_a_game_that_no_solver_can_solve_is_reported_as_unknown() -> None:
    facts = explanation(game("renju", "h8 a1 i8", "1-0", "resigned"))
    assert (facts["turns"], facts["known_from_ply"]) == ([], None)
    assert sentences(facts)[0].startswith("Cannot say: ")


def test_a_game_without_a_turn_says_so() -> None:
    drawn = game("tictactoe", "b2 a1 a3 c1 b1 b3 a2 c2 c3", "1/2-1/2", "board_full")
    assert sentences(explanation(drawn)) == [
        "No move from ply 1 on changed who wins if both sides play best."
    ]  # fmt: skip


@pytest.mark.parametrize(
    "record, message",
    [
        (game("tictactoe", "b2", "*", "going_on"), "got a live game, expected a game that has ended"),
        (game("tictactoe", "b2 b2"), "got a game with an error .*occupied.*, expected a game that follows the rules"),
    ],
)
def test_live_and_invalid_games_are_refused(record: RecordedGame, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        explanation(record)
