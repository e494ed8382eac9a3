"""Bots play over HTTP: rated games, requests that are sent again, sessions that end and resume, and limits."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from jsonschema import Draft202012Validator

from noughts_bots.reference.random_ import Random
from noughts_proto.v1 import tokens_pb2, types_pb2
from noughts_server.client.stubs import Stubs
from noughts_server.store.engine.database import Store
from noughts_server.store.people.tokens import create_token
from noughts_server.testing import ServerUnderTest, serving
from noughts_server.web.http_play.session import PlaySettings
from noughts_server.web.openapi import openapi
from noughts_server.web.visitors import SiteLimits
from tests.support.arena import NOW
from tests.support.background import server_in_thread
from tests.support.client import bearer
from tests.support.databases import make_file, url_of
from tests.support.http_bots import PLAY, HttpBot, Organiser, organiser_at, play_together, playing, send
from tests.support.patience import PATIENCE
from tests.support.processes import eventually
from tests.support.site import Site, connection_to, site_of

DOCUMENT = openapi()


@pytest.fixture(scope="module")
def server() -> Iterator[ServerUnderTest]:
    with serving(reconnect_timeout=60.0) as running:
        yield running


@pytest.fixture(scope="module")
def site(server: ServerUnderTest) -> Iterator[Site]:
    with site_of(server.address) as running:
        yield running


@pytest.fixture(scope="module")
def organiser(server: ServerUnderTest) -> Iterator[Organiser]:
    with organiser_at(server) as running:
        yield running


def check_schema(answer: Any, schema: str) -> None:
    reference = {"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]}
    Draft202012Validator(reference).validate(answer)


def bots(site: Site, server: ServerUnderTest, *names: str, **fields: Any) -> list[HttpBot]:
    """Sessions of bots of different owners."""
    return [HttpBot(site.address, server.token(f"owner-{name}"), name, **fields) for name in names]


async def tokens_in(path: Path, *owners: str) -> dict[str, str]:
    """Create a database, and return a token of each of these owners."""
    make_file(path)
    store = await Store.open(url_of(path))
    try:
        return {owner: (await store.write(partial(create_token, owner=owner, now_ms=NOW))).secret for owner in owners}
    finally:
        await store.close()


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
    time = types_pb2.TimeControl(move_us=200_000)
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


def test_a_new_session_continues_the_games_of_the_older_one(
    site: Site, server: ServerUnderTest, organiser: Organiser
) -> None:
    pair = bots(site, server, "newer-a", "newer-b")
    cup = organiser.start("newer", *pair, variant="tictactoe", games_per_pair=1)
    pair[0].moves({"turn": pair[0].next_turn()["turn"], "move": 4})
    pair[1].moves({"turn": pair[1].next_turn()["turn"], "move": 0})
    older = pair[0]
    older.next_turn()
    newer = HttpBot(site.address, older.token, "newer-a")
    assert newer.next_turn()["moves"] == [4, 0]
    replaced = older.turns()
    assert replaced.status == 410
    assert "newer session" in replaced.document["error"]["message"]
    play_together(newer, pair[1], games=1)
    assert organiser.games(cup)[0].moves[:2] == [4, 0]


def test_a_game_continues_after_a_restart_of_the_website(server: ServerUnderTest, organiser: Organiser) -> None:
    with site_of(server.address) as before:
        names = ("restart-a", "restart-b")
        pair = bots(before, server, *names)
        cup = organiser.start("restart", *pair, variant="tictactoe", games_per_pair=1)
        pair[0].moves({"turn": pair[0].next_turn()["turn"], "move": 4})
        pair[1].next_turn()
    with site_of(server.address) as after:
        for bot in pair:
            bot.address = after.address
            gone = bot.turns()
            assert gone.status == 404
            assert "Open a session again" in gone.document["error"]["hint"]
        pair = [HttpBot(after.address, bot.token, name) for bot, name in zip(pair, names, strict=True)]
        assert pair[1].next_turn()["moves"] == [4]
        play_together(*pair, games=1)
        assert organiser.games(cup)[0].moves[0] == 4


def test_a_session_and_its_game_continue_after_a_restart_of_the_server(tmp_path: Path) -> None:
    database, tokens = url_of(tmp_path / "x.sqlite"), asyncio.run(tokens_in(tmp_path / "x.sqlite", "ada", "bob"))
    with ExitStack() as stack:
        with server_in_thread(database, reconnect_timeout=60.0) as server:
            site = stack.enter_context(site_of(server))
            wish = "variant=tictactoe,time=60/move,rating=+-300"
            pair = [HttpBot(site.address, token, f"bot-of-{owner}", seek=wish) for owner, token in tokens.items()]
            with ThreadPoolExecutor(2) as pool:
                turns = [pool.submit(bot.next_turn) for bot in pair]
                done, _ = wait(turns, PATIENCE, FIRST_COMPLETED)
                first, second = sorted(pair, key=lambda bot: turns[pair.index(bot)] not in done)
                first.moves({"turn": done.pop().result()["turn"], "move": 4})
                open_turn = turns[pair.index(second)].result(PATIENCE)
        eventually(lambda: second.turns(wait=0).document["connected"] is False)
        # The server gets this answer when it repeats the question.
        assert second.moves({"turn": open_turn["turn"], "move": 0}).document["moves"][0]["status"] == "accepted"
        stack.enter_context(server_in_thread(database, listen=server, reconnect_timeout=60.0))
        assert first.next_turn()["moves"] == [4, 0]
        play_together(*pair, games=1)


def test_a_bot_without_requests_goes_offline_and_loses(server: ServerUnderTest) -> None:
    with ExitStack() as stack:
        short = stack.enter_context(serving(reconnect_timeout=0.2))
        site = stack.enter_context(site_of(short.address, play=PlaySettings(idle=2.0)))
        organiser = stack.enter_context(organiser_at(short))
        pair = bots(site, short, "away", "here")
        assert site.get("/api/v1/bots/away").document["online"]
        cup = organiser.start("idle", *pair, variant="tictactoe", games_per_pair=1)
        # The bot that owes nothing asks nothing; the other one waits for its move.
        pair[0].moves({"turn": pair[0].next_turn()["turn"], "move": 0})
        turn = pair[1].next_turn()
        assert organiser.games(cup)[0].termination == types_pb2.TERMINATION_DISCONNECTED
        idle = pair[0].turns()
        assert idle.status == 404
        assert "no request came for 2 s" in idle.document["error"]["message"]
        (end,) = eventually(lambda: pair[1].turns(after=turn["turn"]).document["ended"])
        assert (end["termination"], end["points"]) == ("disconnected", 1)
        assert pair[1].moves({"turn": turn["turn"], "move": 1}).document["moves"][0]["status"] == "late"


def test_a_bot_that_thinks_about_a_move_is_not_idle(server: ServerUnderTest) -> None:
    with ExitStack() as stack:
        site = stack.enter_context(site_of(server.address, play=PlaySettings(idle=0.3)))
        organiser = stack.enter_context(organiser_at(server))
        pair = bots(site, server, "thinker", "other")
        time = types_pb2.TimeControl(move_us=60_000_000)
        organiser.start("thinking", *pair, variant="tictactoe", games_per_pair=1, time=time)
        turn = pair[0].next_turn()
        bots(site, server, "sleeper")
        eventually(lambda: not site.get("/api/v1/bots/sleeper").document["online"])
        assert pair[0].moves({"turn": turn["turn"], "move": 0}).status == 200


def test_a_revoked_token_ends_its_sessions_at_once(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    pair = bots(site, server, "revoked", "honest")
    cup = organiser.start("revocation", *pair, variant="tictactoe", games_per_pair=1)
    turn = pair[0].next_turn()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(pair[0].turns, after=turn["turn"])
        with grpc.insecure_channel(server.address) as channel:
            Stubs(channel).tokens.RevokeToken(
                tokens_pb2.RevokeTokenRequest(name="tokens/self"), metadata=bearer(pair[0].token)
            )
        assert waiting.result(PATIENCE).status == 401
    refused = (pair[0].turns(), pair[0].moves({"turn": turn["turn"], "move": 0}))
    assert [answer.status for answer in refused] == [401, 401]
    assert "revoked" in refused[0].document["error"]["message"]
    assert send(site.address, "POST", PLAY, pair[0].token, {"bot": "revoked"}).status == 401
    assert organiser.games(cup)[0].result == types_pb2.RESULT_SECOND_WINS
    assert pair[1].turns().status == 200


def test_sessions_and_names_of_others_are_refused(site: Site, server: ServerUnderTest) -> None:
    (bot,) = bots(site, server, "guarded")
    stranger = server.token("stranger")
    refused = send(site.address, "POST", PLAY, stranger, {"bot": "guarded"})
    assert refused.status == 403
    assert "guarded" in refused.document["error"]["message"]
    for token, status in ((stranger, 404), ("", 401), ("nonsense", 401), ("nou_nonsense", 404)):
        for method, path in (("GET", "/turns"), ("POST", "/moves"), ("DELETE", "")):
            answer = send(site.address, method, f"{bot.path}{path}", token, {"moves": []})
            assert answer.status == status, (method, path, token)
    assert send(site.address, "POST", PLAY, "nou_nonsense", {"bot": "guarded"}).status == 401
    assert send(site.address, "POST", PLAY, server.token("reader", "organise"), {"bot": "new"}).status == 403
    assert bot.turns(wait=0).status == 200


def test_leaving_is_idempotent_and_takes_the_bot_offline(site: Site, server: ServerUnderTest) -> None:
    (bot,) = bots(site, server, "leaver")
    assert [bot.leave().status, bot.leave().status] == [204, 204]
    gone = bot.turns()
    assert gone.status == 410
    assert "has left" in gone.document["error"]["message"]
    eventually(lambda: not site.get("/api/v1/bots/leaver").document["online"])


@pytest.mark.parametrize(
    "body, words",
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "body: got [], expected an object"),
        (b"{}", "bot: got nothing, expected the name of the bot"),
        (b'{"bot": 7}', "bot: got 7"),
        (b'{"bot": "\\ud800"}', "bot: got"),
        (b'{"bot": "x", "colour": "red"}', "colour: unknown"),
        (b'{"bot": "x", "\\ud800": "red"}', "ud800"),
        (b'{"bot": "x", "bot": "y"}', 'body: got the field "bot" twice in one object, expected it once'),
        (b'{"\\ud800": 1, "\\ud800": 2}', 'the field "\\ud800" twice'),
        (b'{"bot": "x", "capacity": 0}', "capacity: got 0"),
        (b'{"bot": "x", "capacity": true}', "capacity: got true"),
        (b'{"bot": "x", "variants": "tictactoe"}', "variants: got"),
        (b'{"bot": "No Name"}', "No Name"),
    ],
)
def test_sessions_with_wrong_fields_are_refused(site: Site, server: ServerUnderTest, body: bytes, words: str) -> None:
    answer = send(site.address, "POST", PLAY, server.token("wrong"), body)
    assert answer.status == 400
    assert words in answer.document["error"]["message"]


@pytest.mark.parametrize(
    "path, body, words",
    [
        ("/turns?wait=26", None, "parameter wait: got '26', expected seconds from 0 to 25"),
        ("/turns?wait=nan", None, "parameter wait"),
        ("/turns?after=x", None, "parameter after: got 'x'"),
        ("/turns?after=7", None, "expected at most 0"),
        ("/turns?colour=red", None, "parameter 'colour': unknown"),
        ("/moves", {"moves": [{"turn": 1}]}, "moves[0].move: got nothing"),
        ("/moves", {"moves": [{"turn": 1, "move": 1, "resign": ""}]}, "got a move and a resignation"),
        ("/moves", {"moves": [{"turn": 1, "move": -1}]}, "moves[0].move: got -1"),
        ("/moves", {"moves": [{"turn": 1, "move": 1, "score": 1e999}]}, "moves[0].score"),
        ("/moves", {"moves": [{"turn": 1, "move": 1}] * 2}, "two moves for one turn"),
        ("/moves", {"moves": [{"turn": 1, "move": 1}]}, "moves[0].turn: got 1"),
        ("/moves", {"moves": [7]}, "moves[0]: got 7, expected an object"),
    ],
)
def test_wrong_requests_of_a_session_are_refused(
    site: Site, server: ServerUnderTest, path: str, body: object, words: str
) -> None:
    (bot,) = bots(site, server, "careless")
    answer = send(site.address, "GET" if body is None else "POST", bot.path + path, bot.token, body)
    assert answer.status == 400
    assert words in answer.document["error"]["message"]


def test_large_bodies_are_refused(site: Site, server: ServerUnderTest) -> None:
    answer = send(site.address, "POST", PLAY, server.token("large"), b" " * 300_000)
    assert answer.status == 413


def head_of(token: str, *headers: str) -> bytes:
    """The head of a request that opens a session."""
    lines = (f"POST {PLAY} HTTP/1.1", "host: here", f"authorization: Bearer {token}", *headers, "", "")
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(
    "header, piece",
    [("content-length: 100000", b" "), ("transfer-encoding: chunked", b"1\r\n \r\n")],
    ids=["length", "chunks"],
)
def test_bodies_that_arrive_byte_by_byte_are_cut_off(server: ServerUnderTest, header: str, piece: bytes) -> None:
    with site_of(server.address, limits=SiteLimits(body_seconds=0.5)) as site, connection_to(site) as connection:
        connection.sendall(head_of(server.token("slow"), header))
        connection.settimeout(0.02)

        def is_closed() -> bool:
            try:
                connection.sendall(piece)
                return connection.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        assert eventually(is_closed)
        assert site.get("/api/v1/status").status == 200


def test_bodies_without_end_are_cut_off(site: Site, server: ServerUnderTest) -> None:
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    with connection_to(site) as connection:
        connection.sendall(head_of(server.token("endless"), "transfer-encoding: chunked"))

        def send_without_end() -> None:
            while True:
                connection.sendall(chunk)

        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            send_without_end()


@pytest.mark.parametrize(
    "headers",
    [
        ("content-length: 5",),
        ("content-length: -1",),
        ("content-length: 99999999999999999999",),
        ("content-length: 18", "content-length: 5"),
        ("content-length: 18", "transfer-encoding: chunked"),
        (),
    ],
)
def test_bodies_with_wrong_lengths_open_no_session(
    site: Site, server: ServerUnderTest, headers: tuple[str, ...]
) -> None:
    with connection_to(site) as connection:
        connection.sendall(head_of(server.token("wrong"), *headers) + b'{"bot": "smuggled"}')
        received = b""
        while data := connection.recv(4096):
            received += data
    assert received[:13] in (b"HTTP/1.1 400 ", b"")  # nothing, if the rest of the body is no request
    assert site.get("/api/v1/bots/smuggled").status == 404


def test_requests_for_another_protocol_get_an_error(site: Site, server: ServerUnderTest) -> None:
    body = b'{"bot": "java"}'
    with connection_to(site) as connection:
        connection.sendall(
            f"POST {PLAY} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {server.token('java')}\r\n"
            f"connection: Upgrade\r\nupgrade: h2c\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        received = b""
        while b"}}" not in received:
            received += connection.recv(4096)
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"The header Upgrade asks for another protocol" in received


def test_tokens_are_not_taken_where_others_could_read_them(server: ServerUnderTest) -> None:
    with site_of(server.address, host="0.0.0.0") as site:
        address = site.address.replace("0.0.0.0", "127.0.0.1")
        answer = send(address, "POST", PLAY, server.token("public"), {"bot": "public"})
        assert answer.status == 403
        assert "HTTPS" in answer.document["error"]["hint"]


def test_sessions_of_owners_addresses_and_in_all_are_limited(server: ServerUnderTest) -> None:
    limits = PlaySettings(most=4, address_most=3, owner_most=2)
    with site_of(server.address, play=limits) as site:
        token, other = server.token("many"), server.token("other")

        def status(name: str, token: str, source: str = "127.0.0.1") -> int:
            return send(site.address, "POST", PLAY, token, {"bot": name}, source).status

        assert [status(name, token) for name in ("many-1", "many-2", "many-3")] == [201, 201, 429]
        # A bot that opens its session again is not one more.
        assert status("many-2", token) == 201
        assert [status("other-1", other), status("other-2", other)] == [201, 429]
        assert status("other-2", other, "127.0.0.2") == 201
        # Now all places are taken, and the owners with two sessions make room for others.
        assert status("third-1", server.token("third"), "127.0.0.3") == 201
        assert status("fourth-1", server.token("fourth"), "127.0.0.4") == 201
        assert status("fifth-1", server.token("fifth"), "127.0.0.5") == 429


def test_idle_sessions_of_one_owner_keep_no_others_away(server: ServerUnderTest, organiser: Organiser) -> None:
    with site_of(server.address, play=PlaySettings(most=2)) as site:
        hoarder, newcomer = server.token("hoarder"), server.token("newcomer")
        pair = [HttpBot(site.address, hoarder, f"hoard-{number}") for number in range(2)]
        organiser.start("hoarded", *pair, variant="tictactoe", games_per_pair=1)
        pair[0].moves({"turn": pair[0].next_turn()["turn"], "move": 0})
        pair[1].next_turn()
        # Sessions with running games stay.
        assert send(site.address, "POST", PLAY, newcomer, {"bot": "new"}).status == 429
        play_together(*pair, games=1)
        pair[1].turns(wait=0)
        new = HttpBot(site.address, newcomer, "new")
        eventually(lambda: pair[0].turns(wait=0).status == 404)
        message = pair[0].turns(wait=0).document["error"]["message"]
        assert "made room for a bot of another owner: hoarder had the most" in message
        assert [pair[1].turns(wait=0).status, new.turns(wait=0).status] == [200, 200]
        assert send(site.address, "POST", PLAY, hoarder, {"bot": "hoard-0"}).status == 429


def test_many_waiting_requests_end_the_oldest_ones(server: ServerUnderTest) -> None:
    with site_of(server.address, play=PlaySettings(most_requests=2)) as site, ThreadPoolExecutor(3) as pool:
        (bot,) = bots(site, server, "waiting")
        answers = [pool.submit(bot.turns) for _ in range(3)]
        first = next(as_completed(answers, PATIENCE))
        assert first.result().document["turns"] == []
        assert bot.leave().status == 204
        assert sorted(answer.result(PATIENCE).status for answer in answers) == [200, 410, 410]


def test_bots_over_http_and_grpc_play_each_other(site: Site, server: ServerUnderTest, organiser: Organiser) -> None:
    (bot,) = bots(site, server, "mixed")
    token = server.token("owner-grpc")
    with playing(server, Random(), token, "random-grpc"):
        cup = organiser.start("mixed", bot, ("bots/random-grpc", token), variant="tictactoe", games_per_pair=4)
        assert len(bot.play(4)) == 4
    assert len(organiser.games(cup)) == 4


def test_games_run_on_next_to_500_idle_sessions(server: ServerUnderTest, organiser: Organiser) -> None:
    limits = PlaySettings(most=502, address_most=502, idle=120.0)
    with site_of(server.address, play=limits, limits=SiteLimits(address_requests=1_000)) as site:
        crowd = [server.token(f"crowd-{number}") for number in range(2)]
        with ThreadPoolExecutor(8) as pool:
            idle = [
                pool.submit(HttpBot, site.address, token, f"idle-{owner}-{number}")
                for owner, token in enumerate(crowd)
                for number in range(250)
            ]
            for session in idle:
                session.result(PATIENCE)
        pair = bots(site, server, "busy-a", "busy-b")
        assert send(site.address, "POST", PLAY, crowd[0], {"bot": "one-more"}).status == 429
        bots(site, server, "late")
        time = types_pb2.TimeControl(move_us=2_000_000)
        cup = organiser.start("crowded", *pair, variant="connect4", games_per_pair=2, time=time)
        play_together(*pair, games=2)
        assert {game.termination for game in organiser.games(cup)} == {types_pb2.TERMINATION_LINE}
