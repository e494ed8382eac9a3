"""A bot in a process of its own, asked one question at a time: for `noughts bot ask` and `noughts bot check`.

Referees ask many questions of many games at once, and on their event loop: not with this.
"""

import contextlib
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from typing import IO

from google.protobuf.message import DecodeError

from noughts_bots.bot import Bot, Resign
from noughts_bots.errors import BotFault, BotSpecError, VariantRefused
from noughts_bots.process import PARENT_VARIABLE
from noughts_bots.specs import BotSpec, dials_in
from noughts_proto.pipes import LARGEST_UP, LENGTH_BYTES, FrameTooLarge, announced, packed
from noughts_proto.transport import PROTOCOL, TICKET_VARIABLE, TOKEN_VARIABLE
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import Position, PositionError, Result, Termination, Variant, covers, members

START_SECONDS = 5.0
_MOVE_SECONDS = 5.0
_END_SECONDS = 1.0
_PIECE_BYTES = 1 << 16
_SECRETS = (TOKEN_VARIABLE, TICKET_VARIABLE)


def command_of(spec: BotSpec) -> list[str]:
    """What to run for a spec of a kind that plays in a child. Raises BotSpecError for others."""
    if spec.kind == "exec":
        if dials_in(spec):
            expected = "one that plays on its standard input and output"
            advice = f"try it in a match: noughts match '{spec}' random; it says what was wrong"
            raise BotSpecError(f"bot {str(spec)!r}", "a program that dials in", expected, advice)
        try:
            return shlex.split(spec.target)
        except ValueError as error:
            raise BotSpecError(f"bot {str(spec)!r}", str(error), "a command line", "close its quotes") from None
    from noughts_bots.hosts import HOSTED

    if spec.kind not in HOSTED:
        expected = f"one of {', '.join(HOSTED)}, exec"
        advice = "reference bots need none; a registered bot plays where it is logged in"
        raise BotSpecError(f"bot {str(spec)!r}", f"kind {spec.kind}", expected, advice)
    options = (f"{key}={value}" for key, value in spec.options.items())
    # -P: or what lies in this folder would hide Python's own modules, as a `random.so` does.
    return [sys.executable, "-P", "-m", "noughts_bots.hosts", spec.kind, spec.target, *options]


class Child:
    """The process, and the conversation with it. A context manager: afterwards no process is left.

    What it does wrong is a BotFault.
    """

    def __init__(self, spec: BotSpec, *, stderr: IO[bytes] | None = None, move_seconds: float = _MOVE_SECONDS) -> None:
        """`stderr` takes what the bot prints; by default it goes where this process's goes."""
        self._subject = f"bot {str(spec)!r}"
        self._command = command_of(spec)
        self._stderr = stderr
        self._move_seconds = move_seconds
        self._frame = pb.PlayResponse()
        """What the next question travels with."""
        self._frames = 0
        self._games = 0
        self._unread = b""
        self.name = ""
        """What it calls itself; may be empty."""
        self.variants: tuple[str, ...] = ()
        """Those it says it plays; empty means every one."""

    def __enter__(self) -> "Child":
        environment = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                bufsize=0,
                start_new_session=True,
                env={**environment, PARENT_VARIABLE: str(os.getpid())},
            )
        except OSError as error:
            got = f"{self._command[0]}: {error.strerror}"
            raise BotSpecError(self._subject, got, "a program", "mend the path, or make it executable") from None
        try:
            hello = self._receive(time.monotonic() + START_SECONDS, "a hello").hello
            if hello.protocol != PROTOCOL:
                raise self.fault(f"protocol {hello.protocol}", f"{PROTOCOL}, in a hello as its first frame")
            self.name, self.variants = hello.bot, tuple(hello.variants)
            self._send(pb.PlayResponse(welcome=pb.Welcome(bot=f"bots/{self.name}", protocol=PROTOCOL, max_games=1)))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def require(self, variant: Variant) -> None:
        """Raises VariantRefused unless the bot plays this variant."""
        if not covers(self.variants, variant.name):
            advice = "choose such a variant, or another bot"
            raise VariantRefused(self._subject, f"variant {variant.name}", f"one of {', '.join(self.variants)}", advice)

    def begin(self, variant: Variant, side: int, seed: int, moves: list[int], number: int = 1) -> int:
        """Begins a game after these moves, together with its first question. Returns its handle."""
        self._games += 1
        self._frame.starts.add(
            tournament="tournaments/check",
            variant=variant.name,
            game=[self._games],
            number=[number],
            side=[side + 1],
            seed=[seed],
            opponent=[0],
            opponents=["random"],
            move_count=[len(moves)],
            moves=moves,
        )
        return self._games

    def ask(self, game: int, moves: list[int]) -> int:
        """Its answer after the moves, any number. Raises Resign, BotFault."""
        turns = self._frame.turns
        turns.game.append(game)
        turns.ply.append(len(moves))
        turns.cell.append(moves[-1] if moves else 0)
        self._send_frame()
        deadline = time.monotonic() + self._move_seconds
        while not (answer := self._receive(deadline, "a move")).moves.game:
            pass  # an acknowledgement alone
        answered = (list(answer.moves.game), list(answer.moves.ply), len(answer.moves.cell))
        if answered != ([game], [len(moves)], 1):
            got = f"an answer to games {answered[0]}, plies {answered[1]}, with {answered[2]} cells"
            raise self.fault(got, f"one to game {game}, ply {len(moves)}")
        if answer.moves.resigned:
            raise Resign
        return answer.moves.cell[0]

    def end(self, game: int, result: Result, termination: Termination, moves: list[int]) -> None:
        """Tells that the game is over, and waits until the bot has heard it."""
        ends = self._frame.ends
        ends.game.append(game)
        ends.result.append(result.value)  # type: ignore[arg-type]
        ends.termination.append(termination.value)  # type: ignore[arg-type]
        ends.plies.append(len(moves))
        ends.cell.append(moves[-1] if moves else 0)
        self._send_frame()
        deadline = time.monotonic() + self._move_seconds
        while self._receive(deadline, "an acknowledgement").done_through < self._frames:
            pass

    def _send_frame(self) -> None:
        self._frames += 1
        self._frame.frame = self._frames
        self._send(self._frame)
        self._frame = pb.PlayResponse()

    def _send(self, frame: pb.PlayResponse) -> None:
        assert self._process.stdin is not None
        # Of a bot that has ended the next answer is missing, and why is said then.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(packed(frame.SerializeToString()))

    def _receive(self, deadline: float, wanted: str) -> pb.PlayRequest:
        try:
            size = announced(self._read(LENGTH_BYTES, deadline, wanted), LARGEST_UP)
            return pb.PlayRequest.FromString(self._read(size, deadline, wanted))
        except FrameTooLarge as error:
            got = f"a message of {error.got} bytes, or no frames on its stdout"
            raise self.fault(got, f"at most {error.allowed} bytes") from None
        except DecodeError:
            raise self.fault("a message that is no PlayRequest", wanted) from None

    def _read(self, size: int, deadline: float, wanted: str) -> bytes:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while len(self._unread) < size:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise self.fault("no answer in time", wanted)
            piece = os.read(pipe, _PIECE_BYTES)
            if not piece:
                raise self.fault(self._how_it_ended(), wanted)
            self._unread += piece
        taken, self._unread = self._unread[:size], self._unread[size:]
        return taken

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return "a closed pipe"
        return f"its end by {signal.Signals(-code).name}" if code < 0 else f"its end with exit code {code}"

    def fault(self, got: str, expected: str) -> BotFault:
        """An error about this bot."""
        return BotFault(self._subject, got, expected, "what it printed may say why")

    def _stop(self) -> None:
        process = self._process
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        # The whole group: what it has started ends with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class ChildBot(Bot):
    """The bot of a child, asked about single positions."""

    def __init__(self, child: Child) -> None:
        self._child = child

    def choose(self, position: Position) -> int:
        """Its answer. Raises Resign, BotFault, and PositionError for a position to which no moves lead."""
        moves = position.moves or moves_to(position)
        game = self._child.begin(position.variant, position.side, position.seed, moves)
        cell = self._child.ask(game, moves)
        self._child.end(game, Result.VOID, Termination.VOID, moves)
        if cell not in position.free:
            raise self._child.fault(f"cell {cell} on {position}", "a free cell")
        return cell


def moves_to(position: Position) -> list[int]:
    """Moves in turns after which the stones lie so: one order of many. Raises PositionError if there is none.

    With gravity each stone comes after those below it wherever taking turns allows it.
    """
    first, second = (
        list(members(stones))
        for stones in ((position.own, position.opponent) if position.side == 0 else (position.opponent, position.own))
    )
    if len(first) - len(second) != position.side:
        raise PositionError(str(position), "a position that moves in turns lead to: a bot of this kind is told moves")
    below, occupied, moves = position.variant.below, 0, []
    for ply in range(len(first) + len(second)):
        stones = second if ply & 1 else first
        cell = next((cell for cell in stones if not below[cell] & ~occupied), stones[0])
        stones.remove(cell)
        occupied |= 1 << cell
        moves.append(cell)
    return moves
