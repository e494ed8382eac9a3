"""Signing in with a token, and signing out."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import tokens_pb2
from noughts_server.web.pages.website import OWN_TOKEN, Website
from noughts_server.web.signin import place_after, read_form, read_token, signed_in, signed_out
from noughts_server.web.upstream import Failure
from noughts_server.web.visitors import address_of

_MOST_FAILURES = 10
"""Limit of the failed attempts of an address in a minute."""


async def sign_in_page(website: Website, request: Request) -> Response:
    place = place_after(request.query_params.get("next", ""))
    return await _page(website, request, place, expired=request.query_params.get("expired") == "true")


async def _page(
    website: Website, request: Request, place: str, failure: Failure | None = None, *, expired: bool = False
) -> Response:
    """Return the form, which leads to `place` after signing in."""
    return await website.views.page(request, "sign_in.html.jinja", failure, next=place, expired=expired)


async def sign_in(website: Website, request: Request) -> Response:
    address, failures = address_of(request.scope), website.failed_sign_ins
    form = await read_form(request)
    place = place_after(form.get("next", ""))
    try:
        token = read_token(form.get("token", ""))
        get_token = tokens_pb2.GetTokenRequest(name=OWN_TOKEN)
        await website.upstream.ask(website.upstream.tokens.GetToken, get_token, token)
    except Failure as failure:
        if failure.status in (400, 401):
            failures.add(address)
            if failures.count(address) > _MOST_FAILURES:
                message = f"{_MOST_FAILURES} attempts have failed within a minute."
                failure = Failure(429, message, "Try again in a minute; a valid token is accepted at once.")
        return await _page(website, request, place, failure)
    redirect = RedirectResponse(place, 303)
    return signed_in(redirect, token, secure=website.secure)


async def sign_out(website: Website, request: Request) -> Response:
    await read_form(request)
    return signed_out(RedirectResponse("/", 303))
