"""A child process of a referee, with the test as its referee."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from noughts_proto.pipes import LARGEST_FROM_BOT, packed, read_message
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2 as types
from noughts_referee.rules import Variant, parse_variant
from tests.support.patience import PATIENCE

RESIGNS = None


@dataclass
class Game:
    """A running game."""

    handle: int
    variant: Variant
    moves: list[int]
    clock_us: int


class Child:
    """The process `python -m noughts_bots.hosts KIND TARGET`, which the test asks for one move at a time."""

    def __init__(self, kind: str, target: str, *options: str) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed in `__exit__`
        self._folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "noughts_bots.hosts", kind, target, *options],
            env={**os.environ, "TMPDIR": self._folder.name},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )
        self._handle = self._frame = 0
        self._pending = pb.PlayResponse()

    def hello(self) -> pb.Hello:
        """Return the child's first frame; then it is ready."""
        hello = self._receive().hello
        self._send(pb.PlayResponse(welcome=pb.Welcome(protocol=1)))
        self._receive()
        return hello

    def begin(
        self, variant: str, *, side: int = 0, moves: Sequence[int] = (), move_us: int = 0, bank_us: int = 0
    ) -> Game:
        """Begin a game; its start is sent with the first question."""
        self._handle += 1
        self._pending.starts.add(
            tournament="tournaments/t", variant=variant, time={"move_us": move_us, "bank_us": bank_us},
            game=[self._handle], number=[self._handle], side=[1 + side], seed=[5], opponent=[0], opponents=["x"],
            move_count=[len(moves)], moves=list(moves),
        )  # fmt: skip
        return Game(self._handle, parse_variant(variant), list(moves), bank_us or move_us)

    def ask(self, game: Game) -> int | None:
        """Ask for a move, add it to the game and return it, or RESIGNS. Raises EOFError if the child has ended."""
        frame, self._pending = self._pending, pb.PlayResponse()
        self._frame += 1
        frame.frame = self._frame
        frame.turns.game.append(game.handle)
        frame.turns.ply.append(len(game.moves))
        frame.turns.cell.append(game.moves[-1] if game.moves else 0)
        if game.clock_us:
            frame.turns.own_clock_us.append(game.clock_us)
            frame.turns.opponent_clock_us.append(game.clock_us)
        self._send(frame)
        # A slow answer comes in a frame of its own; skip frames without answers.
        while not (moves := self._receive().moves).game:
            pass
        if list(moves.resigned):
            return RESIGNS
        (cell,) = moves.cell
        game.moves.append(cell)
        return int(cell)

    def answer_with_lowest(self, game: Game) -> None:
        """Let the opponent take the lowest free cell."""
        game.moves.append(min(set(range(game.variant.cells)) - set(game.moves)))

    def finish(self, game: Game) -> None:
        """End the game; its end is sent with the next frame."""
        self._pending.ends.game.append(game.handle)
        self._pending.ends.result.append(types.RESULT_FIRST_WINS)
        self._pending.ends.termination.append(types.TERMINATION_LINE)
        self._pending.ends.plies.append(len(game.moves))
        self._pending.ends.cell.append(game.moves[-1])

    def close(self) -> int:
        """Close the pipe, and return the child's exit code."""
        assert self.process.stdin is not None
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return self.process.wait(PATIENCE)

    @property
    def stderr(self) -> str:
        """Return the text that it has written to stderr so far."""
        size = os.fstat(self._stderr.fileno()).st_size
        return os.pread(self._stderr.fileno(), size, 0).decode()

    def _send(self, frame: pb.PlayResponse) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(packed(frame.SerializeToString()))
        self.process.stdin.flush()

    def _receive(self) -> pb.PlayRequest:
        assert self.process.stdout is not None
        message = read_message(self.process.stdout, LARGEST_FROM_BOT)  # type: ignore[arg-type]
        if message is None:
            raise EOFError("the child has ended")
        return pb.PlayRequest.FromString(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self._stderr):
            assert pipe is not None
            pipe.close()
        self.process.wait()
        self._folder.cleanup()


@contextmanager
def child(kind: str, target: str, *options: str) -> Iterator[Child]:
    """A child that has sent its hello; it is killed after the block if it still runs."""
    with Child(kind, target, *options) as process:
        process.hello()
        yield process
