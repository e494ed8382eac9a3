"""The documentation under `/docs`, if `make docs` built it before this package was installed."""

import base64
import mimetypes
import re
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from noughts_server.web.upstream import Failure

_HOW_TO_GET_IT = (
    "Operators: in a checkout of Noughts, run make docs and then pip install '.[server,web]'. The wheel of make wheel"
    " contains it, too."
)
FOLDER = Path(str(files(__package__) / "handbook"))
_PAGE_TOP = b'<div class="page">'
# The links of the website's own header.
_LINKS_OF_SITE = (
    b'<nav class="site" aria-label="Site"><a class="site-brand" href="/"><img src="/favicon.ico" alt="" width="28"'
    b' height="28"> Noughts</a> <a href="/tournaments">Tournaments</a> <a href="/leaderboard">Leaderboard</a>'
    b' <a href="/bots">Bots</a> <a href="/puzzles">Puzzles</a> <a href="/play">Play</a>'
    b' <a href="/docs/" aria-current="true">Docs</a></nav>'
)
# Names and levels that screen readers need, and that the theme leaves out.
_ACCESSIBLE = (
    (b'<p class="caption" role="heading">', b'<p class="caption" role="heading" aria-level="2">'),
    (b'<aside class="sidebar-drawer">', b'<aside class="sidebar-drawer" aria-label="All pages">'),
    (b'<aside class="toc-drawer', b'<aside aria-label="On this page" class="toc-drawer'),
    # On a phone, these scroll.
    (b"<pre>", b'<pre tabindex="0">'),
)
_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_POLICY = (
    "default-src 'none'; script-src 'self'{}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)


def handbook_routes() -> list[BaseRoute]:
    """Return the routes of the documentation; its lists for language models are at the top of the website."""
    lists = [Route(f"/{name}", _page) for name in ("llms.txt", "llms-full.txt")]
    return [Route("/docs", RedirectResponse("/docs/"), methods=["GET"]), Route("/docs/{path:path}", _page), *lists]


def is_built() -> bool:
    """Return whether there is documentation to link to."""
    return (FOLDER / "index.html").is_file()


def has_page(name: str) -> bool:
    """Return whether the documentation has this page, e.g. `how-to/web`."""
    return (FOLDER / f"{name}.html").is_file()


async def _page(request: Request) -> Response:
    path = request.path_params.get("path", request.url.path.removeprefix("/"))
    if path == "" or path.endswith("/"):
        path += "index.html"
    pages = contents()
    if not pages:
        raise Failure(404, "The documentation is not part of this installation.", _HOW_TO_GET_IT)
    if path not in pages:
        raise Failure(404, f"There is no page {path} in the documentation.", "Start at /docs/.")
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    body = _on_site(pages[path]) if kind == "text/html" else pages[path]
    return Response(body, media_type=kind, headers={"cache-control": "no-cache", **_policy(path)})


def _on_site(page: bytes) -> bytes:
    """Return a page with links to the website, and with the names that screen readers need."""
    page = page.replace(_PAGE_TOP, _LINKS_OF_SITE + _PAGE_TOP)
    for theme, accessible in _ACCESSIBLE:
        page = page.replace(theme, accessible)
    return page


@cache
def contents() -> dict[str, bytes]:
    """Return all files of the documentation by their paths; none if it was not built."""
    return {str(file.relative_to(FOLDER)): file.read_bytes() for file in FOLDER.rglob("*") if file.is_file()}


@cache
def _policy(path: str) -> dict[str, str]:
    """Return the policy of a page: its own inline scripts can run, by their hashes, and no others."""
    if not path.endswith(".html"):
        return {}
    hashes = {base64.b64encode(sha256(script).digest()).decode() for script in _INLINE_SCRIPT.findall(contents()[path])}
    return {"content-security-policy": _POLICY.format("".join(f" 'sha256-{digest}'" for digest in sorted(hashes)))}
