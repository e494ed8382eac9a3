"""The opening explorer: the moves that were played in a position, and how their games ended."""

from starlette.requests import Request
from starlette.responses import Response

from noughts_proto.v1 import leaderboards_pb2
from noughts_server.core.board_geometry import geometry
from noughts_server.web.documents import Document
from noughts_server.web.forms import whole_number
from noughts_server.web.pages.website import Website

_MOST_CELLS = 900
"""No board has more cells."""
_FIRST_ROWS = 12
"""Moves in the table at first: a position on a large board has hundreds."""
_MOST_ROWS = 200
_LEAST_SHARE = 0.02
"""The share of the games from which a move has a number on the board."""


async def explorer_page(website: Website, request: Request) -> Response:
    query = request.query_params
    upstream = website.upstream
    moves = [whole_number("moves", cell, 0, _MOST_CELLS) for cell in query.get("moves", "").split(",") if cell]

    async def opening_moves(variant: str, time_class: str) -> Document:
        position_request = leaderboards_pb2.GetOpeningMovesRequest(variant=variant, time_class=time_class, moves=moves)
        return await upstream.ask(upstream.leaderboards.GetOpeningMoves, position_request)

    variant, time_class = query.get("variant", ""), query.get("time_class", "")
    response = await opening_moves(variant, time_class)
    rating_list = response["rating_list"]
    lists = [name for name in response["rating_lists"] if geometry(name.rpartition("/")[0]) is not None]
    if rating_list not in lists and not (time_class and moves):
        # A list with games is more useful than an empty one: another time class of the variant. If the visitor has
        # named neither a variant nor moves, which belong to a variant, any list.
        any_variant = not variant and not moves
        alternatives = [name for name in lists if any_variant or name.startswith(f"{variant}/")]
        rating_list = alternatives[0] if alternatives else rating_list
        variant, _, time_class = rating_list.rpartition("/")
        response = await opening_moves(variant, time_class)
    game = {"board": geometry(rating_list.rpartition("/")[0]), "moves": moves}
    split_names = [name.rpartition("/") for name in lists]
    all_moves = query.get("all") == "yes"
    return await website.views.page(
        request,
        "explorer.html.jinja",
        position=response,
        lists=split_names,
        game=game,
        all_moves=all_moves,
        rows=_MOST_ROWS if all_moves else _FIRST_ROWS,
        least_share=_LEAST_SHARE,
    )
