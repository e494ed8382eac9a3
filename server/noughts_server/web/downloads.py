"""All games of a tournament as a file in a format of game records, streamed page by page to limit memory."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from itertools import count
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as Address

from noughts_proto.v1 import types_pb2
from noughts_server.competition.bracket import Decision
from noughts_server.competition.formats import format_named
from noughts_server.messages.settings_codec import time_control
from noughts_server.records.json_lines import json_line
from noughts_server.records.recorded_game import RecordError, comments_by_ply, score_column
from noughts_server.records.sgf import sgf_text
from noughts_server.resource_names import tournament_name
from noughts_server.tables.about import About, time_text
from noughts_server.tables.pairings import MatchRow, matches_won
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
        return Response(_text("sgf", recorded(game), number), headers=headers, media_type=_KINDS["sgf"])

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
        asked = {"parent": parent, "page_size": _PAGE, "with_comments": kind == "jsonl"}
        held: list[Document] = []  # the last game so far: only after the next page is it known to be the last of all
        while True:
            page = await self._upstream.ask("games.ListGames", **asked, page_token=token)
            games, is_first, token = held + page["games"], not token, page["next_page_token"]
            games, held = (games[:-1], games[-1:]) if token else (games, [])
            if kind == "csv":
                yield csv_text(games, _COLUMNS, head=is_first)
            else:
                records = list(zip(map(recorded, games), numbers, strict=False))
                if records and not token:
                    last, number = records.pop()
                    more = {**last.more, "tournament": await self._facts(parent, number)}
                    records.append((replace(last, more=more), number))
                yield "".join(_text(kind, record, number) for record, number in records)
            if not token:
                return

    async def _facts(self, name: str, games: int) -> dict[str, Any]:
        """Return what no game says of its tournament, for the last one of so many. Raises Failure."""
        shown = (await self._upstream.ask("tournaments.GetTournament", name=name))["tournament"]
        table = await self._upstream.ask("tournaments.GetCrosstable", name=name, top=1)
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


def _text(kind: str, game: RecordedGame, number: int) -> str:
    """Return the game in a format. Raises Failure."""
    try:
        return json_line(game) if kind == "jsonl" else sgf_text(game, number)
    except RecordError as error:
        raise Failure(409, f"{kind.upper()} cannot hold this game: {error}", "JSONL can hold them all.") from error


async def _chained(first: str, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for text in rest:
        yield text
