"""All games of a tournament as a file in a format of game records, streamed page by page to limit memory."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as Address

from noughts_proto.v1 import games_pb2, tournaments_pb2, types_pb2
from noughts_server.competition.bracket import Decision
from noughts_server.competition.formats import format_named
from noughts_server.convert.times import time_control
from noughts_server.core.resource_names import tournament_name
from noughts_server.records.json_lines import json_line
from noughts_server.records.pgn import pgn_text
from noughts_server.records.recorded_game import RecordError, comments_by_ply, margins_of_moves, score_column
from noughts_server.records.sgf import sgf_text
from noughts_server.tables.about import About, time_text
from noughts_server.tables.pairings import MatchRow, matches_won
from noughts_server.tables.recorded_game import RecordedGame, occasion
from noughts_server.web.documents import Document, csv_text
from noughts_server.web.upstream import Failure, Upstream

_PAGE = 250
_ATTEMPTS, _PAUSE_SECONDS = 30, 1.0
_COLUMNS = (
    *("name", "variant", "first", "second", "first_bot", "second_bot", "result", "termination", "fault"),
    *("opening_plies", "moves", "times_us", "seed", "rating_seq", "end_time", "round"),
)

_Facts = Callable[[], Awaitable[Document]]
"""Returns what no game says of its tournament."""


class FileFormat(Protocol):
    """A format in which games can be downloaded."""

    @property
    def suffix(self) -> str:
        """Return the end of the file's name, without the point."""

    @property
    def media_type(self) -> str:
        """Return the MIME type of the file."""

    @property
    def has_comments(self) -> bool:
        """Return whether the file has the comments of bots, which lists of games leave out otherwise."""

    async def text(self, games: Sequence[Document], before: int, facts: _Facts | None) -> str:
        """Return the next games of a file that holds `before` games so far; `facts` comes with the last ones.

        Raises Failure.
        """


class CsvFile:
    """A line for each game, under a line with the names of the columns."""

    suffix = "csv"
    media_type = "text/csv; charset=utf-8"
    has_comments = False

    async def text(self, games: Sequence[Document], before: int, facts: _Facts | None) -> str:
        rows = [game | {"round": game["round"] or ""} for game in games]  # no format counts rounds from 0
        return csv_text(rows, _COLUMNS, head=not before)


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A format of game records; the last one also holds the facts about the tournament."""

    suffix: str
    media_type: str
    write: Callable[[RecordedGame, int], str]
    """Returns the text of a game with its number. Raises RecordError."""
    has_comments: bool = False

    async def text(self, games: Sequence[Document], before: int, facts: _Facts | None) -> str:
        records = list(map(recorded, games))
        if records and facts is not None:
            records[-1] = replace(records[-1], more={**records[-1].more, "tournament": await facts()})
        return "".join(self.game(record, number) for number, record in enumerate(records, before + 1))

    def game(self, game: RecordedGame, number: int) -> str:
        """Return the text of one game. Raises Failure."""
        try:
            return self.write(game, number)
        except RecordError as error:
            words = f"{self.suffix.upper()} cannot hold this game: {error}"
            raise Failure(409, words, "JSONL can hold them all.") from error


_SGF = RecordFile("sgf", "application/x-go-sgf", sgf_text)
_FORMATS: tuple[FileFormat, ...] = (
    RecordFile("jsonl", "application/x-ndjson", lambda game, number: json_line(game), has_comments=True),
    _SGF,
    RecordFile("pgn", "application/vnd.chess-pgn", lambda game, number: pgn_text(game)),
    CsvFile(),
)


class Downloads:
    """The downloads of games, one for each format."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def addresses(self) -> list[Address]:
        one = Address("/tournaments/{tournament}/games/{number:int}.sgf", self._game)
        return [
            one,
            *(Address(f"/tournaments/{{tournament}}/games.{each.suffix}", self._file(each)) for each in _FORMATS),
        ]

    async def _game(self, request: Request) -> Response:
        name, number = request.path_params["tournament"], request.path_params["number"]
        game = (
            await self._upstream.ask(
                self._upstream.games.GetGame, games_pb2.GetGameRequest(name=f"{tournament_name(name)}/games/{number}")
            )
        )["game"]
        if game["end_time"] is None:
            raise Failure(409, f"Game {number} is not over.", "Wait until it ends.")
        headers = {"content-disposition": f'attachment; filename="{name}-{number}.sgf"', "cache-control": "no-cache"}
        return Response(_SGF.game(recorded(game), number), headers=headers, media_type=_SGF.media_type)

    def _file(self, written: FileFormat) -> "Callable[[Request], object]":
        async def file(request: Request) -> Response:
            name = request.path_params["tournament"]
            texts = self._texts(tournament_name(name), written)
            # Errors in the tournament or the format appear before the file begins.
            first = await anext(texts, "")
            disposition = f'attachment; filename="{name}.{written.suffix}"'
            headers = {"content-disposition": disposition, "cache-control": "no-cache"}
            return StreamingResponse(_chained(first, texts), headers=headers, media_type=written.media_type)

        return file

    async def _texts(self, parent: str, written: FileFormat) -> AsyncIterator[str]:
        """Yield the file, one text for each page of games. Raises Failure."""
        wanted = games_pb2.ListGamesRequest(parent=parent, page_size=_PAGE, with_comments=written.has_comments)
        token, before = "", 0
        held: list[Document] = []  # the last game so far: only after the next page is it known to be the last of all
        while True:
            wanted.page_token = token
            page = await self._page(wanted)
            games, token = held + page["games"], page["next_page_token"]
            if not token:
                yield await written.text(games, before, partial(self._facts, parent, before + len(games)))
                return
            games, held = games[:-1], games[-1:]
            if games:
                yield await written.text(games, before, None)
                before += len(games)

    async def _page(self, wanted: games_pb2.ListGamesRequest) -> Document:
        """Return a page of games; wait if the visitor has had much lately, because a file cannot end early."""
        for _ in range(_ATTEMPTS):
            try:
                return await self._upstream.ask(self._upstream.games.ListGames, wanted)
            except Failure as failure:
                if failure.status != 429:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)
        return await self._upstream.ask(self._upstream.games.ListGames, wanted)

    async def _facts(self, name: str, games: int) -> dict[str, Any]:
        """Return what no game says of its tournament, for the last one of so many. Raises Failure."""
        shown = (
            await self._upstream.ask(
                self._upstream.tournaments.GetTournament, tournaments_pb2.GetTournamentRequest(name=name)
            )
        )["tournament"]
        table = await self._upstream.ask(
            self._upstream.tournaments.GetCrosstable, tournaments_pb2.GetCrosstableRequest(name=name, top=1)
        )
        return about_shown(shown, table).recorded(games, finished=shown["state"] == "finished")


def about_shown(shown: Document, table: Document) -> About:
    """Return the facts about a tournament of the contract; `table` can be the first page of the crosstable."""
    rows, chosen = table["standings"], format_named(str(shown["schedule"]))
    matches = list(map(_match, (*table["matches"], *table["encounters"])))
    own_times = {label: _time(time) for label, time in shown["own_times"].items()}
    return About(
        schedule=str(chosen),
        time=time_text(_time(shown["time"]), own_times),
        began=shown["start_time"] or "",
        ended=shown["end_time"] or "",
        byes={row["label"]: row["byes"] for row in rows if row["byes"]},
        bye_points={row["label"]: row["points"] - row["wins"] - row["draws"] / 2 for row in rows},
        withdrawn={row["label"]: row["withdraw_reason"] for row in rows if row["withdraw_time"]},
        matches_won=matches_won(matches) if chosen.places_by_bracket else None,
        matches=matches,
    )


def _time(time: Document | None) -> str:
    return str(time_control(types_pb2.TimeControl(**(time or {}))))


def _match(row: Document) -> MatchRow:
    decision = Decision.__members__.get((row["decision"] or "").upper())
    sides, points = (row["first"] or None, row["second"] or None), (row["first_points"], row["second_points"])
    return MatchRow(row["round"], *sides, *points, row["games"], row["winner"] or None, decision)


def recorded(game: Document) -> RecordedGame:
    """Return a game of the contract as a game record."""
    more = {"opening": dict(game["agreement"])} if game["agreement"] else {}
    more |= {"round": game["round"]} if game["round"] else {}
    more |= _margins(game)
    more |= score_column(game["scores"], len(game["moves"])) | comments_by_ply(game["comments"])
    return RecordedGame(
        **{name: game[name] for name in ("variant", "first", "second", "result", "fault")},
        moves=tuple(game["moves"]),
        termination=game["termination"] or "",
        seed=int(game["seed"]),
        opening_plies=int(game["opening_plies"]),
        times_ms=tuple(time / 1000 for time in game["times_us"]),
        more=more | occasion(game["name"].split("/")[1], game["end_time"] or ""),
    )


def _margins(game: Document) -> dict[str, Any]:
    """Return the time margins and the moves that needed them; empty for a game without clocks."""
    if game["first_allowance"] is None:
        return {}
    limits = [time_control(types_pb2.TimeControl(**(game[side] or {}))) for side in ("first_time", "second_time")]
    margins_us = [game[side]["margin_us"] for side in ("first_allowance", "second_allowance")]
    return margins_of_moves(margins_us, limits, game["times_us"][: len(game["moves"])], int(game["opening_plies"]))


async def _chained(first: str, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for text in rest:
        yield text
