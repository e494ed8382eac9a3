"""A real server for tests: of a bot, or of anything that talks to Noughts.

    from noughts_server.testing import serving

    def test_my_bot_does_not_lose_to_chance():
        with serving() as server:
            result = server.match(MyBot(), "random", games=200, seed=1)
        assert result.losses == 0

It is the ordinary server on a free port of the loopback interface with a database in a temporary folder; only the
bots of `match` are not processes of their own, so that a debugger reaches them.
"""

import asyncio
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from noughts_bots import Bot
from noughts_bots.reference.caching_bot import CachingBot
from noughts_bots.session import Login, play
from noughts_bots.specs import make_bot, parse_spec
from noughts_referee.clock import parse_time_control
from noughts_referee.rules import parse_variant
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.tournament import LocalTournament
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.engine.sqlite import url_of
from noughts_server.store.games.games import ExportedGame, export
from noughts_server.store.people.tokens import create_token
from noughts_server.store.tournaments.tournaments import get_tournament

__all__ = ["ExportedGame", "MatchResult", "ServerUnderTest", "serving"]

_START_SECONDS = 30.0

Returned = TypeVar("Returned")


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What came of a match, from the first bot's point of view."""

    wins: int
    draws: int
    losses: int
    games: tuple[ExportedGame, ...]
    """In slot order; the first bot moved first in the odd ones (the 1st, the 3rd and so on)."""


class ServerUnderTest:
    """A running server. Made by `serving`; its methods are called from the test's thread and wait for the answer."""

    def __init__(self, server: Server, on_server: "_Loop", on_bots: "_Loop") -> None:
        self._server = server
        self._on_server = on_server
        self._on_bots = on_bots

    @property
    def address(self) -> str:
        """HOST:PORT, for `noughts_bots.run` or the environment's NOUGHTS_SERVER."""
        return self._server.address

    def token(self, owner: str = "tester") -> str:
        """A new token of this owner, who is made if new."""
        store = self._server.store
        now = store.now_ms()
        making = store.write(lambda connection: create_token(connection, owner=owner, now_ms=now))
        made = self._on_server.run(making, _START_SECONDS)
        return made.secret

    def match(
        self,
        first: Bot | str,
        second: Bot | str,
        *,
        variant: str = "tictactoe",
        games: int = 2,
        time: str = "none",
        concurrency: int = 64,
        seed: int = 1,
        timeout: float = 60.0,
    ) -> MatchResult:
        """Plays `games` games between two bots (or specs of reference bots) with sides alternating.

        `time` as on the command line: `60+0.5`, `1/move`, `180/30+0` or `none`. The same seed gives the same games, if
        the bots draw from `position.rng()` only. Raises what the command would refuse, BotRefused, and
        TimeoutError after `timeout` seconds.
        """
        rules = parse_variant(variant)
        bots = [make_bot(parse_spec(bot), rules) if isinstance(bot, str) else bot for bot in (first, second)]
        labels = [parse_spec(bot).short if isinstance(bot, str) else type(bot).__name__ for bot in (first, second)]
        if labels[0] == labels[1]:
            labels[1] += "#2"
        settings = TournamentSettings(
            variant=rules.name,
            time=parse_time_control(time),
            games_per_pair=games,
            concurrency=concurrency,
            seed=seed,
            title=" - ".join(labels),
        )
        try:
            return self._on_server.run(self._match(settings, dict(zip(labels, bots, strict=True))), timeout)
        finally:
            for bot in bots:
                if isinstance(bot, CachingBot):
                    bot.close()

    async def _match(self, settings: TournamentSettings, bots: dict[str, Bot]) -> MatchResult:
        tournament = LocalTournament(self._server, settings, dict.fromkeys(bots, "1"))
        await tournament.create()
        async with asyncio.TaskGroup() as tasks:
            playing = [tasks.create_task(self._play(tournament, label, bot)) for label, bot in bots.items()]
            await tournament.all_online(lambda: None)
            await tournament.play(lambda *_: None)
            for task in playing:
                task.cancel()
        await self._server.recorder.flush()

        def read(connection: Any) -> tuple[ExportedGame, ...]:
            return tuple(export(connection, get_tournament(connection, tournament.slug).id))

        stored = await self._server.store.read(read)
        points = [_points(game, next(iter(bots))) for game in stored]
        return MatchResult(points.count(1.0), points.count(0.5), points.count(0.0), stored)

    async def _play(self, tournament: LocalTournament, label: str, bot: Bot) -> None:
        login = Login(self.address, tournament.ticket(label), name=label, reconnect=False)
        await asyncio.wrap_future(self._on_bots.submit(play(bot, login)))


def _points(game: ExportedGame, bot: str) -> float | None:
    points = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}.get(game.result)
    return points if points is None or game.first == bot else 1.0 - points


@contextmanager
def serving(*, margin: float = 0.05, grace: float = 5.0, heartbeat: float = 5.0) -> Iterator[ServerUnderTest]:
    """A server inside the `with` block, on a free port and a fresh database. Times in seconds."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="noughts-", ignore_cleanup_errors=True))
        settings = ServerSettings(
            listen="127.0.0.1:0",
            database=url_of(Path(folder) / "noughts.sqlite"),
            margin_us=round(margin * 1e6),
            grace=grace,
            heartbeat=heartbeat,
        )
        on_server = stack.enter_context(_running_loop("noughts-test-server"))
        on_bots = stack.enter_context(_running_loop("noughts-test-bots"))
        server = stack.enter_context(_served(on_server, settings))
        yield ServerUnderTest(server, on_server, on_bots)


@contextmanager
def _served(on: "_Loop", settings: ServerSettings) -> Iterator[Server]:
    started: Future[Server] = Future()
    stop = asyncio.Event()

    async def serve() -> None:
        try:
            async with running_server(settings) as server:
                started.set_result(server)
                await stop.wait()
        except BaseException as error:
            if not started.done():
                started.set_exception(error)
            raise

    serving = on.submit(serve())
    server = started.result(_START_SECONDS)
    try:
        yield server
    finally:
        on.loop.call_soon_threadsafe(stop.set)
        serving.result(_START_SECONDS)


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    def submit(self, work: Coroutine[Any, Any, Returned]) -> "Future[Returned]":
        """Starts the work there."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, Returned], timeout: float) -> Returned:
        """Does the work there and waits for it. Raises TimeoutError; the work is then cancelled."""
        future = self.submit(work)
        try:
            return future.result(timeout)
        except TimeoutError:
            future.cancel()
            raise


@contextmanager
def _running_loop(name: str) -> Iterator[_Loop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
    thread.start()
    try:
        yield _Loop(loop)
    finally:
        asyncio.run_coroutine_threadsafe(_finish(), loop).result(_START_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _finish() -> None:
    """Cancels what is left on this loop."""
    rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_default_executor()
