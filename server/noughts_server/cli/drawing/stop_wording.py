"""Describe why play of a tournament has stopped."""

from noughts_proto.v1 import status_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.times import from_now, milliseconds, now_ms


def stop_wording(tournament: pb.Tournament | status_pb2.RunningTournament) -> str:
    """Return why play has stopped, and when the next attempt is due."""
    reason = tournament.reason if isinstance(tournament, pb.Tournament) else tournament.problem
    retry_at = milliseconds(tournament.retry_time)
    if retry_at is None:
        return reason
    due = from_now(retry_at) if retry_at > now_ms() else "now"
    return f"{reason.rstrip('.')}. The next attempt is due {due}"
