"""The command `noughts tune`."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from noughts_proto.v1 import tunings_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.drawing.tuning_curves import check_picture, write_curves
from noughts_server.cli.drawing.tuning_summary import print_tuning, tuning_document
from noughts_server.cli.errors import INTERRUPTED, UsageProblem
from noughts_server.cli.local_games.options import LocalGameOptions
from noughts_server.cli.local_games.planning import plan_games
from noughts_server.cli.options.game import read_seed
from noughts_server.cli.options.logs import LogLevel, configure_logs
from noughts_server.cli.options.names import read_tuning
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.processes.signals import run_loop, two_stages
from noughts_server.cli.server_games.tuning_work import ServedParts, create_or_join, read_course, tuning_of
from noughts_server.cli.tuning_files import CourseFile, conditions_of, read_parameters, recorded_seed
from noughts_server.core.spec_template import SpecTemplate
from noughts_server.local.plan import LocalFault, LocalPlan, LocalStop
from noughts_server.local.tuning import Parts, WholeIterations, first_specs, play_parts
from noughts_server.statistics.optima import tuned_parameters
from noughts_server.statistics.spsa import Course, PlayedIteration, Tuning

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
    name: Annotated[
        str,
        Option(
            "--name",
            metavar="NAME",
            help="Tune at a server under this name, together with other machines",
            rich_help_panel="Connection",
        ),
    ] = "",
    *,
    tune_options: TuneOptions,
    server: ServerOptions,
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

    With --name, a server hands out the games: the same command on several machines shares the work, and the values are
    those of a tuning on one machine. The server never runs the bot; each machine uses its own FILE. A machine can join
    and leave at any time, and the same command continues after an interruption.
    """
    if tune_options.games % 2:
        raise UsageProblem(f"--games {tune_options.games}: expected an even number, because games are played in pairs")
    if svg is not None:
        check_picture(svg)
    bot, parameters = read_parameters(file)
    if name:
        _refuse_at_server(tune_options, course_file, resume=resume)
        tuning = Tuning(parameters=parameters, iterations=iterations, seed=read_seed(tune_options.seed))
        run = _tune_at_server(read_tuning(name), bot, tuning, tune_options, server)
    else:
        if server.server is not None:
            raise UsageProblem("--server: got no name of a tuning at this server, expected --name NAME as well")
        course_file = course_file or file.with_name(f"{file.stem}.course.jsonl")
        seed = tune_options.seed
        if resume and seed is None:
            seed = recorded_seed(course_file)
        tuning = Tuning(parameters=parameters, iterations=iterations, seed=read_seed(seed))
        run = _tune_here(course_file, bot, tuning, tune_options, resume=resume)
    parameters_after = tuned_parameters(run.course)
    if svg is not None:
        write_curves(svg, run.course, parameters_after)
    document = {
        **run.facts,
        **tuning_document(bot, run.course, parameters_after),
        "games_lost_by_fault": run.games_lost_by_fault,
    }
    output.show(document, lambda: print_tuning(bot, run.course, parameters_after))
    for reason, games in run.lost_games.items():
        printing.warn(f"{printing.count(games, 'game')} lost by a fault count as losses: the bot {reason}.")
    if not run.course.finished:
        printing.note(run.how_to_continue)
        raise SystemExit(INTERRUPTED)


@dataclass(frozen=True)
class _Run:
    """A tuning after this machine has played its games."""

    course: Course
    lost_games: Counter[str]
    """The games of this machine that were lost by a fault, by its reason."""
    games_lost_by_fault: int
    """The same of all machines."""
    how_to_continue: str
    facts: dict[str, Any]
    """Further fields of the JSON document."""


def _tune_here(course_file: Path, bot: SpecTemplate, tuning: Tuning, options: TuneOptions, *, resume: bool) -> _Run:
    """Play the iterations that the file lacks on this machine only."""
    plan = _plan(bot, tuning, options)
    course = Course(tuning)
    with closing(CourseFile(course_file, conditions_of(bot, tuning, _games_document(plan)))) as results:
        if resume:
            results.resume(course)
            done, total = course.iteration - 1, printing.count(tuning.iterations, "iteration")
            printing.note(f"Resuming after {done:,} of {total}.")
        else:
            results.begin()

        def make_parts(show: _Show) -> Parts:
            def on_iteration(result: PlayedIteration) -> None:
                results.add(course, result)
                show(course.iteration - 1, course.values[-1])

            return WholeIterations(course, options.games // 2, on_iteration)

        configure_logs(LogLevel.WARNING)
        lost_games = run_loop(_play(plan, bot, tuning, course.iteration - 1, make_parts))
    return _Run(
        course=course,
        lost_games=lost_games,
        games_lost_by_fault=sum(lost_games.values()),
        how_to_continue=f"The results so far are in {course_file}. To continue, run the same command with --resume.",
        facts={},
    )


def _tune_at_server(name: str, bot: SpecTemplate, tuning: Tuning, options: TuneOptions, server: ServerOptions) -> _Run:
    """Play games of a tuning of a server until it is finished, or until the user stops."""
    plan = _plan(bot, tuning, options)
    with server.connected(token_needed=True) as client:
        message, created = create_or_join(
            client,
            name,
            bot.text,
            tuning,
            seed_given=options.seed is not None,
            games=options.games,
            conditions=_conditions_at_server(plan),
        )
        if created:
            printing.note(f"Created {name} at {client.address}. The same command on other machines shares the work.")
        else:
            done, total = message.iterations_done, printing.count(message.iterations, "iteration")
            printing.note(f"Joining {name} at {client.address} after {done:,} of {total}.")

        def make_parts(show: _Show) -> Parts:
            return ServedParts(
                client=client,
                name=name,
                parameters=tuning.parameters,
                pairs=max(1, min(options.concurrency, options.games) // 2),
                on_progress=lambda progress: show(progress.iterations_done, progress.values),
            )

        configure_logs(LogLevel.WARNING)
        lost_games = run_loop(_play(plan, bot, tuning_of(message), message.iterations_done, make_parts))
        message = client.call(client.tunings.GetTuning, pb.GetTuningRequest(name=name)).tuning
        course = read_course(client, message)
    return _Run(
        course=course,
        lost_games=lost_games,
        games_lost_by_fault=message.games_lost_by_fault,
        how_to_continue=f"{name} continues while other machines play. To continue here, run the same command again.",
        facts={"tuning": name},
    )


def _refuse_at_server(options: TuneOptions, course_file: Path | None, *, resume: bool) -> None:
    """Raise UsageProblem for options that a tuning at a server cannot have."""
    if resume:
        raise UsageProblem("--resume: got a tuning at a server as well", "Leave it out: the same command continues.")
    if course_file is not None:
        raise UsageProblem("--output: got a tuning at a server as well", "Leave it out: the server keeps the results.")
    if options.forfeit_after:
        raise UsageProblem(
            f"--forfeit-after {options.forfeit_after}: got a tuning at a server as well",
            "Leave it out: no machine knows the games of all others.",
        )


def _plan(bot: SpecTemplate, tuning: Tuning, options: TuneOptions) -> LocalPlan:
    """Return the match of the first iteration."""
    return plan_games(first_specs(bot, tuning), replace(options, seed=tuning.seed), f"Tuning of {bot.text}")


_Show = Callable[[int, Sequence[float]], None]
"""Shows the number of complete iterations, and the values after them."""


async def _play(
    plan: LocalPlan, bot: SpecTemplate, tuning: Tuning, done: int, make_parts: Callable[[_Show], Parts]
) -> Counter[str]:
    """Play the parts, and show the progress. Return the number of games lost by each fault, by its reason.

    `done` is the number of iterations that are complete at the start.
    """
    total = tuning.iterations
    is_terminal = printing.stderr().is_terminal
    lost_games: Counter[str] = Counter()
    stop = LocalStop()
    report_every = max(total // _REPORTS, 1)
    shown = done

    with counting("Iterations") as draw, two_stages(stop.finish, stop.abort):

        def show(played: int, values: Sequence[float]) -> None:
            nonlocal shown
            if played <= shown:
                return
            pairs = zip(tuning.parameters, values, strict=True)
            text = ", ".join(f"{parameter.name} {value:.4g}" for parameter, value in pairs)
            draw(played, total, text)
            if not is_terminal and played // report_every > shown // report_every:
                printing.note(f"{played:,} of {printing.count(total, 'iteration')}: {text}")
            shown = played

        def on_fault(spec: str, fault: LocalFault) -> None:
            if fault.reason not in lost_games:
                printing.warn(f"{spec}: it {fault.reason}.")
                printing.note(f"  Try it alone: noughts bot check '{spec}' --variant {plan.settings.variant}")
                for line in fault.stderr.splitlines()[-_MOST_OUTPUT_LINES:]:
                    printing.note(f"  | {line}")
            lost_games[fault.reason] += fault.games

        draw(done, total)
        await play_parts(plan, bot, make_parts(show), stop=stop, on_note=printing.note, on_fault=on_fault)
    return lost_games


def _conditions_at_server(plan: LocalPlan) -> dict[str, Any]:
    """Return the conditions of the games, without those that a tuning of a server has as fields."""
    conditions = _games_document(plan)
    del conditions["games"], conditions["forfeit_after"]
    return conditions


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
        # Files and tunings of earlier versions lack the key.
        **({"scale_time": True} if settings.scale_time else {}),
    }
