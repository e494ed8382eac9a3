"""Common code of the commands of `noughts invite`."""

from noughts_proto.v1 import registration_pb2 as pb
from noughts_server.cli.times import from_now, iso, milliseconds


def invitation_number(row: pb.Invitation) -> int:
    return int(row.name.rpartition("/")[2])


def document_of(row: pb.Invitation) -> dict[str, object]:
    return {
        "id": invitation_number(row),
        "label": row.label,
        "scopes": list(row.scopes),
        "tournament": row.tournament or None,
        "uses": row.uses,
        "used": row.used,
        "owners": list(row.owners),
        "created": iso(milliseconds(row.create_time)),
        "expires": iso(milliseconds(row.expire_time)),
        "revoked": iso(milliseconds(row.revoke_time)),
    }


def state_of(row: pb.Invitation) -> str:
    """Return whether newcomers can register with it, for people."""
    revoke_ms = milliseconds(row.revoke_time)
    expire_ms = milliseconds(row.expire_time)
    if revoke_ms is not None:
        return f"revoked {from_now(revoke_ms)}"
    if row.used >= row.uses:
        return "used up"
    if expire_ms is None:
        return "good"
    distance = from_now(expire_ms)
    return f"expired {distance}" if distance.endswith("ago") else f"expires {distance}"
