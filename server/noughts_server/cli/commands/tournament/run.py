"""The command `noughts tournament run`."""

from dataclasses import dataclass
from typing import Annotated

from typer import Argument

from noughts_proto.v1.tournaments_pb2 import TOURNAMENT_STATE_CANCELLED
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.errors import INTERRUPTED, Problem, UsageProblem
from noughts_server.cli.local_games.options import LocalOptions
from noughts_server.cli.local_games.planning import make_plan, show_forecast
from noughts_server.cli.local_games.results import play_tournament
from noughts_server.cli.options.formats import usage_problems
from noughts_server.cli.options.game import TitleOption, read_specs, variant_option
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.options.statistics import FitOption
from noughts_server.cli.options.tournament import FormatOptions
from noughts_server.local.plan import LocalPlan


@dataclass(frozen=True)
class RunOptions(LocalOptions, FormatOptions):
    """The options of `tournament run`: those of local games, and those of tournament formats."""

    variant: Annotated[
        str | None,
        variant_option("Variant. Default: the first that all bots play, else tictactoe"),
    ] = None
    fit: FitOption = False


@command(
    example="""
$ noughts tournament run random three-stage minimax --games 10 --seed 1
...
# bot          1  2  3
1 minimax      ·  8  9
2 three-stage  2  · 7½
3 random       1 2½  ·
...
30 games: 19 won, 11 board full
""",
    extra="server",
)
def run(
    specs: Annotated[
        list[str],
        Argument(
            metavar="SPEC...",
            autocompletion=completion.specs,
            help="Bots, e.g. `random`, `Old=minimax`, 'exec:python bot.py'",
        ),
    ],
    *,
    options: RunOptions,
    title: TitleOption = "",
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Play a tournament on this machine, each bot in its own process: reference bots, programs, plugins.

    If some bots are registered on a server (`bot:NAME@VERSION`), the tournament is played there. This command then runs
    the others, and shows the same output as `tournament show`.
    """
    if len(specs) < 2:
        raise UsageProblem(
            f"SPEC: got one bot ({specs[0]}), expected at least two",
            "Add another bot; `noughts bot list --reference` shows the reference bots.",
        )
    if any(spec.kind == "bot" for spec in read_specs(specs)):
        options.refuse_at_server()
        labelled_specs = [f"{text[4:].partition('@')[0]}={text}" if text.startswith("bot:") else text for text in specs]
        _run_on_server(make_plan(labelled_specs, options, title, there=True), options, server, output)
        return
    plan = make_plan(specs, options, title)
    with usage_problems():
        plan.settings.schedule.check_entries(len(plan.specs), plan.settings)
    if caution := plan.settings.schedule.caution(len(plan.specs), plan.settings):
        printing.warn(f"--rounds: {caution}")
    if options.dry_run:
        show_forecast(output, plan)
        return
    play_tournament(output, plan, options, fit=options.fit)


def _run_on_server(plan: LocalPlan, options: RunOptions, server: ServerOptions, output: OutputOptions) -> None:
    from noughts_server.cli.server_games.tournament_run import play_on_server

    with server.connected(token_needed=True) as client:
        tournament = play_on_server(client, plan.specs, plan.settings)
        show_tournament(output, client, tournament, fit=options.fit)
    # A cancelled tournament without a reason was cancelled by the user's Ctrl-C.
    if tournament.state == TOURNAMENT_STATE_CANCELLED and not tournament.reason:
        printing.note(f"Stopped after {printing.count(tournament.games_done, 'game')}.")
        if not plan.settings.schedule.endless:
            raise SystemExit(INTERRUPTED)
    if tournament.reason:
        raise Problem(f"{tournament.name} was cancelled: {tournament.reason}")
