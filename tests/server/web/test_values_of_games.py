"""The graph of a game's values: proven losses are as near to the end as the wins around them."""

from dataclasses import replace
from itertools import pairwise

from noughts_bots.reference.analysis import Analyst, Turn
from noughts_bots.reference.exact import Verdict
from noughts_proto.v1 import games_pb2
from noughts_referee.rules import parse_variant
from noughts_server.drawing.charts import value_line
from noughts_server.records.explaining import JudgedGame
from noughts_server.tables.recorded_game import RecordedGame
from noughts_server.web.game_analysis import course, decisive, missed_after, shown_first, stood_lost

GOMOKU = parse_variant("gomoku")
OPEN_FOUR = (112, 0, 113, 14, 114, 210, 115, 116, 111)
"""A game in which the first player makes an open four and wins."""


def test_distances_to_the_end_shrink_move_by_move() -> None:
    verdicts = Analyst(GOMOKU, effort=0, nodes=400).verdicts(OPEN_FOUR, 0)
    values = course(JudgedGame(GOMOKU, verdicts, []))
    assert [value for _, value, _ in values] == [1] * len(values)
    assert [ply for ply, _, _ in values] == [*range(6, 10)]
    assert all(later == earlier - 1 for (*_, earlier), (*_, later) in pairwise(values))


def test_unknown_distance_follows_from_the_next_known_value() -> None:
    win, lost, unknown = (
        Verdict(result, plies, (), exact=False) for result, plies in ((1, 5), (-1, None), (None, None))
    )
    verdicts = {4: lost, 5: unknown, 6: lost, 7: win, 8: unknown, 9: lost}
    assert course(JudgedGame(GOMOKU, verdicts, [])) == [(4, -1, 8), (6, -1, 6), (7, -1, 5), (9, 1, 0)]


def test_graph_counts_mistakes_that_left_an_unknown_value() -> None:
    unknown = Verdict(None, None, (), exact=False)
    mistakes = [Turn(ply, unknown, unknown, ()) for ply in (2, 4, 6)]
    chart = value_line([(2, 1, 3), (3, 1, 2)], {turn.ply + 1 for turn in mistakes}, 9, len(mistakes))
    assert chart is not None
    assert chart.words.endswith("3 mistakes.")
    assert chart.svg.count("<circle") == 1


def test_winner_that_stood_lost_is_named_after_a_fault_of_the_other_side() -> None:
    won, lost = (Verdict(result, None, (), exact=False) for result in (1, -1))
    game = RecordedGame("gomoku", "ann", "bob", "1-0", (112,), "timeout")
    assert stood_lost(game, JudgedGame(GOMOKU, {1: won}, [])) == 0
    assert stood_lost(game, JudgedGame(GOMOKU, {1: lost}, [])) is None
    assert stood_lost(game, JudgedGame(GOMOKU, {}, [])) is None
    assert stood_lost(replace(game, termination="line"), JudgedGame(GOMOKU, {1: won}, [])) is None
    # The player that is not to move can lose by a fault, too.
    assert stood_lost(replace(game, result="0-1", termination="crashed"), JudgedGame(GOMOKU, {1: lost}, [])) == 1


def test_last_mistake_decides_unless_the_winner_missed_the_win() -> None:
    unknown, won, lost = (Verdict(result, None, (), exact=False) for result in (None, 1, -1))
    game = RecordedGame("gomoku", "ann", "bob", "0-1", (), "line")
    turns = [Turn(ply, won, won, ()) for ply in (2, 3, 4)]
    assert decisive(game, JudgedGame(GOMOKU, {}, turns)) == 4
    assert decisive(game, JudgedGame(GOMOKU, {}, turns[:2])) is None
    assert decisive(replace(game, result="1/2-1/2"), JudgedGame(GOMOKU, {}, turns)) is None
    assert decisive(replace(game, termination="timeout"), JudgedGame(GOMOKU, {}, turns)) is None
    assert decisive(game, JudgedGame(GOMOKU, {}, [Turn(4, won, unknown, ())])) is None
    assert decisive(game, JudgedGame(GOMOKU, {}, [Turn(4, won, lost, ())])) is None


def test_many_equal_mistakes_are_not_called_the_most_costly() -> None:
    def mistakes(*marks: str) -> list[games_pb2.Mistake]:
        return [games_pb2.Mistake(ply=ply, mark=mark) for ply, mark in enumerate(marks)]

    assert shown_first(mistakes("?", "??", "?", "??", "??"), 2) == {1, 2, 3, 4}
    assert shown_first(mistakes("??", "??", "?", "??", "??"), 2) == {2}
    assert shown_first(mistakes("??", "??", "?", "??", "??"), None) == {4}


def test_a_forced_win_that_was_found_can_be_missed_later() -> None:
    won = Verdict(1, None, (), exact=False)
    judged = JudgedGame(GOMOKU, {}, [Turn(ply, won, won, ()) for ply in (1, 4, 8)])
    assert [missed_after(judged, ply) for ply in (2, 4, 7, 8)] == [4, 8, None, None]
