"""What an organiser chooses for a tournament, wherever it is played."""

from dataclasses import dataclass, field

from noughts_referee.clock import TimeControl
from noughts_server.competition.schedule import ScheduleKind


@dataclass(frozen=True, slots=True)
class TournamentSettings:
    """What is played, and how. The same for tournaments at a server, challenges, and games on this machine."""

    variant: str = "tictactoe"
    """Its name in its one spelling. A name, because a plugin's variant may not be installed where this is read."""
    time: TimeControl = field(default_factory=TimeControl)
    schedule: ScheduleKind = ScheduleKind.ROUND_ROBIN
    games_per_pair: int = 2
    concurrency: int = 1024
    """Games in flight at most."""
    seed: int = 0
    """Unsigned 64 bits: all chance of the tournament comes from it."""
    rated: bool = True
    title: str = ""
    """For people; may be empty."""

    @property
    def rating_list(self) -> str:
        """The list that its games count for if they are rated, e.g. `tictactoe/untimed`."""
        return f"{self.variant}/{self.time.time_class}"
