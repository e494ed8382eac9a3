"""Entity tags of answers and of parts of pages: what the browser already has is not sent."""

from collections.abc import Collection
from hashlib import blake2b

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response


def tags_of(request: Request) -> set[str]:
    """Return the tags of what the browser has, from the header If-None-Match."""
    listed = request.headers.get("if-none-match", "").split(",")
    return {each.strip().removeprefix("W/").strip('"') for each in listed}


def answer(request: Request, body: bytes, kind: str, headers: dict[str, str]) -> Response:
    """Return the body with its ETag, or 304 if the browser has it. The tag is weak because answers are compressed."""
    tag = _tag(body)
    sent = {"etag": f'W/"{tag}"', **headers}
    if tag in tags_of(request):
        return Response(status_code=304, headers=sent)
    return Response(body, media_type=kind, headers=sent)


class Parts:
    """The parts of a page that can change while it is shown; those that the browser has are left out."""

    def __init__(self, known: Collection[str] = ()) -> None:
        """`known` are the tags of the parts that the browser has."""
        self.changed = False
        """Whether there was a part that the browser does not have."""
        self._known = known

    def wrapped(self, name: str, text: Markup) -> Markup:
        """Return the part with its name and tag for the page's script; empty if the browser has it."""
        tag = _tag(text.encode())
        if tag in self._known:
            return Markup("")
        self.changed = True
        return Markup('<div data-part="{}" data-tag="{}">{}</div>').format(name, tag, text)


@pass_context
def part(context: Context, text: Markup, name: str) -> Markup:
    """Mark a block of a template as a part; the template's value `page_parts` decides whether it is sent."""
    found: Markup = context["page_parts"].wrapped(name, text)
    return found


def _tag(body: bytes) -> str:
    return blake2b(body, digest_size=12).hexdigest()
