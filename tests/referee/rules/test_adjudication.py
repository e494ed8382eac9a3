"""Adjudication: rules that end a game early, because of its length or of the scores that bots report."""

import re

import pytest

from noughts_referee.rules import Adjudication, DrawRule, InvalidInput, ResignRule, Result
from noughts_referee.work_units import pack_scores, stored_score, unpack_scores

Scores = list[float | None]


def end(rules: Adjudication, scores: Scores) -> tuple[int, str] | None:
    """Return the number of moves after which a game with these scores ends, and its result."""
    known: dict[int, float] = {}
    for ply, score in enumerate(scores):
        if score is not None:
            known[ply] = score
        if (outcome := rules.outcome(known, ply + 1)) is not None:
            return ply + 1, str(outcome.result)
    return None


@pytest.mark.parametrize(
    "rule, scores, expected",
    [
        # The second side, then the first, reports a bad score at N moves in a row.
        ("moves=2,score=600", [0, -600, 5, -700], (4, "1-0")),
        ("moves=2,score=600", [-601, 0, -900, 0], (3, "0-1")),
        ("moves=1,score=600", [0, -600], (2, "1-0")),
        # A better score, or a move without a score, interrupts the streak.
        ("moves=2,score=600", [0, -600, 5, -599, 0, -800], None),
        ("moves=2,score=600", [0, -600, 5, None, 0, -800], None),
        ("moves=2,score=600", [None, None, None, None], None),
        # The scores of the opponent do not count, so no bot can win by lying.
        ("moves=1,score=600", [9e9, 0, 9e9, 0], None),
        # With twosided, the opponent must have agreed before the loser's last move.
        ("moves=2,score=600,twosided", [700, -600, 700, -600], (4, "1-0")),
        ("moves=2,score=600,twosided", [0, -600, 700, -600, 700, -600], (6, "1-0")),
        ("moves=2,score=600,twosided", [700, -600, 599, -600, 700, -600], None),
        ("moves=1,score=600,twosided", [None, -600, None, -600], None),
        ("moves=1,score=0.5", [-0.4, -0.5], (2, "1-0")),
    ],
)
def test_a_side_loses_by_its_own_last_scores(rule: str, scores: Scores, expected: tuple[int, str] | None) -> None:
    assert end(Adjudication(resign=ResignRule.parse(rule)), scores) == expected


@pytest.mark.parametrize(
    "rule, scores, expected",
    [
        ("moves=2,score=10", [5, -5, 10, -10], (4, "1/2-1/2")),
        ("moves=2,score=10", [50, -50, 10, -10, 0, 0], (6, "1/2-1/2")),
        ("moves=2,score=10", [50, 0, 0, 0, 0], (5, "1/2-1/2")),
        ("moves=1,score=0,after=4", [0, 0, 0, 0, 0], (4, "1/2-1/2")),
        ("moves=1,score=0,after=5", [0, 0, 0, 0, 0], (5, "1/2-1/2")),
        ("moves=1,score=0,after=6", [0, 0, 0, 0, 0], None),
        ("moves=2,score=10", [5, -5, 11, -10], None),
        ("moves=2,score=10", [5, None, 5, 5], None),
        ("moves=1,score=10", [5], None),
    ],
)
def test_a_game_is_drawn_if_both_sides_report_scores_near_zero(
    rule: str, scores: Scores, expected: tuple[int, str] | None
) -> None:
    assert end(Adjudication(draw=DrawRule.parse(rule)), scores) == expected


def test_a_resignation_comes_before_other_rules_at_the_same_ply() -> None:
    rules = Adjudication(ResignRule.parse("moves=1,score=5"), DrawRule.parse("moves=1,score=5"), draw_after=2)
    scores = {0: -4.0, 1: -5.0}
    outcome = rules.outcome(scores, 2)
    assert outcome is not None
    assert outcome.result is Result.FIRST_WINS
    assert rules.reason(outcome.result, scores, 2, ("ada", "bob")) == "bob reported -5 or less at its last move"
    assert rules.reason(Result.DRAW, {0: 9.0}, 1, ("ada", "bob")) == ""


@pytest.mark.parametrize(
    "rules, result, reason",
    [
        (Adjudication(draw=DrawRule(1, 5)), Result.DRAW, "both reported -5 to 5 at the last move of each"),
        (Adjudication(draw_after=2), Result.DRAW, "it had 2 moves"),
        (Adjudication(exact=True), Result.DRAW, "proven a draw"),
        (Adjudication(exact=True), Result.SECOND_WINS, "proven that bob wins"),
        (
            Adjudication(ResignRule(1, 4, twosided=True)),
            Result.SECOND_WINS,
            "ada reported -4 or less at its last move, and bob 4 or more",
        ),
    ],
)
def test_the_reason_follows_from_the_rules_and_the_scores(rules: Adjudication, result: Result, reason: str) -> None:
    # A drawn game has two moves here. If `bob` wins, ada's last score came with the third move.
    ply = 2 if result is Result.DRAW else 3
    assert rules.reason(result, {0: -4.0, 1: 4.0, 2: -4.0}, ply, ("ada", "bob")) == reason


@pytest.mark.parametrize(
    "kind, text, message",
    [
        (ResignRule, "", "got ''"),
        (ResignRule, "moves=3", "got no score, expected moves=N,score=S[,twosided]"),
        (ResignRule, "moves=0,score=1", "got '0' moves, expected 1 to 10,000"),
        (ResignRule, "moves=3,score=nan", "got the score 'nan'"),
        (ResignRule, "moves=3,score=inf", "got the score 'inf'"),
        (ResignRule, "moves=3,score=-600", "got the score '-600'"),
        (ResignRule, "moves=3,score=1_000", "got the score '1_000'"),
        (ResignRule, "moves=3,score=0", "got the score 0, expected a score above 0"),
        (ResignRule, "moves=3,score=1,after=2", "got 'after=2'"),
        (ResignRule, "moves=3,score=1,twosided=true", "got 'twosided=true'"),
        (ResignRule, "moves=3,moves=3,score=1", "got 'moves=3'"),
        (DrawRule, "moves=3,score=1,twosided", "got 'twosided', expected moves=N,score=S[,after=P]"),
        (DrawRule, "moves=99999999999,score=1", "got '99999999999' moves"),
        (DrawRule, "moves=3,score=1,after=0", "got '0' plies, expected 1 to 100,000"),
        (DrawRule, "moves=\u0663,score=1", "got '\u0663' moves"),
        (DrawRule, "moves=3,score=1,", "got ''"),
    ],
)
def test_a_rule_that_cannot_be_read_says_what_is_expected(
    kind: type[ResignRule] | type[DrawRule], text: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        kind.parse(text)


@pytest.mark.parametrize("score", [0.1, -599.9999999, 1e300, -1e300, 123_456_789.0, 1 / 3])
def test_a_stored_score_is_the_same_after_it_is_read_again(score: float) -> None:
    stored = stored_score(score)
    assert unpack_scores(pack_scores({0: stored}, 1)) == {0: stored}
