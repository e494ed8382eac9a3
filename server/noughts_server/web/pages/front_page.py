"""The home page: live games, running tournaments, the best of each list, games of the day, the latest results.

One view needs about 20 calls to the server, so views share the answers for a second. Live games come from the feed.
A part whose call fails is missing. The page itself fails only if the server answers none of the first calls.
"""

import asyncio
from collections.abc import Awaitable, Collection, Sequence
from typing import TypeVar

from noughts_proto.v1 import bots_pb2, games_pb2, leaderboards_pb2, status_pb2, tournaments_pb2
from noughts_server.competition.formats import format_of
from noughts_server.drawing.board_svg import with_board
from noughts_server.web.documents import Document
from noughts_server.web.event_streams import Hub
from noughts_server.web.expected_games import expected_total
from noughts_server.web.home_games import (
    GameOfTheDay,
    featured_game,
    games_of_the_day,
    of_different_games,
    small_games,
    tournament_of,
    without_featured,
)
from noughts_server.web.joining import start_order
from noughts_server.web.known_game import tournaments_of
from noughts_server.web.running_stages import running_stage
from noughts_server.web.upstream import Failure, Upstream

_TOURNAMENTS = 50
"""The newest tournaments that are read."""
_RUNNING = 6
"""Running tournaments that are shown."""
_LISTS = 3
"""Rating lists that are shown: those with the most games."""
_BEST = 3
"""Bots that are shown of each list."""
_SEEKING = 4
"""Bots that seek games."""
_STARTS = 4
"""Open tournaments that are shown."""
_RESULTS = 6
"""Finished tournaments that are shown."""
_FINISHED = 30
"""The newest finished tournaments that are read: those that ended last need not be the newest."""
_RECENT = 3
"""Tournaments whose games can become games of the day."""
_GAMES = 50
"""The last games of each of these tournaments, which are considered."""
_SHARED_SECONDS = 1.0
"""The time for which views share the answers."""

Part = TypeVar("Part")


class FrontPage:
    """The data of the home page; it calls the server at most once a second, and when a new tournament is live."""

    def __init__(self, upstream: Upstream, hub: Hub) -> None:
        self._upstream = upstream
        self._hub = hub
        self._lock = asyncio.Lock()
        self._last: Document | Failure = {}
        self._expires_at = 0.0

    async def content(self) -> Document:
        """Return the values of the template. Raises Failure.

        `tournaments_by_name` has tournaments by name, `players` the rows of their standings by label.
        """
        live = await self._hub.snapshot_of("featured")
        newest_first = live["tournaments"][::-1]
        running = newest_first[:_RUNNING]
        names = {tournament["name"] for tournament in running}
        names |= {tournament_of(game) for game in live["games"]}
        clock = asyncio.get_running_loop().time
        async with self._lock:
            last = self._last
            if clock() >= self._expires_at or (isinstance(last, dict) and not names <= last["requested"]):
                try:
                    earlier = last["games_of_the_day"] if isinstance(last, dict) and last else []
                    last = await _read(self._upstream, names, earlier)
                except Failure as failure:
                    last = failure
                self._last, self._expires_at = last, clock() + _SHARED_SECONDS
        if isinstance(last, Failure):
            raise last.with_traceback(None)  # or each visitor's request would add its traceback
        tournaments_by_name = last["tournaments_by_name"]
        games = [game for game in live["games"] if tournament_of(game) in tournaments_by_name]
        expected_totals = {}
        for tournament in running:
            settings = tournaments_by_name.get(tournament["name"])
            if settings is not None:
                expected_totals[tournament["name"]] = expected_total(
                    format_of(settings.schedule), settings, settings.games_total, len(settings.standings)
                )
        featured = featured_game(games, last["finished"], last["players"])
        return {
            **last,
            "featured": featured,
            "games_of_the_day": without_featured(last["games_of_the_day"], featured),
            "small_games": small_games(games, last["finished"], featured, last["games_of_the_day"]),
            "running": [tournament for tournament in running if tournament["name"] in tournaments_by_name],
            "all_running": newest_first,
            "expected": expected_totals,
            "live": games,
        }


async def _read(upstream: Upstream, live: Collection[str], earlier: Sequence[GameOfTheDay]) -> Document:
    """Return everything except live games; `live` are the names of their tournaments. Raises Failure.

    The games of the day are chosen among the last games and the `earlier` games of the day, so they change only if a
    better game ends.
    """

    def best_of(variant: str, time_class: str) -> Awaitable[Document]:
        request = leaderboards_pb2.GetLeaderboardRequest(variant=variant, time_class=time_class, page_size=_BEST)
        return upstream.ask(upstream.leaderboards.GetLeaderboard, request)

    def last_games_of(tournament: Document) -> Awaitable[Document]:
        after = max(0, tournament["games_done"] - _GAMES)
        request = games_pb2.ListGamesRequest(parent=tournament["name"], after=after, page_size=_GAMES)
        return upstream.ask(upstream.games.ListGames, request)

    failures: list[Failure] = []
    status, tournament_page, list_page = await asyncio.gather(
        _part(None, upstream.ask(upstream.status.GetStatus, status_pb2.GetStatusRequest()), failures),
        _part(
            {"tournaments": []},
            upstream.ask(
                upstream.tournaments.ListTournaments, tournaments_pb2.ListTournamentsRequest(page_size=_TOURNAMENTS)
            ),
            failures,
        ),
        _part(
            {"rating_lists": []},
            upstream.ask(
                upstream.leaderboards.ListRatingLists, leaderboards_pb2.ListRatingListsRequest(page_size=1000)
            ),
            failures,
        ),
    )
    if len(failures) == 3:
        raise failures[0]
    begun = [tournament for tournament in tournament_page["tournaments"] if tournament["games_done"]]
    recent = of_different_games(begun, _RECENT)
    fullest = sorted(list_page["rating_lists"], key=lambda rating_list: -int(rating_list["games"]))[:_LISTS]
    names = {*(tournament["name"] for tournament in recent), *live}
    to_read = names | {tournament_of(each.game) for each in earlier}
    list_finished = tournaments_pb2.ListTournamentsRequest(
        state=tournaments_pb2.TOURNAMENT_STATE_FINISHED, page_size=_FINISHED
    )
    list_seeking = bots_pb2.ListBotsRequest(seeking_only=True, page_size=_SEEKING)
    seeking, results, tournaments, game_pages, best = await asyncio.gather(
        _part({"bots": []}, upstream.ask(upstream.bots.ListBots, list_seeking)),
        _part({"tournaments": []}, upstream.ask(upstream.tournaments.ListTournaments, list_finished)),
        asyncio.gather(*(_part({}, tournaments_of(upstream, [name])) for name in to_read)),
        asyncio.gather(*(_part({"games": []}, last_games_of(tournament)) for tournament in recent)),
        asyncio.gather(*(_part({"rows": []}, best_of(row["variant"], row["time_class"])) for row in fullest)),
    )
    tournaments_by_name = {name: tournament for part in tournaments for name, tournament in part.items()}
    running = [
        tournament
        for tournament in tournaments_by_name.values()
        if tournament.state == tournaments_pb2.TOURNAMENT_STATE_RUNNING
    ]
    stages = await asyncio.gather(*(running_stage(upstream, tournament) for tournament in running))
    players = {
        name: {row.label: row for row in tournament.standings} for name, tournament in tournaments_by_name.items()
    }
    ended_games = [
        with_board({**game, "state": "ended"})
        for page in game_pages
        for game in page["games"]
        if game["moves"] and tournament_of(game) in tournaments_by_name
    ]
    known_games = {game["name"]: game for game in (*(each.game for each in earlier), *ended_games)}
    return {
        "status": status,
        "tournaments": tournament_page["tournaments"],
        "starts": upcoming_starts(tournament_page["tournaments"]),
        "results": latest_results(results["tournaments"]),
        "requested": names,
        "seeking": seeking["bots"],
        "tournaments_by_name": tournaments_by_name,
        "players": players,
        "best": best,
        "running_stages": {tournament.name: stage for tournament, stage in zip(running, stages, strict=True)},
        "finished": ended_games,
        "games_of_the_day": games_of_the_day(
            [game for game in known_games.values() if tournament_of(game) in tournaments_by_name], players
        ),
    }


def upcoming_starts(tournaments: Sequence[Document]) -> list[Document]:
    """Return the open tournaments that start first; those without a start time come last."""
    opened = [tournament for tournament in tournaments if tournament["state"] == "open"]
    return sorted(opened, key=start_order)[:_STARTS]


def latest_results(finished: Sequence[Document]) -> list[Document]:
    """Return the finished tournaments that ended last."""
    return sorted(finished, key=lambda tournament: tournament["end_time"] or "", reverse=True)[:_RESULTS]


async def _part(missing: Part, call: Awaitable[Part], failures: list[Failure] | None = None) -> Part:
    """Return the response of a call. If the call fails, add the failure to `failures`, and return `missing`."""
    try:
        return await call
    except Failure as failure:
        if failures is not None:
            failures.append(failure.with_traceback(None))
        return missing
