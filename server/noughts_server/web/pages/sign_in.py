"""Signing in with a token, and signing out."""

from contextlib import suppress

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_proto.v1 import registration_pb2, tokens_pb2
from noughts_server.web.pages.website import OWN_TOKEN, Website
from noughts_server.web.signin import place_after, read_form, read_token, signed_in, signed_out, visitor_of
from noughts_server.web.upstream import Failure
from noughts_server.web.visitors import address_of

_MOST_FAILURES = 10
"""Limit of the failed attempts of an address in a minute."""
_UPLOAD = "/me?tab=upload"


async def sign_in_page(website: Website, request: Request) -> Response:
    place = place_after(request.query_params.get("next", ""))
    query = request.query_params
    return await _page(
        website, request, place, expired=query.get("expired") == "true", unsent=query.get("unsent") == "true"
    )


async def enter_bot(website: Website, request: Request) -> Response:
    """Redirect an author to the page for the next step: uploading, registering, or signing in."""
    if visitor_of(request) is not None:
        return RedirectResponse(_UPLOAD, 303)
    is_open = website.views.signing_in and await _registration(website) == "open"
    return RedirectResponse("/invite" if is_open else f"/signin?next={_UPLOAD}", 303)


async def _registration(website: Website) -> str:
    """Return who can register: `open`, `invitation` or `closed`, which also stands for an unknown answer."""
    with suppress(Failure):
        get = registration_pb2.GetRegistrationRequest()
        offer = await website.upstream.ask(website.upstream.registration.GetRegistration, get)
        return str(offer["mode"])
    return "closed"


async def _page(
    website: Website,
    request: Request,
    place: str,
    failure: Failure | None = None,
    *,
    expired: bool = False,
    unsent: bool = False,
) -> Response:
    """Return the form, which leads to `place` after signing in. `unsent`: a form was refused before."""
    registration = await _registration(website) if website.views.signing_in else "closed"
    return await website.views.page(
        request,
        "sign_in.html.jinja",
        failure,
        next=place,
        expired=expired,
        unsent=unsent,
        registration=registration,
    )


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
            elif failure.status == 401:
                message = "This token is unknown or no longer valid."
                failure = Failure(401, message, "Check that you copied all of it.", field="token")
        return await _page(website, request, place, failure)
    redirect = RedirectResponse(place, 303)
    return signed_in(redirect, token, secure=website.secure)


async def sign_out(website: Website, request: Request) -> Response:
    await read_form(request)
    return signed_out(RedirectResponse("/", 303))
