"""Renders pages from templates, in the turns of the visitors (`Rendering`)."""

from functools import cache, partial
from types import CodeType
from typing import Any
from urllib.parse import urlencode

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from starlette.requests import Request
from starlette.responses import Response

from noughts_referee.rules import covers
from noughts_server.core.board_geometry import geometry
from noughts_server.core.messages import ENGLISH, Language, in_language
from noughts_server.core.version import software_version
from noughts_server.drawing.board_svg import board_svg, piece_svg, places, side_names
from noughts_server.drawing.charts import llr_line
from noughts_server.drawing.thumbnails import thumbnail, thumbnail_back
from noughts_server.drawing.tuning_chart import tuning_line
from noughts_server.tables.accuracy import shown_accuracy
from noughts_server.web import words
from noughts_server.web.board_png import can_draw_png
from noughts_server.web.calendar_file import calendar_text
from noughts_server.web.expected_games import forecast_of, whole_number_of_games
from noughts_server.web.forms import wrong_fields
from noughts_server.web.handbook import has_page, is_built
from noughts_server.web.joining import join_window
from noughts_server.web.languages import COOKIE, TRANSLATED_PAGES, keep_choice, language_of, languages
from noughts_server.web.qr import qr_code
from noughts_server.web.ratings import shown_margin, shown_rating
from noughts_server.web.rendering import Rendering
from noughts_server.web.score_interval import score_interval
from noughts_server.web.signin import visitor_of
from noughts_server.web.template_texts import use_language
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


@cache
def _compiled(code: str) -> _Compiled:
    """Return the code of the templates in a language: Jinja computes constant parts when it compiles."""
    return _Compiled()


class Views:
    """The templates and their common values."""

    def __init__(self, static: str, *, signing_in: bool, playing: bool, public_url: str = "") -> None:
        """`static` is the version of the static files. With `signing_in`, visitors can send tokens."""
        self._public_url = public_url
        self.signing_in = signing_in
        self.rendering = Rendering()
        values = {
            "static": f"/static/{static}",
            "version": software_version(),
            "signing_in": signing_in,
            "playing": playing,
        }
        # Jinja evaluates imported templates and constants once, so each language has its own environment.
        self._templates = {code: _environment(language, values) for code, language in languages().items()}

    def language(self, request: Request, template: str) -> Language:
        """Return the language of a page for this visitor; English for pages that have no translation."""
        return language_of(request) if template in TRANSLATED_PAGES else ENGLISH

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
        language = self.language(request, template)
        varying = "accept-language, cookie" if template in TRANSLATED_PAGES else "cookie"
        all_headers = {"cache-control": caching, "vary": varying, **(headers or {})}

        def render() -> Response:
            body = self._text(request, template, failure=failure, **values)
            if all_headers["cache-control"] == "no-cache" and code == 200:
                return tagged_response(request, body.encode(), HTML, all_headers)
            return Response(body, code, all_headers, media_type=HTML)

        response = await self.rendering.in_turn(request, f"{template} in {language.code}", render)
        keep_choice(request, response)
        return response

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
            "failure": None,
            "visitor": visitor_of(request),
            "path": request.url.path,
            "query": request.query_params,
            "base": self.base(request),
            "language_links": [],
        }
        language = self.language(request, template)
        if template in TRANSLATED_PAGES:
            common["language_links"] = _language_links(request)
        with in_language(language):
            return self._templates[language.code].get_template(template).render(**common | values)


def _environment(language: Language, values: dict[str, Any]) -> Environment:
    """Return the templates in a language, with these values."""
    templates = Environment(
        loader=PackageLoader("noughts_server.web"),
        bytecode_cache=_compiled(language.code),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    templates.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    use_language(templates, language)
    templates.filters.update(
        words.FILTERS,
        part=part,
        calendar_text=calendar_text,
        wrong_fields=wrong_fields,
        shown_rating=shown_rating,
        shown_margin=shown_margin,
    )
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
        forecast_of,
        whole_number_of_games,
        covers,
        tuning_line,
    )
    templates.globals.update({function.__name__: function for function in functions})
    templates.globals.update(values, has_documentation=is_built, has_page=has_page)
    return templates


def _language_links(request: Request) -> list[tuple[Language, str]]:
    """Return each language with the address of the same page in it."""
    kept = [(name, value) for name, value in request.query_params.multi_items() if name != COOKIE]
    return [(each, f"?{urlencode([*kept, (COOKIE, each.code)])}") for each in languages().values()]
