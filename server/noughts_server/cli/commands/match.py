"""The command `noughts match`."""

from dataclasses import dataclass
from typing import Annotated, Any

from typer import Argument, Option

from noughts_bots.reference.specs import unique_labels
from noughts_referee.rules import parse_variant
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.match_summary import MatchSummary
from noughts_server.cli.local_games.faults import exit_if_disabled, faults_document, show_faults
from noughts_server.cli.local_games.options import LocalOptions
from noughts_server.cli.local_games.planning import make_plan, show_forecast
from noughts_server.cli.local_games.playing import exit_if_ended_early, play, stdout_for_games
from noughts_server.cli.local_games.results import conditions_document, print_conditions
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.statistics import SprtOption
from noughts_server.cli.options.tournament import LARGEST_GAMES, FormatOptions
from noughts_server.competition.formats import MATCH
from noughts_server.competition.tournament_settings import LONGEST_TITLE
from noughts_server.openings.sufficiency import more_openings

FirstArgument = Annotated[
    str, Argument(metavar="A", autocompletion=completion.specs, help="Bot, e.g. `random` or `nextstep:depth=3`")
]

SecondArgument = Annotated[str, Argument(metavar="B", autocompletion=completion.specs, help="Opponent of A")]


@dataclass(frozen=True)
class MatchOptions(LocalOptions):
    """Options of local games, with a help of --games for a single pair, and with --sprt."""

    games: Annotated[
        int,
        Option(
            "--games",
            metavar="N",
            min=1,
            max=LARGEST_GAMES,
            help="Games per pair (A and B); A moves first in game 1",
            rich_help_panel="Game",
        ),
    ] = 2
    sprt: SprtOption = None

    def _format_settings(self) -> dict[str, Any]:
        if self.sprt is None:
            return {}
        return FormatOptions(games=self.games, schedule=str(MATCH), sprt=self.sprt)._format_settings()


@command(
    example="""
$ noughts match pascal:level=1 nextstep:depth=3 --games 100 --seed 1
...
pascal:level=1        70    41     58       1
...
nextstep:depth=3      30     1     58      41
...
Elo difference: +147 ± 30 (95 %) ...
""",
    extra="server",
)
def match(a: FirstArgument, b: SecondArgument, *, local_options: MatchOptions, output: OutputOptions) -> None:
    """Play A against B and estimate the difference in Elo.

    Games 1 and 2 are a pair with the sides swapped, and so on. Confidence intervals count pairs, not games. If the
    two bots play an identical game again, it counts only once.

    `--sprt elo0=0,elo1=5` also accepts alpha=0.05, beta=0.05, model=logistic or normalized; `--games` is then the
    limit, 100,000 by default. Exit code 1 if a bot could not be started, 2 if its spec is wrong.
    """
    plan = make_plan([a, b], local_options, f"{a} - {b}"[:LONGEST_TITLE])
    if local_options.dry_run:
        show_forecast(output, plan)
        return
    outcome = play(plan, output=local_options.games_file, times=local_options.times, every=local_options.every)
    settings, (first, second) = plan.settings, unique_labels(plan.specs)
    result = MatchSummary(
        variant=settings.variant,
        seed=settings.seed,
        first=first,
        second=second,
        pairs=outcome.pairs,
        terminations=outcome.terminations,
        statistics=outcome.match,
        sprt=settings.sprt,
    )
    with stdout_for_games(local_options.games_file):
        result.show(output, {**conditions_document(plan, outcome), **faults_document(plan, outcome)})
        if not output.is_json:
            print_conditions(plan, outcome)
            show_faults(plan, outcome)
    if outcome.exhausted:
        fix = more_openings(settings.openings, parse_variant(settings.variant), settings.games_per_pair)
        printing.warn(
            f"stopped after {printing.count(outcome.games, 'game')}: every new pair repeats an earlier one, so the test"
            f" cannot be decided. Fix: {fix.removesuffix(' in a new test')}"
        )
    exit_if_ended_early(outcome)
    exit_if_disabled(outcome)
