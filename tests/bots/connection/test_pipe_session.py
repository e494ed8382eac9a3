"""A bot's dialogue over pipes, and conditions that must hold before gRPC is loaded."""

import os
import subprocess
import sys
import threading
from io import BytesIO

import pytest

from noughts_bots import Bot, Position
from noughts_bots.connection.pipe_session import play_on_pipes
from noughts_proto.pipes import LARGEST_FROM_BOT, FrameTooLarge, message_size, packed, read_message
from noughts_proto.v1 import play_pb2 as pb


class Lowest(Bot):
    """The lowest free cell."""

    def choose(self, position: Position) -> int:
        return position.free[0]


class Child:
    """A bot on two real pipes in a thread; the test is its referee."""

    def __init__(self, bot: Bot) -> None:
        down, self._down = os.pipe()
        self._up, up = os.pipe()
        self._reading, self.writing = os.fdopen(self._up, "rb"), os.fdopen(self._down, "wb", buffering=0)
        self.thread = threading.Thread(target=self._play, args=(bot, down, up))
        self.thread.start()

    def _play(self, bot: Bot, down: int, up: int) -> None:
        with os.fdopen(down, "rb") as reading, os.fdopen(up, "wb", buffering=0) as writing:
            play_on_pipes(bot, reading, writing, name="lowest")

    def send(self, frame: pb.PlayResponse) -> None:
        self.writing.write(packed(frame.SerializeToString()))

    def receive(self) -> pb.PlayRequest:
        message = read_message(self._reading, LARGEST_FROM_BOT)
        assert message is not None
        return pb.PlayRequest.FromString(message)

    def answer(self) -> pb.PlayRequest:
        """Return the next frame with moves. After a slow answer follows a frame without moves."""
        while not (frame := self.receive()).moves.game:
            pass
        return frame

    def close(self) -> None:
        self.writing.close()
        self.thread.join(10)
        self._reading.close()


def test_a_bot_on_pipes_answers_frames_and_ends_with_the_pipe() -> None:
    child = Child(Lowest())
    assert child.receive().hello.bot == "lowest"
    frame = pb.PlayResponse(frame=1)
    frame.starts.add(tournament="tournaments/t", variant="tictactoe", game=[7], number=[1], side=[1], seed=[5],
                     opponent=[0], opponents=["x"], move_count=[0])  # fmt: skip
    frame.turns.game.append(7)
    frame.turns.ply.append(0)
    frame.turns.cell.append(0)
    child.send(frame)
    answer = child.answer()
    assert (answer.done_through, list(answer.moves.game), list(answer.moves.cell)) == (1, [7], [0])
    beat = pb.PlayResponse()
    beat.heartbeat.id = 3
    child.send(beat)
    while not (echo := child.receive()).HasField("heartbeat"):
        pass
    assert echo.heartbeat.id == 3
    child.close()
    assert not child.thread.is_alive()


class Counting(Bot):
    """Counts its questions of each game in the position's memo, and plays the cell with this number."""

    def choose(self, position: Position) -> int:
        assert position.copy().memo is None
        position.memo = (position.memo or 0) + 1
        return int(position.memo)


def question_frame(frame: int, game: int, ply: int, cell: int) -> pb.PlayResponse:
    question = pb.PlayResponse(frame=frame)
    question.turns.game.append(game)
    question.turns.ply.append(ply)
    question.turns.cell.append(cell)
    return question


def test_notes_of_a_game_last_until_it_is_asked_again() -> None:
    child = Child(Counting())
    child.receive()
    first = question_frame(1, 7, 0, 0)
    first.starts.add(tournament="tournaments/t", variant="gomoku", game=[7], number=[1], side=[1], seed=[5],
                     opponent=[0], opponents=["x"], move_count=[0])  # fmt: skip
    answers: list[int] = []
    for question in (first, question_frame(2, 7, 2, 100), question_frame(3, 7, 4, 101), question_frame(4, 7, 2, 100)):
        child.send(question)
        answers += child.answer().moves.cell
    assert answers == [1, 2, 3, 1]
    child.close()


def test_half_the_answers_of_a_large_frame_are_sent_early() -> None:
    child = Child(Counting())
    child.receive()
    all_games = list(range(1, 201))
    frame = pb.PlayResponse(frame=1)
    frame.starts.add(tournament="tournaments/t", variant="gomoku", game=all_games, number=all_games, side=[1] * 200,
                     seed=[5] * 200, opponent=[0] * 200, opponents=["x"], move_count=[0] * 200)  # fmt: skip
    frame.turns.game.extend(all_games)
    frame.turns.ply.extend([0] * 200)
    frame.turns.cell.extend([0] * 200)
    child.send(frame)
    sent_games: list[list[int]] = []
    while sum(map(len, sent_games)) < 200:
        sent_games.append(child.answer().moves.game[:])
    # On a busy machine the first part can be smaller.
    assert len(sent_games[0]) <= 100
    assert [game for games in sent_games for game in games] == all_games
    child.close()


def test_a_pipe_that_ends_within_a_message_is_an_error() -> None:
    assert read_message(BytesIO(b""), 10) is None
    with pytest.raises(EOFError, match="1 of 4"):
        read_message(BytesIO(packed(b"abcd")[:5]), 10)
    with pytest.raises(EOFError):
        read_message(BytesIO(b"\x01\x00"), 10)


def test_a_message_larger_than_it_may_be_is_refused_before_it_is_read() -> None:
    assert message_size(packed(b"abcd")[:4], 4) == 4
    with pytest.raises(FrameTooLarge, match="got 5 bytes, expected at most 4"):
        read_message(BytesIO(packed(b"abcde")), 4)


@pytest.mark.processes
@pytest.mark.parametrize(
    "module", ["noughts_bots.connection.run", "noughts_bots.reference.__main__", "noughts_server.server"]
)
def test_the_grpc_engine_is_chosen_before_grpc_is_loaded(module: str) -> None:
    script = f"""
import os, sys
def watch(event, arguments):
    if event == "import" and arguments[0] == "grpc":
        print(os.environ.get("GRPC_EXPERIMENTS", "too late"), flush=True)
sys.addaudithook(watch)
import {module}
"""
    clean = {name: value for name, value in os.environ.items() if name != "GRPC_EXPERIMENTS"}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=clean, check=True)
    assert run.stdout.split() == ["-event_engine_client,-event_engine_listener"]


@pytest.mark.processes
def test_the_module_of_child_players_does_not_load_grpc() -> None:
    script = "import sys, noughts_bots.connection.pipe_session; sys.exit('grpc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.processes
def test_the_rehearsal_before_forks_changes_no_import_state(capfd: pytest.CaptureFixture[str]) -> None:
    script = """
import sys
from noughts_bots.hosts import warm
before = sys.path[:], len(sys.modules)
warm.rehearse()
sys.exit((sys.path[:], len(sys.modules)) != before)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    assert capfd.readouterr() == ("", "")
