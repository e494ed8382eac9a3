"""Sessions of bots over HTTP, without HTTP: network time, repeated questions, lost streams, the pace of requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from noughts_proto.security import Dialling
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_server.web.http_play.book import PlayBook
from noughts_server.web.http_play.forms import NewSession, SentMove
from noughts_server.web.http_play.session import PlaySession, PlaySettings
from noughts_server.web.http_play.sessions import HttpPlay
from noughts_server.web.pace import Pace
from noughts_server.web.upstream import Failure, Upstream
from tests.support.loopback import TOKEN, Loopback, loopback, wait_until
from tests.support.patience import PATIENCE

NOW = 100.0
DAY = datetime(2026, 1, 1, tzinfo=UTC)
WISH = NewSession(bot="bot-1", version="1", variants=(), capacity=1, accepts_challenges=True)


@asynccontextmanager
async def session_at(server: Loopback) -> AsyncIterator[PlaySession]:
    """A session of the player 1."""
    upstream = Upstream(server.address, Dialling())
    async with asyncio.TaskGroup() as tasks:
        session = PlaySession(WISH, TOKEN, upstream, PlaySettings(), group=1, guest="")
        running = tasks.create_task(session.run())
        await session.begin()
        session.note_opened()
        yield session
        await session.leave(running)
    await upstream.close()


async def test_network_time_between_client_and_website_is_not_charged() -> None:
    async with loopback(network_cap_us=10_000_000) as server, session_at(server) as session:
        await asyncio.sleep(0.2)  # the network time of the answer and of the next request
        async with session.request():
            pass
        player = server.referee.player(1)
        await wait_until(lambda: player.network_us)
        assert player.network_us >= 200_000


async def test_clients_that_delay_requests_gain_at_most_the_cap() -> None:
    async with loopback(network_cap_us=50_000) as server, session_at(server) as session:
        await asyncio.sleep(0.2)
        async with session.request():
            pass
        player = server.referee.player(1)
        await wait_until(lambda: player.network_us)
        assert player.network_us == 50_000


async def test_a_bot_that_sends_no_requests_echoes_each_heartbeat() -> None:
    async with loopback(heartbeat=2.0) as server, session_at(server) as session:
        welcome = session.welcome
        await wait_until(lambda: server.counts.frames_received >= 3)
        assert session.welcome is welcome  # the server has not ended the stream


async def test_a_session_that_ended_while_it_connected_stays_ended() -> None:
    upstream = Upstream("127.0.0.1:1", Dialling())
    session = PlaySession(WISH, TOKEN, upstream, PlaySettings(), group=1, guest="")
    session.end(Failure(503, "This website is stopping."))
    session.attach(cast(Any, None), pb.Welcome())
    with pytest.raises(Failure, match="stopping"):
        await session.begin()
    await upstream.close()


async def test_a_request_can_take_the_place_of_one_that_has_its_news() -> None:
    upstream = Upstream("127.0.0.1:1", Dialling())
    session = PlaySession(WISH, TOKEN, upstream, PlaySettings(most_requests=1), group=1, guest="")
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(session.wait(None, PATIENCE))
        await asyncio.sleep(0)
        session.take(starts())
        session.report(None, "")  # with the news of the first request
        await session.wait(None, 0.01)
        first.cancel()
    await upstream.close()


def starts(*moves: int) -> pb.PlayResponse:
    """The start of game 1 of `tournaments/cup` with these moves; its handle is 7."""
    one = pb.Starts(
        tournament="tournaments/cup",
        variant="tictactoe",
        game=[7],
        number=[1],
        side=[types_pb2.SIDE_FIRST],
        seed=[5],
        opponent=[0],
        opponents=["other"],
        move_count=[len(moves)],
        moves=moves,
    )
    return pb.PlayResponse(starts=[one])


def question(ply: int, cell: int = 0) -> pb.PlayResponse:
    return pb.PlayResponse(turns=pb.Turns(game=[7], ply=[ply], cell=[cell]))


def report(book: PlayBook, after: int | None = None) -> Any:
    return book.report(after, NOW, DAY, "")


def turn_of(book: PlayBook) -> Any:
    (turn,) = report(book)["turns"]
    return turn


def book_with_question() -> PlayBook:
    book = PlayBook()
    book.take(starts(), NOW)
    book.take(question(0), NOW)
    return book


def test_a_repeated_question_keeps_its_number() -> None:
    book = book_with_question()
    turn = turn_of(book)
    book.begin_stream()
    assert report(book)["turns"] == []
    book.take(starts(), NOW)
    book.take(question(0), NOW + 5)
    assert turn_of(book)["turn"] == turn["turn"]
    assert report(book)["started"] == []


def test_an_answer_that_the_server_did_not_get_is_sent_again() -> None:
    book = book_with_question()
    turn = turn_of(book)["turn"]
    book.answer([SentMove(turn=turn, cell=4)])
    assert book.take_answers() == pb.Moves(game=[7], ply=[0], cell=[4])
    assert book.take_answers() is None
    book.begin_stream()
    book.take(starts(), NOW)
    book.take(question(0), NOW)
    assert book.take_answers() == pb.Moves(game=[7], ply=[0], cell=[4])
    book.take(question(2, cell=0), NOW)
    assert turn_of(book)["moves"] == [4, 0]


def test_an_answer_without_a_stream_waits_for_the_question() -> None:
    book = book_with_question()
    turn = turn_of(book)["turn"]
    book.begin_stream()
    (row,) = book.answer([SentMove(turn=turn, cell=4)])
    assert row["status"] == "accepted"
    assert book.take_answers() is None
    book.take(starts(), NOW)
    book.take(question(0), NOW)
    assert book.take_answers() == pb.Moves(game=[7], ply=[0], cell=[4])


def play_other_games(book: PlayBook) -> None:
    """Ask a question in more games than a session keeps turns, and end each game."""
    for number in range(2, 1_100):
        started, handle = starts(), [number + 10]
        end = pb.Ends(
            game=handle, result=[types_pb2.RESULT_FIRST_WINS], termination=[types_pb2.TERMINATION_LINE], plies=[0]
        )
        started.starts[0].number[:], started.starts[0].game[:] = [number], handle
        book.take(started, NOW)
        book.take(pb.PlayResponse(turns=pb.Turns(game=handle, ply=[0], cell=[0])), NOW)
        book.take(pb.PlayResponse(ends=end), NOW)


def test_an_open_question_is_kept_while_other_games_go_on() -> None:
    book = book_with_question()
    kept = turn_of(book)["turn"]
    book.begin_stream()
    play_other_games(book)
    book.take(starts(), NOW)
    book.take(question(0), NOW)
    assert turn_of(book)["turn"] == kept
    rows = book.answer([SentMove(turn=kept, cell=4), SentMove(turn=kept + 2, cell=4)])
    assert [row["status"] for row in rows] == ["accepted", "late"]
    assert "over long ago" in rows[1]["message"]


def test_old_turns_are_forgotten_while_a_question_stays_open() -> None:
    book = book_with_question()
    kept = turn_of(book)["turn"]
    play_other_games(book)
    rows = book.answer([SentMove(turn=kept, cell=4), SentMove(turn=kept + 2, cell=4)])
    assert [row["status"] for row in rows] == ["accepted", "late"]
    assert "over long ago" in rows[1]["message"]


async def test_a_session_that_opens_while_the_website_stops_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback() as server:
        upstream = Upstream(server.address, Dialling())
        asked = asyncio.Event()
        answered = asyncio.Event()

        async def ask(*_: Any) -> Any:
            asked.set()
            await answered.wait()
            return {"token": {"owner": "owners/one"}}

        monkeypatch.setattr(upstream, "ask", ask)
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            play = HttpPlay(upstream, tasks)

            async def open_too_late() -> None:
                with pytest.raises(Failure, match="stopping"):
                    await play.open(WISH, TOKEN, "127.0.0.1")

            tasks.create_task(open_too_late())
            await asked.wait()
            await play.close()
            answered.set()
        await upstream.close()


def test_games_that_ended_while_the_stream_was_lost_are_dropped() -> None:
    book = book_with_question()
    turn = turn_of(book)["turn"]
    book.begin_stream()
    book.drop_games_except(book.games_of_stream())
    (end,) = report(book)["ended"]
    assert (end["game"], end["result"]) == ("tournaments/cup/games/1", None)
    (row,) = book.answer([SentMove(turn=turn, cell=4)])
    assert row["status"] == "late"


def test_events_are_reported_once_without_a_number_and_again_with_one() -> None:
    book = book_with_question()
    assert len(report(book)["started"]) == 1
    assert report(book)["started"] == []
    assert len(report(book, after=0)["started"]) == 1
    assert not book.has_news(book.last)
    assert book.has_news(0)


def test_moves_off_the_board_are_sent_as_such() -> None:
    book = book_with_question()
    book.answer([SentMove(turn=turn_of(book)["turn"], cell=9, score=2.0, comment="oh", depth=3)])
    moves = book.take_answers()
    assert moves is not None
    thought = types_pb2.Thought(depth=3)
    assert moves == pb.Moves(
        game=[7],
        ply=[0],
        cell=[2**32 - 1],
        scored=[0],
        score=[2.0],
        commented=[0],
        comment=["oh"],
        thinking=[0],
        thought=[thought],
    )


def test_the_pace_lets_a_burst_pass_and_then_slows_down() -> None:
    now = 0.0
    pace = Pace(rate=8, burst=3, clock=lambda: now)
    assert [pace.take() <= 0 for _ in range(4)] == [True, True, True, False]
    assert pace.take() == pytest.approx(2 / 8)
    now = 10.0
    assert pace.take() <= 0
