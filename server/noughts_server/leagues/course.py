"""A course: what a teacher chose for the league of a class."""

from dataclasses import dataclass
from datetime import datetime

from noughts_proto.transport import DEFAULT_SERVER
from noughts_referee.clock import parse_time_control
from noughts_server.competition.tournament_settings import TournamentSettings


class LeagueProblem(Exception):
    """Something to tell the teacher: what is wrong, and what to do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Course:
    name: str
    variant: str
    games_per_pair: int
    time: str
    nightly: str
    """HH:MM, by the clock of this machine."""
    closes: str
    """When tokens expire, in ISO 8601; empty: never."""
    accept: str
    address: str
    """Where students find the website."""
    server: str = DEFAULT_SERVER
    """Where their commands reach the server."""

    @property
    def end(self) -> datetime | None:
        """When tokens expire; None: never."""
        return datetime.fromisoformat(self.closes) if self.closes else None

    def night(self, now: datetime) -> TournamentSettings:
        """Return what is played in the night that begins now."""
        return TournamentSettings(
            title=f"{self.name}, {now:%Y-%m-%d}", variant=self.variant, games_per_pair=self.games_per_pair,
            time=parse_time_control(self.time),
        )  # fmt: skip
