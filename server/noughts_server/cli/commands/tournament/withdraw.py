"""The command `noughts tournament withdraw`."""

from typing import Annotated

from typer import Argument, Option

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import completion
from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.options.names import TournamentArgument, read_bot, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.client.client import Client
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts tournament withdraw cup centre
centre no longer plays in tournaments/cup.
"""
)
def withdraw(
    name: TournamentArgument,
    label: Annotated[str | None, Argument(metavar="[LABEL]", help="Name of the entry in the tournament")] = None,
    bot: Annotated[
        str | None,
        Option(
            "--bot", metavar="BOT", autocompletion=completion.bots, help="The bot that was entered, instead of LABEL"
        ),
    ] = None,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Withdraw an entry. After the start it loses its remaining games."""
    if bool(label) == bool(bot):
        raise UsageProblem("withdraw: expected either LABEL, the entry's name, or --bot BOT")
    request = pb.WithdrawTournamentRequest(name=read_tournament(name))
    with server.connected() as client:
        request.label = label or _label_of(client, request.name, bot or "")
        client.call(client.tournaments.WithdrawTournament, request)
    document = {"tournament": request.name, "label": request.label}
    output.show(document, f"{request.label} no longer plays in {request.name}.")


def _label_of(client: Client, tournament: str, bot: str) -> str:
    """Return the label of the only entry of a bot or bot version. Raises Problem if there are none or several."""
    prefix = f"{read_bot(bot)}/"
    request = pb.GetTournamentRequest(name=tournament)
    standings = client.call(client.tournaments.GetTournament, request).tournament.standings
    labels = [row.label for row in standings if f"{row.bot_version}/".startswith(prefix)]
    if len(labels) == 1:
        return labels[0]
    if labels:
        raise Problem(f"--bot {bot!r}: it has {len(labels)} entries, expected one", f"Name one: {', '.join(labels)}")
    raise Problem(f"--bot {bot!r}: it has no entry in {tournament}", f"noughts tournament show {short(tournament)}")
