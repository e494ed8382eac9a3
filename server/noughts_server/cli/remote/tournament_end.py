"""Waits for the end of a tournament on a server."""

import time

from grpc import StatusCode

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed

OVER = (pb.TOURNAMENT_STATE_FINISHED, pb.TOURNAMENT_STATE_CANCELLED)
LOOK_SECONDS = 0.2
_RESTART_SECONDS = 60.0
_RESTARTING = (StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED)


class TournamentEnd:
    """Polls whether a tournament is over. A restarting server can be unavailable for a minute."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self._request = pb.GetTournamentRequest(name=name)
        self._answered_at = time.monotonic()
        self.name, self.games_done = name, 0

    def look(self) -> pb.Tournament | None:
        """Return the tournament if it is over, else None. Raises CallFailed."""
        try:
            shown = self._client.call(self._client.tournaments.GetTournament, self._request).tournament
        except CallFailed as failed:
            if failed.code not in _RESTARTING or time.monotonic() - self._answered_at > _RESTART_SECONDS:
                raise
            return None
        self._answered_at, self.games_done = time.monotonic(), shown.games_done
        return shown if shown.state in OVER else None
