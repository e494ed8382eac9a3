"""`noughts live`: a server, its site, and reference bots that go on playing, slowly enough to be watched."""

import asyncio
import socket
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import grpc.aio
from typer import Option

from noughts_bots.bot import Bot, Move
from noughts_bots.events import Online, SessionEvent
from noughts_bots.session import Login, play
from noughts_bots.specs import make_bot, parse_spec
from noughts_proto.transport import TOKEN_KEY
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_proto.v1 import tournaments_pb2_grpc, types_pb2
from noughts_referee.rules import Position
from noughts_server.cli import connection_options, options, output
from noughts_server.cli.command import command
from noughts_server.cli.logs import configure_logs
from noughts_server.cli.operator.web import web_listener
from noughts_server.cli.options import LogLevel
from noughts_server.cli.signals import Stop, run_loop
from noughts_server.web.listener import address_of

if TYPE_CHECKING:
    from noughts_server.settings import ServerSettings
    from noughts_server.store.engine.database import Store

PaceOption = Annotated[
    float, Option("--pace", min=0, max=60, metavar="SECONDS", help="How long a bot waits before each of its moves.")
]
WebOption = Annotated[str, Option("--web", metavar="HOST:PORT", help="Where browsers find it; port 0: any free one.")]

_OWNER = "house"
_BOARDS = 2
"""Games of a ladder at a time."""


@dataclass(frozen=True, slots=True)
class _Ladder:
    """A tournament that does not end, and who plays in it."""

    name: str
    title: str
    variant: str
    bots: tuple[str, ...]
    """Their specs."""
    bank_seconds: int
    increment_seconds: int


_LADDERS = (
    _Ladder(
        "noughts-and-crosses",
        "Noughts and crosses",
        "tictactoe",
        ("random", "three-stage", "coursework", "pascal", "nextstep"),
        60,
        5,
    ),
    _Ladder(
        "four-in-a-row", "Four in a row", "connect4", ("random", "nextstep", "minimax:depth=3", "first-free"), 120, 5
    ),
    _Ladder("five-in-a-row", "Five in a row", "gomoku", ("random", "fives", "threats:nodes=200"), 300, 5),
    _Ladder("in-a-cube", "Four in a row in a cube", "qubic", ("random", "nextstep", "fives"), 300, 5),
)


@command("noughts live", "noughts live --pace 0.3 --db live.sqlite", extra="web")
def live(
    web: WebOption = "127.0.0.1:7480",
    listen: Annotated[
        str, Option("--listen", metavar="HOST:PORT", help="Where bots dial in; port 0: any free one.")
    ] = connection_options.DEFAULT_ADDRESS,
    pace: PaceOption = 0.8,
    database: options.DatabaseOption = None,
) -> None:
    """Runs a server, its site and reference bots that go on playing, until Ctrl-C. Your bot may join them.

    Without --db nothing is kept.
    """
    from noughts_server.settings import ServerSettings
    from noughts_server.store.engine.sqlite import url_of

    configure_logs(LogLevel.WARNING)
    listener = web_listener(web, "--web")
    with tempfile.TemporaryDirectory(prefix="noughts-live-") as folder:
        kept = options.read_database(database) if database is not None else url_of(Path(folder) / "live.sqlite")
        settings = ServerSettings(listen=listen, database=kept, rate_own_games=True)
        run_loop(_play_until_stopped(settings, listener, pace))


class _Unhurried(Bot):
    """A bot that waits before each move, for people to follow. It thinks in threads: the server is in here, too."""

    max_games = len(_LADDERS)

    def __init__(self, bot: Bot, seconds: float) -> None:
        self._bot, self._seconds = bot, seconds
        self.variants = bot.variants

    async def choose(self, position: Position) -> int | Move:
        await asyncio.sleep(self._seconds)
        chosen = await asyncio.to_thread(self._bot.choose, position)
        assert not isinstance(chosen, Awaitable)  # no reference bot is asynchronous
        return chosen


async def _play_until_stopped(settings: "ServerSettings", listener: socket.socket, pace: float) -> None:
    from noughts_server.cli.operator.site_token import site_token
    from noughts_server.cli.operator.web_minder import minding_site
    from noughts_server.server import running_server

    stop = Stop()
    async with (
        running_server(settings) as server,
        site_token(server.store) as of_the_site,
        minding_site(server.address, listener, of_the_site),
    ):
        token = await _new_token(server.store)
        async with asyncio.TaskGroup() as playing:
            with stop.on_signals():
                bots = await _log_in(playing, server.address, token, pace)
                await _start_ladders(server.address, token)
                _announce(server.address, address_of(listener), token)
                await stop.asked.wait()
            for bot in bots:
                bot.cancel()


async def _new_token(store: "Store") -> str:
    from noughts_server.store.people.tokens import create_token

    made = await store.write(
        lambda connection: create_token(connection, owner=_OWNER, label="noughts live", now_ms=store.now_ms())
    )
    return made.secret


async def _log_in(playing: asyncio.TaskGroup, address: str, token: str, pace: float) -> list[asyncio.Task[None]]:
    """Starts the bots; returns when the server has let all of them in."""
    tasks, waits = [], []
    for text in dict.fromkeys(text for ladder in _LADDERS for text in ladder.bots):
        spec, online = parse_spec(text), asyncio.Event()

        def on_event(event: SessionEvent, online: asyncio.Event = online) -> None:
            if isinstance(event, Online):
                online.set()

        login = Login(address, token, spec.short, "1")
        tasks.append(playing.create_task(play(_Unhurried(make_bot(spec), pace), login, on_event), name=spec.short))
        waits.append(online.wait())
    await asyncio.gather(*waits)
    return tasks


async def _start_ladders(address: str, token: str) -> None:
    """Those that were played before go on by themselves."""
    metadata = ((TOKEN_KEY, f"Bearer {token}"),)
    async with grpc.aio.insecure_channel(address) as channel:
        tournaments = tournaments_pb2_grpc.TournamentServiceStub(channel)
        for ladder in _LADDERS:
            name = f"tournaments/{ladder.name}"
            wanted = pb.Tournament(
                name=name,
                title=ladder.title,
                variant=ladder.variant,
                schedule=pb.SCHEDULE_LADDER,
                concurrency=_BOARDS,
                time=types_pb2.TimeControl(
                    bank_us=ladder.bank_seconds * 1_000_000, increment_us=ladder.increment_seconds * 1_000_000
                ),
            )
            try:
                await tournaments.CreateTournament(pb.CreateTournamentRequest(tournament=wanted), metadata=metadata)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.ALREADY_EXISTS:
                    raise
                continue
            for bot in ladder.bots:
                joining = pb.JoinTournamentRequest(name=name, bot=f"bots/{parse_spec(bot).short}")
                await tournaments.JoinTournament(joining, metadata=metadata)
            await tournaments.StartTournament(pb.StartTournamentRequest(name=name), metadata=metadata)


def _announce(address: str, site: str, token: str) -> None:
    at = "" if address == connection_options.DEFAULT_ADDRESS else f" --server {address}"
    output.announce(
        {"grpc": address, "web": site, "token": token},
        f"Bots are playing: {site}",
        f"Let yours join:  export NOUGHTS_TOKEN={token}\n"
        f"                 noughts bot run 'py:my_bot.py' --name mybot{at}\n"
        f"                 noughts tournament join {_LADDERS[0].name} --bot mybot{at}\n"
        f"Play yourself:   noughts play --with bot:{_LADDERS[0].bots[-1]}{at}\n"
        "Stop:            Ctrl-C",
    )
