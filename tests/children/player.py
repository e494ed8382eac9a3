"""A player without our SDK: protobuf and two pipes. It takes the lowest free cell, and misbehaves as it is told.

    python player.py NOTES HABIT

Each process writes its process ID as a line into the file NOTES.
"""

import contextlib
import os
import signal
import struct
import subprocess
import sys
import time
from typing import Any

from noughts_proto.v1 import play_pb2 as pb

BAD_GAME_PLIES = 2
"""It misbehaves when it is asked for this ply or the next: each game once, whichever side it has."""


def read(size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def send(message: pb.PlayRequest) -> None:
    body = message.SerializeToString()
    write(struct.pack("<I", len(body)) + body)


def receive() -> pb.PlayResponse:
    (size,) = struct.unpack("<I", read(4))
    return pb.PlayResponse.FromString(read(size))


def lives() -> int:
    """How many players have been started with these notes."""
    with open(sys.argv[1]) as file:
        return len(file.readlines())


def for_ever() -> None:
    while True:
        signal.pause()


def misbehave(habit: str) -> int | None:
    """What it does instead of an answer; a cell if that is one."""
    match habit:
        case "crash":
            os.write(2, b"what a pity\n")
            os._exit(3)
        case "crash once" if lives() == 1:
            os._exit(3)
        case "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            for_ever()
        case "hang, ignoring SIGTERM":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            for_ever()
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "endless frames":
            while True:
                write(struct.pack("<I", 0) * 10_000)
        case "50 MB":
            write(struct.pack("<I", 50_000_000))
            write(bytes(50_000_000))
        case "no frame":
            write(struct.pack("<I", 5) + b"hello")
            for_ever()
        case "text":
            write(b"My move is the centre\n")
            for_ever()
        case "half a frame":
            write(struct.pack("<I", 100) + b"half")
            os._exit(0)
        case "off the board":
            return 1_000_000
        case "occupied":
            return 0
        case "late":
            time.sleep(0.6)
        case "closes its input":
            os.close(0)
            for_ever()
        case "much to say":
            os.write(2, b"first words\n" + b"blah " * 40_000 + b"\nlast words\n")
            os._exit(1)
        case "leaves a process":
            subprocess.Popen(
                [sys.executable, "-c", "import signal; print('there', flush=True); signal.pause()"],
                process_group=0,
                stdout=2,
            )
            os._exit(4)
    return None


def answers(frame: pb.PlayResponse, games: dict[int, Any], habit: str) -> pb.PlayRequest:
    """The reply to a frame."""
    reply = pb.PlayRequest(done_through=frame.frame)
    if frame.heartbeat.id:
        reply.heartbeat.id = frame.heartbeat.id
    for starts in frame.starts:
        taken = 0
        for game, count in zip(starts.game, starts.move_count, strict=True):
            games[game] = list(starts.moves[taken : taken + count])
            taken += count
    for game, ply, cell in zip(frame.turns.game, frame.turns.ply, frame.turns.cell, strict=True):
        moves = games[game]
        del moves[ply:]
        if len(moves) < ply:
            moves.append(cell)
        wrong = misbehave(habit) if ply in (BAD_GAME_PLIES, BAD_GAME_PLIES + 1) else None
        moves.append(next(cell for cell in range(10_000) if cell not in moves) if wrong is None else wrong)
        reply.moves.game.append(game)
        reply.moves.ply.append(ply)
        reply.moves.cell.append(moves[-1])
    return reply


def main() -> None:
    notes, habit = sys.argv[1:]
    # Behind the lock nobody writes there.
    with contextlib.suppress(PermissionError), open(notes, "a") as file:
        file.write(f"{os.getpid()}\n")
    match habit:
        case "never starts":
            for_ever()
        case "dies at once":
            os.write(2, b"no licence found\n")
            sys.exit(9)
        case "slow start":
            time.sleep(1.0)
        case "no hello":
            send(pb.PlayRequest(done_through=1))
            for_ever()
        case "old protocol":
            send(pb.PlayRequest(hello=pb.Hello(protocol=77)))
            for_ever()
        case "ignores the end":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    send(pb.PlayRequest(hello=pb.Hello(protocol=1, max_games=4)))
    games: dict[int, Any] = {}
    try:
        while True:
            reply = answers(receive(), games, habit)
            send(reply)
            if habit == "leaves after a move" and reply.moves.game:
                os._exit(0)
    except EOFError:
        if habit == "ignores the end":
            for_ever()


if __name__ == "__main__":
    main()
