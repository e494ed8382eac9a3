"""The page of a game, its version for frames on other sites, and pictures of its board."""

from contextlib import suppress

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from noughts_proto.v1 import tournaments_pb2
from noughts_referee.rules import Termination, base_name
from noughts_server.core.board_geometry import geometry
from noughts_server.core.messages import Language, in_language
from noughts_server.drawing.board_svg import board_svg, picture
from noughts_server.web.around_game import knockout_match, live_around, neighbours, ratings_then
from noughts_server.web.board_png import board_png, png_source
from noughts_server.web.documents import Document
from noughts_server.web.forms import LARGEST_NUMBER, whole_number
from noughts_server.web.game_analysis import analysis_of
from noughts_server.web.known_game import known_game, tournaments_of
from noughts_server.web.pages.website import Website
from noughts_server.web.signin import is_from_another_site, visitor_of
from noughts_server.web.unchanged import tagged_response
from noughts_server.web.upstream import Failure
from noughts_server.web.views import FRAMED, HTML, PICTURE
from noughts_server.web.visitors import address_of
from noughts_server.web.words import player, titled

_GAME_PAGE = "games/game.html.jinja"
_ANALYSIS = "games/analysis.html.jinja"
_OPINION = "games/opinion.html.jinja"
_EMBEDDED = "games/embed.html.jinja"
_MOST_NUMBERS = 900
"""Limit of the last moves that have numbers on the board: as many as the largest board has cells."""
_MOST_USED = 4
"""The outermost used cells of a large board: they define its used area."""
_A_DAY = "public, max-age=86400"
"""The caching of pictures that do not change any more, in seconds."""
_OVER = (tournaments_pb2.TOURNAMENT_STATE_FINISHED, tournaments_pb2.TOURNAMENT_STATE_CANCELLED)
ENDED_ON_BOARD = (str(Termination.LINE), str(Termination.BOARD_FULL))
"""Terminations of games in whose last position nobody can move."""


async def game_page(website: Website, request: Request) -> Response:
    values = await _game_with_players(website, request, _GAME_PAGE)
    start = request.query_params.get("analysis") == "true" and not is_from_another_site(request)
    language = website.views.language(request, _GAME_PAGE)
    analysis = await analysis_of(
        website.upstream, website.views.rendering, request, values["game"], language, start=start
    )
    start_opinion = request.query_params.get("opinion") == "true" and not is_from_another_site(request)
    opinion = _opinion(website, request, values, start=start_opinion)
    tournament, name = values["tournament"], values["game"]["name"]
    around: Document | None = None
    if tournament.state == tournaments_pb2.TOURNAMENT_STATE_RUNNING:
        with suppress(Failure):
            around = await live_around(website.hub, name)
    return await website.views.page(
        request,
        _GAME_PAGE,
        **values,
        analysis=analysis,
        opinion=opinion,
        around=around,
        neighbours=await neighbours(website.upstream, tournament, name),
    )


async def games_around(website: Website, request: Request) -> Response:
    """Return the live games around a game for the script of its page. Raises Failure."""
    name = "tournaments/{tournament}/games/{number}".format_map(request.path_params)
    around = await live_around(website.hub, name)
    headers = {"cache-control": "no-store", "x-robots-tag": "noindex"}
    return await website.views.page(request, "games/live_games.html.jinja", headers=headers, around=around)


async def game_analysis(website: Website, request: Request) -> Response:
    """Return the analysis of a game for the script of its page, and have the server analyse the game.

    Raises Failure.
    """
    values = await _game_of(website, request)
    language = website.views.language(request, _ANALYSIS)
    game = _with_shown_names(values["game"], await _tournament_of(website, request), language)
    analysis = await analysis_of(
        website.upstream,
        website.views.rendering,
        request,
        game,
        language,
        start=not is_from_another_site(request),
    )
    if analysis is None:
        raise Failure(404, "There is no analysis: the game is not over, or this website cannot draw its board.")
    headers = {"cache-control": "no-store", "x-robots-tag": "noindex"}
    return await website.views.page(request, _ANALYSIS, headers=headers, game=game, analysis=analysis)


async def game_opinion(website: Website, request: Request) -> Response:
    """Return the analyst's opinion about a position for the script of the game's page. Raises Failure."""
    values = await _game_of(website, request)
    tournament = await _tournament_of(website, request)
    start = not is_from_another_site(request)
    opinion = _opinion(website, request, {**values, "tournament": tournament}, start=start)
    if opinion is None:
        raise Failure(404, "There is no opinion: this website has no analyst, or cannot draw the board.")
    headers = {"cache-control": "no-store", "x-robots-tag": "noindex"}
    return await website.views.page(
        request,
        _OPINION,
        headers=headers,
        game=_with_shown_names(values["game"], tournament, website.views.language(request, _OPINION)),
        ply=values["ply"],
        opinion=opinion,
    )


def _opinion(website: Website, request: Request, values: Document, *, start: bool) -> Document | None:
    """Return the analyst's opinion about the position of the address, or its state; None without an analyst.

    If there is none, `start` has the analyst judge the position, unless bots could use the opinion.
    """
    analyst, game, ply = website.analyst, values["game"], values["ply"]
    if analyst is None or game["board"] is None:
        return None
    tournament = values["tournament"]
    if tournament.state not in _OVER and not tournament.live_analysis:
        state = {"state": "refused"}
    elif ply == len(game["moves"]) and game["state"] == "ended" and game["termination"] in ENDED_ON_BOARD:
        state = {"state": "over"}
    else:
        moves = tuple(game["moves"][:ply])
        visitor = address_of(request.scope)
        state = analyst.opinion(visitor, game["name"], base_name(game["variant"]), moves, start=start)
    return {**state, "analyst": analyst.name}


async def embedded_game(website: Website, request: Request) -> Response:
    """Return only the game's board, which other sites can show in a frame."""
    game = await _game_with_players(website, request, _EMBEDDED)
    return await website.views.page(request, _EMBEDDED, headers=FRAMED, **game)


async def note_as_text(website: Website, request: Request) -> Response:
    """Return what a bot wrote to stderr in the game, for its owner and the organiser. Raises Failure."""
    values = await _game_of(website, request)
    side = request.path_params["side"]
    for note in values["notes"]:
        if note["side"] == side:
            number, tournament = request.path_params["number"], request.path_params["tournament"]
            file = f'attachment; filename="{tournament}-{number}-{side}.txt"'
            return PlainTextResponse(note["text"], headers={"content-disposition": file, "cache-control": "no-store"})
    raise Failure(404, "You can read no output of this bot: sign in as its owner or as the organiser.")


async def board_as_svg(website: Website, request: Request) -> Response:
    game, ply = await _game_with_board(website, request)
    query = request.query_params
    numbers = whole_number("numbers", query.get("numbers", "0"), 0, _MOST_NUMBERS)
    title = f"{game['first']} - {game['second']}, move {ply}"
    is_whole = query.get("whole") == "true"

    def draw() -> Response:
        board = board_svg(game, ply, numbers=numbers, whole=is_whole)
        return _picture(request, game, picture(board, title).encode(), "image/svg+xml")

    return await website.views.rendering.in_turn(request, "svg", draw)


async def board_as_png(website: Website, request: Request) -> Response:
    game, ply = await _game_with_board(website, request)
    svg = await website.views.rendering.in_turn(request, "png", lambda: png_source(game, ply))
    return _picture(request, game, await board_png(svg), "image/png")


async def empty_board(website: Website, request: Request) -> Response:
    """Return a board without stones for scripts. Of a large board, return the area around the cells `used`."""
    query = request.query_params
    variant = query.get("variant", "")
    board = geometry(variant)
    if board is None:
        raise Failure(404, f"The variant {variant} is not installed on this website, so there is no board.")
    most = board["columns"] * board["rows"] * board["layers"] - 1
    cells = [whole_number("used", cell, 0, most) for cell in query.get("used", "").split(",")[:_MOST_USED] if cell]
    labels, whole = query.get("labels") != "false", query.get("whole") == "true"

    def draw() -> Response:
        drawn = board_svg({"board": board, "moves": cells}, 0, labels=labels, whole=whole, live=True)
        return tagged_response(request, drawn.encode(), HTML, {"cache-control": "no-cache"})

    return await website.views.rendering.in_turn(request, "board", draw)


def _picture(request: Request, game: Document, body: bytes, kind: str) -> Response:
    caching = _A_DAY if game["state"] == "ended" else "no-cache"
    return tagged_response(request, body, kind, {"cache-control": caching, **PICTURE})


async def _game_with_board(website: Website, request: Request) -> tuple[Document, int]:
    """Return the game and the ply of the address. Raises Failure, also for a game whose board cannot be drawn."""
    values = await _game_of(website, request)
    game, ply = values["game"], values["ply"]
    if game["board"] is None:
        raise Failure(404, f"The variant {game['variant']} is not installed on this website, so there is no board.")
    return game, ply


async def _game_with_players(website: Website, request: Request, template: str) -> Document:
    """Return the values that a page needs for a game and its players. Raises Failure."""
    values = await _game_of(website, request)
    tournament = await _tournament_of(website, request)
    language = website.views.language(request, template)
    ratings = await ratings_then(website.upstream, tournament, values["game"])
    with in_language(language):
        players = {player(row.label, _titles(tournament)): row for row in tournament.standings}
        title = titled(_titles(tournament))
    return {
        **values,
        "game": _with_shown_names(values["game"], tournament, language),
        "tournament": tournament,
        "title": title,
        "players": players,
        "ratings": ratings,
        "match": await knockout_match(website.upstream, tournament, values["game"]),
    }


def _titles(tournament: tournaments_pb2.Tournament) -> Document:
    """Return the fields of a tournament that decide how its entries are called."""
    return {
        "name": tournament.name,
        "title": tournament.title,
        "owner": tournament.owner,
        "challenge": tournament.challenge,
    }


def _with_shown_names(game: Document, tournament: tournaments_pb2.Tournament, language: Language) -> Document:
    """Return the game with the names that its page shows: a visitor of the website is a guest."""
    with in_language(language):
        first, second = (player(game[side], _titles(tournament)) for side in ("first", "second"))
    return {**game, "first": first, "second": second}


async def _tournament_of(website: Website, request: Request) -> tournaments_pb2.Tournament:
    name = "tournaments/{tournament}".format_map(request.path_params)
    (tournament,) = (await tournaments_of(website.upstream, [name])).values()
    return tournament


async def _game_of(website: Website, request: Request) -> Document:
    """Return the game, its notes, and the ply in the address. A live game comes from the feed."""
    name = "tournaments/{tournament}/games/{number}".format_map(request.path_params)
    # A bot's stderr output is only for its owner and the organiser.
    visitor = visitor_of(request)
    values = await known_game(website.upstream, website.hub, name, visitor.token if visitor else "")
    plies = len(values["game"]["moves"])
    ply = whole_number("ply", request.query_params.get("ply", str(plies)), 0, LARGEST_NUMBER)
    return {**values, "ply": min(ply, plies)}
