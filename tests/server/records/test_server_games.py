"""Conversion of games and tournaments that a server returns to the records of files."""

import pytest

from noughts_proto.v1 import games_pb2, types_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.records.json_lines import json_document
from noughts_server.records.server_games import about_tournament, recorded_game

LIMIT = types_pb2.TimeControl(move_us=100_000)
MARGIN = games_pb2.Allowance(margin_us=50_000)
GAME = games_pb2.Game(
    name="tournaments/cup/games/1",
    variant="tictactoe",
    first="ada",
    second="bob",
    moves=[4, 0, 1, 2, 7],
    winning_cells=[1, 4, 7],
    result=types_pb2.RESULT_FIRST_WINS,
    termination=types_pb2.TERMINATION_LINE,
    seed=2**60,
    times_us=[0, 120_000, 0, 0, 0],
)


def test_moves_in_the_time_margin_are_counted() -> None:
    game = games_pb2.Game(first_time=LIMIT, second_time=LIMIT, first_allowance=MARGIN, second_allowance=MARGIN)
    game.MergeFrom(GAME)
    more = recorded_game(game).more
    assert (more["margins_ms"], more["late_moves"]) == ([50, 50], [0, 1])
    assert "margins_ms" not in recorded_game(GAME).more


def test_a_game_has_the_time_controls_of_its_sides_only_if_they_differ() -> None:
    assert {"first_time", "second_time"}.isdisjoint(json_document(recorded_game(GAME)))
    game = games_pb2.Game(first_time=LIMIT)
    game.MergeFrom(GAME)
    line = json_document(recorded_game(game))
    assert (line["first_time"], line["second_time"]) == ("0.1/move", "none")


def test_a_game_lost_by_a_fault_says_by_which_bot_and_when() -> None:
    game = games_pb2.Game(fault="answered cell 99")
    game.MergeFrom(GAME)
    assert json_document(recorded_game(game))["fault"] == {
        "bot": "bob", "side": "second", "ply": 5, "reason": "answered cell 99"
    }  # fmt: skip


def test_stones_by_agreement_are_the_opening_of_a_game() -> None:
    game = games_pb2.Game(agreement=games_pb2.Agreement(rule="swap2", opener="ada", stones=3))
    game.MergeFrom(GAME)
    assert json_document(recorded_game(game))["opening"] == {"rule": "swap2", "opener": "ada", "stones": 3}


def test_a_live_game_has_the_termination_going_on() -> None:
    line = json_document(recorded_game(games_pb2.Game(variant="tictactoe", first="ada", second="bob", moves=[4])))
    assert (line["result"], line["termination"]) == ("*", "going_on")


def test_facts_of_a_tournament_have_byes_withdrawals_and_own_times() -> None:
    tournament = pb.Tournament(schedule=pb.SCHEDULE_SWISS, own_times={"b10": LIMIT, "b2": LIMIT})
    rows = [pb.Standing(label="b2", byes=1, points=1.5, draws=1), pb.Standing(label="b10", withdraw_reason="crashed")]
    rows[1].withdraw_time.FromSeconds(1)
    facts = about_tournament(tournament, pb.GetCrosstableResponse(standings=rows))
    assert (facts.schedule, facts.byes, facts.bye_points) == ("swiss", {"b2": 1}, {"b2": 1.0, "b10": 0.0})
    assert facts.withdrawn == {"b10": "crashed"}
    assert facts.time.index("b2") < facts.time.index("b10")


def test_a_format_that_only_a_newer_version_knows_is_an_error() -> None:
    with pytest.raises(ValueError, match="99"):
        about_tournament(pb.Tournament(schedule=99), pb.GetCrosstableResponse())  # type: ignore[arg-type]
