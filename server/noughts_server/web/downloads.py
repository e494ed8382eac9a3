"""All games of a tournament as a file in a format of game records, streamed page by page to limit memory."""

from collections.abc import AsyncIterator, Callable
from itertools import count

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as Address

from noughts_server.records.json_lines import json_line
from noughts_server.records.recorded_game import RecordError, comments_by_ply, score_column
from noughts_server.records.sgf import sgf_text
from noughts_server.resource_names import tournament_name
from noughts_server.tables.recorded_game import RecordedGame, occasion
from noughts_server.web.documents import Document, csv_text
from noughts_server.web.upstream import Failure, Upstream

_PAGE = 250
_KINDS = {"jsonl": "application/x-ndjson", "sgf": "application/x-go-sgf", "csv": "text/csv; charset=utf-8"}
_COLUMNS = (
    *("name", "variant", "first", "second", "first_bot", "second_bot", "result", "termination", "fault"),
    *("opening_plies", "moves", "times_us", "seed", "rating_seq", "end_time", "round"),
)


class Downloads:
    """The downloads of games, one for each format."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def addresses(self) -> list[Address]:
        one = Address("/tournaments/{tournament}/games/{number:int}.sgf", self._game)
        return [one, *(Address(f"/tournaments/{{tournament}}/games.{kind}", self._file(kind)) for kind in _KINDS)]

    async def _game(self, request: Request) -> Response:
        name, number = request.path_params["tournament"], request.path_params["number"]
        game = (await self._upstream.ask("games.GetGame", name=f"{tournament_name(name)}/games/{number}"))["game"]
        if game["end_time"] is None:
            raise Failure(409, f"Game {number} is not over.", "Wait until it ends.")
        headers = {"content-disposition": f'attachment; filename="{name}-{number}.sgf"', "cache-control": "no-cache"}
        return Response(_text("sgf", game, number), headers=headers, media_type=_KINDS["sgf"])

    def _file(self, kind: str) -> "Callable[[Request], object]":
        async def file(request: Request) -> Response:
            name = request.path_params["tournament"]
            texts = self._texts(tournament_name(name), kind)
            # Errors in the tournament or the format appear before the file begins.
            first = await anext(texts, "")
            headers = {"content-disposition": f'attachment; filename="{name}.{kind}"', "cache-control": "no-cache"}
            return StreamingResponse(_chained(first, texts), headers=headers, media_type=_KINDS[kind])

        return file

    async def _texts(self, parent: str, kind: str) -> AsyncIterator[str]:
        """Yield the file, one text for each page of games. Raises Failure."""
        token, numbers = "", count(1)
        while True:
            page = await self._upstream.ask("games.ListGames", parent=parent, page_size=_PAGE, page_token=token)
            games = page["games"]
            if kind == "csv":
                yield csv_text(games, _COLUMNS, head=not token)
            else:
                yield "".join(_text(kind, game, next(numbers)) for game in games)
            if not (token := page["next_page_token"]):
                return


def recorded(game: Document) -> RecordedGame:
    """Return a game of the contract as a game record."""
    more = {"opening": dict(game["agreement"])} if game["agreement"] else {}
    more |= {"round": game["round"]} if game["round"] else {}
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


def _text(kind: str, game: Document, number: int) -> str:
    """Return the game in a format. Raises Failure."""
    try:
        return json_line(recorded(game)) if kind == "jsonl" else sgf_text(recorded(game), number)
    except RecordError as error:
        raise Failure(409, f"{kind.upper()} cannot hold this game: {error}", "JSONL can hold them all.") from error


async def _chained(first: str, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for text in rest:
        yield text
