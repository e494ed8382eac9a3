"""What an organiser chooses for a tournament, wherever it is played."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from noughts_referee.clock import TimeControl
from noughts_server.competition.formats import ROUND_ROBIN, TournamentFormat
from noughts_server.openings.settings import Openings


@dataclass(frozen=True, slots=True)
class TournamentSettings:
    """What is played, and how. The same for tournaments at a server, challenges, and games on this machine."""

    variant: str = "tictactoe"
    """Its name in its one spelling. A name, because a plugin's variant may not be installed where this is read."""
    time: TimeControl = field(default_factory=TimeControl)
    """Of every entry that has none of its own."""
    own_times: Mapping[str, TimeControl] = field(default_factory=dict)
    """The times of entries that have their own, by label. Such a tournament cannot be rated."""
    schedule: TournamentFormat = ROUND_ROBIN
    games_per_pair: int = 2
    concurrency: int = 1024
    """Games in flight at most."""
    seed: int = 0
    """Unsigned 64 bits: all chance of the tournament comes from it."""
    rated: bool = True
    rounds: int = 0
    """Of a Swiss tournament; 0: as many as it takes for one to be ahead of all, log2 of the entries, rounded up."""
    draw_after: int = 0
    """A game that has so many plies is a draw, adjudicated; 0: none is."""
    live_scores: bool = False
    """Whether the scores that bots give in games with clocks are told at once, and not after the game."""
    forfeit_after: int = 0
    """An entry that has lost so many games by its own fault is withdrawn; 0: none is."""
    stop_when_decided: bool = False
    """Whether an encounter of a knockout ends as soon as one cannot be caught up with."""
    openings: Openings = field(default_factory=Openings)
    """What games begin with; both games of an encounter with the same."""
    title: str = ""
    """For people; may be empty."""

    def time_of(self, label: str) -> TimeControl:
        """The time of the entry with this label."""
        return self.own_times.get(label, self.time)

    @property
    def journaled(self) -> bool:
        """Whether there may be games that are kept move by move; see `TimeControl.long`."""
        return any(time.long for time in (self.time, *self.own_times.values()))

    @property
    def rating_list(self) -> str:
        """The list that its games count for if they are rated, e.g. `tictactoe/untimed`."""
        return f"{self.variant}/{self.time.time_class}"
