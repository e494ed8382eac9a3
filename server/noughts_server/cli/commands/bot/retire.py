"""`noughts bot retire`: a bot that no longer plays."""

from typing import Annotated

from typer import Argument, Option

from noughts_proto.v1 import bots_pb2 as pb
from noughts_server.cli import completion
from noughts_server.cli.command import command
from noughts_server.cli.commands.bot.bots import bot_document
from noughts_server.cli.options.names import read_bot
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts bot retire betterbot
betterbot is retired.

$ noughts bot retire betterbot --undo
betterbot is active again.
"""
)
def retire(
    name: Annotated[str, Argument(metavar="NAME", autocompletion=completion.bots, help="Your bot")],
    undo: Annotated[bool, Option("--undo", help="Reactivate a retired bot")] = False,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Retire your bot: it can no longer log in or enter tournaments. Its games and ratings are kept."""
    request = pb.RetireBotRequest(name=read_bot(name), undo=undo)
    with server.connected() as client:
        retired = client.call(client.bots.RetireBot, request).bot
    output.show(bot_document(retired), f"{short(retired.name)} is {'active again' if undo else 'retired'}.")
