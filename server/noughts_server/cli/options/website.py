"""Options of a website."""

from typing import Annotated
from urllib.parse import urlsplit

from typer import Option

from noughts_server.cli.errors import UsageProblem

DEFAULT_WEB = "127.0.0.1:7480"
"""The usual address of a website."""

HttpsOption = Annotated[bool, Option("--https", help="Allow sign-in behind a reverse proxy that serves HTTPS")]
PublicUrlOption = Annotated[
    str | None,
    Option(
        "--public-url",
        metavar="URL",
        show_default=False,
        help="Public address of the website, e.g. https://noughts.example.org",
    ),
]


def read_public_url(url: str | None, option: str = "--public-url") -> str:
    """Return the address that `option` has, without a slash at its end; empty if there is none. Raises UsageProblem."""
    if url is None:
        return ""
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in ("http", "https") and parts.hostname and url.isprintable() and parts.port != 0
    except ValueError:
        is_right = False
    if not is_right or "@" in parts.netloc or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise UsageProblem(f"{option} {url!r}: expected http:// or https:// with a host and optionally a port")
    return f"{parts.scheme}://{parts.netloc}"
