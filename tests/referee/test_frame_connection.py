"""Raw frames over real gRPC between a referee and bots that connect: starts, questions, acknowledgements and clocks."""

from collections.abc import AsyncIterator

import pytest

from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.rules import game_seed, side_seed
from noughts_referee.work_units import ScheduledGame, unpack_moves
from tests.support.games import Question, conditions, unit
from tests.support.leaping_loop import leap
from tests.support.loopback import Loopback, RawBot, raw_bot, turns, wait_until


@pytest.fixture
async def first(server: Loopback) -> AsyncIterator[RawBot]:
    async with raw_bot(server, 1) as bot:
        yield bot


async def test_the_first_frame_contains_only_the_welcome(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 3))
    async with raw_bot(server, 1) as first:
        assert first.welcome == pb.PlayResponse(welcome=first.welcome.welcome)
        assert first.welcome.welcome.bot == "bots/bot-1"
        frame = await first.next_frame()
        assert frame.frame == 1
        assert len(frame.starts) == 1
        assert not frame.HasField("welcome")


async def test_a_start_describes_the_game_completely(server: Loopback, first: RawBot, second: RawBot) -> None:
    shared = conditions("mnk:4,4,3", tournament=8, seed=77)
    server.referee.add(unit(shared, [ScheduledGame(5, 0, 1), ScheduledGame(6, 1, 0)]))
    (starts,) = (await first.next_numbered_frame()).starts
    assert (starts.tournament, starts.variant) == ("tournaments/8", "mnk:4,4,3")
    assert starts.time == types_pb2.TimeControl()
    assert list(starts.game) == [1, 2]
    assert list(starts.number) == [5, 6]
    assert list(starts.side) == [types_pb2.SIDE_FIRST, types_pb2.SIDE_SECOND]
    assert list(starts.seed) == [side_seed(game_seed(77, 5), 0), side_seed(game_seed(77, 6), 1)]
    assert [starts.opponents[index] for index in starts.opponent] == ["bot-2", "bot-2"]
    assert (list(starts.move_count), list(starts.moves)) == ([0, 0], [])
    (starts_of_second,) = (await second.next_numbered_frame()).starts
    assert list(starts_of_second.seed) == [side_seed(game_seed(77, 5), 1), side_seed(game_seed(77, 6), 0)]
    assert list(starts_of_second.opponents) == ["bot-1"]


async def test_games_of_several_tournaments_travel_in_one_frame(server: Loopback, first: RawBot) -> None:
    async with raw_bot(server, 2, max_games=9), raw_bot(server, 3, max_games=9) as third:
        untimed = conditions("mnk:4,4,3", tournament=1, players=(3, 1, 2))
        timed = conditions(tournament=2, time="60+1", players=(1, 2, 3))
        # The first frame stays unacknowledged, so that the following games wait and share the next frame.
        server.referee.add(unit(untimed, [ScheduledGame(1, 0, 1)]))
        first_frame = await third.next_numbered_frame()
        server.referee.add(unit(untimed, [ScheduledGame(2, 0, 1), ScheduledGame(3, 0, 2)]))
        server.referee.add(unit(timed, [ScheduledGame(1, 2, 1)]))
        await third.send(done=first_frame.frame)
        frame = await third.next_numbered_frame()
        assert [(starts.tournament, list(starts.number)) for starts in frame.starts] == [
            ("tournaments/1", [2, 3]),
            ("tournaments/2", [1]),
        ]
        assert list(frame.starts[0].opponents) == ["bot-1", "bot-2"]
        assert list(frame.starts[0].opponent) == [0, 1]
        assert frame.starts[1].time == types_pb2.TimeControl(bank_us=60_000_000, increment_us=1_000_000)
        assert len(frame.turns.game) == 3


async def test_a_game_is_played_question_by_question(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    bots = (first, second)
    last = 0
    for ply, cell in enumerate([0, 3, 1, 4, 2]):
        assert await bots[ply % 2].next_questions() == [Question(1, ply, last)]
        await bots[ply % 2].send((1, ply, cell))
        last = cell
    for bot in bots:
        frame = await bot.next_acknowledged_frame()
        ends = frame.ends
        assert (list(ends.game), list(ends.plies), list(ends.cell)) == ([1], [5], [2])
        assert list(ends.result) == [types_pb2.RESULT_FIRST_WINS]
        assert list(ends.termination) == [types_pb2.TERMINATION_LINE]
    (game,) = await server.finished_games(1)
    assert unpack_moves(game.moves, 9) == [0, 3, 1, 4, 2]


async def test_numbered_frames_count_from_one(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    numbers = []
    for ply, cell in enumerate([0, 3, 1, 4, 2]):
        bot = (first, second)[ply % 2]
        while True:
            frame = await bot.next_acknowledged_frame()
            if bot is first:
                numbers.append(frame.frame)
            if frame.turns.game:
                break
        await bot.send((1, ply, cell))
    numbers.append((await first.next_acknowledged_frame()).frame)
    assert numbers == [1, 2, 3, 4]


# The window.


async def test_only_one_numbered_frame_is_outstanding(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), [ScheduledGame(ordinal, 1, 0) for ordinal in range(1, 5)]))
    questions = await second.next_questions()
    for question in questions[:3]:
        await second.send((question.game, 0, 4))
    frame = await first.next_numbered_frame()
    if not turns(frame):  # the starts may have gone ahead
        await first.send(done=frame.frame)
        frame = await first.next_numbered_frame()
    known = turns(frame)
    await wait_until(lambda: len(known) + len(server.referee.player(1).outbox.turn_game) == 3)
    assert await first.stays_quiet(0.1)
    await second.send((questions[3].game, 0, 4))
    await wait_until(lambda: len(known) + len(server.referee.player(1).outbox.turn_game) == 4)
    assert await first.stays_quiet(0.1)
    await first.send(done=frame.frame)
    rest = await first.next_numbered_frame()
    assert rest.frame == frame.frame + 1
    assert {question.game for question in known + turns(rest)} == {question.game for question in questions}


async def test_a_second_frame_goes_ahead_if_it_is_large(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(concurrency=400), [ScheduledGame(ordinal, 1, 0) for ordinal in range(1, 301)]))
    questions = await second.next_questions()
    sent = 100
    await second.send(*((question.game, 0, 4) for question in questions[:sent]))
    frame = await first.next_numbered_frame()
    while not turns(frame):  # the starts may have gone ahead
        await first.send(done=frame.frame)
        frame = await first.next_numbered_frame()
    assert len(turns(frame)) == sent
    await second.send(*((question.game, 0, 4) for question in questions[sent : sent + 149]))
    assert await first.stays_quiet(0.1), "less than half of the games is no large frame"
    await second.send((questions[sent + 149].game, 0, 4))
    ahead = await first.next_numbered_frame()
    assert (ahead.frame, len(turns(ahead))) == (frame.frame + 1, 150)
    await second.send(*((question.game, 0, 4) for question in questions[sent + 150 :]))
    assert await first.stays_quiet(0.1), "a third frame waits, however large"
    await first.send(done=ahead.frame)
    assert len(turns(await first.next_numbered_frame())) == 300 - sent - 150


async def test_few_questions_of_many_games_wait_to_be_sent_together(
    server: Loopback, first: RawBot, second: RawBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noughts_referee.frame_connection._GATHER_SECONDS", 4.0)
    server.referee.add(unit(conditions(concurrency=400), [ScheduledGame(ordinal, 1, 0) for ordinal in range(1, 321)]))
    questions = await second.next_questions()
    await first.next_acknowledged_frame()  # the starts
    await second.send((questions[0].game, 0, 4))
    assert await first.stays_quiet(0.1), "319 games are the opponent's turn"
    await second.send((questions[1].game, 0, 4))
    await wait_until(lambda: len(server.referee.player(1).outbox.turn_game) == 2)
    await leap(4)
    assert len(await first.next_questions()) == 2, "but not for ever"
    await second.send(*((question.game, 0, 4) for question in questions[2:42]))
    assert len(await first.next_questions()) == 40, "an eighth of the games need not wait"


async def test_a_large_frame_of_timed_questions_does_not_go_ahead(server: Loopback) -> None:
    timed = conditions(time="60", concurrency=400)
    async with raw_bot(server, 1, max_games=400) as first, raw_bot(server, 2, max_games=400) as second:
        server.referee.add(unit(timed, [ScheduledGame(ordinal, 1, 0) for ordinal in range(1, 301)]))
        questions = await second.next_questions()
        await second.send(*((question.game, 0, 4) for question in questions[:100]))
        frame = await first.next_numbered_frame()
        while not turns(frame):
            await first.send(done=frame.frame)
            frame = await first.next_numbered_frame()
        await second.send(*((question.game, 0, 4) for question in questions[100:]))
        assert await first.stays_quiet(0.1)
        await first.send(done=frame.frame)
        assert len(turns(await first.next_numbered_frame())) == 200


async def test_answers_without_acknowledgement_do_not_open_the_window(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions(), 1))
    frame = await first.next_numbered_frame()
    await first.send((1, 0, 4))
    await second.next_questions()
    await second.send((1, 1, 0))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    assert await first.stays_quiet(0.1)
    await first.send(done=frame.frame)
    assert turns(await first.next_numbered_frame()) == [Question(1, 2, 0)]


async def test_frames_that_were_not_sent_cannot_be_acknowledged(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions(), 1))
    frame = await first.next_numbered_frame()
    await first.send((1, 0, 4), done=2**63)
    await second.next_questions()
    await second.send((1, 1, 0))
    assert turns(following := await first.next_numbered_frame()) == [Question(1, 2, 0)]
    assert following.frame == frame.frame + 1
    await first.send((1, 2, 8))
    assert (await second.next_questions())[0].ply == 3
    await second.send((1, 3, 1))
    await wait_until(lambda: server.referee.player(1).outbox.turn_game)
    assert await first.stays_quiet(0.1)


async def test_an_older_acknowledgement_changes_nothing(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    frame = await first.next_acknowledged_frame()
    await first.send((1, 0, 4), done=frame.frame - 1)
    await second.next_questions()
    await second.send((1, 1, 0))
    assert turns(await first.next_numbered_frame()) == [Question(1, 2, 0)]


# What is not urgent.


async def test_ends_and_starts_are_sent_together_with_the_next_question(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    # One game at a time: the end of the first, the start of the second and its first question are one frame.
    server.referee.add(unit(conditions(concurrency=1), [ScheduledGame(1, 0, 1), ScheduledGame(2, 1, 0)]))
    await first.next_questions()
    await second.next_acknowledged_frame()
    await first.send((1, 0, 0), resigned=[0])
    frame = await second.next_numbered_frame()
    assert list(frame.ends.game) == [1]
    assert [list(starts.game) for starts in frame.starts] == [[2]]
    assert turns(frame) == [Question(2, 0, 0)]


async def test_an_end_without_a_question_is_sent_a_little_later(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions(), 1))
    await first.next_questions()
    await second.next_acknowledged_frame()
    await first.send((1, 0, 0), resigned=[0])
    for bot in (first, second):
        frame = await bot.next_numbered_frame()
        assert list(frame.ends.game) == [1]
        assert list(frame.ends.plies) == [0]
        assert turns(frame) == []


async def test_an_end_waits_for_the_window(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 2))
    questions = turns(frame := await first.next_numbered_frame())
    await first.send((questions[0].game, 0, 0), resigned=[0])
    await server.finished_games(1)
    assert await first.stays_quiet(0.1)
    await first.send(done=frame.frame)
    assert list((await first.next_numbered_frame()).ends.game) == [questions[0].game]


# Clocks.


async def test_timed_questions_carry_both_clocks(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time="60+1"), 1))
    frame = await first.next_acknowledged_frame()
    assert (list(frame.turns.own_clock_us), list(frame.turns.opponent_clock_us)) == ([60_000_000], [60_000_000])
    await first.send((1, 0, 4))
    while not (frame := await second.next_acknowledged_frame()).turns.game:
        pass
    assert list(frame.turns.own_clock_us) == [60_000_000]
    (left,) = frame.turns.opponent_clock_us
    assert 60_000_000 < left <= 61_000_000


async def test_questions_of_untimed_games_carry_no_clocks(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(), 1))
    frame = await first.next_acknowledged_frame()
    assert (list(frame.turns.own_clock_us), list(frame.turns.opponent_clock_us)) == ([], [])


async def test_untimed_games_in_a_frame_with_timed_ones_have_zero_clocks(server: Loopback, second: RawBot) -> None:
    server.referee.add(unit(conditions(time="1/move", tournament=1), [ScheduledGame(1, 0, 1)]))
    server.referee.add(unit(conditions(tournament=2), [ScheduledGame(1, 0, 1)]))
    async with raw_bot(server, 1, max_games=5) as first:
        frame = await first.next_acknowledged_frame()
        assert len(frame.turns.game) == 2
        assert list(frame.turns.own_clock_us) == [1_000_000, 0]
        assert list(frame.turns.opponent_clock_us) == [1_000_000, 0]


async def test_each_bot_receives_its_own_time_limits_and_its_opponents(server: Loopback) -> None:
    own_times = {"bot-1": "60/5+1", "bot-3": "none"}
    shared = conditions(time="2/move", players=(1, 2, 3), own_times=own_times)
    async with (
        raw_bot(server, 1, max_games=9) as first,
        raw_bot(server, 2, max_games=9) as second,
        raw_bot(server, 3, max_games=9) as third,
    ):
        server.referee.add(unit(shared, [ScheduledGame(1, 0, 1), ScheduledGame(2, 2, 1), ScheduledGame(3, 0, 2)]))
        clock = types_pb2.TimeControl(bank_us=60_000_000, move_us=5_000_000, increment_us=1_000_000)
        per_move, no_limit = types_pb2.TimeControl(move_us=2_000_000), types_pb2.TimeControl()
        frames = [await bot.next_acknowledged_frame() for bot in (first, second, third)]
        (of_first,), (of_second,), (of_third,) = (frame.starts for frame in frames)
        assert [starts.time for starts in (of_first, of_second, of_third)] == [clock, per_move, no_limit]
        assert [list(starts.opponents) for starts in (of_first, of_second, of_third)] == [
            ["bot-2", "bot-3"],
            ["bot-1", "bot-3"],
            ["bot-2", "bot-1"],
        ]
        assert [list(starts.opponent_times) for starts in (of_first, of_second, of_third)] == [
            [per_move, no_limit],
            [clock, no_limit],
            [per_move, clock],
        ]
        turns = frames[0].turns
        assert (list(turns.own_clock_us), list(turns.opponent_clock_us)) == ([60_000_000] * 2, [2_000_000, 0])
        turns = frames[2].turns
        assert (list(turns.own_clock_us), list(turns.opponent_clock_us)) == ([0], [2_000_000])


async def test_opponents_time_limits_are_left_out_if_all_are_equal(
    server: Loopback, first: RawBot, second: RawBot
) -> None:
    server.referee.add(unit(conditions(time="2/move"), 1))
    (starts,) = (await first.next_acknowledged_frame()).starts
    assert list(starts.opponent_times) == []


async def test_the_welcome_contains_the_bots_own_margin(server: Loopback, first: RawBot) -> None:
    assert first.welcome.welcome.margin_us == 50_000
    server.referee.player(2).margin_us = 123_000
    async with raw_bot(server, 2) as second:
        assert second.welcome.welcome.margin_us == 123_000


# How many games at once.


async def test_by_default_a_bot_gets_one_timed_game(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(time="1/move"), 5))
    assert len(await first.next_questions()) == 1
    assert server.referee.count_running() == 1


async def test_by_default_a_bot_gets_1024_untimed_games(server: Loopback, first: RawBot, second: RawBot) -> None:
    server.referee.add(unit(conditions(concurrency=2_000), 1_500))
    await first.next_questions()
    assert server.referee.count_running() == 1_024


@pytest.mark.parametrize("time", ["none", "1/move"])
async def test_a_bot_gets_as_many_games_as_its_hello_requests(server: Loopback, second: RawBot, time: str) -> None:
    async with raw_bot(server, 1, max_games=3), raw_bot(server, 2, max_games=9):
        server.referee.add(unit(conditions(time=time), 7))
        assert server.referee.count_running() == 3
