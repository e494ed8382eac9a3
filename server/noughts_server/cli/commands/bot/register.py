"""`noughts bot register`: a name on a server for a bot that has not connected yet."""

from typing import Annotated

from typer import Argument, Option

from noughts_proto.v1 import bots_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.bot.bots import bot_document
from noughts_server.cli.options.names import read_bot
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts bot register newbot
newbot is registered in version 1.
Enter it with: noughts tournament join TOURNAMENT --bot newbot
"""
)
def register(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the bot: an unused name, or one of your bots")],
    version: Annotated[
        str, Option("--version", metavar="V", help="Version that the bot will log in as. Default: `1` for a new bot")
    ] = "",
    open_to_organisers: Annotated[
        bool | None,
        Option(
            "--open-to-organisers/--closed-to-organisers",
            show_default=False,
            help="Let organisers enter it in their tournaments (or not: the default)",
        ),
    ] = None,
    open_to_tests: Annotated[
        bool | None,
        Option(
            "--open-to-tests/--closed-to-tests",
            show_default=False,
            help="Let others test their bots against it (or not: the default)",
        ),
    ] = None,
    description: Annotated[
        str | None, Option("--description", metavar="TEXT", help="Description for its page; '' for none")
    ] = None,
    link: Annotated[
        str | None, Option("--link", metavar="URL", help="Page about it, e.g. its source; '' for none")
    ] = None,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Register a bot that has not connected yet, so that you can enter it in tournaments.

    Only you can enter your bot, unless it is open to organisers: then the organiser of a tournament can enter it, too.
    Only you can test a version against your bot, unless it is open to tests: then others can while it is online.
    For a bot that is registered already, the command changes only what its options say.
    """
    request = pb.RegisterBotRequest(
        name=read_bot(name), version=version, open_to_organisers=open_to_organisers, open_to_tests=open_to_tests
    )
    with server.connected() as client:
        registered = client.call(client.bots.RegisterBot, request).bot
        if description is not None or link is not None:
            update = pb.UpdateBotRequest(name=registered.name, description=description, link=link)
            registered = client.call(client.bots.UpdateBot, update).bot
    label, newest = short(registered.name), registered.latest_version.rpartition("/")[2]
    consent = " Organisers can enter it in their tournaments." if registered.open_to_organisers else ""
    consent += " Others can test their bots against it." if registered.open_to_tests else ""
    output.show(bot_document(registered), f"{label} is registered in version {newest}.{consent}")
    output.hint(f"Enter it with: noughts tournament join TOURNAMENT --bot {label}")
