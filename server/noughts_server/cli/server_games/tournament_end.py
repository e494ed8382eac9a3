"""The end of a tournament on a server: commands poll for it, show the progress, and exit with its result."""

import time
from collections.abc import Collection

from grpc import StatusCode

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.drawing.progress import counting
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.core.resource_names import short

OVER = (pb.TOURNAMENT_STATE_FINISHED, pb.TOURNAMENT_STATE_CANCELLED)
POLL_SECONDS = 0.2
"""Seconds between two requests for the tournament."""
_WAIT_SECONDS = 1.0
_REPORT_SECONDS = 60.0
"""Seconds between two lines of progress if stderr is not a terminal."""
# Exit codes of `wait`.
_REJECTED = 1
_STOPPED = 3
_RESTART_SECONDS = 60.0
"""Seconds for which a server that restarts can be unavailable."""
_RESTARTING = (StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED)


class TournamentEnd:
    """Polls whether a tournament is over. A restarting server can be unavailable for a minute."""

    def __init__(self, client: Client, name: str, end_states: Collection[int] = OVER) -> None:
        """`end_states`: the states in which it is over."""
        self._client = client
        self._request = pb.GetTournamentRequest(name=name)
        self._answered_at = time.monotonic()
        self._end_states = end_states
        self.name = name
        self.tournament = pb.Tournament()
        """The last state that the server reported; empty before the first one."""

    def poll(self) -> pb.Tournament | None:
        """Return the tournament if it is over, else None. Raises CallFailed."""
        try:
            self.tournament = self._client.call(self._client.tournaments.GetTournament, self._request).tournament
        except CallFailed as failure:
            if failure.code not in _RESTARTING or time.monotonic() - self._answered_at > _RESTART_SECONDS:
                raise
            return None
        self._answered_at = time.monotonic()
        return self.tournament if self.tournament.state in self._end_states else None


def wait_for_end(client: Client, name: str, end_states: Collection[int] = OVER) -> pb.Tournament:
    """Return a tournament when it is in one of these states; until then, report its games and its test.

    A terminal shows a progress bar. Any other standard error gets a line a minute.
    """
    end = TournamentEnd(client, name, end_states)
    reported_at = time.monotonic()
    with counting("Games") as draw:
        while (tournament := end.poll()) is None:
            draw(end.tournament.games_done, end.tournament.games_total or None, _test_so_far(end.tournament))
            if not printing.stderr().is_terminal and time.monotonic() - reported_at >= _REPORT_SECONDS:
                reported_at = time.monotonic()
                printing.note(progress_line(end.tournament))
            time.sleep(_WAIT_SECONDS)
    return tournament


def progress_line(tournament: pb.Tournament) -> str:
    """Return a line about the progress of a tournament."""
    parts = [
        f"{tournament.games_done:,} of {printing.count(tournament.games_total, 'game')} played",
        _test_so_far(tournament),
    ]
    return f"{short(tournament.name)}: {', '.join(filter(None, parts))}"


def _test_so_far(tournament: pb.Tournament) -> str:
    sprt = tournament.match.sprt
    return f"LLR {sprt.llr:.2f} ({sprt.lower:.2f} to {sprt.upper:.2f})" if sprt.decision else ""


def verdict(tournament: pb.Tournament) -> int:
    """Return the exit code of a tournament that is over: 0, 1 if its test accepted H0, 3 if it was not decided."""
    if tournament.state != pb.TOURNAMENT_STATE_FINISHED:
        return _STOPPED
    decisions = {candidate.sprt.decision for candidate in tournament.candidates} or {tournament.match.sprt.decision}
    if decisions == {"H0"}:
        return _REJECTED
    return _STOPPED if "continue" in decisions and "H1" not in decisions else 0
