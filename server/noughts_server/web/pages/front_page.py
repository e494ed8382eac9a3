"""The home page: live games, running tournaments, the best of each list, games of the newest tournaments.

One view needs about 20 calls to the server, so views share the answers for a second. Live games come from the feed.
A part whose call fails is missing. The page itself fails only if the server answers none of the first calls.
"""

import asyncio
from collections.abc import Awaitable, Collection
from typing import TypeVar

from noughts_proto.v1 import games_pb2, leaderboards_pb2, status_pb2, tournaments_pb2
from noughts_server.drawing.board_svg import with_board
from noughts_server.web.documents import Document
from noughts_server.web.event_streams import Hub
from noughts_server.web.known_game import tournaments_of
from noughts_server.web.upstream import Failure, Upstream

_TOURNAMENTS, _RUNNING, _LISTS, _BEST = 50, 6, 3, 3
_RECENT, _GAMES = 3, 50
"""Tournaments that can have a game of the day, and how many of their games are considered."""
_SHARED_SECONDS = 1.0

Part = TypeVar("Part")


class FrontPage:
    """The data of the home page; it calls the server at most once a second, and when a new tournament is live."""

    def __init__(self, upstream: Upstream, hub: Hub) -> None:
        self._upstream = upstream
        self._hub = hub
        self._reading = asyncio.Lock()
        self._last: Document | Failure = {}
        self._old_at = 0.0

    async def shown(self) -> Document:
        """Return what the page shows; `known` has tournaments, `players` their standings by label. Raises Failure."""
        live = await self._hub.known("featured")
        running = live["tournaments"][:_RUNNING]
        names = {each["name"] for each in running} | {game["name"].partition("/games/")[0] for game in live["games"]}
        clock = asyncio.get_running_loop().time
        async with self._reading:
            last = self._last
            if clock() >= self._old_at or (isinstance(last, dict) and not names <= last["asked"]):
                try:
                    last = await _read(self._upstream, names)
                except Failure as failure:
                    last = failure
                self._last, self._old_at = last, clock() + _SHARED_SECONDS
        if isinstance(last, Failure):
            raise last.with_traceback(None)  # else it would collect those of all visitors
        known = last["known"]
        games = [game for game in live["games"] if game["name"].partition("/games/")[0] in known]
        return {**last, "running": [each for each in running if each["name"] in known], "live": games}


async def _read(upstream: Upstream, live: Collection[str]) -> Document:
    """Return everything except live games; `live` are the names of their tournaments. Raises Failure."""

    def best_of(variant: str, time_class: str) -> Awaitable[Document]:
        wanted = leaderboards_pb2.GetLeaderboardRequest(variant=variant, time_class=time_class, page_size=_BEST)
        return upstream.ask(upstream.leaderboards.GetLeaderboard, wanted)

    failures: list[Failure] = []
    status, listed, lists = await asyncio.gather(
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
    recent = [each["name"] for each in listed["tournaments"] if each["games_done"]][:_RECENT]
    fullest = sorted(lists["rating_lists"], key=lambda each: -int(each["games"]))[:_LISTS]
    names = {*recent, *live}
    tournaments, finished, best = await asyncio.gather(
        asyncio.gather(*(_part({}, tournaments_of(upstream, [name])) for name in names)),
        asyncio.gather(
            *(
                _part(
                    {"games": []},
                    upstream.ask(upstream.games.ListGames, games_pb2.ListGamesRequest(parent=name, page_size=_GAMES)),
                )
                for name in recent
            )
        ),
        asyncio.gather(*(_part({"rows": []}, best_of(each["variant"], each["time_class"])) for each in fullest)),
    )
    known = {name: each for found in tournaments for name, each in found.items()}
    ended = [
        game
        for found in finished
        for game in found["games"]
        if game["moves"] and game["name"].partition("/games/")[0] in known
    ]
    return {
        "status": status,
        "tournaments": listed["tournaments"],
        "asked": names,
        "known": known,
        "players": {name: {row.label: row for row in each.standings} for name, each in known.items()},
        "best": best,
        "finished": [with_board({**game, "state": "ended"}) for game in ended],
    }


async def _part(missing: Part, asked: Awaitable[Part], failures: list[Failure] | None = None) -> Part:
    """Return the answer, or what stands for it if the call fails, and note the failure."""
    try:
        return await asked
    except Failure as failure:
        if failures is not None:
            failures.append(failure.with_traceback(None))
        return missing
