"""The command `noughts tune`."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.drawing.tuning_curves import check_picture, print_curves, write_curves
from noughts_server.cli.errors import INTERRUPTED, UsageProblem
from noughts_server.cli.local_games.options import LocalGameOptions
from noughts_server.cli.local_games.planning import plan_games
from noughts_server.cli.options.game import read_seed
from noughts_server.cli.options.logs import LogLevel, configure_logs
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.processes.signals import run_loop, two_stages
from noughts_server.cli.tuning_files import CourseFile, conditions_of, read_parameters, recorded_seed
from noughts_server.local.plan import LocalFault, LocalPlan, LocalStop
from noughts_server.local.tuning import BotTemplate, first_specs, value_text
from noughts_server.local.tuning import tune as tune_bot
from noughts_server.statistics.spsa import Course, PlayedIteration, TunedParameter, Tuning, tuned_parameters

_MOST_GAMES = 10_000
_MOST_OUTPUT_LINES = 20
"""The number of lines of a bot's stderr that are printed."""
_REPORTS = 10
"""The number of lines about the progress of a run without a terminal."""


@dataclass(frozen=True)
class TuneOptions(LocalGameOptions):
    """Options of local games, with a help of --games for an iteration."""

    games: Annotated[
        int,
        Option(
            "--games",
            metavar="N",
            min=2,
            max=_MOST_GAMES,
            help="Games per iteration, in pairs with the sides swapped",
            rich_help_panel="Game",
        ),
    ] = 16


@command(
    example="""
$ noughts tune parameters.toml --iterations 4 --games 4 --seed 1
...
parameter  start  last value  optimum  95 % interval  tuned
...
depth          2 ...
...
Tuned: nextstep:depth=2
...
""",
    extra="server",
)
def tune(
    file: Annotated[
        Path, Argument(metavar="FILE", help="TOML file with the bot and the start, range and step of each parameter")
    ],
    iterations: Annotated[
        int, Option("--iterations", metavar="N", min=1, max=1_000_000, help="Number of iterations")
    ] = 500,
    course_file: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File for the results of the iterations. Default: FILE with .course.jsonl",
            rich_help_panel="Output",
        ),
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="Continue the tuning in the output file", rich_help_panel="Output")
    ] = False,
    svg: Annotated[
        Path | None,
        Option("--svg", metavar="FILE", help="Picture of the value of each parameter", rich_help_panel="Output"),
    ] = None,
    *,
    tune_options: TuneOptions,
    output: OutputOptions,
) -> None:
    """Tune numbers of a bot by games against itself (SPSA), and estimate the best values.

    FILE is a TOML file: `bot = "SPEC"` with `$NAME` for each parameter, and for each a table `[parameters.NAME]` with
    `start`, `range` and `step`. docs/how-to/tuning.md has an example.

    In each iteration, two bots whose values differ by about `step` in random directions play each other, and all
    parameters move towards the better values. If start and range are whole numbers, the bot gets only whole numbers.
    The optimum is estimated from all games. Its interval is missing if the games do not show where the bot is
    strongest: play more iterations, or start farther from the suspected optimum.

    The same seed gives the same values, whatever the concurrency. After an interruption, --resume continues. Check the
    result with `noughts match NEW OLD --sprt elo0=0,elo1=5`.
    """
    if tune_options.games % 2:
        raise UsageProblem(f"--games {tune_options.games}: expected an even number, because games are played in pairs")
    if svg is not None:
        check_picture(svg)
    bot, parameters = read_parameters(file)
    course_file = course_file or file.with_name(f"{file.stem}.course.jsonl")
    seed = tune_options.seed
    if resume and seed is None:
        seed = recorded_seed(course_file)
    tuning = Tuning(parameters=parameters, iterations=iterations, seed=read_seed(seed))
    plan = plan_games(first_specs(bot, tuning), replace(tune_options, seed=tuning.seed), f"Tuning of {bot.text}")
    course = Course(tuning)
    with closing(CourseFile(course_file, conditions_of(bot, tuning, _games_document(plan)))) as results:
        if resume:
            results.resume(course)
            printing.note(f"Resuming after {course.iteration - 1:,} of {printing.count(iterations, 'iteration')}.")
        else:
            results.begin()
        configure_logs(LogLevel.WARNING)
        stop = LocalStop()
        lost_games = run_loop(_play(plan, bot, course, results, stop))
    parameters_after = tuned_parameters(course)
    if svg is not None:
        write_curves(svg, course, parameters_after)
    document = {**_document(bot, course, parameters_after), "games_lost_by_fault": sum(lost_games.values())}
    output.show(document, lambda: _print(bot, course, parameters_after))
    for reason, games in lost_games.items():
        printing.warn(f"{printing.count(games, 'game')} lost by a fault count as losses: the bot {reason}.")
    if not course.finished:
        printing.note(f"The results so far are in {course_file}. To continue, run the same command with --resume.")
        raise SystemExit(INTERRUPTED)


async def _play(
    plan: LocalPlan, bot: BotTemplate, course: Course, results: CourseFile, stop: LocalStop
) -> Counter[str]:
    """Play the rest of the course. Return the number of games lost by each fault, by its reason."""
    total = course.tuning.iterations
    is_terminal = printing.stderr().is_terminal
    lost_games: Counter[str] = Counter()

    with counting("Iterations") as show, two_stages(stop.finish, stop.abort):

        def on_iteration(result: PlayedIteration) -> None:
            results.add(course, result)
            played = course.iteration - 1
            text = ", ".join(f"{name} {value:.4g}" for name, value in course.last_values.items())
            show(played, total, text)
            if not is_terminal and played % max(total // _REPORTS, 1) == 0:
                printing.note(f"{played:,} of {printing.count(total, 'iteration')}: {text}")

        def on_fault(spec: str, fault: LocalFault) -> None:
            if fault.reason not in lost_games:
                printing.warn(f"{spec}: it {fault.reason}.")
                printing.note(f"  Try it alone: noughts bot check '{spec}' --variant {plan.settings.variant}")
                for line in fault.stderr.splitlines()[-_MOST_OUTPUT_LINES:]:
                    printing.note(f"  | {line}")
            lost_games[fault.reason] += fault.games

        show(course.iteration - 1, total)
        await tune_bot(
            plan, bot, course, stop=stop, on_note=printing.note, on_iteration=on_iteration, on_fault=on_fault
        )
    return lost_games


def _games_document(plan: LocalPlan) -> dict[str, Any]:
    """Return the settings of the games on which their results depend."""
    settings = plan.settings
    return {
        "games": settings.games_per_pair,
        "variant": settings.variant,
        "time": str(settings.time),
        "openings": settings.openings.document(),
        "fuel": settings.fuel,
        "draw_after": settings.draw_after,
        "resign": settings.resign,
        "draw": settings.draw,
        "adjudicate": settings.adjudicate,
        "forfeit_after": settings.forfeit_after,
    }


def _tuned_text(bot: BotTemplate, rows: Sequence[TunedParameter]) -> str:
    """Return the spec of the tuned bot."""
    return bot.text_with({row.parameter.name: row.tuned for row in rows})


def _document(bot: BotTemplate, course: Course, rows: Sequence[TunedParameter]) -> dict[str, Any]:
    tuning = course.tuning
    parameters = [
        {
            "name": row.parameter.name,
            "start": row.parameter.start,
            "last": row.last,
            "optimum": None if row.optimum is None else row.optimum.value,
            "low95": None if row.optimum is None else row.optimum.low,
            "high95": None if row.optimum is None else row.optimum.high,
            "tuned": row.tuned,
        }
        for row in rows
    ]
    return {
        "bot": bot.text,
        "tuned": _tuned_text(bot, rows),
        "iterations": course.iteration - 1,
        "iterations_total": tuning.iterations,
        **printing.seed_document(tuning.seed),
        "parameters": parameters,
    }


def _print(bot: BotTemplate, course: Course, rows: Sequence[TunedParameter]) -> None:
    console = printing.stdout()
    tuning = course.tuning
    printing.heading(console, f"{bot.text}: {course.iteration - 1:,} iterations, seed {tuning.seed}")
    print_curves(course)
    cells = [
        (
            row.parameter.name,
            f"{row.parameter.start:.4g}",
            f"{row.last:.4g}",
            "" if row.optimum is None else f"{row.optimum.value:.4g}",
            "" if row.optimum is None else f"{row.optimum.low:.4g} to {row.optimum.high:.4g}",
            value_text(row.tuned),
        )
        for row in rows
    ]
    columns = ("parameter", ">start", ">last value", ">optimum", ">95 % interval", ">tuned")
    console.print(printing.table(columns, cells))
    if any(row.optimum is None for row in rows):
        console.print("A parameter without an optimum: the games do not show yet where the bot is strongest.")
    tuned = _tuned_text(bot, rows)
    start = bot.text_with({row.parameter.name: row.parameter.start for row in rows})
    console.print(
        f"Tuned: {tuned}\nCheck: noughts match '{tuned}' '{start}' --sprt elo0=0,elo1=5",
        soft_wrap=True,
    )
