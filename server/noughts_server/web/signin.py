"""Signing in: identifies the visitor of a page by the token in a cookie.

The cookie holds the token itself, so each copy of the website, even after a restart, knows the visitor, and the website
stores nothing. Scripts cannot read the cookie (HttpOnly), and no other site can have it sent (SameSite=Strict).
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from noughts_server.web.upstream import Failure

CSRF_FIELD = "csrf"
CSRF_HEADER = "x-csrf"
_COOKIE = "noughts_token"
_PREFIX = "nou_"
_INVITATION_PREFIX = "inv_"
_LONGEST_TOKEN = 200
"""Characters. Real tokens are shorter."""
_LARGEST_FORM = 65_536
"""Bytes of the fields of a form, without an uploaded file."""
_MOST_FIELDS = 200
_OWN_SITE = ("same-origin", "none")
"""`sec-fetch-site` of requests from pages of this website, and of addresses that the visitor entered."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A visitor with a token; only the server knows whether it is valid."""

    token: str

    @property
    def csrf(self) -> str:
        """The secret in each form of the visitor, which cannot be computed without the token."""
        return hmac.new(self.token.encode(), b"noughts csrf", hashlib.sha256).hexdigest()


def visitor_of(request: Request) -> Visitor | None:
    """Return the signed-in visitor; None if there is none."""
    token = request.cookies.get(_COOKIE, "")
    return Visitor(token) if could_be_token(token) else None


def signed_in(response: Response, token: str, *, secure: bool) -> Response:
    """Return the response with a cookie: the browser keeps the token until the browser is closed."""
    response.set_cookie(_COOKIE, token, path="/", secure=secure, httponly=True, samesite="strict")
    return response


def signed_out(response: Response) -> Response:
    """Return the response without the cookie: the browser deletes the token."""
    response.delete_cookie(_COOKIE, path="/", httponly=True, samesite="strict")
    return response


def to_sign_in(request: Request, *, expired: bool = False) -> Response:
    """Return a redirect to the sign-in page, which leads back to the requested page, or to the page of the form."""
    is_form = request.method == "POST"
    page = (page_of_form(request) if is_form else "") or f"{request.url.path}?{request.url.query}".rstrip("?")
    flags = f"{'expired=true&' if expired else ''}{'unsent=true&' if is_form else ''}"
    return signed_out(RedirectResponse(f"/signin?{flags}next={quote(page)}", 303))


def page_of_form(request: Request) -> str:
    """Return the path and the query of the page from which a form was sent; empty if its browser does not say."""
    sent_from = urlsplit(request.headers.get("referer", ""))
    if sent_from.netloc != request.headers.get("host") or not is_own_place(sent_from.path):
        return ""
    return f"{sent_from.path}?{sent_from.query}".rstrip("?")


def place_after(address: str) -> str:
    """Return the address if it belongs to this website, else that of the user's own page."""
    return address if is_own_place(address) else "/me"


def is_own_place(address: str) -> bool:
    """Return whether an address without a host belongs to this website."""
    is_local = address.startswith("/") and not address.startswith("//")
    return is_local and address.isprintable() and "\\" not in address


def read_token(text: str) -> str:
    """Return a token as the visitor typed it, or pasted it with a command that sets NOUGHTS_TOKEN. Raises Failure."""
    token = text.strip().rpartition("=")[2].strip(" '\"")
    if token.rpartition("#")[2].startswith(_INVITATION_PREFIX):
        hint = "Register with it first: you get a token then."
        raise Failure(400, "This is an invitation, not a token.", hint, field="token")
    if not could_be_token(token):
        raise Failure(400, "This is not a token.", "Tokens begin with nou_.", field="token")
    return token


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form that the visitor sent from a page of this website. Raises Failure.

    For a signed-in visitor, the secret in a field of the form or in a header proves this. The origin that the browser
    reports is checked for all visitors.
    """
    _check_origin(request)
    form = await _fields(request)
    _check_secret(request, form)
    return form


class SentFile(NamedTuple):
    """A file sent with a form."""

    name: str
    content: bytes


async def read_form_with_file(request: Request, field: str, largest: int) -> tuple[dict[str, str], SentFile]:
    """Return the fields and the file of a form, with the checks of `read_form`. Raises Failure.

    The file has at most `largest` bytes; it is empty if the visitor chose none.
    """
    _check_origin(request)
    kind = request.headers.get("content-type", "").partition(";")[0]
    length = request.headers.get("content-length", "")
    if kind != "multipart/form-data":
        raise Failure(415, f"Got {kind[:100]!r}, expected a form with a file (multipart/form-data).")
    if not length.isdecimal():
        raise Failure(411, "This form does not state its length.")
    if int(length) > largest + _LARGEST_FORM:
        raise Failure(413, f"This form has more than {largest:,} bytes.")
    try:
        async with request.form(max_files=1, max_fields=_MOST_FIELDS, max_part_size=_LARGEST_FORM) as sent:
            form = {name: value for name, value in sent.items() if isinstance(value, str)}
            upload = sent.get(field)
            file = SentFile("", b"")
            if isinstance(upload, UploadFile):
                file = SentFile(upload.filename or "", await upload.read(largest + 1))
    except (HTTPException, UnicodeDecodeError) as error:
        raise Failure(400, "This form cannot be read.") from error
    _check_secret(request, form)
    return form, file


def _check_secret(request: Request, form: dict[str, str]) -> None:
    visitor = visitor_of(request)
    if visitor is not None:
        secret = form.get(CSRF_FIELD) or request.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(secret.encode(), visitor.csrf.encode()):
            raise Failure(403, "This form is out of date.", "Reload the page, and send the form again.")


def is_from_another_site(request: Request) -> bool:
    """Return whether a page of another site has the visitor's browser send this. Programs send no such header."""
    return request.headers.get("sec-fetch-site", "none") not in _OWN_SITE


def _check_origin(request: Request) -> None:
    """Raise Failure for a form from another site. Old browsers send no `sec-fetch-site`, programs neither header."""
    site = request.headers.get("sec-fetch-site", "")
    origin = request.headers.get("origin", "")
    if site:
        is_own = site in _OWN_SITE
    else:
        is_own = not origin or origin.partition("://")[2] == request.headers.get("host")
    if not is_own:
        raise Failure(403, "This form was sent from another site.", "Open this website, and send the form from there.")


async def _fields(request: Request) -> dict[str, str]:
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind not in ("application/x-www-form-urlencoded", ""):
        raise Failure(415, f"Got {kind[:100]!r}, expected a form (application/x-www-form-urlencoded).")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_FORM:
            raise Failure(413, f"This form has more than {_LARGEST_FORM:,} bytes.")
    try:
        text = body.decode()
        if not text:
            return {}
        fields = parse_qsl(
            text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
        return dict(fields)
    except ValueError as error:
        raise Failure(400, "This form cannot be read.") from error


def could_be_token(text: str) -> bool:
    return text.startswith(_PREFIX) and len(text) <= _LONGEST_TOKEN and text.isascii() and text.isprintable()
