"""`noughts bot rename`: another name for a registered bot."""

from typing import Annotated

from typer import Argument

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
$ noughts bot rename newbot betterbot
newbot is now called betterbot.
"""
)
def rename(
    old: Annotated[str, Argument(metavar="OLD", autocompletion=completion.bots, help="Your bot")],
    new: Annotated[str, Argument(metavar="NEW", help="New name of the bot")],
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Rename your bot. Entries keep their labels; start the bot under the new name from now on."""
    request = pb.UpdateBotRequest(name=read_bot(old), new_name=short(read_bot(new)))
    with server.connected() as client:
        renamed = client.call(client.bots.UpdateBot, request).bot
    output.show(bot_document(renamed), f"{short(request.name)} is now called {short(renamed.name)}.")
    if renamed.online:
        output.hint(f"It is online and continues; start it as {short(renamed.name)} next time.")
