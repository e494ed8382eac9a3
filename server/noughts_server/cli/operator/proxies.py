"""Options about reverse proxies: `--proxy`, whose words about callers are believed, and `--public-url`."""

from ipaddress import ip_address
from typing import Annotated

from typer import Option

from noughts_server.cli.errors import UsageProblem

PublicUrlOption = Annotated[
    str | None,
    Option(
        "--public-url",
        metavar="URL",
        show_default=False,
        help="Public address of the website, e.g. https://noughts.example.org",
    ),
]


def read_public_url(chosen: str | None) -> str:
    """The address of this option, without a slash at its end; empty if there is none. Raises UsageProblem."""
    from urllib.parse import urlsplit

    if chosen is None:
        return ""
    try:
        parts = urlsplit(chosen)
        is_right = parts.scheme in ("http", "https") and parts.hostname and chosen.isprintable() and parts.port != 0
    except ValueError:
        is_right = False
    if not is_right or "@" in parts.netloc or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise UsageProblem(f"--public-url {chosen!r}: expected http:// or https:// with a host and optionally a port")
    return f"{parts.scheme}://{parts.netloc}"


def read_proxies(chosen: list[str] | None) -> tuple[str, ...]:
    """The addresses of this option. Raises UsageProblem."""
    try:
        return tuple(str(ip_address(text)) for text in chosen or ())
    except ValueError as error:
        raise UsageProblem(f"--proxy: {error}; expected an address, e.g. 127.0.0.1") from error
