"""Bots that play over HTTP, and tournaments for them."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from typing import Any

import grpc

from noughts_bots.connection.events import Online, SessionEvent
from noughts_bots.connection.session import Login, play
from noughts_bots.sdk.bot import Bot
from noughts_proto.v1 import games_pb2, tournaments_pb2
from noughts_server.client.stubs import Stubs
from noughts_server.testing import ServerUnderTest
from noughts_server.web.documents import Document
from tests.support.client import bearer
from tests.support.patience import PATIENCE
from tests.support.processes import eventually
from tests.support.site import Answer, Site

PLAY = "/api/v1/play"
Choose = Callable[[Document], int]


def send(address: str, method: str, path: str, token: str = "", body: object = None, source: str = "") -> Answer:
    """Send a request with a token and JSON, and return the answer. `source` is the address that it comes from."""
    origin = (source, 0) if source else None
    connection = HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE, source_address=origin)
    headers = {"connection": "close"} | ({"authorization": f"Bearer {token}"} if token else {})
    text = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    try:
        connection.request(method, path, text, headers)
        response = connection.getresponse()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    finally:
        connection.close()


class HttpBot:
    """A bot with a session."""

    def __init__(self, address: str, token: str, name: str, *, source: str = "", **fields: object) -> None:
        self.address = address
        self.token = token
        self._source = source
        answer = self._send("POST", PLAY, {"bot": name, **fields})
        assert answer.status == 201, answer.text
        self.opened = answer.document
        self.path = answer.headers["location"]

    def turns(self, wait: float = 25, after: int | None = None) -> Answer:
        return self._send("GET", f"{self.path}/turns?wait={wait:g}{'' if after is None else f'&after={after}'}")

    def moves(self, *moves: Document, wait: float | None = None) -> Answer:
        query = "" if wait is None else f"?wait={wait:g}"
        return self._send("POST", f"{self.path}/moves{query}", {"moves": moves})

    def leave(self) -> Answer:
        return self._send("DELETE", self.path)

    def next_turn(self) -> Document:
        """Wait for a question and return it."""
        turns = eventually(lambda: self.turns().document["turns"])
        assert isinstance(turns[0], dict)
        return turns[0]

    def play(self, games: int, choose: Choose = lambda turn: int(turn["legal"][0])) -> list[Document]:
        """Play until this number of games is over, and return their ends."""
        ended: list[Document] = []
        while len(ended) < games:
            answer = self.turns()
            assert answer.status == 200, answer.text
            ended += answer.document["ended"]
            moves = [{"turn": turn["turn"], "move": choose(turn)} for turn in answer.document["turns"]]
            if moves:
                assert self.moves(*moves).status == 200
        return ended

    def _send(self, method: str, path: str, body: object = None) -> Answer:
        return send(self.address, method, path, self.token, body, self._source)


def bots(site: Site, server: ServerUnderTest, *names: str, **fields: Any) -> list[HttpBot]:
    """Sessions of bots of different owners."""
    return [HttpBot(site.address, server.token(f"owner-{name}"), name, **fields) for name in names]


class Organiser:
    """The owner of tournaments, in which bots of other owners play for rating points."""

    def __init__(self, server: ServerUnderTest, stubs: Stubs) -> None:
        self._metadata = bearer(server.token("organiser"))
        self._stubs = stubs

    def start(self, slug: str, *bots: HttpBot | tuple[str, str], **fields: Any) -> str:
        """Create and start a tournament of bots, each given as a session or as name and token. Return its name."""
        name = f"tournaments/{slug}"
        tournament = tournaments_pb2.Tournament(name=name, **fields)
        service = self._stubs.tournaments
        service.CreateTournament(
            tournaments_pb2.CreateTournamentRequest(tournament=tournament), metadata=self._metadata
        )
        for bot in bots:
            bot_name, token = (bot.opened["bot"], bot.token) if isinstance(bot, HttpBot) else bot
            service.JoinTournament(
                tournaments_pb2.JoinTournamentRequest(name=name, bot=bot_name), metadata=bearer(token)
            )
        service.StartTournament(tournaments_pb2.StartTournamentRequest(name=name), metadata=self._metadata)
        return name

    def games(self, name: str) -> list[games_pb2.Game]:
        """Wait until the tournament is over, and return its games."""
        finished = tournaments_pb2.TOURNAMENT_STATE_FINISHED
        get = tournaments_pb2.GetTournamentRequest(name=name)
        eventually(lambda: self._stubs.tournaments.GetTournament(get).tournament.state == finished)
        return list(self._stubs.games.ListGames(games_pb2.ListGamesRequest(parent=name, page_size=1000)).games)


@contextmanager
def organiser_at(server: ServerUnderTest) -> Iterator[Organiser]:
    """The organiser of tournaments on this server."""
    with grpc.insecure_channel(server.address) as channel:
        yield Organiser(server, Stubs(channel))


def play_together(*bots: HttpBot, games: int) -> list[list[Document]]:
    """Let bots play at the same time until each has ended this number of games, and return the ends of each."""
    with ThreadPoolExecutor(len(bots)) as pool:
        return list(pool.map(partial(HttpBot.play, games=games), bots))


@contextmanager
def playing(server: ServerUnderTest, bot: Bot, token: str, name: str) -> Iterator[None]:
    """Let a bot of this process play over gRPC inside the block."""
    online = threading.Event()
    stopping: Future[Callable[[], object]] = Future()

    def note(event: SessionEvent) -> None:
        if isinstance(event, Online):
            online.set()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            session = tasks.create_task(play(bot, Login(server.address, token, name), note))
            stopping.set_result(partial(loop.call_soon_threadsafe, session.cancel))

    with ThreadPoolExecutor(1) as pool:
        played = pool.submit(asyncio.run, run())
        assert online.wait(PATIENCE)
        try:
            yield
        finally:
            stopping.result()()
            played.result(PATIENCE)
