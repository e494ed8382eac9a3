"""The command `noughts invite create`."""

from functools import partial
from typing import Annotated

from typer import Option

from noughts_proto.v1 import registration_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.invite.invitations import document_of, invitation_number, why_no_game
from noughts_server.cli.commands.token.tokens import TokenServerOptions
from noughts_server.cli.database import in_database
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.names import read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.website import DEFAULT_WEB, read_public_url
from noughts_server.cli.times import clock, milliseconds, read_duration
from noughts_server.core.registration import MOST_USES
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts invite create --uses 30 --expires 7d
Invitation 1: 30 uses, ... Keep the link: it is not shown again.
http://127.0.0.1:7480/invite#inv_...
"""
)
def create(
    uses: Annotated[
        int, Option("--uses", metavar="N", min=1, max=MOST_USES, help="Number of owners that can register")
    ] = 1,
    expires: Annotated[
        str | None, Option("--expires", metavar="DURATION", help="Lifetime, e.g. `7d` or `12h`. Default: no limit")
    ] = None,
    tournament: Annotated[
        str | None,
        Option(
            "--tournament",
            metavar="ID",
            autocompletion=completion.tournaments,
            help="Tournament that the first bot of each newcomer enters. Default: none",
        ),
    ] = None,
    scopes: Annotated[
        list[str] | None,
        Option("--scope", metavar="SCOPE", help="Rights of newcomers' tokens: play, submit. Default: play,submit"),
    ] = None,
    label: Annotated[str, Option("--note", metavar="TEXT", help="Note on the purpose of the invitation")] = "",
    site: Annotated[
        str, Option("--site", metavar="URL", help="Address of the website, for the link")
    ] = f"http://{DEFAULT_WEB}",
    database: DatabaseOption = None,
    *,
    server: TokenServerOptions,
    output: OutputOptions,
) -> None:
    """Create an invitation, and print its link. The link is shown only once; the database keeps only a hash.

    Anyone with the link can register while the server runs with --registration invitation or open.
    """
    base = read_public_url(site, "--site")
    invitation = pb.Invitation(
        label=label,
        scopes=[scope.strip() for text in scopes or [] for scope in text.split(",")],
        tournament=read_tournament(tournament) if tournament else "",
        uses=uses,
    )
    lifetime_ms = None if expires is None else round(read_duration(expires, "--expires").total_seconds() * 1000)
    created, secret = _create(invitation, uses, lifetime_ms, database, server)
    link = f"{base}/invite#{secret}"
    expire_ms = milliseconds(created.expire_time)
    parts = [f"{created.uses} {'use' if created.uses == 1 else 'uses'}", " ".join(created.scopes)]
    parts += [f"enters {short(created.tournament)}"] if created.tournament else []
    parts += [] if expire_ms is None else [f"until {clock(expire_ms)}"]
    summary = f"Invitation {invitation_number(created)}: {', '.join(parts)}."
    output.hint(f"{summary} Keep the link: it is not shown again.")
    warning = why_no_game(_tournament(created.tournament, database, server)) if created.tournament else ""
    if warning and not output.is_json:
        printing.warn(warning)
    # Only the link goes to stdout, so that a shell script can read it.
    output.show({**document_of(created), "link": link, "invitation": secret, "warning": warning or None}, link)


def _tournament(name: str, database: str | None, server: TokenServerOptions) -> tournaments_pb2.Tournament:
    """Read a tournament from the server or from the database."""
    if (chosen_server := server.for_tokens(database)) is not None:
        with chosen_server.connected() as client:
            request = tournaments_pb2.GetTournamentRequest(name=name)
            return client.call(client.tournaments.GetTournament, request).tournament
    from noughts_server.convert.tournaments import tournament_message
    from noughts_server.store.tournaments.tournaments import get_tournament

    read = partial(get_tournament, slug=short(name))
    return tournament_message(in_database(database, lambda store: store.read(read)))


def _create(
    invitation: pb.Invitation, uses: int, lifetime_ms: int | None, database: str | None, server: TokenServerOptions
) -> tuple[pb.Invitation, str]:
    """Create an invitation on the server or in the database; return it and its secret."""
    from noughts_server.services.new_invitations import check_invitation, check_invited_scopes

    check_invitation(invitation.label, uses, lifetime_ms)
    if (chosen_server := server.for_tokens(database)) is not None:
        request = pb.CreateInvitationRequest(invitation=invitation)
        if lifetime_ms is not None:
            request.ttl.FromMilliseconds(lifetime_ms)
        with chosen_server.connected() as client:
            response = client.call(client.registration.CreateInvitation, request)
        return response.invitation, response.secret
    from noughts_server.convert.invitations import invitation_message
    from noughts_server.core.resource_names import tournament_id
    from noughts_server.store.people.invitations import create_invitation

    make = partial(
        create_invitation,
        scopes=check_invited_scopes(invitation.scopes),
        uses=uses,
        label=invitation.label,
        tournament=tournament_id("--tournament", invitation.tournament) if invitation.tournament else "",
        lifetime_ms=lifetime_ms,
    )
    stored = in_database(database, lambda store: store.write(partial(make, now_ms=store.now_ms())), create=True)
    return invitation_message(stored.invitation), stored.secret
