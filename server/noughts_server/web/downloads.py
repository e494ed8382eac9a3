"""All games of a tournament as a file in a format of game records, streamed page by page to limit memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from noughts_proto.v1 import games_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.core.resource_names import game_name, tournament_name
from noughts_server.records.json_lines import json_line
from noughts_server.records.pgn import pgn_text
from noughts_server.records.recorded_game import RecordError
from noughts_server.records.server_games import about_tournament, recorded_game
from noughts_server.records.sgf import sgf_text
from noughts_server.tables.recorded_game import RecordedGame, occasion
from noughts_server.web.documents import csv_text, document
from noughts_server.web.rendering import Rendering
from noughts_server.web.upstream import Failure, Upstream

_PAGE_SIZE = 250
"""Games of a request, the most without a token."""
# Attempts at a page while the server limits the visitor, and the seconds between two of them.
_ATTEMPTS = 30
_PAUSE_SECONDS = 1.0
_COLUMNS = (
    "name",
    "variant",
    "first",
    "second",
    "first_bot",
    "second_bot",
    "result",
    "termination",
    "fault",
    "adjudication",
    "opening_plies",
    "moves",
    "times_us",
    "seed",
    "rating_seq",
    "end_time",
    "round",
)

_Facts = dict[str, Any]
"""The facts about a tournament as a whole."""


class FileFormat(Protocol):
    """A format in which games can be downloaded."""

    @property
    def suffix(self) -> str:
        """Return the end of the file's name, without the dot."""

    @property
    def media_type(self) -> str:
        """Return the MIME type of the file."""

    @property
    def has_comments(self) -> bool:
        """Return whether the file has the comments of bots, which the server sends only on request."""

    @property
    def has_facts(self) -> bool:
        """Return whether the last game of the file has the facts about the tournament."""

    def text(self, games: Sequence[games_pb2.Game], before: int, facts: _Facts | None) -> str:
        """Return the text of the next games. It can take some hundredths of a second. Raises Failure.

        `before` is the number of earlier games in the file. `facts` is None unless these are the last games.
        """


class CsvFile:
    """A line for each game, under a line with the names of the columns."""

    suffix = "csv"
    media_type = "text/csv; charset=utf-8"
    has_comments = False
    has_facts = False

    def text(self, games: Sequence[games_pb2.Game], before: int, facts: _Facts | None) -> str:
        # A round of 0 means that the format has no rounds, because rounds count from 1.
        rows = [document(game) | {"round": game.round or ""} for game in games]
        return csv_text(rows, _COLUMNS, head=not before)


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A format of game records. The last game of a file also has the facts about the tournament."""

    suffix: str
    media_type: str
    write: Callable[[RecordedGame, int], str]
    """Returns the text of a game with its number. Raises RecordError."""
    has_comments: bool = False
    has_facts = True

    def text(self, games: Sequence[games_pb2.Game], before: int, facts: _Facts | None) -> str:
        records = list(map(_with_occasion, games))
        if records and facts is not None:
            records[-1] = replace(records[-1], more={**records[-1].more, "tournament": facts})
        return "".join(self.game(record, number) for number, record in enumerate(records, before + 1))

    def game(self, game: RecordedGame, number: int) -> str:
        """Return the text of one game. Raises Failure."""
        try:
            return self.write(game, number)
        except RecordError as error:
            message = f"{self.suffix.upper()} cannot hold this game: {error}"
            raise Failure(409, message, "JSONL can hold them all.") from error


_SGF = RecordFile("sgf", "application/x-go-sgf", sgf_text, has_comments=True)
_FORMATS: tuple[FileFormat, ...] = (
    RecordFile("jsonl", "application/x-ndjson", lambda game, number: json_line(game), has_comments=True),
    _SGF,
    RecordFile("pgn", "application/vnd.chess-pgn", lambda game, number: pgn_text(game), has_comments=True),
    CsvFile(),
)


class Downloads:
    """The downloads of games, one for each format."""

    def __init__(self, upstream: Upstream, rendering: Rendering) -> None:
        self._upstream = upstream
        self._rendering = rendering

    def routes(self) -> list[Route]:
        game_route = Route("/tournaments/{tournament}/games/{number:int}.sgf", self._game)
        return [
            game_route,
            *(Route(f"/tournaments/{{tournament}}/games.{kind.suffix}", self._file(kind)) for kind in _FORMATS),
        ]

    async def _game(self, request: Request) -> Response:
        name, number = request.path_params["tournament"], request.path_params["number"]
        game_request = games_pb2.GetGameRequest(name=game_name(tournament_name(name), number))
        game = (await self._upstream.call(self._upstream.games.GetGame, game_request)).game
        if not game.HasField("end_time"):
            raise Failure(409, f"Game {number} is not over.", "Wait until it ends.")
        headers = {"content-disposition": f'attachment; filename="{name}-{number}.sgf"', "cache-control": "no-cache"}
        return Response(_SGF.game(_with_occasion(game), number), headers=headers, media_type=_SGF.media_type)

    def _file(self, file_format: FileFormat) -> "Callable[[Request], object]":
        async def file(request: Request) -> Response:
            name = request.path_params["tournament"]
            texts = self._texts(tournament_name(name), file_format, request)
            # Errors in the tournament or the format appear before the file begins.
            first = await anext(texts, "")
            disposition = f'attachment; filename="{name}.{file_format.suffix}"'
            headers = {"content-disposition": disposition, "cache-control": "no-cache"}
            return StreamingResponse(_chain(first, texts), headers=headers, media_type=file_format.media_type)

        return file

    async def _texts(self, parent: str, file_format: FileFormat, request_of_visitor: Request) -> AsyncIterator[str]:
        """Yield the texts of the file, one for each page of games, written in the visitor's turn. Raises Failure."""

        async def text(games: Sequence[games_pb2.Game], facts: _Facts | None) -> str:
            write = partial(file_format.text, games, before, facts)
            return await self._rendering.in_turn(request_of_visitor, f"games.{file_format.suffix}", write)

        request = games_pb2.ListGamesRequest(
            parent=parent, page_size=_PAGE_SIZE, with_comments=file_format.has_comments
        )
        before = 0
        # The last game of each page waits for the next page, because the last game of all gets the facts.
        last_game: list[games_pb2.Game] = []
        while True:
            page = await self._page(request)
            games = [*last_game, *page.games]
            if not page.next_page_token:
                facts = await self._facts(parent, before + len(games)) if games and file_format.has_facts else None
                yield await text(games, facts)
                return
            request.page_token = page.next_page_token
            games, last_game = games[:-1], games[-1:]
            if games:
                yield await text(games, None)
                before += len(games)

    async def _page(self, request: games_pb2.ListGamesRequest) -> games_pb2.ListGamesResponse:
        """Return a page of games. Wait if the server limits the visitor (429), because a file cannot end early."""
        for _ in range(_ATTEMPTS):
            try:
                return await self._upstream.call(self._upstream.games.ListGames, request)
            except Failure as failure:
                if failure.status != 429:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)
        return await self._upstream.call(self._upstream.games.ListGames, request)

    async def _facts(self, name: str, games: int) -> _Facts:
        """Return the facts about a tournament for the last of its `games` games. Raises Failure."""
        methods = self._upstream.tournaments
        response = await self._upstream.call(methods.GetTournament, pb.GetTournamentRequest(name=name))
        table = await self._upstream.call(methods.GetCrosstable, pb.GetCrosstableRequest(name=name, top=1))
        is_finished = response.tournament.state == pb.TOURNAMENT_STATE_FINISHED
        return about_tournament(response.tournament, table).file_facts(games, finished=is_finished)


def _with_occasion(game: games_pb2.Game) -> RecordedGame:
    """Return the record of a game with the name of its tournament and the date."""
    record = recorded_game(game)
    end_time = game.end_time.ToJsonString() if game.HasField("end_time") else ""
    return replace(record, more={**record.more, **occasion(game.name.split("/")[1], end_time)})


async def _chain(first: str, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for text in rest:
        yield text
