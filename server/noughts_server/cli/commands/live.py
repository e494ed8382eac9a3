"""`noughts live`: a server, its website, and reference bots that play slowly enough to be watched."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from noughts_proto.transport import DEFAULT_SERVER
from noughts_server.cli.command import command
from noughts_server.cli.options.database import GamesDatabaseOption, read_database
from noughts_server.cli.options.listening import open_listener
from noughts_server.cli.options.logs import LogLevel, configure_logs
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.website import DEFAULT_WEB
from noughts_server.cli.processes.signals import run_loop
from noughts_server.cli.times import Seconds, seconds_option

if TYPE_CHECKING:
    from noughts_server.server import Server


@command(
    example="""
$ noughts live
Bots are playing: http://127.0.0.1:7480
Let yours join:  export NOUGHTS_TOKEN=...
...
Stop:            Ctrl-C
""",
    extra="web",
)
def live(
    web: Annotated[
        str, Option("--web", metavar="HOST:PORT", help="Address of the website; port 0: any free port")
    ] = DEFAULT_WEB,
    listen: Annotated[
        str, Option("--listen", metavar="HOST:PORT", help="Address for bots; port 0: any free port")
    ] = DEFAULT_SERVER,
    pace: Annotated[
        float, seconds_option("--pace", least=0, most=60, help="Wait before each move of the reference bots")
    ] = Seconds(0.8),
    database: GamesDatabaseOption = None,
    *,
    output: OutputOptions,
) -> None:
    """Run a server, its website and reference bots that keep playing, until Ctrl-C. Your bot can join them.

    Without --db nothing is stored.
    """
    from noughts_server.cli.processes.serving import serve_until_stopped
    from noughts_server.leagues.ladders import playing_ladders
    from noughts_server.settings import ServerSettings
    from noughts_server.store.engine.sqlite import url_of
    from noughts_server.web.site_settings import SiteSettings

    @asynccontextmanager
    async def playing(server: "Server", site: str | None) -> AsyncIterator[None]:
        async with playing_ladders(server, pace) as token:
            _announce(output, server.address, site, token)
            yield

    configure_logs(LogLevel.WARNING)
    listener = open_listener(web, "--web")
    with tempfile.TemporaryDirectory(prefix="noughts-live-") as folder:
        url = url_of(Path(folder) / "live.sqlite") if database is None else read_database(database)
        settings = ServerSettings(listen=listen, database=url, rate_own_games=True)
        run_loop(serve_until_stopped(output, settings, listener, playing, site=SiteSettings(), drains=False))


def _announce(output: OutputOptions, address: str, site: str | None, token: str) -> None:
    from noughts_server.leagues.ladders import LADDERS

    server_option = "" if address == DEFAULT_SERVER else f" --server {address}"
    output.announce(
        {"grpc": address, "web": site, "token": token},
        f"Bots are playing: {site}",
        f"Let yours join:  export NOUGHTS_TOKEN={token}\n"
        f"                 noughts bot run 'py:my_bot.py' --name mybot{server_option}\n"
        f"                 noughts tournament join {LADDERS[0].name} --bot mybot{server_option}\n"
        f"Play yourself:   noughts play --with bot:{LADDERS[0].bots[-1]}{server_option}\n"
        "Stop:            Ctrl-C",
    )
