"""The command `noughts invite list`."""

from noughts_proto.v1 import registration_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.invite.invitations import document_of, invitation_number, state_of
from noughts_server.cli.commands.token.tokens import TokenServerOptions
from noughts_server.cli.database import in_database
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.core.resource_names import short

_SHOWN_OWNERS = 3


@command(
    example="""
$ noughts invite list
id ... scopes       tournament  used  state ...
...
 1       play submit  -           0/30  expires in 7 days ...
"""
)
def list_invitations(database: DatabaseOption = None, *, server: TokenServerOptions, output: OutputOptions) -> None:
    """List invitations without their secrets, and who has registered. At a server, this needs the scope `admin`."""
    if (chosen_server := server.for_tokens(database)) is not None:
        with chosen_server.connected() as client:
            request = pb.ListInvitationsRequest()
            pages = client.list_items(client.registration.ListInvitations, request, lambda page: page.invitations)
            invitations = list(pages)
    else:
        from noughts_server.convert.invitations import invitation_message
        from noughts_server.store.people import invitations as stored

        rows = in_database(database, lambda store: store.read(stored.list_invitations))
        invitations = list(map(invitation_message, rows))
    columns = (">id", "note", "scopes", "tournament", ">used", "state", "owners")
    table = [
        (
            invitation_number(row),
            row.label,
            " ".join(row.scopes),
            short(row.tournament) or "-",
            f"{row.used}/{row.uses}",
            state_of(row),
            _names(row),
        )
        for row in invitations
    ]
    hint = "No invitations yet. Create one: noughts invite create --uses N"
    output.show_rows({"invitations": list(map(document_of, invitations))}, columns, table, hint)


def _names(row: pb.Invitation) -> str:
    """Return the owners who have registered with it, the first by name."""
    names = ", ".join(row.owners[:_SHOWN_OWNERS])
    more = len(row.owners) - _SHOWN_OWNERS
    return f"{names} and {more} more" if more > 0 else names or "-"
