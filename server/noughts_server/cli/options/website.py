"""Options of a website."""

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from typer import Option

from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.startable import TRY_A_MATCH, check_startable, require_frames_on_pipes
from noughts_server.cli.times import Seconds, seconds_option
from noughts_server.launching.launcher import SandboxMode

if TYPE_CHECKING:
    from noughts_server.web.analyst import AnalystSettings

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
AnalystOption = Annotated[
    str | None,
    Option(
        "--analyst",
        metavar="SPEC",
        show_default=False,
        help="Bot whose evaluations the pages of games show, e.g. `gomocup:./engine`",
    ),
]
ANALYST_TIME = Seconds(1)
"""The usual `--analyst-time`."""
AnalystTimeOption = Annotated[
    float, seconds_option("--analyst-time", least=0.05, most=30, help="Time of the analyst for a position")
]


def read_analyst(text: str | None, seconds: float) -> "AnalystSettings | None":
    """Return the analyst of `--analyst`; None if there is none. Raises BotSpecError."""
    if text is None:
        return None
    from noughts_server.web.analyst import AnalystSettings

    spec = parse_spec(text)
    require_frames_on_pipes(spec, TRY_A_MATCH)
    if not check_startable(spec, SandboxMode.USUAL):
        # Report wrong options now.
        make_bot(spec)
    return AnalystSettings(name=spec.label or spec.short, spec=text, seconds=float(seconds))


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
