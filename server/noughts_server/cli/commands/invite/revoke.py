"""The command `noughts invite revoke`."""

from functools import partial
from typing import Annotated

from typer import Argument

from noughts_proto.v1 import registration_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.invite.invitations import document_of, invitation_number
from noughts_server.cli.commands.token.tokens import TokenServerOptions
from noughts_server.cli.database import in_database
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.core.resource_names import invitation_name


@command(
    example="""
$ noughts invite revoke 1
Invitation 1 is revoked. 0 of 30 uses were used.
"""
)
def revoke(
    identifier: Annotated[int, Argument(metavar="ID", help="Number of the invitation in `noughts invite list`")],
    database: DatabaseOption = None,
    *,
    server: TokenServerOptions,
    output: OutputOptions,
) -> None:
    """Revoke an invitation. Nobody can register with it any more; tokens that it has given out stay valid."""
    if (chosen_server := server.for_tokens(database)) is not None:
        with chosen_server.connected() as client:
            request = pb.RevokeInvitationRequest(name=invitation_name(identifier))
            revoked = client.call(client.registration.RevokeInvitation, request).invitation
    else:
        from noughts_server.convert.invitations import invitation_message
        from noughts_server.store.people import invitations

        revoke = partial(invitations.revoke_invitation, number=identifier)
        stored = in_database(database, lambda store: store.write(partial(revoke, now_ms=store.now_ms())))
        revoked = invitation_message(stored)
    output.show(
        document_of(revoked),
        f"Invitation {invitation_number(revoked)} is revoked. {revoked.used} of {revoked.uses} uses were used.",
    )
