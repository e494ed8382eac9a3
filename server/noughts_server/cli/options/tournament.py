"""Options of a tournament on this machine or on a server, and the settings that they make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

from noughts_referee.clock import TimeControl
from noughts_referee.rules import EXACT
from noughts_server.cli.options.formats import (
    AdjudicateOption,
    DrawAfterOption,
    DrawOption,
    ForfeitAfterOption,
    FuelOption,
    ResignOption,
    RoundsOption,
    ScheduleOption,
    read_rule,
    read_schedule,
    read_sprt,
    usage_problems,
)
from noughts_server.cli.options.game import (
    USUAL_VARIANT,
    ConcurrencyOption,
    OpeningRuleOption,
    PairVariantOption,
    SeedOption,
    read_variant,
)
from noughts_server.cli.options.openings import OpeningsOption, read_openings
from noughts_server.cli.options.statistics import SprtOption
from noughts_server.cli.options.time import TimeOption, read_time
from noughts_server.competition.tournament_settings import GAMES_OF_A_TEST, TournamentSettings

LARGEST_GAMES = 1_000_000
PerPairOption = Annotated[
    int, Option("--games", metavar="N", min=1, max=LARGEST_GAMES, help="Games per pair", rich_help_panel="Game")
]
_USUAL = TournamentSettings()


@dataclass(frozen=True)
class BasicGameOptions:
    """Options for the games that do not name single bots: they apply on this machine and on a server."""

    variant: PairVariantOption = None
    """None: the usual variant."""
    opening_rule: OpeningRuleOption = None
    openings: OpeningsOption = "none"
    openings_order: Annotated[
        str,
        Option(
            "--openings-order",
            metavar="ORDER",
            help="Opening order of a file or book: `sequential` or `random`",
            rich_help_panel="Openings",
        ),
    ] = "sequential"
    symmetries: Annotated[
        bool,
        Option(
            "--symmetries",
            help="Rotate or mirror each opening at random, the same way in both games of a pair",
            rich_help_panel="Openings",
        ),
    ] = False
    games: PerPairOption = _USUAL.games_per_pair
    concurrency: ConcurrencyOption = 1
    seed: SeedOption = None
    time: TimeOption = "none"
    scale_time: Annotated[
        bool,
        Option(
            "--scale-time",
            help="Multiply times by the factor of the playing machine, so that machines are equal",
            rich_help_panel="Time control",
        ),
    ] = False
    draw_after: DrawAfterOption = None
    resign: ResignOption = None
    draw: DrawOption = None
    adjudicate: AdjudicateOption = None
    fuel: FuelOption = None
    forfeit_after: ForfeitAfterOption = None

    def settings(self, own_times: Mapping[str, TimeControl], **other_settings: Any) -> TournamentSettings:
        """Return the settings of a tournament; `other_settings` add to those of the options. Raises UsageProblem."""
        variant = read_variant(self.variant or USUAL_VARIANT, self.opening_rule)
        settings = TournamentSettings(
            variant=variant.name,
            time=read_time(self.time),
            own_times=own_times,
            scale_time=self.scale_time,
            draw_after=self.draw_after or 0,
            resign=read_rule("--resign", self.resign),
            draw=read_rule("--draw", self.draw),
            adjudicate=read_rule("--adjudicate", self.adjudicate, EXACT),
            fuel=self.fuel or 0,
            forfeit_after=self.forfeit_after or 0,
            concurrency=self.concurrency,
            openings=read_openings(self.openings, self.openings_order, self.symmetries, variant),
            **{"rated": not own_times, "games_per_pair": self.games, **self._format_settings(), **other_settings},
        )
        with usage_problems():
            settings.check_fuel()
            settings.check_scaling()
            settings.check_adjudication()
        return settings

    def _format_settings(self) -> dict[str, Any]:
        """Return the settings of the format, by name; subclasses with formats override this."""
        return {}


@dataclass(frozen=True)
class GameOptions(BasicGameOptions):
    """Options for the games of bots with labels."""

    time_of: Annotated[
        list[str] | None,
        Option(
            "--time-of",
            metavar="LABEL=T",
            help="Time control of one bot, e.g. `Slow=5/move` (repeatable)",
            rich_help_panel="Time control",
        ),
    ] = None


@dataclass(frozen=True)
class FormatOptions(GameOptions):
    """Options for the games of commands with tournament formats."""

    schedule: ScheduleOption = str(_USUAL.schedule)
    rounds: RoundsOption = None
    stop_when_decided: Annotated[
        bool,
        Option(
            "--stop-when-decided",
            help="End a `knockout` match as soon as its winner is certain",
            rich_help_panel="Game",
        ),
    ] = False

    sprt: SprtOption = None

    def _format_settings(self) -> dict[str, Any]:
        settings = {"rounds": self.rounds or 0, "stop_when_decided": self.stop_when_decided, "sprt": self.sprt or ""}
        if self.sprt is not None:
            read_sprt(self.sprt)
            if self.games == _USUAL.games_per_pair:
                settings["games_per_pair"] = GAMES_OF_A_TEST
        schedule = read_schedule(self.schedule, **{"games_per_pair": self.games, **settings})
        return {"schedule": schedule, **settings}
