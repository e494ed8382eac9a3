"""Forced wins that a player found begin at the first move of the attack, and only if it kept the win."""

from noughts_bots.reference.analysis import Analyst, Turn
from noughts_bots.reference.exact import Verdict
from noughts_referee.rules import parse_variant
from noughts_server.records.explaining import JudgedGame, found_wins


def test_attack_counts_once_and_only_if_the_player_kept_the_win() -> None:
    win, loss, unknown = (Verdict(result, None, (), exact=False) for result in (1, -1, None))
    verdicts = dict(enumerate((unknown, win, loss, win, loss, win, unknown, win, loss)))
    missed = Turn(5, win, unknown, ())
    judged = JudgedGame(parse_variant("gomoku"), verdicts, [missed])
    assert found_wins(judged) == [1, 7]


def test_win_that_a_solver_knows_does_not_count() -> None:
    win, loss = (Verdict(result, 1, (), exact=True) for result in (1, -1))
    assert found_wins(JudgedGame(parse_variant("tictactoe"), {3: win, 4: loss}, [])) == []


def test_missed_win_and_missed_block_are_no_found_win() -> None:
    # The move at ply 8 overlooks a win in one, and the answer overlooks that it can block it.
    gomoku, moves = parse_variant("gomoku"), (109, 108, 110, 0, 111, 14, 112, 210, 224, 7, 113)
    analyst = Analyst(gomoku, effort=0, nodes=400)
    verdicts = analyst.verdicts(moves, 8)
    assert found_wins(JudgedGame(gomoku, verdicts, analyst.turns(moves, verdicts))) == []
