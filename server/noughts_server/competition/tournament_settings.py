"""The settings that an organiser chooses for a tournament."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from noughts_referee.clock import TimeControl
from noughts_server.competition.formats import ROUND_ROBIN, TournamentFormat
from noughts_server.openings.settings import Openings


@dataclass(frozen=True, slots=True)
class TournamentSettings:
    """The settings of tournaments on a server, challenges, and games on one machine."""

    variant: str = "tictactoe"
    """The canonical name. Not the variant itself, because a plugin's variant can be missing here."""
    time: TimeControl = field(default_factory=TimeControl)
    """The time control of entries without their own."""
    own_times: Mapping[str, TimeControl] = field(default_factory=dict)
    """Time controls of single entries, by label. Such a tournament cannot be rated."""
    schedule: TournamentFormat = ROUND_ROBIN
    games_per_pair: int = 2
    concurrency: int = 1024
    seed: int = 0
    """Unsigned 64 bits, from which all random numbers of the tournament follow."""
    rated: bool = True
    rounds: int = 0
    """Of a Swiss tournament; 0 means log2 of the entries, rounded up, so that one entry can lead."""
    draw_after: int = 0
    """A game is adjudicated a draw after this many plies; 0 means never."""
    live_scores: bool = False
    """Whether spectators see the scores that bots report in games with clocks during the game, not only afterwards."""
    forfeit_after: int = 0
    """An entry is withdrawn after this many games lost by its own fault; 0 means never."""
    stop_when_decided: bool = False
    """Whether an encounter of a knockout ends as soon as one side cannot be overtaken."""
    openings: Openings = field(default_factory=Openings)
    """The openings; both games of an encounter have the same one."""
    title: str = ""
    """The displayed name; can be empty."""

    def time_of(self, label: str) -> TimeControl:
        """Return the time control of the entry with this label."""
        return self.own_times.get(label, self.time)

    @property
    def journaled(self) -> bool:
        """Return whether some games are journaled; see `TimeControl.long`."""
        return any(time.long for time in (self.time, *self.own_times.values()))

    @property
    def rating_list(self) -> str:
        """Return the list of its games if they are rated, e.g. `tictactoe/untimed`."""
        return f"{self.variant}/{self.time.time_class}"
