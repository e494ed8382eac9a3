"""Attacks of clients that overload a server, or win without playing. Each runs until it is cancelled.

An attack counts the answers that it gets by status, and other outcomes under names of its own. Its effects are measured
elsewhere: in the resources that the server uses, and in the games of other bots (`tests.chaos.honest`).
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import grpc
import grpc.aio

from noughts_proto.security import Dialling
from noughts_proto.transport import CLIENT_OPTIONS, PROTOCOL, TOKEN_KEY
from noughts_proto.v1 import (
    bots_pb2,
    bots_pb2_grpc,
    challenges_pb2,
    challenges_pb2_grpc,
    games_pb2,
    games_pb2_grpc,
    play_pb2_grpc,
    tests_pb2,
    tests_pb2_grpc,
    tournaments_pb2,
    tournaments_pb2_grpc,
    types_pb2,
)
from noughts_proto.v1 import play_pb2 as pb
from tests.chaos import holding_attacks, http2, site_attacks, upload_attacks
from tests.chaos.forgery import forged_messages

WRITTEN_TOO_LATE = "Internal error from Core"
"""The error message of grpc.aio if a client writes to a call that has ended. It does not come from the server."""
_LARGE_TEXT = 2 * 1024 * 1024 - 4_096
"""Almost the largest message that the server reads, in bytes."""
_PAUSE = 0.05
"""Seconds before a failed attempt is repeated."""
_CONNECTIONS, _STREAMS = 40, 50
"""Connections of an attack, and concurrent calls on each."""
_LATE_ROWS = 500_000
_STOLEN_SECONDS = 2.5
_FLOODS = 8
"""Streams or connections that flood the server at the same time."""
_OWN_TIMES = 500
"""Times of single bots in one request, each with a name of more than 50 characters."""
_AUTHORS_GAMES, _COMMENTS_A_FRAME, _COMMENT_CHARACTERS = 64, 30, 65_000


@dataclass(slots=True)
class Target:
    """A server, and the attacker's means: an account of its own, and public names."""

    address: str
    token: str
    victims: tuple[str, ...] = ()
    """Names of honest bots that play in tournaments."""
    dialling: Dialling = field(default_factory=Dialling)
    site: str = ""
    """HOST:PORT of its website, if it has one."""
    bus: str = ""
    """The address of its bus, if it has one."""
    counts: Counter[str] = field(default_factory=Counter)
    """The outcomes of attempts: statuses of calls, or names that an attack chooses."""

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of a call: the attacker's token."""
        return ((TOKEN_KEY, f"Bearer {self.token}"),)

    @asynccontextmanager
    async def channel(self) -> AsyncIterator[grpc.aio.Channel]:
        """Open a new connection to the server."""
        options = (*CLIENT_OPTIONS, ("grpc.use_local_subchannel_pool", 1))
        async with grpc.aio.insecure_channel(self.address, options=options) as channel:
            yield channel

    async def repeat(self, attempt: Callable[[], Awaitable[object]]) -> None:
        """Repeat an attempt until cancelled, and count the outcomes."""
        while True:
            try:
                await attempt()
                self.counts["OK"] += 1
            except grpc.aio.AioRpcError as error:
                has_ended = error.details() == WRITTEN_TOO_LATE
                self.counts["written to a call that has ended" if has_ended else error.code().name] += 1
                await asyncio.sleep(_PAUSE)
            except (asyncio.InvalidStateError, OSError) as error:
                self.counts[type(error).__name__] += 1
                await asyncio.sleep(_PAUSE)


Attack = Callable[[Target], Awaitable[None]]


class AttackerBot:
    """A bot of the attacker that reads and writes single frames. It always plays the first free cell."""

    def __init__(self, call: "grpc.aio.StreamStreamCall[pb.PlayRequest, pb.PlayResponse]") -> None:
        self.call = call
        self.last_frame = 0
        """The number of the last frame that had one."""
        self.ends: Counter[int] = Counter()
        """The number of ended games, by termination."""
        self.ended_games: list[int] = []
        self._occupied: dict[int, set[int]] = {}

    async def questions(self) -> list[tuple[int, int]]:
        """Return game and ply of each question in the next frame that has questions. Raises AioRpcError, EOFError."""
        while True:
            frame: object = await self.call.read()
            if not isinstance(frame, pb.PlayResponse):
                raise EOFError("the server has ended the stream")
            if frame.HasField("heartbeat"):
                await self.call.write(pb.PlayRequest(heartbeat=frame.heartbeat))
            self.last_frame = frame.frame or self.last_frame
            for starts in frame.starts:
                moves = iter(starts.moves)
                for game, plies in zip(starts.game, starts.move_count, strict=True):
                    self._occupied[game] = {next(moves) for _ in range(plies)}
            for game, ply, cell in zip(frame.turns.game, frame.turns.ply, frame.turns.cell, strict=True):
                if ply:
                    self._occupied[game].add(cell)
            self.ends.update(frame.ends.termination)
            self.ended_games += frame.ends.game
            if frame.turns.game:
                return list(zip(frame.turns.game, frame.turns.ply, strict=True))
            if frame.frame:
                await self.acknowledge()

    async def acknowledge(self) -> None:
        """Acknowledge all frames."""
        await self.call.write(pb.PlayRequest(done_through=self.last_frame))

    async def answer(self, questions: list[tuple[int, int]], *, acknowledge: bool = True, comment: str = "") -> None:
        """Answer each question with the first free cell, and with this comment unless it is empty."""
        request = pb.PlayRequest(done_through=self.last_frame if acknowledge else 0)
        for game, ply in questions:
            cell = min(set(range(225)) - self._occupied[game])
            self._occupied[game].add(cell)
            request.moves.game.append(game)
            request.moves.ply.append(ply)
            request.moves.cell.append(cell)
            if comment:
                request.moves.commented.append(len(request.moves.comment))
                request.moves.comment.append(comment)
        await self.call.write(request)

    async def play(self) -> None:
        """Play until cancelled, or until the server ends the stream."""
        with suppress(EOFError):
            while True:
                await self.answer(await self.questions())


@asynccontextmanager
async def attacker_bot(
    target: Target, name: str, compression: grpc.Compression | None = None, **hello: Any
) -> AsyncIterator[AttackerBot]:
    """Log in a bot of the attacker; `hello` has fields of its first message."""
    async with target.channel() as channel:
        stub = play_pb2_grpc.PlayServiceStub(channel)
        call = stub.Play(metadata=target.metadata, compression=compression)
        await call.write(pb.PlayRequest(hello=pb.Hello(protocol=PROTOCOL, bot=name, **hello)))
        welcome: object = await call.read()
        if not isinstance(welcome, pb.PlayResponse):
            raise EOFError("the server has ended the stream")
        try:
            yield AttackerBot(call)
        finally:
            call.cancel()


async def _tournament(target: Target, slug: str, bots: tuple[str, ...], **settings: Any) -> None:
    """Create and start a tournament of the attacker's own bots, which are online."""
    tournament = tournaments_pb2.Tournament(name=f"tournaments/{slug}", rated=False, **settings)
    async with target.channel() as channel:
        stub: Any = tournaments_pb2_grpc.TournamentServiceStub(channel)
        create = tournaments_pb2.CreateTournamentRequest(tournament=tournament, request_id=slug)
        await stub.CreateTournament(create, metadata=target.metadata)
        for bot in bots:
            entry = tournaments_pb2.JoinTournamentRequest(
                name=tournament.name, bot=f"bots/{bot}", request_id=f"{slug}-{bot}"
            )
            await stub.JoinTournament(entry, metadata=target.metadata)
        await stub.StartTournament(
            tournaments_pb2.StartTournamentRequest(name=tournament.name), metadata=target.metadata
        )


async def anonymous_memory(target: Target) -> None:
    """Clients without a token send a hello of 2 MiB on 2,000 concurrent streams."""
    frame = pb.PlayRequest(hello=pb.Hello(protocol=PROTOCOL, bot="x", agent="a" * _LARGE_TEXT))

    async def connection() -> None:
        async with target.channel() as channel, asyncio.TaskGroup() as tasks:
            stub = play_pb2_grpc.PlayServiceStub(channel)

            async def hello() -> None:
                call = stub.Play()
                await call.write(frame)
                await call.read()
                if (code := await call.code()) is not grpc.StatusCode.OK:
                    target.counts[code.name] += 1

            for _ in range(_STREAMS):
                tasks.create_task(target.repeat(hello))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_CONNECTIONS):
            tasks.create_task(connection())


async def free_thinking(target: Target) -> None:
    """A bot answers without acknowledging the frame, so that its next question has to wait, and thinks meanwhile."""
    for number in count():
        names = (f"thinker{number}", f"partner{number}")
        async with (
            attacker_bot(target, names[0]) as thinker,
            attacker_bot(target, names[1]) as partner,
            asyncio.TaskGroup() as tasks,
        ):
            playing = tasks.create_task(partner.play())
            await _tournament(
                target,
                f"thinking{number}",
                names,
                variant="gomoku",
                games_per_pair=2,
                time=types_pb2.TimeControl(move_us=1_000_000),
            )
            with suppress(EOFError):
                while sum(thinker.ends.values()) < 2:
                    questions = await thinker.questions()
                    await thinker.answer(questions, acknowledge=False)
                    await asyncio.sleep(_STOLEN_SECONDS)
                    if not thinker.ends:
                        target.counts["thought for free"] += 1
                    await thinker.acknowledge()
            for termination, games in thinker.ends.items():
                name = types_pb2.Termination.Name(types_pb2.Termination.ValueType(termination))
                target.counts[f"ended: {name}"] += games
            playing.cancel()


async def late_answers(target: Target) -> None:
    """A bot answers questions of a game that has ended: 500,000 rows a frame, which gzip makes small at first."""
    names = ("late", "later")
    compressions = iter([grpc.Compression.Gzip])  # of the first attempt; all others are not compressed
    slugs = count()

    async def flood() -> None:
        compression = next(compressions, grpc.Compression.NoCompression)
        async with (
            attacker_bot(target, "late", compression=compression) as late,
            attacker_bot(target, "later") as later,
            asyncio.TaskGroup() as tasks,
        ):
            playing = tasks.create_task(later.play())
            await _tournament(target, f"late{next(slugs)}", names, variant="tictactoe", games_per_pair=2)
            while not late.ended_games:
                await late.answer(await late.questions())
            playing.cancel()
            reading = tasks.create_task(late.play())
            frame = pb.PlayRequest(
                moves=pb.Moves(game=[late.ended_games[0]] * _LATE_ROWS, ply=[0] * _LATE_ROWS, cell=[0] * _LATE_ROWS)
            )
            while not reading.done():
                await late.call.write(frame)
                target.counts["frames of late rows"] += 1

    async def attempt() -> None:
        try:
            await flood()
        except* (grpc.aio.AioRpcError, EOFError, asyncio.InvalidStateError) as group:
            error = group.exceptions[0]
            if isinstance(error, grpc.aio.AioRpcError):
                raise error from None
            raise OSError(str(error)) from None

    await target.repeat(attempt)


async def seats(target: Target) -> None:
    """A bot that never moves challenges bots of tournaments to untimed games."""
    async with attacker_bot(target, "challenger", max_games=1_000), target.channel() as channel:
        stub: Any = challenges_pb2_grpc.ChallengeServiceStub(channel)
        numbers = count()

        async def challenge() -> None:
            number = next(numbers)
            request = challenges_pb2.CreateChallengeRequest(
                challenger="bots/challenger",
                opponent=f"bots/{target.victims[number % len(target.victims)]}",
                variant="tictactoe",
                games=20,
                request_id=f"challenge{number}",
            )
            await stub.CreateChallenge(request, metadata=target.metadata)

        await target.repeat(challenge)


async def guest_tests(target: Target) -> None:
    """A bot that never moves is tested against bots of tournaments, with the longest clocks."""
    minute, hour = types_pb2.TimeControl(move_us=60_000_000), types_pb2.TimeControl(move_us=3_600_000_000)
    async with attacker_bot(target, "tester", max_games=1_000) as silent, target.channel() as channel:
        stub: Any = tests_pb2_grpc.TestServiceStub(channel)
        numbers = count()

        async def test() -> None:
            number = next(numbers)
            test = tests_pb2.Test(
                new_version="bots/tester",
                base_version=f"bots/{target.victims[number % len(target.victims)]}",
                tournament=tournaments_pb2.Tournament(variant="tictactoe", time=hour if number % 8 == 7 else minute),
            )
            request = tests_pb2.CreateTestRequest(test=test, request_id=f"test{number}")
            await stub.CreateTest(request, metadata=target.metadata)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(target.repeat(test))
            with suppress(EOFError):
                while True:
                    await silent.questions()
                    target.counts["questions not answered"] += 1


async def refused_calls(target: Target) -> None:
    """An owner repeats calls that the server refuses, each in a transaction, as often as its token permits."""
    request = tournaments_pb2.JoinTournamentRequest(name="tournaments/archive", bot="bots/nobody")
    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        stub: Any = tournaments_pb2_grpc.TournamentServiceStub(channel)
        for _ in range(_STREAMS):
            tasks.create_task(target.repeat(lambda: stub.JoinTournament(request, metadata=target.metadata)))


async def large_settings(target: Target) -> None:
    """An owner creates tournaments with the largest settings, as often as its token permits."""
    times = {f"{'x' * 50}{number}": types_pb2.TimeControl(move_us=1_000_000) for number in range(_OWN_TIMES)}
    numbers = count()
    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        stub: Any = tournaments_pb2_grpc.TournamentServiceStub(channel)

        async def create() -> None:
            slug = f"large-{next(numbers)}"
            tournament = tournaments_pb2.Tournament(name=f"tournaments/{slug}", variant="tictactoe", own_times=times)
            request = tournaments_pb2.CreateTournamentRequest(tournament=tournament, request_id=slug)
            await stub.CreateTournament(request, metadata=target.metadata)

        for _ in range(_FLOODS):
            tasks.create_task(target.repeat(create))


async def silence(target: Target) -> None:
    """A bot accepts all untimed games, and never answers in them."""
    async with (
        attacker_bot(target, "mute", max_games=64) as mute,
        attacker_bot(target, "waiting", max_games=64) as waiting,
    ):
        await _tournament(
            target, "silence", ("mute", "waiting"), variant="tictactoe", games_per_pair=20_000, concurrency=64
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(waiting.play())
            while True:
                frame: object = await mute.call.read()
                if not isinstance(frame, pb.PlayResponse):
                    raise EOFError("the server has ended the stream")
                if frame.HasField("heartbeat"):
                    await mute.call.write(pb.PlayRequest(heartbeat=frame.heartbeat))
                elif frame.frame:
                    await mute.call.write(pb.PlayRequest(done_through=frame.frame))
                target.counts["questions not answered"] += len(frame.turns.game)


async def listing(target: Target) -> None:
    """Bots log in under ever new versions, while clients without a token list all bots again and again."""
    numbers = count()

    async def log_in() -> None:
        number = next(numbers)
        async with attacker_bot(target, f"crowd{number % 200}", version=str(number)):
            target.counts["logins"] += 1

    async def attempt() -> None:
        with suppress(EOFError):
            await log_in()

    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        stub: Any = bots_pb2_grpc.BotServiceStub(channel)
        for _ in range(4):
            tasks.create_task(target.repeat(attempt))
        for _ in range(28):
            tasks.create_task(target.repeat(lambda: stub.ListBots(bots_pb2.ListBotsRequest(page_size=1_000))))


async def comment_bombs(target: Target) -> None:
    """Two bots send comments that fill their frames, and clients list and read the games with the comments."""
    names, slug = ("novelist", "poet"), "tournaments/novels"

    async def write(name: str) -> None:
        with suppress(EOFError):
            async with attacker_bot(target, name, max_games=_AUTHORS_GAMES) as author:
                for number in count():
                    questions = await author.questions()
                    for start in range(0, len(questions), _COMMENTS_A_FRAME):
                        text = f"{number}{'x' * _COMMENT_CHARACTERS}"
                        await author.answer(questions[start : start + _COMMENTS_A_FRAME], comment=text)
                    target.counts["moves with a bomb"] += len(questions)

    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        for name in names:
            tasks.create_task(target.repeat(partial(write, name)))
        await asyncio.sleep(1)
        await _tournament(
            target,
            "novels",
            names,
            variant="gomoku",
            games_per_pair=10_000,
            concurrency=_AUTHORS_GAMES,
            keep_scores=True,
        )
        games: Any = games_pb2_grpc.GameServiceStub(channel)
        listing = games_pb2.ListGamesRequest(parent=slug, page_size=1_000, with_comments=True)
        for _ in range(4):
            tasks.create_task(target.repeat(lambda: games.ListGames(listing)))
            tasks.create_task(target.repeat(lambda: games.GetGame(games_pb2.GetGameRequest(name=f"{slug}/games/1"))))


async def long_lists(target: Target) -> None:
    """Clients without a token list a thousand games in 50 concurrent calls, and all bots in 4."""
    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        games: Any = games_pb2_grpc.GameServiceStub(channel)
        bots: Any = bots_pb2_grpc.BotServiceStub(channel)
        request = games_pb2.ListGamesRequest(parent="tournaments/archive", page_size=1_000)
        for _ in range(_STREAMS):
            tasks.create_task(target.repeat(lambda: games.ListGames(request)))
        for _ in range(4):
            tasks.create_task(target.repeat(lambda: bots.ListBots(bots_pb2.ListBotsRequest(page_size=1_000))))


async def _flood(target: Target, frames: http2.Flood) -> None:
    """Send these frames on several connections."""
    async with asyncio.TaskGroup() as tasks:
        for _ in range(_FLOODS):
            tasks.create_task(
                target.repeat(lambda: http2.flood(target.address, target.dialling, frames, target.counts))
            )


async def nothing_said(target: Target) -> None:
    """Clients open connections on which they send nothing, and streams without a hello."""
    host, _, port = target.address.rpartition(":")

    async def connect() -> None:
        _, writer = await asyncio.open_connection(host, int(port))
        began = time.monotonic()
        try:
            await asyncio.sleep(20)
        finally:
            writer.transport.abort()
            target.counts[f"connections kept for {time.monotonic() - began:.0f} s"] += 1

    async def open_stream(channel: grpc.aio.Channel) -> None:
        call = play_pb2_grpc.PlayServiceStub(channel).Play(metadata=target.metadata)
        await call.read()
        if (code := await call.code()) is not grpc.StatusCode.OK:
            target.counts[code.name] += 1

    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        for _ in range(400):
            tasks.create_task(target.repeat(connect))
            tasks.create_task(target.repeat(lambda: open_stream(channel)))


async def no_attack(target: Target) -> None:
    """Wait, to measure an honest match without an attack."""
    await asyncio.Event().wait()


ATTACKS: Mapping[str, Attack] = {
    "none": no_attack,
    "anonymous memory": anonymous_memory,
    "free thinking": free_thinking,
    "late answers": late_answers,
    "seats": seats,
    "tests of guests": guest_tests,
    "refused calls": refused_calls,
    "large settings": large_settings,
    "waiting calls": holding_attacks.waiting_calls,
    "silence": silence,
    "listing": listing,
    "comment bombs": comment_bombs,
    "long lists": long_lists,
    "nothing said": nothing_said,
    "continuations": partial(_flood, frames=http2.continuations),
    "pings": partial(_flood, frames=http2.pings),
    "settings": partial(_flood, frames=http2.settings),
    "resets": partial(_flood, frames=http2.resets),
    "site streams": site_attacks.streams,
    "site heads": site_attacks.heads,
    "site waiting heads": site_attacks.waiting_heads,
    "site half requests": site_attacks.half_requests,
    "site pipelines": site_attacks.pipelines,
    "site pages": site_attacks.pages,
    "site long lists": site_attacks.long_lists,
    "site expensive pages": site_attacks.expensive_pages,
    "site slow readers": site_attacks.slow_readers,
    "site held downloads": site_attacks.held_downloads,
    "site tables": site_attacks.tables,
    "site unread answers": holding_attacks.unread_answers,
    "site feed streams": holding_attacks.feed_streams,
    "site idle connections": holding_attacks.idle_connections,
    "agent waits": holding_attacks.agent_waits,
    "source bomb": upload_attacks.source_bomb,
    "trial queue": upload_attacks.trial_queue,
    "forged messages": forged_messages,
}


STOPPED_BY_THE_PROXY = ("continuations", "pings")
"""Attacks that only the reverse proxy stops: gRPC reads endless headers and answers every ping, and cannot limit them.

See docs/explanation/security.md and tests/system/test_proxy.py."""


OTHER_SURFACES = tuple(ATTACKS)[tuple(ATTACKS).index("site streams") :]
"""Attacks that need a server with a website, with uploads, or with a bus."""


COSTLY_ATTACKS = (
    "tests of guests",
    "refused calls",
    "large settings",
    "waiting calls",
    "comment bombs",
    "long lists",
    "site long lists",
    "site expensive pages",
    "site held downloads",
    "site unread answers",
    "site feed streams",
    "site idle connections",
    "agent waits",
)
"""Attacks by requests that cost the server much time or memory, or that hold resources which others need.

Honest games and callers must remain almost as fast."""


async def all_at_once(target: Target, names: Iterable[str] = ()) -> None:
    """Run these attacks together; by default, all that a server without website, uploads and bus must withstand."""
    async with asyncio.TaskGroup() as tasks:
        for name in names or set(ATTACKS).difference(STOPPED_BY_THE_PROXY, OTHER_SURFACES):
            tasks.create_task(_attack_until_disconnected(ATTACKS[name], target))


async def _attack_until_disconnected(attack: Attack, target: Target) -> None:
    try:
        await attack(target)
    except* (grpc.aio.AioRpcError, EOFError, asyncio.InvalidStateError) as group:
        target.counts[f"ended by {group.exceptions[0]!r:.100}"] += 1


async def attack_for(seconds: float, attack: Attack, target: Target) -> Counter[str]:
    """Attack for this time, and return the counts of outcomes."""
    try:
        async with asyncio.timeout(seconds):
            await attack(target)
    except TimeoutError:
        pass
    except BaseExceptionGroup as group:
        target.counts[f"ended by {group.exceptions[0]!r:.100}"] += 1
    except (grpc.aio.AioRpcError, EOFError) as error:
        target.counts[f"ended by {error.details() if isinstance(error, grpc.aio.AioRpcError) else error}"] += 1
    return target.counts
