"""Lists of tournaments, and the seasons of a tournament that repeats."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import tournaments_pb2
from noughts_server.competition.formats import format_of
from noughts_server.web import api_routes, words
from noughts_server.web.documents import Document
from noughts_server.web.joining import start_order, takes_entries
from noughts_server.web.known_game import tournaments_of
from noughts_server.web.pages.listing import list_page
from noughts_server.web.pages.website import Website
from noughts_server.web.running_stages import running_stage
from noughts_server.web.upstream import Failure

_FILTERS = ("challenges", "owner", "search", "state", "month")
_MOST_LISTED = 50
_NEWEST_ENDED = 20
_MOST_BEGUN = 12
"""Running and paused tournaments; the page reads the round and the leaders of each."""


async def tournaments_page(website: Website, request: Request) -> Response:
    """Return the running, upcoming and newest ended tournaments; with a filter, a list of those that match."""
    if any(request.query_params.get(name) for name in (*_FILTERS, "page_token")):
        page = await list_page(website, request, api_routes.TOURNAMENTS, *_FILTERS)
        challenges = request.query_params.get("challenges") == "true"
        if challenges and not request.query_params.get("state"):
            page["tournaments"] = [each for each in page["tournaments"] if not _is_abandoned(each)]
        ladders: list[Document] = []
        if request.query_params.get("state") == "open":
            page["tournaments"].sort(key=start_order)
            if not any(request.query_params.get(name) for name in ("challenges", "owner", "search", "page_token")):
                running = await _in_state(website, tournaments_pb2.TOURNAMENT_STATE_RUNNING, _MOST_LISTED)
                ladders = [each for each in running["tournaments"] if takes_entries(each)]
        return await website.views.page(
            request, "tournaments/tournaments.html.jinja", **page, challenges=challenges, calendar=None, ladders=ladders
        )
    return await website.views.page(
        request,
        "tournaments/tournaments.html.jinja",
        tournaments=[],
        chosen={},
        challenges=False,
        calendar=await _calendar(website),
        ladders=[],
    )


def _is_abandoned(challenge: Document) -> bool:
    """Return whether a challenge was cancelled before its first game was over."""
    return bool(challenge["state"] == "cancelled" and not challenge["games_done"])


async def _calendar(website: Website) -> Document:
    """Return the running and paused tournaments, the next ones by their start, the newest ended ones, the archive."""
    running, paused, upcoming, finished, cancelled, archive = await asyncio.gather(
        _in_state(website, tournaments_pb2.TOURNAMENT_STATE_RUNNING, _MOST_BEGUN),
        _in_state(website, tournaments_pb2.TOURNAMENT_STATE_PAUSED, _MOST_BEGUN),
        _in_state(website, tournaments_pb2.TOURNAMENT_STATE_OPEN, _MOST_LISTED),
        _in_state(website, tournaments_pb2.TOURNAMENT_STATE_FINISHED, _NEWEST_ENDED),
        _in_state(website, tournaments_pb2.TOURNAMENT_STATE_CANCELLED, _NEWEST_ENDED),
        _in_state(website, tournaments_pb2.TOURNAMENT_STATE_UNSPECIFIED, 1, show_months=True),
    )
    ended = [*finished["tournaments"], *cancelled["tournaments"]]
    return {
        "running": running["tournaments"],
        "paused": paused["tournaments"],
        **await _progress(website, [*running["tournaments"], *paused["tournaments"]]),
        "upcoming": sorted(upcoming["tournaments"], key=start_order),
        "ended": sorted(ended, key=lambda each: str(each["end_time"]), reverse=True)[:_NEWEST_ENDED],
        "months": archive["months"],
        "more": {
            "running": bool(running["next_page_token"]),
            "open": bool(upcoming["next_page_token"]),
            "paused": bool(paused["next_page_token"]),
            "finished": bool(finished["next_page_token"]),
            "cancelled": bool(cancelled["next_page_token"]),
        },
    }


async def _progress(website: Website, begun: list[Document]) -> Document:
    """Return the stages and the labels of the leaders by the name of the tournament; brackets have no leader."""
    tournaments = await tournaments_of(website.upstream, [each["name"] for each in begun])
    stages = await asyncio.gather(*(running_stage(website.upstream, each) for each in tournaments.values()))
    return {
        "stages": dict(zip(tournaments, stages, strict=True)),
        "leaders": {
            name: words.leading(tournament.standings)
            for name, tournament in tournaments.items()
            if not format_of(tournament.schedule).places_by_bracket
        },
    }


async def _in_state(
    website: Website, state: "tournaments_pb2.TournamentState.ValueType", size: int, *, show_months: bool = False
) -> Document:
    request = tournaments_pb2.ListTournamentsRequest(state=state, page_size=size, show_months=show_months)
    return await website.upstream.ask(website.upstream.tournaments.ListTournaments, request)


async def seasons_page(website: Website, request: Request) -> Response:
    page = await list_page(website, request, api_routes.SEASONS)
    if not page["league"]:
        raise Failure(404, "This tournament does not repeat.", "Its own page has its games and standings.")
    titles = (season["title"] for season in page["seasons"])
    title = next(filter(None, titles), words.short(page["league"]))
    return await website.views.page(request, "tournaments/seasons.html.jinja", **page, title=title)
