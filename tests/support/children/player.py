"""A player that uses protobuf and two pipes instead of our SDK. It takes the lowest free cell, and has a bad habit.

    python player.py NOTES HABIT [GROUND [json]]

See habits.py for HABIT and GROUND. With `json`, each frame is a line of JSON. Each process writes its process ID as a
line into the file NOTES.
"""

import contextlib
import os
import struct
import sys
from typing import Any

import habits  # type: ignore[import-not-found]  # it lies next to this program
from google.protobuf.json_format import MessageToJson, Parse

from noughts_proto.pipes import LARGEST_FROM_BOT
from noughts_proto.v1 import play_pb2 as pb

JSON = sys.argv[4:] == ["json"]
BAD_PLIES = {2, 3}
"""Plies of questions at which it misbehaves: one of them in each game, whichever side it has."""


def read(size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def send(message: pb.PlayRequest) -> None:
    if JSON:
        habits.write(MessageToJson(message, indent=None).encode() + b"\n")
        return
    body = message.SerializeToString()
    habits.write(struct.pack("<I", len(body)) + body)


def receive() -> pb.PlayResponse:
    if JSON:
        line = b""
        while not line.endswith(b"\n"):
            line += read(1)
        return Parse(line, pb.PlayResponse())
    (size,) = struct.unpack("<I", read(4))
    return pb.PlayResponse.FromString(read(size))


def lives() -> int:
    """Return the number of processes that have been started with these notes."""
    with open(sys.argv[1]) as file:
        return len(file.readlines())


def misbehave(habit: str, ground: str) -> int | None:
    """Do what the habit says; return a wrong cell as the answer, or None for a right answer. Raises Allowed."""
    match habit:
        case "crash once" | "other variants later" if lives() == 1:
            os._exit(3)
        case "another code each time":
            os._exit(lives())
        case "endless output" if JSON:
            while True:
                habits.write(b"{}\n" * 10_000)
        case "50 MB" | "large frame" if JSON:
            habits.write(bytes(habits.LINE_BYTES if habit == "50 MB" else LARGEST_FROM_BOT + 1))
            habits.wait_for_the_end()
        case "no answer" if JSON:
            habits.write(b"hello\n")
            habits.wait_for_the_end()
        case "endless output":
            while True:
                habits.write(struct.pack("<I", 0) * 10_000)
        case "50 MB":
            habits.write(struct.pack("<I", habits.LINE_BYTES))
            habits.write(bytes(habits.LINE_BYTES))
        case "large frame":
            habits.write(struct.pack("<I", LARGEST_FROM_BOT + 1))
            habits.wait_for_the_end()
        case "no answer":
            habits.write(struct.pack("<I", 5) + b"hello")
            habits.wait_for_the_end()
        case "uneven columns":
            send(pb.PlayRequest(moves=pb.Moves(game=[1], ply=[2])))
        case "unknown games":
            send(pb.PlayRequest(moves=pb.Moves(game=range(900, 1000), ply=[0] * 100, cell=[0] * 100)))
        case "off the board":
            return 1_000_000
        case "occupied":
            return 0
        case "closes its input":
            os.close(0)
            habits.wait_for_ever()
        case "much to say":
            os.write(2, b"first words\n" + b"blah " * 40_000 + b"\nlast words\n")
            os._exit(1)
    habits.misbehave(habit, ground)
    return None


def answers(frame: pb.PlayResponse, games: dict[int, Any], habit: str, ground: str) -> pb.PlayRequest:
    """Return the reply to a frame; `games` are the moves of all games so far."""
    reply = pb.PlayRequest(done_through=frame.frame)
    if frame.heartbeat.id:
        reply.heartbeat.id = frame.heartbeat.id
    for starts in frame.starts:
        taken = 0
        for game, count in zip(starts.game, starts.move_count, strict=True):
            games[game] = list(starts.moves[taken : taken + count])
            taken += count
    for row, (game, ply, cell) in enumerate(zip(frame.turns.game, frame.turns.ply, frame.turns.cell, strict=True)):
        moves = games[game]
        del moves[ply:]
        if len(moves) < ply:
            moves.append(cell)
        wrong = None
        if ply in BAD_PLIES:
            try:
                wrong = misbehave(habit, ground)
            except habits.Allowed:
                reply.moves.resigned.append(row)
        moves.append(next(cell for cell in range(10_000) if cell not in moves) if wrong is None else wrong)
        reply.moves.game.append(game)
        reply.moves.ply.append(ply)
        reply.moves.cell.append(moves[-1])
    return reply


def main() -> None:
    notes, habit, *ground = sys.argv[1:4]
    # A sandboxed process cannot write.
    with contextlib.suppress(PermissionError), open(notes, "a") as file:
        file.write(f"{os.getpid()}\n")
    habits.begin(habit)
    match habit:
        case "no hello":
            send(pb.PlayRequest(done_through=1))
            habits.wait_for_the_end()
        case "old protocol":
            send(pb.PlayRequest(hello=pb.Hello(protocol=77)))
            habits.wait_for_the_end()
    variants = ["gomoku"] if habit == "other variants later" and lives() > 1 else []
    send(pb.PlayRequest(hello=pb.Hello(protocol=1, max_games=4, variants=variants)))
    games: dict[int, Any] = {}
    try:
        while True:
            reply = answers(receive(), games, habit, "".join(ground))
            send(reply)
            if habit == "leave after a move" and BAD_PLIES & set(reply.moves.ply):
                os._exit(0)
    except EOFError:
        if habit == "ignores the end":
            habits.wait_for_ever()


if __name__ == "__main__":
    main()
