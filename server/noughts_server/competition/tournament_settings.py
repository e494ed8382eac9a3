"""The settings that an organiser chooses for a tournament."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple, cast

from noughts_referee.clock import TimeControl
from noughts_referee.rules import EXACT, Adjudication, DrawRule, InvalidInput, ResignRule
from noughts_server.competition.formats import ROUND_ROBIN, TournamentFormat
from noughts_server.competition.formats.tournament_format import FormatError
from noughts_server.openings.settings import Openings

GAMES_OF_A_TEST = 100_000
"""The default limit of the games of a match with a test (SPRT)."""
MOST_CONCURRENT = 1_024
"""The default limit of concurrent games."""
LONGEST_TITLE = 200
"""Limit of the characters of a title."""


def _option(most: int = 1) -> dict[str, int]:
    """Return the metadata of a field that is one of `OPTIONS`; `most` as in `Option`.

    An option has the same name in the message, the database, JSON and the web form.
    """
    return {"most": most}


@dataclass(frozen=True, slots=True)
class TournamentSettings:
    """The settings of tournaments on a server, challenges, and games on one machine."""

    variant: str = "tictactoe"
    """The canonical name of the variant, because this process can lack the plugin of a variant."""
    time: TimeControl = field(default_factory=TimeControl)
    """The time control of entries without their own."""
    own_times: Mapping[str, TimeControl] = field(default_factory=dict)
    """Time controls of single entries, by label. Such a tournament cannot be rated."""
    schedule: TournamentFormat = ROUND_ROBIN
    games_per_pair: int = 2
    concurrency: int = MOST_CONCURRENT
    """The limit of concurrent games; 0: the server derives it from the measured pace of the bots (`is_paced`)."""
    seed: int = 0
    """The seed of all random numbers of the tournament, an unsigned number of 64 bits."""
    rated: bool = True
    rounds: int = field(default=0, metadata=_option(4_096))
    """The rounds of a Swiss or Danish tournament; 0 means log2 of the entries, rounded up."""
    draw_after: int = field(default=0, metadata=_option(100_000))
    """A game is adjudicated a draw after this many plies; 0 means never."""
    resign: str = field(default="", metadata=_option(100))
    """The rule by which a side loses by its scores, as `ResignRule.parse` reads it; empty means none."""
    draw: str = field(default="", metadata=_option(100))
    """The rule by which a game is a draw by the scores, as `DrawRule.parse` reads it; empty means none."""
    adjudicate: str = field(default="", metadata=_option(20))
    """`exact` if a game ends as soon as its value is proven; empty means never."""
    fuel: int = field(default=0, metadata=_option(10**15))
    """The fuel of each move of a WebAssembly bot; 0 means the default."""
    margin_ms: int = field(default=0, metadata=_option(60_000))
    """Milliseconds by which a move of any bot can exceed its limit; 0 means the server's time margin."""
    scale_time: bool = field(default=False, metadata=_option())
    """Whether each machine multiplies the times by its factor (`noughts_referee.machine_speed`)."""
    live_scores: bool = field(default=False, metadata=_option())
    """Whether spectators of games with clocks see the bots' scores during the game; otherwise only after its end."""
    keep_scores: bool = field(default=False, metadata=_option())
    """Whether the scores and comments that bots report are stored with the games; always with `resign` or `draw`."""
    live_analysis: bool = field(default=False, metadata=_option())
    """Whether games can be analysed before the tournament is over. Bots could use the analysis in later games."""
    forfeit_after: int = field(default=0, metadata=_option(100_000_000))
    """An entry is withdrawn after this many games lost through its own fault; 0 means never."""
    stop_when_decided: bool = field(default=False, metadata=_option())
    """Whether a pairing of a knockout ends as soon as one side cannot be overtaken."""
    sprt: str = field(default="", metadata=_option(200))
    """The test that ends a match, as `Sprt.parse` reads it; empty means none: all games are played."""
    priority: int = field(default=0, metadata=_option(1_000))
    """Among an owner's running tournaments with a throughput, those with the highest priority get the next games."""
    throughput: int = field(default=0, metadata=_option(1_000))
    """The weight, in percent, with which tournaments of equal priority share a referee; 0: it does not share."""
    across_owners: bool = False
    """Whether the priority also counts among the tournaments of all owners, because an admin chose it."""
    openings: Openings = field(default_factory=Openings)
    """The openings; both games of a pairing have the same one."""
    title: str = ""
    """The displayed name; can be empty."""

    def __post_init__(self) -> None:
        # The scores are needed to check why a game was adjudicated, and to resume a game.
        if self.resign or self.draw:
            object.__setattr__(self, "keep_scores", True)

    @property
    def is_paced(self) -> bool:
        """Return whether the pace of the bots decides how many games run at once."""
        return not self.concurrency

    @property
    def most_concurrent(self) -> int:
        """Return the largest number of concurrent games."""
        return self.concurrency or MOST_CONCURRENT

    def time_of(self, label: str) -> TimeControl:
        """Return the time control of the entry with this label."""
        return self.own_times.get(label, self.time)

    def check_fuel(self) -> None:
        """Raise FormatError for a clock in a tournament with fuel."""
        clock = next((time for time in (self.time, *self.own_times.values()) if time.timed), None)
        if self.fuel and clock is not None:
            raise FormatError("fuel", self.fuel, "0", f"the clock {clock} depends on the machine")

    def check_scaling(self) -> None:
        """Raise FormatError for scaled times in a tournament without a clock."""
        if self.scale_time and not any(time.timed for time in (self.time, *self.own_times.values())):
            raise FormatError("scale_time", "true", "false", "got no time limit, expected one that can be scaled")

    @property
    def adjudication(self) -> Adjudication:
        """Return the rules by which games end early. Raises InvalidInput."""
        return Adjudication(
            resign=ResignRule.parse(self.resign) if self.resign else None,
            draw=DrawRule.parse(self.draw) if self.draw else None,
            draw_after=self.draw_after,
            exact=self.adjudicate == EXACT,
        )

    def check_adjudication(self) -> None:
        """Raise FormatError for an invalid rule of adjudication."""
        rules: tuple[tuple[str, str, Callable[[str], object]], ...] = (
            ("resign", self.resign, ResignRule.parse),
            ("draw", self.draw, DrawRule.parse),
        )
        for setting, text, parse in rules:
            try:
                _ = text and parse(text)
            except InvalidInput as error:
                raise FormatError(setting, repr(text), error.expected, str(error), names_possible=True) from error
        if self.adjudicate not in ("", EXACT):
            got = repr(self.adjudicate)
            raise FormatError("adjudicate", got, EXACT, f"got {got}, expected {EXACT}", names_possible=True)

    @property
    def has_journal(self) -> bool:
        """Return whether the store keeps a journal of some games while they are live; see `TimeControl.long`."""
        return any(time.long for time in (self.time, *self.own_times.values()))

    @property
    def options(self) -> Mapping[str, int | str]:
        """Return the values of all `OPTIONS` by name."""
        return {
            "rounds": self.rounds,
            "draw_after": self.draw_after,
            "resign": self.resign,
            "draw": self.draw,
            "adjudicate": self.adjudicate,
            "fuel": self.fuel,
            "margin_ms": self.margin_ms,
            "scale_time": self.scale_time,
            "live_scores": self.live_scores,
            "keep_scores": self.keep_scores,
            "live_analysis": self.live_analysis,
            "forfeit_after": self.forfeit_after,
            "stop_when_decided": self.stop_when_decided,
            "sprt": self.sprt,
            "priority": self.priority,
            "throughput": self.throughput,
        }

    @property
    def rating_list(self) -> str:
        """Return the name of the rating list for the tournament's games, e.g. `tictactoe/untimed`."""
        return f"{self.variant}/{self.time.time_class}"


class Option(NamedTuple):
    """The properties of an option; see `_option`."""

    default: int | str
    """0, False or an empty text."""
    most: int
    """The largest value, or the length of the longest text."""


def usual_concurrency(schedule: TournamentFormat, throughput: int) -> int:
    """Return the default concurrency: 0 for comparisons of bots with a throughput, where the bots' pace decides."""
    return 0 if throughput and schedule.base is not None else MOST_CONCURRENT


OPTIONS: Mapping[str, Option] = {
    setting.name: Option(cast("int | str", setting.default), setting.metadata["most"])
    for setting in fields(TournamentSettings)
    if setting.metadata
}
