"""Play a tournament on this machine, and print its results."""

from typing import Any

from noughts_referee.machine_speed import machine_speed, time_factor
from noughts_server.cli import printing
from noughts_server.cli.drawing.match_summary import terminations_line
from noughts_server.cli.drawing.openings import OpeningsSummary
from noughts_server.cli.drawing.rating_table import ratings_document, show_fit
from noughts_server.cli.drawing.standings import TournamentTables
from noughts_server.cli.drawing.tables import show_table
from noughts_server.cli.local_games.faults import exit_if_disabled, faults_document, show_faults
from noughts_server.cli.local_games.options import LocalOptions
from noughts_server.cli.local_games.playing import exit_if_ended_early, play, stdout_for_games
from noughts_server.cli.options.output import OutputOptions
from noughts_server.local.plan import LocalOutcome, LocalPlan
from noughts_server.tables.crosstable import scores_of


def play_tournament(
    output: OutputOptions, plan: LocalPlan, options: LocalOptions, *, fit: bool = False, hint: str = ""
) -> None:
    """Play the plan and print its results; `hint` is a last line of text.

    Raises SystemExit if the run was interrupted or a bot could not be started.
    """
    outcome = play(plan, output=options.games_file, times=options.times, every=options.every)
    bracket = plan.settings.schedule.places_by_bracket
    tables = TournamentTables(outcome.standings, scores_of(outcome.pairs), outcome.matches, bracket=bracket)
    fitted = tables.fit() if fit else None
    with stdout_for_games(options.games_file):
        if output.is_json:
            ratings = {"fit": ratings_document(fitted)} if fitted is not None else {}
            document = {
                "games": outcome.games,
                **tables.document(),
                "variant": plan.settings.variant,
                **printing.seed_document(plan.settings.seed),
                "terminations": outcome.terminations,
                **conditions_document(plan, outcome),
            }
            printing.print_json({**document, **ratings, **faults_document(plan, outcome)})
        else:
            _print_tournament(plan, outcome, tables, hint)
            if fitted is not None:
                show_fit(fitted)
            show_faults(plan, outcome)
    exit_if_ended_early(outcome)
    exit_if_disabled(outcome)


def conditions_document(plan: LocalPlan, outcome: LocalOutcome) -> dict[str, Any]:
    """Return times of single bots, the factor of all times, openings and language models, each only if any."""
    own_times = {label: str(time) for label, time in plan.settings.own_times.items()}
    openings = OpeningsSummary.of_settings(plan.settings.openings).document()
    models = outcome.models.document() if outcome.models else []
    factor = time_factor(machine_speed()) if plan.settings.scale_time else None
    fields = {"own_times": own_times, "time_factor": factor, "openings": openings, "models": models}
    return {name: value for name, value in fields.items() if value}


def print_conditions(plan: LocalPlan, outcome: LocalOutcome) -> None:
    """Print openings, times of single bots, the factor of all times and the table of language models, if any."""
    own_times = [f"{label} {time}" for label, time in plan.settings.own_times.items()]
    if openings := OpeningsSummary.of_settings(plan.settings.openings).wording():
        printing.stdout().print(openings[0].upper() + openings[1:], soft_wrap=True)
    if own_times:
        printing.stdout().print(
            printing.printable(f"Time {plan.settings.time}; {', '.join(own_times)}"), soft_wrap=True
        )
    if plan.settings.scale_time:
        factor = time_factor(machine_speed())
        printing.stdout().print(f"Times multiplied by {factor:g}, the factor of this machine", soft_wrap=True)
    if outcome.models and outcome.models.rows:
        printing.stdout().print()
        show_table(printing.stdout(), outcome.models)


def _print_tournament(plan: LocalPlan, outcome: LocalOutcome, tables: TournamentTables, hint: str) -> None:
    console, settings = printing.stdout(), plan.settings
    title = settings.title or settings.schedule.title
    printing.heading(console, f"{title}: {settings.variant}, seed {settings.seed}")
    console.print()
    tables.print_crosstable(console)
    console.print()
    if outcome.matches:
        tables.print_pairings(console)
        console.print()
    printing.heading(console, "Leaderboard")
    tables.print_standings(console)
    console.print()
    console.print(terminations_line(outcome.games, outcome.terminations))
    print_conditions(plan, outcome)
    if hint:
        console.print(hint)
