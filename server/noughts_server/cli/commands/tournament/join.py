"""The command `noughts tournament join`."""

from typing import Annotated

from typer import Argument, Option

from noughts_proto.v1 import bots_pb2, tokens_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.options.names import TournamentArgument, read_bot, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed


@command(
    example="""
$ noughts tournament join spring --bot mybot --bot patient
bots/mybot/versions/1 plays in tournaments/spring as mybot.
bots/patient/versions/1 plays in tournaments/spring as patient.
"""
)
def join(
    name: TournamentArgument,
    entrant: Annotated[
        str | None, Argument(metavar="[BOT]", autocompletion=completion.bots, help="The same as --bot")
    ] = None,
    bot: Annotated[
        list[str] | None,
        Option(
            "--bot",
            metavar="BOT",
            autocompletion=completion.bots,
            help="Your bot: `mybot`, or `mybot@2` for a version (repeatable)",
        ),
    ] = None,
    label: Annotated[
        str, Option("--label", metavar="LABEL", help="Name in this tournament. Default: the bot's name")
    ] = "",
    all_online: Annotated[bool, Option("--all-online", help="All your bots that are online")] = False,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Enter bots, pinned to their newest versions. Each must have logged in at least once.

    After the start, bots can join a ladder, Swiss or Danish tournament at any time, and a round robin or gauntlet while
    it is paused.
    """
    names = ([] if entrant is None else [entrant]) + (bot or [])
    bots = [read_bot(bot_text) for bot_text in names]
    if bots and all_online:
        raise UsageProblem("join: got --all-online and bots by name, expected one of the two")
    if not bots and not all_online:
        raise UsageProblem("join: got no bot, expected --bot BOT, one or more times, or --all-online")
    if label and len(bots) != 1:
        raise UsageProblem(f"--label {label!r}: got several bots, expected one: each label must be unique")
    tournament = read_tournament(name)
    entries: list[pb.JoinTournamentResponse] = []
    refusals: dict[str, str] = {}  # the reason by bot
    with server.connected() as client:
        for bot_resource in _bots_online(client) if all_online else bots:
            request = pb.JoinTournamentRequest(name=tournament, bot=bot_resource, label=label)
            try:
                entry = client.call(client.tournaments.JoinTournament, request)
            except CallFailed as failure:
                if not all_online or not failure.is_refusal:
                    raise
                refusals[bot_resource] = failure.message
                continue
            entries.append(entry)
            if not output.is_json:
                printing.stdout().print(f"{entry.bot_version} plays in {tournament} as {entry.label}.")
    for refused_bot, reason in refusals.items():
        printing.warn(f"{refused_bot} was not entered: {reason}")
    if not entries:
        raise Problem(
            f"--all-online: got {len(refusals)} bots of yours that are online, and none was entered in {tournament}",
            "" if refusals else "Connect one with `noughts bot run`.",
        )
    if output.is_json:
        document = {
            "tournament": tournament,
            **_entry_document(entries[0]),
            "entries": [_entry_document(entry) for entry in entries],
        }
        if all_online:
            document["refused"] = [{"bot": refused_bot, "reason": reason} for refused_bot, reason in refusals.items()]
        printing.print_json(document)


def _entry_document(entry: pb.JoinTournamentResponse) -> dict[str, str]:
    return {"label": entry.label, "bot_version": entry.bot_version}


def _bots_online(client: Client) -> list[str]:
    """Return the names of the caller's bots that are online."""
    owner = client.call(client.tokens.GetToken, tokens_pb2.GetTokenRequest(name="tokens/self")).token.owner
    request = bots_pb2.ListBotsRequest(online_only=True, owner=owner)
    return [bot.name for bot in client.list_items(client.bots.ListBots, request, lambda page: page.bots)]
