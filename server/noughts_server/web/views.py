"""Renders pages from templates, in the turns of the visitors (`Rendering`)."""

from functools import partial
from types import CodeType
from typing import Any

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from starlette.requests import Request
from starlette.responses import Response

from noughts_server.core.board_geometry import geometry
from noughts_server.core.version import software_version
from noughts_server.drawing.board_svg import board_svg, piece_svg, places, side_names
from noughts_server.drawing.charts import llr_line
from noughts_server.drawing.thumbnails import thumbnail, thumbnail_back
from noughts_server.tables.accuracy import shown_accuracy
from noughts_server.web import words
from noughts_server.web.board_png import can_draw_png
from noughts_server.web.calendar_file import calendar_text
from noughts_server.web.expected_games import expected_games, forecast_of, whole_number_of_games
from noughts_server.web.forms import wrong_fields
from noughts_server.web.handbook import has_page, is_built
from noughts_server.web.joining import join_window
from noughts_server.web.qr import qr_code
from noughts_server.web.rendering import Rendering
from noughts_server.web.score_interval import score_interval
from noughts_server.web.signin import visitor_of
from noughts_server.web.unchanged import Parts, part, tagged_response, tags_of
from noughts_server.web.upstream import Failure

HTML = "text/html"
_CONTENT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none';"
    " form-action 'self'; frame-ancestors "
)
# Pages load only from this website: no inline script or style, nothing from elsewhere, no form to elsewhere.
POLICY = f"{_CONTENT}'self'"
FRAMED = {"content-security-policy": f"{_CONTENT}*"}
"""Headers of a page that other sites may show in a frame."""
PICTURE = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors *"}
"""Headers of a picture, which has its style within."""


class _Compiled(BytecodeCache):
    """The code of the templates: several websites in one process compile each template once."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Set the code of this template with this text, if it is known."""
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of this template with this text."""
        if bucket.code is not None:
            self._codes[bucket.key, bucket.checksum] = bucket.code


_COMPILED = _Compiled()


class Views:
    """The templates and their common values."""

    def __init__(self, static: str, *, signing_in: bool, playing: bool, public_url: str = "") -> None:
        """`static` is the version of the static files, part of their addresses."""
        self._public_url = public_url
        self.rendering = Rendering()
        self._templates = Environment(
            loader=PackageLoader("noughts_server.web"),
            bytecode_cache=_COMPILED,
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
        self._templates.filters.update(words.FILTERS, part=part, calendar_text=calendar_text, wrong_fields=wrong_fields)
        functions = (
            board_svg,
            piece_svg,
            side_names,
            places,
            thumbnail,
            thumbnail_back,
            geometry,
            score_interval,
            can_draw_png,
            join_window,
            llr_line,
            qr_code,
            shown_accuracy,
            expected_games,
            forecast_of,
            whole_number_of_games,
        )
        self._templates.globals.update(
            {function.__name__: function for function in functions}, has_documentation=is_built, has_page=has_page
        )
        values = {"static": f"/static/{static}", "version": software_version()}
        self._templates.globals.update(values, signing_in=signing_in, playing=playing)

    def base(self, request: Request) -> str:
        """Return the website's address for this visitor, without a slash at its end."""
        return self._public_url or str(request.base_url).rstrip("/")

    async def page(
        self,
        request: Request,
        template: str,
        failure: Failure | None = None,
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> Response:
        """Return a page, which can explain a failure. No cache may store the page of a signed-in visitor."""
        code = failure.status if failure else 200
        caching = "no-cache" if visitor_of(request) is None else "private, no-store"
        all_headers = {"cache-control": caching, "vary": "cookie", **(headers or {})}

        def render() -> Response:
            body = self._text(request, template, failure=failure, **values)
            if all_headers["cache-control"] == "no-cache" and code == 200:
                return tagged_response(request, body.encode(), HTML, all_headers)
            return Response(body, code, all_headers, media_type=HTML)

        return await self.rendering.in_turn(request, template, render)

    async def parts(self, request: Request, template: str, **values: Any) -> Response:
        """Return the parts of a page that the browser does not have, by the tags that it sends; 304 if it has all."""
        parts = Parts(tags_of(request))
        layout = "shared/parts_alone.html.jinja"
        render = partial(self._text, request, template, layout=layout, page_parts=parts, **values)
        body = await self.rendering.in_turn(request, f"parts of {template}", render)
        headers = {"cache-control": "no-store"}
        return Response(body, 200, headers, media_type=HTML) if parts.changed else Response(None, 304, headers)

    async def text(self, request: Request, template: str, **values: Any) -> str:
        """Return a template's text, when it is this visitor's turn."""
        return await self.rendering.in_turn(request, template, partial(self._text, request, template, **values))

    def _text(self, request: Request, template: str, **values: Any) -> str:
        common = {
            "layout": "shared/layout.html.jinja",
            "page_parts": Parts(),
            "visitor": visitor_of(request),
            "path": request.url.path,
            "query": request.query_params,
            "base": self.base(request),
        }
        return self._templates.get_template(template).render(**common | values)
