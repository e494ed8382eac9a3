"""A real server for tests of bots, and of other programs that call a server.

    from noughts_server.testing import serving

    def test_my_bot_does_not_lose_to_chance():
        with serving() as server:
            result = server.match(MyBot(), "random", games=200, seed=1)
        assert result.losses == 0

It is the ordinary server on a free port of the loopback interface, with a database in a temporary folder. The bots of
`match` run in the process of the test, so that a debugger can stop in them.
"""

import asyncio
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from noughts_bots import Bot
from noughts_bots.connection.session import Login, play
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_referee.clock import HEARTBEAT_SECONDS, parse_time_control
from noughts_referee.rules import parse_variant
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.tournament import LocalTournament
from noughts_server.server import Server, running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.engine.sqlite import url_of
from noughts_server.store.games.exports import ExportedGame, export
from noughts_server.store.people.scopes import DEFAULT_SCOPES
from noughts_server.store.people.tokens import create_token
from noughts_server.store.tournaments.tournaments import get_tournament

__all__ = ["ExportedGame", "MatchResult", "ServerUnderTest", "serving"]

_START_SECONDS = 30.0

Loop = asyncio.AbstractEventLoop
Returned = TypeVar("Returned")
Entered = TypeVar("Entered")


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The result of a match, from the first bot's point of view."""

    wins: int
    draws: int
    losses: int
    games: tuple[ExportedGame, ...]
    """In the order of their numbers. The first bot moved first in games with odd numbers."""


class ServerUnderTest:
    """A running server, created by `serving`. Tests call its methods in their own thread, and wait for the results."""

    def __init__(self, server: Server, server_loop: Loop, bots_loop: Loop) -> None:
        self._server = server
        self._server_loop = server_loop
        self._bots_loop = bots_loop

    @property
    def address(self) -> str:
        """HOST:PORT, for `noughts_bots.run` or the environment variable NOUGHTS_SERVER."""
        return self._server.address

    def token(self, owner: str = "tester", *scopes: str) -> str:
        """Return a new token of this owner, who is created if new. By default, it permits playing and organising."""
        store = self._server.store
        create = partial(create_token, owner=owner, scopes=scopes or DEFAULT_SCOPES, now_ms=store.now_ms())
        return _result(store.write(create), self._server_loop, _START_SECONDS).secret

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
        live_analysis: bool = False,
    ) -> MatchResult:
        """Play this number of games between two bots (or specs of reference bots) with sides alternating.

        `time` is as on the command line: `60+0.5`, `1/move`, `180/30+0` or `none`. The same seed gives the same games,
        if all random numbers of the bots are from `position.rng()`. `live_analysis` allows the analysis of games before
        the end of the match. Raises the errors of invalid arguments, BotRefused, and TimeoutError after `timeout`
        seconds.
        """
        rules = parse_variant(variant)
        bots = [make_bot(parse_spec(bot), rules) if isinstance(bot, str) else bot for bot in (first, second)]
        labels = [parse_spec(bot).short if isinstance(bot, str) else type(bot).__name__ for bot in (first, second)]
        first_label, second_label = labels
        if first_label == second_label:
            labels = [first_label, f"{second_label}#2"]
        settings = TournamentSettings(
            variant=rules.name,
            time=parse_time_control(time),
            games_per_pair=games,
            concurrency=concurrency,
            seed=seed,
            live_analysis=live_analysis,
            title=" - ".join(labels),
        )
        try:
            return _result(self._match(settings, dict(zip(labels, bots, strict=True))), self._server_loop, timeout)
        finally:
            for bot in bots:
                if isinstance(bot, BuiltInBot):
                    bot.close()

    async def _match(self, settings: TournamentSettings, bots: dict[str, Bot]) -> MatchResult:
        tournament = LocalTournament(self._server, settings, dict.fromkeys(bots, "1"))
        await tournament.create()
        async with asyncio.TaskGroup() as tasks:
            sessions = [tasks.create_task(self._play(tournament, label, bot)) for label, bot in bots.items()]
            await tournament.all_online(lambda: None)
            await tournament.play(lambda *_: None)
            for session in sessions:
                session.cancel()
        await self._server.recorder.flush()

        def read(connection: Any) -> tuple[ExportedGame, ...]:
            return tuple(export(connection, get_tournament(connection, tournament.slug).id))

        games = await self._server.store.read(read)
        first_label = next(iter(bots))
        points = [_points(game, first_label) for game in games]
        return MatchResult(points.count(1.0), points.count(0.5), points.count(0.0), games)

    async def _play(self, tournament: LocalTournament, label: str, bot: Bot) -> None:
        login = Login(self.address, tournament.ticket(label), name=label, reconnect=False)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(play(bot, login), self._bots_loop))


def _points(game: ExportedGame, bot: str) -> float | None:
    """Return the points of the bot with this label; None for a void game."""
    points = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}.get(game.result)
    return points if points is None or game.first == bot else 1.0 - points


@contextmanager
def serving(
    *, margin: float = 0.05, reconnect_timeout: float = 5.0, heartbeat: float = HEARTBEAT_SECONDS
) -> Iterator[ServerUnderTest]:
    """Run a server on a free port with a new database inside the block. Times in seconds."""
    with tempfile.TemporaryDirectory(prefix="noughts-", ignore_cleanup_errors=True) as folder:
        settings = ServerSettings(
            listen="127.0.0.1:0",
            database=url_of(Path(folder) / "noughts.sqlite"),
            margin_us=round(margin * 1e6),
            reconnect_timeout=reconnect_timeout,
            heartbeat=heartbeat,
        )
        with (
            _in_thread("noughts-test-server", running_server(settings)) as (server_loop, server),
            _in_thread("noughts-test-bots", nullcontext()) as (bots_loop, _),
        ):
            yield ServerUnderTest(server, server_loop, bots_loop)


@contextmanager
def _in_thread(name: str, context: AbstractAsyncContextManager[Entered]) -> Iterator[tuple[Loop, Entered]]:
    """Enter an asynchronous context on an event loop in a thread of its own, and leave it at the end of the block.

    Raises the errors of the context, and TimeoutError if it is not entered or left in time.
    """
    started: Future[tuple[Loop, asyncio.Event, Entered]] = Future()
    ended: Future[None] = Future()

    async def stay() -> None:
        stop = asyncio.Event()
        async with context as entered:
            started.set_result((asyncio.get_running_loop(), stop, entered))
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(stay())
        except BaseException as error:
            if started.done():
                ended.set_exception(error)
            else:
                started.set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=run, name=name, daemon=True).start()
    loop, stop, entered = started.result(_START_SECONDS)
    try:
        yield loop, entered
    finally:
        loop.call_soon_threadsafe(stop.set)
        ended.result(_START_SECONDS)


def _result(work: Coroutine[Any, Any, Returned], loop: Loop, timeout: float) -> Returned:
    """Do the work on the loop, and return its result. After the timeout, cancel the work and raise TimeoutError."""
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result(timeout)
    except TimeoutError:
        future.cancel()
        raise
