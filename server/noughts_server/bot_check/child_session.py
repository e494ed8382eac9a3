"""A child player that answers one question at a time, for `noughts bot ask` and `noughts bot check`.

It is started as for a tournament, in the same sandbox, but the caller waits for each answer.
"""

import asyncio
import secrets
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import blake2b

from noughts_bots.gomocup.protocol import NAMED_VARIANTS, VARIANTS_IN_WORDS, rule_of
from noughts_bots.reference.specs import BotSpec
from noughts_bots.sdk.bot import Move, Resign
from noughts_bots.sdk.errors import BotError, BotFault, BotRefusal, VariantRefused
from noughts_proto.child_kinds import child_kind
from noughts_proto.transport import PROTOCOL
from noughts_proto.v1 import play_pb2 as pb
from noughts_proto.v1 import types_pb2
from noughts_referee.children.dialled_frames import Invite
from noughts_referee.children.launcher import Launcher
from noughts_referee.children.running_child import ChildSettings, Death, NotStarted, RunningChild
from noughts_referee.frame_encoding import UnevenColumns, read_thought, reasons
from noughts_referee.rules import (
    VOID,
    Outcome,
    Position,
    PositionError,
    Thought,
    Variant,
    covers,
    members,
    placed_wrongly,
)
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.resource_names import bot_name
from noughts_server.core.version import software_version
from noughts_server.engines.frames import EngineChild
from noughts_server.launching.players import Player, start_player
from noughts_server.runtime.hello import check_hello

_NAMES_KEY = secrets.token_bytes(16)
"""The key of the names of tournaments, so that a bot cannot recognise a check by them."""
_SHARE = 0.5
"""The share of the time limit of an answer that an engine gets as its time to think."""


class ChildSession:
    """The conversation with a child, whose errors are BotFaults. Created by `child_session`."""

    def __init__(self, spec: BotSpec, child: Player, move_seconds: float, start_seconds: float) -> None:
        self.name = ""
        """The name in its hello; can be empty."""
        self.variants: tuple[str, ...] = ()
        """The variants in its hello; empty means all."""
        self.declines_challenges = False
        """Whether its hello declines games with the bots of other owners."""
        self.output = ""
        """The last 64 KB of its stderr, after its end."""
        self._spec = spec
        self._subject = f"bot {str(spec)!r}"
        self._child = child
        self._move_seconds = move_seconds
        self._frame = pb.PlayResponse()
        """The frame of the next question."""
        self._frames = 0
        self._games = 0
        self._stopped = False
        self._pending_read: asyncio.Task[pb.PlayRequest | None] | None = None
        """A started read for which no caller waits."""
        # Without a limit an engine can think for any time, but only a few moves are needed here.
        self.is_engine = spec.is_engine
        self._start_seconds = start_seconds if spec.is_engine else 0.0
        self.clock_us = round(move_seconds * _SHARE * 1e6) if spec.is_engine else 0

    @property
    def manners(self) -> dict[str, None]:
        """Return the peculiarities of an engine."""
        return self._child.manners if isinstance(self._child, EngineChild) else {}

    @property
    def declared(self) -> tuple[str, ...]:
        """Return the variants that the bot declares; for an engine, those that its protocol has."""
        return NAMED_VARIANTS if self.is_engine else self.variants

    @property
    def lacks_rule(self) -> bool:
        """Return whether this is an engine that has refused the rule of a game."""
        return isinstance(self._child, EngineChild) and self._child.frames.lacks_rule

    async def greet(self) -> None:
        """Wait for its hello and send the welcome."""
        try:
            hello = await self._child.hello()
        except NotStarted as failure:
            raise await self._gone("a hello", str(failure)) from None
        if hello.protocol != PROTOCOL:
            raise self.fault(f"protocol {hello.protocol}", f"{PROTOCOL}, in a hello as its first frame")
        try:
            check_hello(hello)
        except InvalidArgument as error:  # each question about very many variants would take seconds
            raise self.fault(f"a hello with {error.got}", error.expected) from None
        self.name = hello.bot
        self.variants = tuple(hello.variants)
        self.declines_challenges = hello.declines_challenges
        version = bot_name(self.name, "1")
        welcome = pb.Welcome(bot=bot_name(self.name), version=version, protocol=PROTOCOL, max_games=1)
        welcome.session = f"{version}/sessions/1"
        welcome.server = software_version()
        await self._child.frames.write(pb.PlayResponse(welcome=welcome))

    def knows(self, variant: Variant) -> bool:
        """Return whether the bot declares this variant; for an engine, whether its protocol has the variant."""
        return covers(self.variants, variant.name) and (not self.is_engine or rule_of(variant) is not None)

    def require(self, variant: Variant) -> None:
        """Raise VariantRefused unless the bot plays this variant."""
        if not self.knows(variant):
            expected = VARIANTS_IN_WORDS if self.is_engine else f"one of {', '.join(self.variants)}"
            advice = "choose such a variant, or another bot"
            raise VariantRefused(self._subject, f"variant {variant.name}", expected, advice)

    def begin(self, variant: Variant, side: int, seed: int, moves: list[int], number: int = 1) -> int:
        """Begin a game after these moves, together with its first question; return its handle."""
        self._games += 1
        self._frame.starts.add(
            tournament=_tournament_of(seed),
            variant=variant.name,
            time=types_pb2.TimeControl(move_us=self.clock_us),
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

    async def ask(self, game: int, moves: list[int]) -> Move:
        """Return the bot's answer after the moves. Its cell can be any number. Raises Resign and BotFault."""
        await self._send_questions({game: moves})
        deadline = time.monotonic() + self._move_seconds
        while not (answer := await self._receive(deadline, f"a move after {moves}" if moves else "a move")).moves.game:
            pass  # an acknowledgement only
        games, plies, cells = list(answer.moves.game), list(answer.moves.ply), len(answer.moves.cell)
        if (games, plies, cells) != ([game], [len(moves)], 1):
            got = f"an answer for games {games}, plies {plies}, with {cells} cells"
            raise self.fault(got, f"one for game {game}, ply {len(moves)}")
        if answer.moves.resigned:
            try:
                given_reasons = reasons(answer.moves)
            except UnevenColumns:
                raise self._uneven() from None
            raise Resign(*given_reasons[:1])
        score = answer.moves.score[0] if answer.moves.score else None
        thought = read_thought(answer.moves.thought[0]) if answer.moves.thought else Thought()
        return Move(answer.moves.cell[0], score, depth=thought.depth, nodes=thought.nodes, pv=thought.pv)

    async def _send_questions(self, games: dict[int, list[int]]) -> None:
        turns = self._frame.turns
        for game, moves in games.items():
            turns.game.append(game)
            turns.ply.append(len(moves))
            turns.cell.append(moves[-1] if moves else 0)
            if self.clock_us:
                turns.own_clock_us.append(self.clock_us)
                turns.opponent_clock_us.append(self.clock_us)
        await self._send_frame()

    async def ask_many(self, games: dict[int, list[int]]) -> dict[int, int | None]:
        """Return its answers to the questions of one frame, by game; None if it resigns. Raises BotFault."""
        await self._send_questions(games)
        deadline = time.monotonic() + self._move_seconds
        answers: dict[int, int | None] = {}
        while len(answers) < len(games):
            moves = (await self._receive(deadline, f"{len(games)} moves")).moves
            if not len(moves.game) == len(moves.ply) == len(moves.cell):
                raise self._uneven()
            resigned = set(moves.resigned)
            for row, (game, ply, cell) in enumerate(zip(moves.game, moves.ply, moves.cell, strict=True)):
                if game in answers or game not in games or ply != len(games[game]):
                    raise self.fault(f"an answer for game {game}, ply {ply}", "one for each question, once")
                answers[game] = None if row in resigned else cell
        return answers

    async def check_heartbeat(self, number: int) -> None:
        """Return after its answer to a heartbeat. Raises BotFault."""
        self._frame.heartbeat.id = number
        await self._send_frame()
        deadline = time.monotonic() + self._move_seconds
        while (await self._receive(deadline, "the heartbeat that was sent")).heartbeat.id != number:
            pass

    async def check_quiet(self, seconds: float) -> None:
        """Raise BotFault if it sends anything except heartbeats within the time."""
        deadline = time.monotonic() + seconds
        while (seconds_left := deadline - time.monotonic()) > 0:
            # Not cancelled at the end of the time, because that would end the stream.
            reading = self._pending_read = self._pending_read or asyncio.get_running_loop().create_task(
                self._child.frames.read()
            )
            done, _ = await asyncio.wait({reading}, timeout=seconds_left)
            if not done:
                return
            self._pending_read = None
            request = reading.result()
            if request is None:
                raise await self._gone("no answer while no question is open")
            if request.moves.game or request.choices:
                raise self.fault("an answer without a question", "no answer while no question is open")

    async def ask_while_halted(self, game: int, moves: list[int], halted_seconds: float) -> Move:
        """Ask as `ask` does, while the bot's process is halted for some seconds, as on a busy machine."""
        assert isinstance(self._child, RunningChild | EngineChild)
        self._child.kill(signal.SIGSTOP)
        asyncio.get_running_loop().call_later(halted_seconds, self._child.kill, signal.SIGCONT)
        return await self.ask(game, moves)

    async def end(self, game: int, outcome: Outcome, moves: list[int]) -> None:
        """End a game, and wait for the acknowledgement."""
        ends = self._frame.ends
        ends.game.append(game)
        ends.result.append(outcome.result.value)  # type: ignore[arg-type]
        ends.termination.append(outcome.termination.value)  # type: ignore[arg-type]
        ends.plies.append(len(moves))
        ends.cell.append(moves[-1] if moves else 0)
        await self.wait_until_prepared()

    async def wait_until_prepared(self) -> None:
        """Send the pending frame, and wait for the acknowledgement, so that no move includes time to prepare."""
        await self._send_frame()
        deadline = time.monotonic() + self._move_seconds + self._start_seconds
        while (await self._receive(deadline, "an acknowledgement")).done_through < self._frames:
            pass

    async def answer(self, position: Position) -> Move:
        """Return its legal answer to a single position. Raises BotFault for other moves, and the errors of `reply`."""
        move = await self.reply(position)
        if move.cell not in position.free:
            raise self.fault(f"a bot that {wrong_move(position, move.cell)}, in {position}", "one of the free cells")
        return move

    async def reply(self, position: Position) -> Move:
        """Return its answer to a single position, in a separate game. Its cell can be any number.

        Raises Resign, BotFault, and PositionError for a position that no moves reach.
        """
        moves = position.moves or moves_to(position)
        game = self.begin(position.variant, position.side, position.seed, moves)
        move = await self.ask(game, moves)
        await self.end(game, VOID, moves)
        return move

    def _uneven(self) -> BotFault:
        return self.fault("moves with columns of different lengths", "columns of equal length")

    def fault(self, got: str, expected: str) -> BotFault:
        return BotFault(self._subject, got, expected, "see what it printed")

    async def stop(self) -> None:
        """End the child with all its processes."""
        if not self._stopped:
            await self.close()

    async def leave(self, seconds: float) -> Death:
        """Close its input, give it some seconds to exit, and end the child; return how it ended."""
        if isinstance(self._child, RunningChild):
            await self._child.leave(seconds)
        return await self.close()

    async def close(self, reason: str = "") -> Death:
        """Close its input the way a referee does at the end, and end the child; return how it ended."""
        self._stopped = True
        if self._pending_read is not None:
            self._pending_read.cancel()
        death = await self._child.stop(reason)
        self.output = death.stderr
        return death

    async def _gone(self, expected: str, reason: str = "") -> BotError:
        death = await self.close(reason)
        if self._frames == 0 and (refusal := death.refusal(child_kind(self._spec.kind))):
            self.output = death.stderr.rstrip().removesuffix(refusal)
            return BotRefusal(refusal)
        return self.fault(f"a process that {death.reason}", expected)

    async def _send_frame(self) -> None:
        self._frames += 1
        self._frame.frame = self._frames
        await self._child.frames.write(self._frame)
        self._frame = pb.PlayResponse()

    async def _receive(self, deadline: float, expected: str) -> pb.PlayRequest:
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                reading, self._pending_read = self._pending_read, None
                request = await (self._child.frames.read() if reading is None else reading)
        except TimeoutError:
            raise self.fault("no answer in time", expected) from None
        if request is None:
            raise await self._gone(expected)
        return request


@asynccontextmanager
async def child_session(
    spec: BotSpec, launcher: Launcher, times: ChildSettings, *, move_seconds: float, invite: Invite | None = None
) -> AsyncIterator[ChildSession]:
    """Start a child of this spec, which must be greeted first; end all its processes after the block.

    `move_seconds` is the longest wait for an answer. A bot that connects needs an invitation.
    """
    child = await start_player(spec, launcher, times, invite=invite)
    session = ChildSession(spec, child, move_seconds, times.start)
    try:
        yield session
    finally:
        await session.stop()


def _tournament_of(seed: int) -> str:
    """Return a name like that of a real game: the same for the same seed, and known only to this process."""
    name = blake2b(seed.to_bytes(8, "little"), key=_NAMES_KEY, digest_size=5).hexdigest()
    return f"tournaments/challenge-{name}"


def moves_to(position: Position) -> list[int]:
    """Return alternating moves that reach the position, in one of many orders. Raises PositionError if there are none.

    With gravity, each stone comes after those below it if the alternation allows it.
    """
    first, second = (
        list(members(stones))
        for stones in ((position.own, position.opponent) if position.side == 0 else (position.opponent, position.own))
    )
    if len(first) - len(second) != position.side:
        raise PositionError(str(position), "a position that alternating moves can reach: this bot is sent moves")
    below = position.variant.supports
    occupied = 0
    moves = []
    for ply in range(len(first) + len(second)):
        stones = second if ply & 1 else first
        cell = next((cell for cell in stones if not below[cell] & ~occupied), stones[0])
        stones.remove(cell)
        occupied |= 1 << cell
        moves.append(cell)
    return moves


def wrong_move(position: Position, cell: int) -> str:
    """Return what is wrong with an illegal move, as a phrase that follows "it"."""
    return placed_wrongly(position.variant, position.own, position.opponent, cell, position.side)
