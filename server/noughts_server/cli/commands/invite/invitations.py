"""Common code of the commands of `noughts invite`."""

from noughts_proto.v1 import registration_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_server.cli.times import clock, from_now, iso, milliseconds
from noughts_server.competition.formats import format_of
from noughts_server.competition.formats.tournament_format import LateEntries
from noughts_server.core.resource_names import short


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


def why_no_game(tournament: tournaments_pb2.Tournament) -> str:
    """Return why newcomers get no game in this tournament as soon as they enter it; empty if they do."""
    name = short(tournament.name)
    start_ms = milliseconds(tournament.start_at)
    kind = format_of(tournament.schedule)
    match tournament.state:
        case tournaments_pb2.TOURNAMENT_STATE_OPEN if start_ms is not None:
            return f"{name} starts at {clock(start_ms)}. Newcomers get no game in it before that."
        case tournaments_pb2.TOURNAMENT_STATE_OPEN:
            return f"{name} has not started. Newcomers get no game in it until: noughts tournament start {name}"
        case tournaments_pb2.TOURNAMENT_STATE_PAUSED:
            return f"{name} is paused. Newcomers get no game in it until: noughts tournament start {name}"
        case tournaments_pb2.TOURNAMENT_STATE_RUNNING if kind.late_entries is not LateEntries.ALWAYS:
            return f"{name} has started, so newcomers cannot join it now. A ladder takes them at any time."
        case tournaments_pb2.TOURNAMENT_STATE_RUNNING:
            return ""
    return f"{name} is over, so newcomers cannot enter it."
