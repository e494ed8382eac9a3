"""`match`, `demo` and `tournament run`: everything on this machine, ended by itself."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from noughts_server.cli import options, output
from noughts_server.cli.commands import command
from noughts_server.cli.drawing.crosstable import CROSSTABLE_HEADING, Crosstable
from noughts_server.cli.drawing.standings import standings_document, standings_table
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.local.children import check_startable, faults_document, show_faults
from noughts_server.cli.local.match_summary import MatchSummary, terminations_line
from noughts_server.cli.output import Format

if TYPE_CHECKING:
    from pathlib import Path

    from noughts_bots.specs import BotSpec
    from noughts_referee.rules import Variant
    from noughts_server.competition.schedule import ScheduleKind
    from noughts_server.local.launcher import Locking
    from noughts_server.local.run import LocalOutcome, LocalPlan

_DEMO_SPECS = (
    "random",
    "pascal:level=0",
    "pascal:level=1",
    *(f"nextstep:depth={depth}" for depth in range(1, 10)),
    "minimax",
    "three-stage",
)
_DEMO_GAMES_IN_FLIGHT = 256
_LARGEST_GAMES = 1_000_000
_LONGEST_TITLE = 200

SpecArgument = Annotated[
    list[str], typer.Argument(metavar="SPEC...", help="Bots, e.g. `random`, `Old=minimax`, 'exec:python bot.py'.")
]
FirstArgument = Annotated[str, typer.Argument(metavar="A", help="A bot, e.g. `random` or `nextstep:depth=3`.")]
SecondArgument = Annotated[str, typer.Argument(metavar="B", help="Its opponent.")]
PerPairOption = Annotated[
    int, typer.Option("--games", min=1, max=_LARGEST_GAMES, metavar="N", help="Games of each pair.")
]
MatchGamesOption = Annotated[
    int,
    typer.Option(
        "--games", min=1, max=_LARGEST_GAMES, metavar="N", help="Games in all; sides alternate, A begins the first."
    ),
]
ScheduleOption = Annotated[
    str, typer.Option("--schedule", metavar="KIND", help="`round-robin`: everyone against everyone.")
]


def register_local(app: typer.Typer, tournament: typer.Typer) -> None:
    """Adds the commands to `noughts` and to `noughts tournament`."""
    panel = "On this machine"
    command(app, "demo", "noughts demo", panel=panel)(demo)
    command(
        app, "match", "noughts match pascal:level=1 nextstep:depth=3 --games 100 --concurrency 16 --seed 1", panel=panel
    )(match)
    command(
        tournament,
        "run",
        "noughts tournament run random three-stage minimax --games 10 --seed 1",
        "noughts tournament run random nextstep:depth=3 --variant mnk:5,5,4 -o games.jsonl",
        panel=panel,
    )(run)


def demo(
    games: PerPairOption = 2,
    seed: options.SeedOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Plays a round robin of fourteen reference bots, each a process of its own, and shows who is best.

    JSON: {"games", "standings", "crosstable", "variant", "seed", "terminations"}, as `tournament run`.
    """
    plan = _plan(list(_DEMO_SPECS), games=games, seed=seed, concurrency=_DEMO_GAMES_IN_FLIGHT, title="Demo")
    if output_format is Format.TEXT:
        output.note(f"{len(plan.specs)} bots, each a process of its own, {games} games a pair on a local server.")
    _run_tournament(plan, output_format, hint=_DEMO_HINT)


_DEMO_HINT = "Try next: noughts match pascal:level=1 nextstep:depth=3 --games 200"


def match(
    a: FirstArgument,
    b: SecondArgument,
    variant: options.VariantOption = "tictactoe",
    games: MatchGamesOption = 2,
    concurrency: options.ConcurrencyOption = 1,
    seed: options.SeedOption = None,
    time: options.TimeOption = "none",
    margin: options.MarginOption = "50ms",
    start_timeout: options.StartTimeoutOption = 5.0,
    require_lock: options.RequireLockOption = False,
    no_lock: options.NoLockOption = False,
    database: options.DatabaseOption = None,
    games_file: options.GamesFileOption = None,
    times: options.TimesOption = False,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Plays A against B and estimates the difference in Elo.

    JSON: {"games", "variant", "seed", "a": {"wins", "draws", "losses"}, "b", "a_first", "a_second", "terminations",
    "elo": {"value", "error95", "los"}}; a_first and a_second are A's games in which it moved first, and second.
    With a program or plugin also "faults": [{"bot", "reason", "times", "games", "benched", "stderr"}].
    """
    _check_times(games_file, times)
    from noughts_bots.specs import unique_labels
    from noughts_server.cli.local.run import leave_if_interrupted, play

    plan = _plan(
        [a, b],
        variant=variant,
        games=games,
        concurrency=concurrency,
        seed=seed,
        time=time,
        margin=margin,
        start_timeout=start_timeout,
        locking=options.read_locking(require_lock=require_lock, no_lock=no_lock),
        database=database,
        title=f"{a} - {b}"[:_LONGEST_TITLE],
    )
    outcome = play(plan, output=games_file, times=times)
    first, second = unique_labels(plan.specs)
    result = MatchSummary(plan.settings.variant, plan.settings.seed, first, second, outcome.pairs, outcome.terminations)
    result.show(output_format, faults_document(plan, outcome))
    if output_format is Format.TEXT:
        show_faults(outcome)
    leave_if_interrupted(outcome)


def run(
    specs: SpecArgument,
    schedule: ScheduleOption = "round-robin",
    variant: options.VariantOption = "tictactoe",
    games: PerPairOption = 2,
    concurrency: options.ConcurrencyOption = 1,
    seed: options.SeedOption = None,
    time: options.TimeOption = "none",
    margin: options.MarginOption = "50ms",
    start_timeout: options.StartTimeoutOption = 5.0,
    require_lock: options.RequireLockOption = False,
    no_lock: options.NoLockOption = False,
    database: options.DatabaseOption = None,
    games_file: options.GamesFileOption = None,
    times: options.TimesOption = False,
    title: Annotated[str, typer.Option("--title", help="For people.")] = "",
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Plays a tournament on this machine, each bot a process of its own: reference bots, programs, plugins.

    JSON: {"games", "standings": [{"name", "wins", "draws", "losses", "points", "rating"}], "crosstable": {"labels",
    "cells"}, "variant", "seed", "terminations"}. cells.A.B is A's score against B: {"wins", "draws", "losses",
    "first": {...}, "second": {...}}, the last two for the games that A and that B began. With a program or plugin
    also "faults": [{"bot", "reason", "times", "games", "benched", "stderr"}].
    """
    read_schedule = options.read_schedule(schedule)
    if len(specs) < 2:
        raise UsageProblem(
            f"SPEC: got one bot ({specs[0]}), expected at least two",
            "`noughts bot list` shows the reference bots.",
        )
    _check_times(games_file, times)
    plan = _plan(
        specs,
        schedule=read_schedule,
        variant=variant,
        games=games,
        concurrency=concurrency,
        seed=seed,
        time=time,
        margin=margin,
        start_timeout=start_timeout,
        locking=options.read_locking(require_lock=require_lock, no_lock=no_lock),
        database=database,
        title=title,
    )
    _run_tournament(plan, output_format, games_file, times=times)


def _check_times(games_file: object, times: bool) -> None:
    if times and games_file is None:
        raise UsageProblem("--times: got no file to write them to, expected -o FILE as well")


def _plan(
    specs: list[str],
    *,
    games: int,
    concurrency: int,
    seed: int | None,
    schedule: "ScheduleKind | None" = None,
    variant: str = "tictactoe",
    time: str = "none",
    margin: str = "50ms",
    start_timeout: float = 5.0,
    locking: "Locking | None" = None,
    database: str | None = None,
    title: str = "",
) -> "LocalPlan":
    # Read before the server's parts are loaded: a slip of the pen is answered at once.
    read_specs, read_variant = options.read_specs(specs), options.read_variant(variant)
    read_time, read_margin = options.read_time(time), options.read_margin(margin)
    _check_playable(read_specs, read_variant)
    from noughts_referee.children.running_child import ChildSettings
    from noughts_server.competition.schedule import ScheduleKind
    from noughts_server.competition.settings import TournamentSettings
    from noughts_server.local.launcher import Locking
    from noughts_server.local.run import LocalPlan

    return LocalPlan(
        specs=read_specs,
        settings=TournamentSettings(
            variant=read_variant.name,
            time=read_time,
            schedule=schedule or ScheduleKind.ROUND_ROBIN,
            games_per_pair=games,
            concurrency=concurrency,
            seed=options.read_seed(seed),
            title=title,
        ),
        margin_us=read_margin,
        database=options.read_database(database),
        children=ChildSettings(start=start_timeout),
        locking=locking or Locking.USUAL,
    )


def _check_playable(specs: "tuple[BotSpec, ...]", variant: "Variant") -> None:
    """Raises BotError for a bot that cannot be had for the variant: before the games, not in each of them."""
    from contextlib import ExitStack

    from noughts_bots.specs import make_bot

    with ExitStack() as stack:
        for spec in specs:
            if check_startable(spec):
                continue
            bot = make_bot(spec, variant)
            # All hold at once what they need alone, and give it back to their processes: two cannot learn in one file.
            bot.prepare()
            stack.callback(bot.close)


def _run_tournament(
    plan: "LocalPlan",
    output_format: Format,
    games_file: "Path | None" = None,
    *,
    times: bool = False,
    hint: str = "",
) -> None:
    from noughts_server.cli.local.run import leave_if_interrupted, play

    outcome = play(plan, output=games_file, times=times)
    if output_format is Format.JSON:
        output.print_json({**_tournament_document(plan, outcome), **faults_document(plan, outcome)})
    else:
        _print_tournament(plan, outcome, hint)
        show_faults(outcome)
    leave_if_interrupted(outcome)


def _crosstable(outcome: "LocalOutcome") -> Crosstable:
    return Crosstable((row.label for row in outcome.standings), outcome.pairs)


def _tournament_document(plan: "LocalPlan", outcome: "LocalOutcome") -> dict[str, Any]:
    return {
        "games": outcome.games,
        "standings": standings_document(outcome.standings),
        "crosstable": _crosstable(outcome).document(),
        "variant": plan.settings.variant,
        "seed": plan.settings.seed,
        "terminations": outcome.terminations,
    }


def _print_tournament(plan: "LocalPlan", outcome: "LocalOutcome", hint: str) -> None:
    console = output.stdout()
    output.heading(
        console, f"{plan.settings.title or 'Round robin'}: {plan.settings.variant}, seed {plan.settings.seed}"
    )
    console.print()
    output.heading(console, CROSSTABLE_HEADING)
    console.print(_crosstable(outcome).table(console))
    console.print()
    output.heading(console, "Leaderboard")
    console.print(standings_table(outcome.standings))
    console.print()
    console.print(terminations_line(outcome.games, outcome.terminations))
    if hint:
        console.print(hint)
