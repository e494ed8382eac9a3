"""Entity tags of responses and of parts of pages, so that the website does not send what the browser has."""

from collections.abc import Collection
from hashlib import blake2b

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response


def tags_of(request: Request) -> set[str]:
    """Return the tags that the browser sends in the header If-None-Match."""
    tags = request.headers.get("if-none-match", "").split(",")
    return {tag.strip().removeprefix("W/").strip('"') for tag in tags}


def tagged_response(request: Request, body: bytes, kind: str, headers: dict[str, str]) -> Response:
    """Return the body with its ETag, or 304 if the browser has it. The tag is weak because answers are compressed."""
    tag = _tag(body)
    all_headers = {"etag": f'W/"{tag}"', **headers}
    if tag in tags_of(request):
        return Response(status_code=304, headers=all_headers)
    return Response(body, media_type=kind, headers=all_headers)


class Parts:
    """The parts of a page that can change while it is shown; those that the browser has are left out."""

    def __init__(self, known: Collection[str] = ()) -> None:
        """`known` are the tags of the parts that the browser has."""
        self.changed = False
        """Whether the page has a part that the browser does not have."""
        self._known = known

    def wrap(self, name: str, text: Markup) -> Markup:
        """Return the part with its name and tag for the page's script; empty if the browser has it."""
        tag = _tag(text.encode())
        if tag in self._known:
            return Markup("")
        self.changed = True
        return Markup('<div data-part="{}" data-tag="{}">{}</div>').format(name, tag, text)


@pass_context
def part(context: Context, text: Markup, name: str) -> Markup:
    """Mark a block of a template as a part; the template's value `page_parts` decides whether it is sent."""
    wrapped_part: Markup = context["page_parts"].wrap(name, text)
    return wrapped_part


def _tag(body: bytes) -> str:
    return blake2b(body, digest_size=12).hexdigest()
