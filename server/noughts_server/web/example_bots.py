"""Example bots that play over HTTP: newcomers download one, with the address of this website in it, and start it."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from noughts_server.web.upstream import Failure
from noughts_server.web.views import Views

_IN_WHEEL = Path(str(files(__package__) / "example_bot_files"))
"""`hatch_build.py` puts them here."""
_IN_CHECKOUT = Path(__file__).parents[3] / "bots" / "examples" / "http"
_DEFAULT_PLACE = "127.0.0.1:7480"
"""The host and port of the website in the files."""


class ExampleBot(NamedTuple):
    """A program in one file."""

    language: str
    file: str
    command: str
    """Starts it; the name of the bot follows."""
    has_tls: bool = True


_EXAMPLE_BOTS = (
    ExampleBot("Python", "bot.py", "python3 bot.py"),
    ExampleBot("JavaScript", "bot.js", "node bot.js"),
    ExampleBot("bash", "bot.sh", "bash bot.sh"),
    ExampleBot("Go", "bot.go", "go run bot.go"),
    ExampleBot("Rust", "bot.rs", "rustc -O bot.rs && ./bot", has_tls=False),
    ExampleBot("Java", "Bot.java", "java Bot.java"),
    ExampleBot("C#", "Bot.cs", "dotnet run Bot.cs"),
    ExampleBot("Ruby", "bot.rb", "ruby bot.rb"),
)


def example_bots(site: str) -> list[ExampleBot]:
    """Return the bots that can play at the website with this address."""
    return [bot for bot in _EXAMPLE_BOTS if bot.file in _texts() and (bot.has_tls or site.startswith("http:"))]


def example_bot_routes(views: Views) -> list[Route]:
    """Return the route of the files for starlette."""

    async def send(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _texts():
            raise Failure(404, f"There is no example bot {name}.", f"There are: {', '.join(_texts())}.")
        site = views.base(request)
        text = _texts()[name].replace(f"http://{_DEFAULT_PLACE}", site).replace(_DEFAULT_PLACE, urlsplit(site).netloc)
        return PlainTextResponse(text, headers={"cache-control": "no-cache"})

    return [Route("/example-bots/{name}", send, methods=["GET"])]


@cache
def _texts() -> dict[str, str]:
    """Return the texts of the files by name; none if this installation does not have them."""
    folder = _IN_WHEEL if _IN_WHEEL.is_dir() else _IN_CHECKOUT
    paths = {bot.file: folder / bot.file for bot in _EXAMPLE_BOTS}
    return {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path.is_file()}
