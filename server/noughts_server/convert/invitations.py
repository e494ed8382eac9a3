"""Protocol messages of registration and invitations."""

from noughts_proto.v1 import registration_pb2 as pb
from noughts_server.convert.times import timestamp
from noughts_server.core.registration import Registration
from noughts_server.core.resource_names import invitation_name, tournament_name
from noughts_server.store.people.invitations import Invitation

MODES = {
    Registration.CLOSED: pb.REGISTRATION_MODE_CLOSED,
    Registration.INVITATION: pb.REGISTRATION_MODE_INVITATION,
    Registration.OPEN: pb.REGISTRATION_MODE_OPEN,
}


def invitation_message(invitation: Invitation) -> pb.Invitation:
    """Return an invitation without its secret."""
    return pb.Invitation(
        name=invitation_name(invitation.id),
        label=invitation.label,
        scopes=invitation.scopes,
        tournament=tournament_name(invitation.tournament) if invitation.tournament else "",
        uses=invitation.uses,
        used=invitation.used,
        create_time=timestamp(invitation.created_at),
        expire_time=timestamp(invitation.expires_at),
        revoke_time=timestamp(invitation.revoked_at),
        owners=invitation.owners,
    )
