"""The option `--proxy`: which reverse proxies are believed who has called them."""

from ipaddress import ip_address
from typing import Annotated

from typer import Option

from noughts_server.cli.errors import UsageProblem

ProxyOption = Annotated[
    list[str] | None,
    Option(
        "--proxy",
        metavar="ADDRESS",
        help="A reverse proxy, which is believed who has called it (x-real-ip); may be given several times.",
        show_default=False,
    ),
]


def read_proxies(chosen: list[str] | None) -> tuple[str, ...]:
    """The addresses of this option. Raises UsageProblem."""
    try:
        return tuple(str(ip_address(text)) for text in chosen or ())
    except ValueError as error:
        raise UsageProblem(f"--proxy: {error}; expected an address, e.g. 127.0.0.1") from error
