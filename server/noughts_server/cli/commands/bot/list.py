"""`noughts bot list`: the bots of this machine or of a server."""

import os
from dataclasses import asdict
from typing import Annotated

from typer import Option

from noughts_bots.hosts.installed import installed_bots
from noughts_bots.reference.registry import REFERENCE_BOTS
from noughts_proto.transport import SERVER_VARIABLE
from noughts_proto.v1 import bots_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.bot.bots import BotDocument, bot_document
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.output import ListOptions, OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.client.client import LARGEST_PAGE
from noughts_server.core.natural_order import natural_key
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts bot list
...
random                                  a random free cell  every variant
...

$ noughts bot list --server 127.0.0.1:7450 --online
bot      owner  version  online
...
mybot    alice  1        yes
...
"""
)
def list_bots(
    online: Annotated[bool, Option("--online", help="Only bots of the server that are online")] = False,
    retired: Annotated[bool, Option("--retired", help="Include retired bots of the server")] = False,
    reference: Annotated[
        bool, Option("--reference", help="Bots of this machine, even if NOUGHTS_SERVER is set")
    ] = False,
    *,
    server: ServerOptions,
    output: ListOptions,
) -> None:
    """List reference bots and installed bots; with --server or NOUGHTS_SERVER, registered bots."""
    lists_server = server.server is not None or online or retired
    if reference and lists_server:
        raise UsageProblem("--reference: got an option for the bots of a server as well", "Leave out one of them.")
    has_server_variable = bool(os.environ.get(SERVER_VARIABLE))
    if reference or not (lists_server or has_server_variable):
        _list_reference_bots(output)
        return
    with server.connected() as client:
        request = pb.ListBotsRequest(online_only=online, show_retired=retired)

        def first_bots(limit: int | None) -> list[pb.Bot]:
            # The server sorts within a page, so a short page would not hold the first of all bots.
            read_at_least = None if limit is None else max(limit, LARGEST_PAGE)
            bots = client.list_items(client.bots.ListBots, request, lambda page: page.bots, read_at_least)
            return sorted(bots, key=lambda bot: natural_key(bot.name))[:limit]

        bots = list(output.limited(first_bots))
    output.show_rows(
        {"bots": [bot_document(bot) for bot in bots]},
        ("bot", "owner", "version", "online"),
        ((short(bot.name), bot.owner, bot.latest_version.rpartition("/")[2], _presence(bot)) for bot in bots),
        "No bots.",
    )
    if has_server_variable and not lists_server:
        output.hint(
            f"These bots are registered at {SERVER_VARIABLE}. Bots of this machine: noughts bot list --reference"
        )


def _presence(bot: pb.Bot) -> str:
    if bot.HasField("retire_time"):
        return "retired"
    return "yes" if bot.online else "no"


def _list_reference_bots(output: OutputOptions) -> None:
    # Read only the metadata of packages: foreign code must not run in this process.
    installed = installed_bots()
    if output.is_json:
        documents = [
            BotDocument(
                name=name, kind="reference", syntax=row.syntax, description=row.description, variants=row.bot.boards
            )
            for name, row in REFERENCE_BOTS.items()
        ]
        documents += [
            BotDocument(
                name=f"py:{row.name}",
                kind="package",
                syntax=f"py:{row.name}",
                description=row.summary,
                variants="",
                package=row.package,
            )
            for row in installed
        ]
        printing.print_json({"bots": [asdict(document) for document in documents]})
        return
    console = printing.stdout()
    rows = [(row.syntax, row.description, row.bot.boards) for row in REFERENCE_BOTS.values()]
    rows += [(f"py:{row.name}", row.summary, f"see package {row.package} {row.version}") for row in installed]
    # A spec without line breaks can be copied; on a narrow terminal the other columns need the space more.
    has_whole_specs = console.width >= 80
    console.print(printing.table(("spec", "what it does", "plays"), rows, first_whole=has_whole_specs))
    console.print(
        "\nAn option follows a colon, as in nextstep:depth=3; your own name for the bot goes before a =.\n"
        "Not listed: py:FILE.py:CLASS, dll:FILE.so, lines:COMMAND, exec:COMMAND, gomocup:COMMAND. Try one "
        "with: noughts bot check SPEC\n"
        "Bots at a server: noughts bot list --server HOST:PORT"
    )
