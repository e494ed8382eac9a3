"""Values of the home page without a server: tournaments and games of any kind, and the page that shows them."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request

from noughts_proto.v1 import bots_pb2, feed_pb2, games_pb2, leaderboards_pb2, status_pb2, tournaments_pb2, types_pb2
from noughts_server.competition.formats import format_of
from noughts_server.drawing.board_svg import with_board
from noughts_server.web.app import static_files
from noughts_server.web.documents import Document, document
from noughts_server.web.expected_games import expected_total
from noughts_server.web.home_games import featured_game, games_of_the_day, small_games, without_featured
from noughts_server.web.pages.front_page import latest_results, upcoming_starts
from noughts_server.web.running_stages import RunningStage
from noughts_server.web.views import Views

Tournament = tournaments_pb2.Tournament


def tournament(
    slug: str,
    points: Mapping[str, float],
    schedule: tournaments_pb2.Schedule.ValueType = tournaments_pb2.SCHEDULE_ROUND_ROBIN,
    **fields: Any,
) -> Tournament:
    """Return a running tournament in which these bots have these points."""
    ordered = sorted(points, key=lambda label: -points[label])
    rows = [
        tournaments_pb2.Standing(
            label=label,
            bot_version=f"bots/{label}/versions/1",
            points=points[label],
            rank=1 + sum(other > points[label] for other in points.values()),
            rating=1500 + 40 * points[label],
        )
        for label in ordered
    ]
    usual: dict[str, Any] = {
        "state": tournaments_pb2.TOURNAMENT_STATE_RUNNING,
        "variant": "gomoku",
        "games_done": round(sum(points.values())),
        "games_total": 60,
        "rating_list": "gomoku/blitz",
        "owner": "organiser",
        "entries": len(points),
    }
    made = Tournament(name=f"tournaments/{slug}", schedule=schedule, standings=rows, **(usual | fields))
    made.create_time.FromJsonString("2026-03-01T12:00:00Z")
    return made


def moves_on(variant_cells: int, count: int, seed: int) -> list[int]:
    """Return cells at random, each at most once."""
    return random.Random(seed).sample(range(variant_cells), count)


def live(of: Tournament, number: int, moves: Sequence[int]) -> Document:
    """Return a live game of the first two bots of a tournament."""
    game = feed_pb2.WatchedGame(
        name=f"{of.name}/games/{number}",
        variant=of.variant,
        first=of.standings[0].label,
        second=of.standings[1].label,
        time=of.time,
        state=feed_pb2.GAME_STATE_RUNNING,
        moves=moves,
        times_us=[100_000] * len(moves),
        first_clock_us=61_000_000,
        second_clock_us=59_000_000,
    )
    return with_board({**document(game), "age_ms": 0})


def ended(of: Tournament, number: int, moves: Sequence[int], **fields: Any) -> Document:
    """Return a game of the first two bots of a tournament that the first one won with its last five moves."""
    game = games_pb2.Game(
        name=f"{of.name}/games/{number}",
        variant=of.variant,
        first=of.standings[0].label,
        second=of.standings[1].label,
        moves=moves,
        **{
            "times_us": [100_000] * len(moves),
            "result": types_pb2.RESULT_FIRST_WINS,
            "termination": types_pb2.TERMINATION_LINE,
            "winning_cells": sorted(moves[-9::2]),
            **fields,
        },
    )
    game.end_time.FromJsonString("2026-03-01T12:00:00Z")
    return with_board({**document(game), "state": "ended"})


def home_content(
    running: Sequence[Tournament],
    live_games: Sequence[Document] = (),
    ended_games: Sequence[Document] = (),
    stages: Mapping[str, RunningStage] | None = None,
    opened: Sequence[Tournament] = (),
    best: Sequence[leaderboards_pb2.GetLeaderboardResponse] = (),
    seeking: Sequence[bots_pb2.Bot] = (),
    results: Sequence[Tournament] = (),
) -> Document:
    """Return the values of the page, as `FrontPage.content`."""
    players = {each.name: {row.label: row for row in each.standings} for each in running}
    of_the_day = games_of_the_day(ended_games, players)
    featured = featured_game(live_games, ended_games, players)
    return {
        "status": document(status_pb2.GetStatusResponse(bots_online=40, games_in_flight=12, uptime_seconds=90_000)),
        "tournaments": [document(each) for each in (*opened, *running)],
        "seeking": [document(bot) for bot in seeking],
        "tournaments_by_name": {each.name: each for each in running},
        "players": players,
        "best": [document(each) for each in best],
        "running_stages": {each.name: RunningStage() for each in running} | dict(stages or {}),
        "finished": ended_games,
        "games_of_the_day": without_featured(of_the_day, featured),
        "starts": upcoming_starts([document(each) for each in opened]),
        "results": latest_results([document(each) for each in results]),
        "featured": featured,
        "small_games": small_games(live_games, ended_games, featured, of_the_day),
        "running": [document(each) for each in running],
        "expected": {
            each.name: expected_total(format_of(each.schedule), each, each.games_total, len(each.standings))
            for each in running
        },
        "live": live_games,
    }


async def home_page(content: Document, language: str = "en") -> str:
    """Return the page with these values."""
    views = Views(static_files()[0], signing_in=True, playing=True, public_url="https://noughts.example")
    headers = [(b"accept-language", language.encode())]
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": headers, "query_string": b""})
    return await views.text(request, "home.html.jinja", **content, own=None)
