"""Games of bots over HTTP: rated games, sought games, moves that are sent again, and late and illegal moves."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jsonschema import Draft202012Validator

from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import types_pb2
from noughts_server.testing import ServerUnderTest
from noughts_server.web.openapi import openapi
from tests.support.http_bots import PLAY, HttpBot, Organiser, bots, play_together, playing, send
from tests.support.processes import eventually
from tests.support.site import Site, connection_to

DOCUMENT = openapi()


def check_schema(answer: Any, schema: str) -> None:
    reference = {"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]}
    Draft202012Validator(reference).validate(answer)


def test_two_bots_play_rated_games_over_http(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    pair = bots(site, server, "red", "yellow", variants=["connect4"])
    time = types_pb2.TimeControl(move_us=60_000_000)
    cup = organiser.start("rated", *pair, variant="connect4", games_per_pair=2, time=time)
    ends = play_together(*pair, games=2)
    games = organiser.games(cup)
    assert [game.termination for game in games] == [types_pb2.TERMINATION_LINE] * 2
    assert [end["game"] for end in ends[0]] == [game.name for game in games]
    assert {end["points"] for end in (*ends[0], *ends[1])} == {1, 0}
    tournament = site.get(f"/api/v1/{cup}").document
    assert tournament["rated"]
    ratings = site.get("/api/v1/bots/red/ratings").document["ratings"]
    assert ratings[0]["row"]["games"] == 2


def test_bots_over_http_seek_games_and_play_them(site: Site, server: ServerUnderTest) -> None:
    wish = "variant=tictactoe,time=60/move,rating=+-300"
    pair = bots(site, server, "seek-a", "seek-b", seek=wish)
    listed = eventually(lambda: site.get("/api/v1/bots?seeking_only=true").document["bots"])
    time = {"move_us": 60_000_000, "bank_us": 0, "increment_us": 0}
    assert listed[0]["seek"] == {"variant": "tictactoe", "time": time, "rating_range": 300}
    assert "Seeking opponents" in site.get("/").text
    ends = play_together(*pair, games=2)
    assert {end["game"].partition("/games/")[0] for end in ends[0]} == {
        end["game"].partition("/games/")[0] for end in ends[1]
    }
    assert ends[0][0]["opponent"] == "seek-b"
    assert eventually(lambda: site.get("/api/v1/bots/seek-a/ratings").document["ratings"])[0]["row"]["games"] == 2
    for bot in pair:
        bot.leave()
    eventually(lambda: not site.get("/api/v1/bots?seeking_only=true").document["bots"])
    for wrong, words in (("tictactoe", "expected variant, time"), ("variant=tictactoe,time=none", "with a clock")):
        refused = send(site.address, "POST", PLAY, server.token("owner-seek-a"), {"bot": "seek-a", "seek": wrong})
        assert refused.status == 400
        assert words in refused.document["error"]["message"]


def test_answers_follow_the_openapi_document(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    pair = bots(site, server, "schema-a", "schema-b", capacity=2)
    check_schema(pair[0].opened, "PlaySession")
    time = types_pb2.TimeControl(bank_us=60_000_000, increment_us=1_000_000)
    organiser.start("schema", *pair, variant="tictactoe", games_per_pair=2, time=time)
    turn = pair[0].next_turn()
    report = pair[0].turns().document
    check_schema(report, "PlayReport")
    assert report["turns"][0]["turn"] == turn["turn"]
    assert turn["legal"] == list(range(9))
    assert turn["position"] == "......... X"
    assert 0 < turn["left_us"] <= turn["own_clock_us"] == 60_000_000
    move = {"turn": turn["turn"], "move": 4, "score": 1.5, "comment": "first", "depth": 2, "nodes": 9, "pv": [4, 0]}
    check_schema({"moves": [move]}, "PlayMoves")
    answer = pair[0].moves(move, wait=0).document
    check_schema(answer, "PlayMovesReport")
    assert answer["moves"] == [{"turn": turn["turn"], "status": "accepted", "message": ""}]
    check_schema(pair[0].moves(move).document, "PlayMovesReport")
    ends = play_together(*pair, games=2)
    assert ends[0][0]["page"].startswith(f"{site.address}/tournaments/schema/games/")
    for end in ends[0]:
        check_schema(end, "PlayEnd")


def test_a_move_that_is_sent_again_has_the_same_answer(
    site: Site, server: ServerUnderTest, organiser: Organiser
) -> None:
    pair = bots(site, server, "again-a", "again-b")
    cup = organiser.start("again", *pair, variant="tictactoe", games_per_pair=1)
    turn = pair[0].next_turn()
    move = {"turn": turn["turn"], "move": 0}
    first = pair[0].moves(move)
    reply = pair[1].next_turn()
    assert reply["moves"] == [0]
    assert (first.status, first.document) == (200, pair[0].moves(move).document)
    refused = pair[0].moves({"turn": turn["turn"], "move": 1})
    assert refused.status == 409
    assert refused.document["moves"][0]["status"] == "conflict"
    assert "got move 1, but move 0 was accepted before" in refused.document["error"]["message"]
    resigned = pair[0].moves({"turn": turn["turn"], "resign": ""})
    assert "got a resignation" in resigned.document["error"]["message"]
    assert pair[1].next_turn()["moves"] == [0]
    # Replays in the next turn of the game change nothing either.
    pair[1].moves({"turn": reply["turn"], "move": 4})
    assert pair[0].next_turn()["moves"] == [0, 4]
    assert pair[0].moves(move).document == first.document
    assert pair[0].next_turn()["moves"] == [0, 4]
    play_together(*pair, games=1)
    assert organiser.games(cup)[0].moves[:2] == [0, 4]


def test_an_unknown_turn_refuses_the_whole_request(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    pair = bots(site, server, "unknown-a", "unknown-b")
    organiser.start("unknown", *pair, variant="tictactoe", games_per_pair=1)
    turn = pair[0].next_turn()
    refused = pair[0].moves({"turn": turn["turn"], "move": 0}, {"turn": 999, "move": 0})
    assert refused.status == 400
    assert "moves[1].turn: got 999" in refused.document["error"]["message"]
    assert pair[0].next_turn()["turn"] == turn["turn"]
    play_together(*pair, games=1)


def test_turns_of_other_sessions_and_later_turns_are_refused(
    site: Site, server: ServerUnderTest, organiser: Organiser
) -> None:
    pair = bots(site, server, "order-a", "order-b")
    cup = organiser.start("order", *pair, variant="tictactoe", games_per_pair=1)
    turn = pair[0].next_turn()["turn"]
    answer = {"turn": turn, "move": 0}
    assert pair[1].moves(answer).status == 400
    assert send(site.address, "POST", f"{pair[0].path}/moves", pair[1].token, {"moves": [answer]}).status == 404
    assert pair[0].moves({"turn": turn + 1, "move": 0}).status == 400
    assert pair[0].next_turn()["moves"] == []
    pair[0].moves({"turn": turn, "move": 4})
    play_together(*pair, games=1)
    assert pair[0].moves(answer).status == 409
    assert organiser.games(cup)[0].moves[0] == 4


def test_two_programs_with_one_session_make_one_move(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    pair = bots(site, server, "twice-a", "twice-b")
    organiser.start("twice", *pair, variant="tictactoe", games_per_pair=1)
    turn = pair[0].next_turn()["turn"]
    with ThreadPoolExecutor(9) as pool:
        answers = list(pool.map(lambda cell: pair[0].moves({"turn": turn, "move": cell}).status, range(9)))
    assert sorted(answers) == [200] + 8 * [409]
    assert pair[1].next_turn()["moves"] == [answers.index(200)]
    play_together(*pair, games=1)


def test_a_bot_that_leaves_in_a_game_can_continue_it(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    pair = bots(site, server, "leave-a", "leave-b")
    cup = organiser.start("leave", *pair, variant="tictactoe", games_per_pair=1)
    pair[0].moves({"turn": pair[0].next_turn()["turn"], "move": 4})
    turn = pair[1].next_turn()["turn"]
    assert pair[1].leave().status == 204
    assert pair[1].moves({"turn": turn, "move": 0}).status == 410
    again = HttpBot(site.address, pair[1].token, "leave-b")
    assert again.next_turn()["moves"] == [4]
    play_together(pair[0], again, games=1)
    assert organiser.games(cup)[0].termination in (types_pb2.TERMINATION_LINE, types_pb2.TERMINATION_BOARD_FULL)


def test_a_late_move_is_reported_as_late(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    pair = bots(site, server, "late-a", "late-b")
    time = types_pb2.TimeControl(move_us=2_000_000)
    cup = organiser.start("late", *pair, variant="tictactoe", games_per_pair=1, time=time)
    turn = pair[0].next_turn()
    ends = eventually(lambda: pair[0].turns(after=turn["turn"]).document["ended"])
    assert (ends[0]["result"], ends[0]["points"], ends[0]["termination"]) == ("0-1", 0, "timeout")
    assert ends[0]["fault"]
    late = pair[0].moves({"turn": turn["turn"], "move": 0})
    assert late.status == 200
    assert late.document["moves"][0]["status"] == "late"
    assert "is over: 0-1 by timeout" in late.document["moves"][0]["message"]
    assert organiser.games(cup)[0].termination == types_pb2.TERMINATION_TIMEOUT


def test_illegal_moves_and_resignations_end_the_game(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    pair = bots(site, server, "wrong-a", "wrong-b")
    organiser.start("wrong", *pair, variant="tictactoe", games_per_pair=2)
    pair[0].moves({"turn": pair[0].next_turn()["turn"], "move": 9})
    (illegal,) = eventually(lambda: pair[0].turns().document["ended"])
    assert (illegal["termination"], illegal["points"]) == ("illegal_move", 0)
    assert illegal["fault"]
    pair[1].moves({"turn": pair[1].next_turn()["turn"], "resign": "tired"})
    (resigned,) = eventually(lambda: pair[0].turns().document["ended"])
    assert (resigned["termination"], resigned["points"]) == ("resigned", 1)


def test_a_question_whose_answer_was_lost_is_asked_again(
    site: Site, server: ServerUnderTest, organiser: Organiser
) -> None:
    pair = bots(site, server, "lost-a", "lost-b")
    request = (
        f"GET {pair[0].path}/turns?wait=25 HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {pair[0].token}\r\n\r\n"
    )
    with connection_to(site) as connection:  # waits for a question, and is gone before there is one
        connection.sendall(request.encode())
    organiser.start("lost", *pair, variant="tictactoe", games_per_pair=1)
    with connection_to(site) as connection:  # is gone before it has read the question
        connection.sendall(request.encode())
        connection.recv(1)
    turn = pair[0].next_turn()
    move = f'{{"moves": [{{"turn": {turn["turn"]}, "move": 8}}]}}'
    head = request.replace("GET", "POST").replace("turns?wait=25", "moves").removesuffix("\r\n")
    with connection_to(site) as connection:  # the move arrives, and its answer is lost
        connection.sendall(f"{head}content-length: {len(move)}\r\n\r\n{move}".encode())
        connection.recv(1)
    assert pair[0].moves({"turn": turn["turn"], "move": 8}).document["moves"][0]["status"] == "accepted"
    assert pair[1].next_turn()["moves"] == [8]
    play_together(*pair, games=1)


def test_bots_over_http_and_grpc_play_each_other(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    (bot,) = bots(site, server, "mixed")
    token = server.token("owner-grpc")
    with playing(server, Random(), token, "random-grpc"):
        cup = organiser.start("mixed", bot, ("bots/random-grpc", token), variant="tictactoe", games_per_pair=4)
        assert len(bot.play(4)) == 4
    assert len(organiser.games(cup)) == 4
