"""The addresses of all pages and forms, with their handlers."""

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from noughts_server.web.api_routes import PREFIX
from noughts_server.web.pages import (
    api,
    bots,
    challenges,
    explorer,
    feeds,
    games,
    home,
    invitations,
    leaderboard,
    me,
    nodes,
    organise,
    play,
    puzzles,
    registration,
    search,
    sign_in,
    suspicious,
    tests,
    tournament,
    tournament_actions,
    tournaments,
    tunings,
    tv,
)
from noughts_server.web.pages.website import Handler, OwnHandler, Website
from noughts_server.web.signin import to_sign_in

PAGES: tuple[tuple[str, Handler], ...] = (
    ("/", home.home_page),
    ("/tournaments", tournaments.tournaments_page),
    ("/tournaments.atom", feeds.tournaments_atom),
    ("/tournaments.ics", feeds.tournaments_calendar),
    ("/tournaments/{tournament}.ics", feeds.tournament_calendar),
    ("/tournaments/{tournament}", tournament.tournament_page),
    ("/tournaments/{tournament}/parts", tournament.tournament_parts),
    ("/tournaments/{tournament}/seasons", tournaments.seasons_page),
    ("/tournaments/{tournament}/games", tournament.games_page),
    ("/tournaments/{tournament}/games/{number:int}", games.game_page),
    ("/tournaments/{tournament}/games/{number:int}/embed", games.embedded_game),
    ("/tournaments/{tournament}/games/{number:int}/analysis", games.game_analysis),
    ("/tournaments/{tournament}/games/{number:int}/opinion", games.game_opinion),
    ("/tournaments/{tournament}/games/{number:int}/around", games.games_around),
    ("/tournaments/{tournament}/games/{number:int}.svg", games.board_as_svg),
    ("/tournaments/{tournament}/games/{number:int}/notes/{side}.txt", games.note_as_text),
    ("/tests", tests.tests_page),
    ("/tests.atom", feeds.tests_atom),
    ("/tests/{test}", tests.test_page),
    ("/tunings", tunings.tunings_page),
    ("/tunings/{tuning}", tunings.tuning_page),
    ("/tunings/{tuning}/parts", tunings.tuning_parts),
    ("/leaderboard", leaderboard.leaderboard_page),
    ("/records", bots.records_page),
    ("/tv", tv.tv_page),
    ("/tournaments/{tournament}/tv", tv.tournament_tv_page),
    ("/explorer", explorer.explorer_page),
    ("/puzzles", puzzles.puzzles_page),
    ("/bots", bots.bots_page),
    ("/bots/{bot}", bots.bot_page),
    ("/bots/{bot}/against/{opponent}", bots.against_page),
    ("/search", search.search_page),
    ("/api", api.api_page),
    (PREFIX, api.api_page),
    ("/signin", sign_in.sign_in_page),
    ("/enter", sign_in.enter_bot),
    ("/invite", registration.invite_page),
    ("/play", play.play_page),
    ("/play/{key}", play.table_page),
    ("/play/{key}/state", play.table_state),
)
"""Pages that all visitors can read."""

OWN_PAGES: tuple[tuple[str, OwnHandler], ...] = (
    ("/me", me.own_page),
    ("/organise", organise.organise_page),
    ("/organise/test", tests.new_test_page),
    ("/tournaments/{tournament}/edit", organise.edit_page),
    ("/me/first-game", registration.first_game_page),
    ("/suspicious", suspicious.suspicious_page),
    ("/nodes", nodes.nodes_page),
    ("/invitations", invitations.invitations_page),
)
"""Pages of signed-in users; the website redirects others to the sign-in page."""

_PARTS: tuple[tuple[str, Handler], ...] = (
    ("/board", games.empty_board),
    ("/organise/estimate", organise.estimate_part),
)
"""Parts of pages for their scripts, which need no call to the server."""

_PICTURES: tuple[tuple[str, Handler], ...] = (("/tournaments/{tournament}/games/{number:int}.png", games.board_as_png),)
"""Pictures that other processes draw one after the other. Their requests must not keep a place while they wait."""

_FORMS: tuple[tuple[str, Handler], ...] = (
    ("/play", play.open_table),
    ("/play/{key}/move", play.move),
    ("/play/{key}/hint", play.hint),
    ("/play/{key}/resign", play.resign),
    ("/play/{key}/again", play.play_again),
    ("/play/{key}/back", play.take_back),
    ("/play/{key}/leave", play.leave),
    ("/play/{key}/close", play.close_table),
)

_SIGN_IN_FORMS: tuple[tuple[str, Handler], ...] = (
    ("/signin", sign_in.sign_in),
    ("/signout", sign_in.sign_out),
    ("/invite", registration.register),
)

_OWN_FORMS: tuple[tuple[str, OwnHandler], ...] = (
    ("/me/bots", me.submit_bot),
    ("/me/tokens", me.create_token),
    ("/me/tokens/{number:int}/revoke", me.revoke_token),
    ("/bots/{bot}/retire", me.retire_bot),
    ("/bots/{bot}/describe", bots.describe_bot),
    ("/organise", organise.create_tournament),
    ("/organise/test", tests.create_test),
    ("/tournaments/{tournament}/edit", organise.update_tournament),
    ("/invitations", invitations.create_invitation),
    ("/invitations/{number:int}/revoke", invitations.revoke_invitation),
    ("/challenges", challenges.create_challenge),
    ("/tournaments/{tournament}/start", tournament.on_page(tournament_actions.start)),
    ("/tournaments/{tournament}/pause", tournament.on_page(tournament_actions.pause)),
    ("/tournaments/{tournament}/cancel", tournament.on_page(tournament_actions.cancel)),
    ("/tournaments/{tournament}/stop-repeating", tournament.on_page(tournament_actions.stop_repeating)),
    ("/tournaments/{tournament}/join", tournament.on_page(tournament_actions.join)),
    ("/tournaments/{tournament}/withdraw", tournament.on_page(tournament_actions.withdraw)),
    ("/tournaments/{tournament}/extend", tournament.on_page(tournament_actions.extend)),
)


def page_routes(website: Website, *, signing_in: bool) -> list[Route]:
    """Return the routes for starlette. Without `signing_in`, the sign-in page explains that visitors cannot sign in."""
    routes = [Route(path, partial(_in_one_place, path, page, website), methods=["GET"]) for path, page in PAGES]
    routes += [Route(path, partial(page, website), methods=["GET"]) for path, page in (*_PARTS, *_PICTURES)]
    routes += [Route(path, partial(answer, website), methods=["POST"]) for path, answer in _FORMS]
    if signing_in:
        routes += [Route(path, partial(answer, website), methods=["POST"]) for path, answer in _SIGN_IN_FORMS]
        routes += [
            Route(path, partial(_in_one_place, path, partial(_for_person, page), website), methods=["GET"])
            for path, page in OWN_PAGES
        ]
        routes += [Route(path, partial(_for_person, answer, website), methods=["POST"]) for path, answer in _OWN_FORMS]
    return routes


async def _for_person(handler: OwnHandler, website: Website, request: Request) -> Response:
    """Answer a signed-in user; redirect others to the sign-in page."""
    person = await website.person(request)
    return to_sign_in(request) if person is None else await handler(website, request, person)


async def _in_one_place(
    path: str, handler: Callable[[Website, Request], Awaitable[Response]], website: Website, request: Request
) -> Response:
    """Answer a request to a route's path, with one place for all its calls and for rendering the page."""
    async with website.upstream.one_place(hash((request.url.path, request.url.query)), path):
        return await handler(website, request)
