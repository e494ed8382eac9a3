"""Attacks of clients that want to hurt a server, or to win without playing. Each runs until it is cancelled.

Attacks count the answers that they get by status, and their other results by words of their own. Their effects show
elsewhere: in the resources that the server uses, and in the games of others.
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
"""The message of a client of grpc.aio that writes to a call that has ended; the server does not send it."""
_LARGE = 2 * 1024 * 1024 - 4_096
_PAUSE = 0.05
_CONNECTIONS, _STREAMS = 40, 50
_ROWS = 500_000
_STOLEN_SECONDS = 2.5
_FLOODS = 8
_OWN_TIMES = 500
_AUTHORS_GAMES, _BOMBS_A_FRAME, _BOMB_CHARACTERS = 64, 30, 65_000


@dataclass(slots=True)
class Target:
    """A server, and the means of an attacker: an account of its own, and all public names."""

    address: str
    token: str
    victims: tuple[str, ...] = ()
    dialling: Dialling = field(default_factory=Dialling)
    site: str = ""
    """HOST:PORT of its website, if it has one."""
    bus: str = ""
    """The address of its bus, if it has one."""
    counts: Counter[str] = field(default_factory=Counter)
    """The outcome, by status or by the attack's own words."""

    @property
    def bearing(self) -> tuple[tuple[str, str], ...]:
        """The metadata of a call with the attacker's token."""
        return ((TOKEN_KEY, f"Bearer {self.token}"),)

    @asynccontextmanager
    async def channel(self) -> AsyncIterator[grpc.aio.Channel]:
        """A connection of its own."""
        options = (*CLIENT_OPTIONS, ("grpc.use_local_subchannel_pool", 1))
        async with grpc.aio.insecure_channel(self.address, options=options) as channel:
            yield channel

    async def endless(self, attempt: Callable[[], Awaitable[object]]) -> None:
        """Repeat the attempt, and count the answers."""
        while True:
            try:
                await attempt()
                self.counts["OK"] += 1
            except grpc.aio.AioRpcError as error:
                ended = error.details() == WRITTEN_TOO_LATE
                self.counts["written to a call that has ended" if ended else error.code().name] += 1
                await asyncio.sleep(_PAUSE)
            except (asyncio.InvalidStateError, OSError) as error:
                self.counts[type(error).__name__] += 1
                await asyncio.sleep(_PAUSE)


Attack = Callable[[Target], Awaitable[None]]


class AttackerBot:
    """A bot of the attacker, frame by frame: it plays any free cell unless it has other orders."""

    def __init__(self, call: "grpc.aio.StreamStreamCall[pb.PlayRequest, pb.PlayResponse]") -> None:
        self.call = call
        self.seen = 0
        """The last numbered frame."""
        self.ends: Counter[int] = Counter()
        """Games that are over, by how."""
        self.over: list[int] = []
        self._taken: dict[int, set[int]] = {}

    async def questions(self) -> list[tuple[int, int]]:
        """Games and plies of the questions in the next frame that has any. Raises AioRpcError, EOFError."""
        while True:
            frame: object = await self.call.read()
            if not isinstance(frame, pb.PlayResponse):
                raise EOFError("the server has ended the stream")
            if frame.HasField("heartbeat"):
                await self.call.write(pb.PlayRequest(heartbeat=frame.heartbeat))
            self.seen = frame.frame or self.seen
            for starts in frame.starts:
                moves = iter(starts.moves)
                for game, plies in zip(starts.game, starts.move_count, strict=True):
                    self._taken[game] = {next(moves) for _ in range(plies)}
            for game, ply, cell in zip(frame.turns.game, frame.turns.ply, frame.turns.cell, strict=True):
                if ply:
                    self._taken[game].add(cell)
            self.ends.update(frame.ends.termination)
            self.over += frame.ends.game
            if frame.turns.game:
                return list(zip(frame.turns.game, frame.turns.ply, strict=True))
            if frame.frame:
                await self.acknowledge()

    async def acknowledge(self) -> None:
        """Takes all frames in hand."""
        await self.call.write(pb.PlayRequest(done_through=self.seen))

    async def answer(self, questions: list[tuple[int, int]], *, acknowledge: bool = True, comment: str = "") -> None:
        """Moves somewhere in each of these games, with this comment."""
        request = pb.PlayRequest(done_through=self.seen if acknowledge else 0)
        for game, ply in questions:
            cell = min(set(range(225)) - self._taken[game])
            self._taken[game].add(cell)
            request.moves.game.append(game)
            request.moves.ply.append(ply)
            request.moves.cell.append(cell)
            if comment:
                request.moves.commented.append(len(request.moves.comment))
                request.moves.comment.append(comment)
        await self.call.write(request)

    async def play(self) -> None:
        """Plays until it is cancelled, or sent away."""
        with suppress(EOFError):
            while True:
                await self.answer(await self.questions())


@asynccontextmanager
async def attacker_bot(target: Target, name: str, **hello: Any) -> AsyncIterator[AttackerBot]:
    """A bot of the attacker that has logged in."""
    compression = hello.pop("compression", None)
    async with target.channel() as channel:
        stub = play_pb2_grpc.PlayServiceStub(channel)
        call = stub.Play(metadata=target.bearing, compression=compression)
        await call.write(pb.PlayRequest(hello=pb.Hello(protocol=PROTOCOL, bot=name, **hello)))
        welcome: object = await call.read()
        if not isinstance(welcome, pb.PlayResponse):
            raise EOFError("the server has ended the stream")
        try:
            yield AttackerBot(call)
        finally:
            call.cancel()


async def _tournament(target: Target, slug: str, bots: tuple[str, ...], **settings: Any) -> None:
    """A tournament of the attacker's own bots, who are online."""
    wanted = tournaments_pb2.Tournament(name=f"tournaments/{slug}", rated=False, **settings)
    async with target.channel() as channel:
        stub: Any = tournaments_pb2_grpc.TournamentServiceStub(channel)
        create = tournaments_pb2.CreateTournamentRequest(tournament=wanted, request_id=slug)
        await stub.CreateTournament(create, metadata=target.bearing)
        for bot in bots:
            entry = tournaments_pb2.JoinTournamentRequest(
                name=wanted.name, bot=f"bots/{bot}", request_id=f"{slug}-{bot}"
            )
            await stub.JoinTournament(entry, metadata=target.bearing)
        await stub.StartTournament(tournaments_pb2.StartTournamentRequest(name=wanted.name), metadata=target.bearing)


async def anonymous_memory(target: Target) -> None:
    """Nobody in particular says a hello of 2 MiB on 2,000 streams at once."""
    frame = pb.PlayRequest(hello=pb.Hello(protocol=PROTOCOL, bot="x", agent="a" * _LARGE))

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
                tasks.create_task(target.endless(hello))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_CONNECTIONS):
            tasks.create_task(connection())


async def free_thinking(target: Target) -> None:
    """A bot answers without taking the frame in hand, so that the next question waits, and thinks meanwhile."""
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
                    asked = await thinker.questions()
                    await thinker.answer(asked, acknowledge=False)
                    await asyncio.sleep(_STOLEN_SECONDS)
                    target.counts["thought for free"] += not thinker.ends
                    await thinker.acknowledge()
            for termination, games in thinker.ends.items():
                target.counts[f"ended: {types_pb2.Termination.Name(types_pb2.Termination.ValueType(termination))}"] += (
                    games
                )
            playing.cancel()


async def late_answers(target: Target) -> None:
    """A bot answers the questions of a game that is over: half a million rows a frame, which gzip makes small."""
    names = ("late", "later")
    attempts = iter([grpc.Compression.Gzip])
    slugs = count()

    async def flood() -> None:
        compression = next(attempts, grpc.Compression.NoCompression)
        async with (
            attacker_bot(target, "late", compression=compression) as late,
            attacker_bot(target, "later") as later,
            asyncio.TaskGroup() as tasks,
        ):
            playing = tasks.create_task(later.play())
            await _tournament(target, f"late{next(slugs)}", names, variant="tictactoe", games_per_pair=2)
            while not late.over:
                await late.answer(await late.questions())
            playing.cancel()
            reading = tasks.create_task(late.play())
            frame = pb.PlayRequest(moves=pb.Moves(game=[late.over[0]] * _ROWS, ply=[0] * _ROWS, cell=[0] * _ROWS))
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

    await target.endless(attempt)


async def seats(target: Target) -> None:
    """Untimed challenges to bots that are in tournaments, whose challenger never moves."""
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
            await stub.CreateChallenge(request, metadata=target.bearing)

        await target.endless(challenge)


async def guest_tests(target: Target) -> None:
    """Tests with the longest clocks against bots that are in tournaments, by a bot that never moves."""
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
            await stub.CreateTest(request, metadata=target.bearing)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(target.endless(test))
            with suppress(EOFError):
                while True:
                    await silent.questions()
                    target.counts["questions not answered"] += 1


async def refused_calls(target: Target) -> None:
    """An owner repeats calls that are refused, as often as its token may: each is a transaction."""
    request = tournaments_pb2.JoinTournamentRequest(name="tournaments/archive", bot="bots/nobody")
    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        stub: Any = tournaments_pb2_grpc.TournamentServiceStub(channel)
        for _ in range(_STREAMS):
            tasks.create_task(target.endless(lambda: stub.JoinTournament(request, metadata=target.bearing)))


async def large_settings(target: Target) -> None:
    """An owner creates tournaments whose settings are as large as they may be, as often as its token may."""
    times = {f"{'x' * 50}{number}": types_pb2.TimeControl(move_us=1_000_000) for number in range(_OWN_TIMES)}
    numbers = count()
    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        stub: Any = tournaments_pb2_grpc.TournamentServiceStub(channel)

        async def create() -> None:
            slug = f"large-{next(numbers)}"
            large = tournaments_pb2.Tournament(name=f"tournaments/{slug}", variant="tictactoe", own_times=times)
            request = tournaments_pb2.CreateTournamentRequest(tournament=large, request_id=slug)
            await stub.CreateTournament(request, metadata=target.bearing)

        for _ in range(_FLOODS):
            tasks.create_task(target.endless(create))


async def silence(target: Target) -> None:
    """A bot takes as many untimed games as it is given, and never says a word in them."""
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
    """Bots log in under one version after the other, while nobody in particular asks again and again who is there."""
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
            tasks.create_task(target.endless(attempt))
        for _ in range(28):
            tasks.create_task(target.endless(lambda: stub.ListBots(bots_pb2.ListBotsRequest(page_size=1_000))))


async def comment_bombs(target: Target) -> None:
    """Two bots comment on each move as much as a frame holds, and clients list and read their games."""
    names, slug = ("novelist", "poet"), "tournaments/novels"

    async def write(name: str) -> None:
        with suppress(EOFError):
            async with attacker_bot(target, name, max_games=_AUTHORS_GAMES) as author:
                for number in count():
                    questions = await author.questions()
                    for each in range(0, len(questions), _BOMBS_A_FRAME):
                        text = f"{number}{'x' * _BOMB_CHARACTERS}"
                        await author.answer(questions[each : each + _BOMBS_A_FRAME], comment=text)
                    target.counts["moves with a bomb"] += len(questions)

    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        for name in names:
            tasks.create_task(target.endless(partial(write, name)))
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
            tasks.create_task(target.endless(lambda: games.ListGames(listing)))
            tasks.create_task(target.endless(lambda: games.GetGame(games_pb2.GetGameRequest(name=f"{slug}/games/1"))))


async def long_lists(target: Target) -> None:
    """Nobody in particular asks 50 times at once for a thousand games, and for all other lists."""
    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        games: Any = games_pb2_grpc.GameServiceStub(channel)
        bots: Any = bots_pb2_grpc.BotServiceStub(channel)
        request = games_pb2.ListGamesRequest(parent="tournaments/archive", page_size=1_000)
        for _ in range(_STREAMS):
            tasks.create_task(target.endless(lambda: games.ListGames(request)))
        for _ in range(4):
            tasks.create_task(target.endless(lambda: bots.ListBots(bots_pb2.ListBotsRequest(page_size=1_000))))


async def _flood(target: Target, frames: http2.Flood) -> None:
    async with asyncio.TaskGroup() as tasks:
        for _ in range(_FLOODS):
            tasks.create_task(
                target.endless(lambda: http2.flood(target.address, target.dialling, frames, target.counts))
            )


async def nothing_said(target: Target) -> None:
    """Connections on which nothing is ever said, and streams without a hello."""
    host, _, port = target.address.rpartition(":")

    async def connect() -> None:
        _, writer = await asyncio.open_connection(host, int(port))
        began = time.monotonic()
        try:
            await asyncio.sleep(20)
        finally:
            writer.transport.abort()
            target.counts[f"connections kept for {time.monotonic() - began:.0f} s"] += 1

    async def say_nothing(channel: grpc.aio.Channel) -> None:
        call = play_pb2_grpc.PlayServiceStub(channel).Play(metadata=target.bearing)
        await call.read()
        if (code := await call.code()) is not grpc.StatusCode.OK:
            target.counts[code.name] += 1

    async with target.channel() as channel, asyncio.TaskGroup() as tasks:
        for _ in range(400):
            tasks.create_task(target.endless(connect))
            tasks.create_task(target.endless(lambda: say_nothing(channel)))


async def no_attack(target: Target) -> None:
    """Nothing: what the machine does to an honest match by itself."""
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


ENDS_AT_THE_PROXY = ("continuations", "pings")
"""gRPC keeps headers for as long as they last, answers every ping, and has no option that bounds either: it depends on
the machine what that costs. See docs/explanation/security.md; tests/system/test_proxy.py sees such floods end."""


OTHER_SURFACES = tuple(ATTACKS)[tuple(ATTACKS).index("site streams") :]
"""Attacks that need a server with a website, with uploads, or with a bus."""


OF_COST = (
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
"""Attacks by callers who ask for what costs the server much, or hold what others need.

Honest games and callers must hardly notice them."""


async def all_at_once(target: Target, names: Iterable[str] = ()) -> None:
    """These attacks by one attacker; without names every one that is for a server without a website to withstand."""
    async with asyncio.TaskGroup() as tasks:
        for name in names or set(ATTACKS).difference(ENDS_AT_THE_PROXY, OTHER_SURFACES):
            tasks.create_task(_until_sent_away(ATTACKS[name], target))


async def _until_sent_away(attack: Attack, target: Target) -> None:
    try:
        await attack(target)
    except* (grpc.aio.AioRpcError, EOFError, asyncio.InvalidStateError) as group:
        target.counts[f"ended by {group.exceptions[0]!r:.100}"] += 1


async def attack_for(seconds: float, attack: Attack, target: Target) -> Counter[str]:
    """Attack for so long; return the answers to the attacker."""
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
