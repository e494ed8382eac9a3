"""`noughts bot check`: whether a bot plays by the rules of the protocol, as referees start it."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from noughts_bots.reference.specs import connects_itself, parse_spec
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.check_report import check_as_junit, check_as_lines, check_as_markdown
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import FAILED, Problem, UsageProblem, problems_with
from noughts_server.cli.options.game import AnyVariantOption, own_variant, read_seed, read_variant
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.sandbox import START_SECONDS, SandboxOptions, StartTimeoutOption
from noughts_server.cli.options.startable import require_startable
from noughts_server.cli.options.time import read_time
from noughts_server.cli.processes.signals import run_loop
from noughts_server.cli.times import Seconds, seconds_option
from noughts_server.launching.launcher import launching

if TYPE_CHECKING:
    from noughts_server.bot_check.check_steps import StepResult
    from noughts_server.bot_check.conformance import ConformanceReport


_LARGEST_GAMES = 10_000


@command(
    example="""
$ noughts bot check py:my_bot.py --games 20
py:my_bot.py: 20 games of tictactoe against random moves: ...
Started after 10 ms; a move takes 418 us, at most 5,646 us.
The same seeds give the same games.
... steps passed...
Nothing is wrong.
"""
)
def check(
    spec: Annotated[
        str,
        Argument(
            metavar="SPEC",
            autocompletion=completion.specs,
            help="Bot, e.g. `py:./centre.py:Centre` or `dll:./player.so`",
        ),
    ],
    variant: AnyVariantOption = None,
    games: Annotated[
        int,
        Option(
            "--games",
            metavar="N",
            min=1,
            max=_LARGEST_GAMES,
            help="Games per pair (the bot and a random opponent)",
            rich_help_panel="Game",
        ),
    ] = 10,
    move_seconds: Annotated[
        float,
        seconds_option(
            "--move-timeout",
            "--patience",
            least=0.1,
            most=3600,
            help="Longest wait for a move",
            rich_help_panel="Time control",
        ),
    ] = Seconds(5),
    time: Annotated[
        str | None,
        Option(
            "--time",
            metavar="T",
            show_default=False,
            help="Time limit for each move, e.g. 0.1/move. Default: none; 1 s in later steps",
            rich_help_panel="Time control",
        ),
    ] = None,
    seed: Annotated[
        int, Option("--seed", metavar="S", help="Seed of the random numbers of both sides", rich_help_panel="Game")
    ] = 0,
    start_timeout: StartTimeoutOption = START_SECONDS,
    steps: Annotated[bool, Option("--steps/--no-steps", help="Run about thirty further checks after the games")] = True,
    junit: Annotated[
        Path | None,
        Option("--junit", metavar="FILE", help="Report of the steps as JUnit XML, for CI", rich_help_panel="Output"),
    ] = None,
    markdown: Annotated[
        Path | None, Option("--markdown", metavar="FILE", help="Report as Markdown, e.g. for a comment")
    ] = None,
    positions: Annotated[
        Path | None,
        Option("--positions", metavar="FILE", help="Replay positions of `bot mistakes` instead of playing games"),
    ] = None,
    puzzles: Annotated[
        Path | None,
        Option("--puzzles", metavar="FILE", help="Solve the puzzles of `puzzle export` instead of playing games"),
    ] = None,
    *,
    sandbox: SandboxOptions,
    output: OutputOptions,
) -> None:
    """Start a bot the way a referee does, play a few games against random moves, and report faults.

    About thirty steps follow: both sides, each declared variant, openings, clocks, many concurrent games, restarts, and
    so on, in the tournament sandbox. Exit code 1 if a step fails. The games are played twice with the same seeds;
    a bot whose games differ has another source of random numbers, which is allowed.

    With --positions the bot answers the positions of a file instead, one JSON document per line with "variant",
    "position" and the best cells in "best", as `noughts bot mistakes -o FILE` writes them. Exit code 1 if one of its
    moves is not among the best. With --puzzles they are those of `noughts puzzle export -o FILE`.
    """
    if positions is not None and puzzles is not None:
        raise UsageProblem("--positions and --puzzles: got both", "Use one of them.")
    if file := positions or puzzles:
        from noughts_server.cli.commands.bot.replay import replay

        option = f"--positions {file}" if positions else f"--puzzles {file}"
        replay(parse_spec(spec), file, option, read_seed(seed), sandbox.sandbox_mode, start_timeout, output)
        return
    from noughts_referee.children.running_child import ChildSettings
    from noughts_server.bot_check.check_steps import run_steps
    from noughts_server.bot_check.conformance import ConformancePlan
    from noughts_server.bot_check.conformance import check as check_bot
    from noughts_server.bot_check.inviting import inviting
    from noughts_server.bot_check.own_variants import declared_by_each

    sandbox_mode = sandbox.sandbox_mode
    parsed = require_startable(parse_spec(spec), sandbox_mode)
    times = ChildSettings(start=start_timeout)
    chosen_variant = None if variant is None else read_variant(variant)
    seed_of_games, clock_us = read_seed(seed), _read_limit(time)

    async def check_all() -> "tuple[ConformanceReport, list[StepResult]]":
        async with launching(sandbox_mode, printing.note) as launcher, AsyncExitStack() as stack:
            invite = await stack.enter_async_context(inviting()) if connects_itself(parsed) else None
            show_progress = stack.enter_context(counting("Checking"))
            [declared] = await declared_by_each([parsed], launcher, times) if chosen_variant is None else [()]
            plan = ConformancePlan(
                variant=chosen_variant or own_variant(declared),
                games=games,
                seed=seed_of_games,
                move_seconds=move_seconds,
                times=times,
                invite=invite,
                clock_us=clock_us,
                on_progress=show_progress,
            )
            report = await check_bot(parsed, plan, launcher)
            return report, [] if report.faults or not steps else await run_steps(parsed, launcher, plan)

    report, results = run_loop(check_all())
    lines = [printing.printable(line) for line in check_as_lines(report, results)]
    output.show({**report.document(), "steps": [result.document() for result in results]}, "\n".join(lines))
    if junit is not None:
        _write("--junit", junit, check_as_junit(report, results))
    if markdown is not None:
        _write("--markdown", markdown, check_as_markdown(report, results, lines))
    if report.faults or any(result.outcome == "failed" for result in results):
        raise SystemExit(FAILED)


def _write(option: str, file: Path, text: str) -> None:
    with problems_with(f"{option} {file}", OSError, raises=Problem):
        file.write_text(text, encoding="utf-8", errors="replace")


def _read_limit(time: str | None) -> int:
    """Return the move limit in microseconds, 0 for none. Raises UsageProblem for other time controls."""
    control = None if time is None else read_time(time)
    if control is not None and control.bank_us:
        raise UsageProblem(f"--time {time!r}: got a base time, expected a limit per move, e.g. 0.1/move")
    return control.move_us if control else 0
