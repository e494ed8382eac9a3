"""`noughts bot check` and `noughts bot header`: for authors of bots that run in a child process."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from xml.etree import ElementTree

from typer import Argument, Option

from noughts_bots.hosts.c_rules import VERSION
from noughts_bots.hosts.dll import HEADER
from noughts_bots.reference.specs import dials_in, parse_spec
from noughts_server.cli import completion, output, printing
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import FAILED, Problem, UsageProblem, problems_with
from noughts_server.cli.former_command import command
from noughts_server.cli.options.game import AnyVariantOption, own_variant, read_seed, read_variant
from noughts_server.cli.options.sandbox import START_SECONDS, SandboxOptions, StartTimeoutOption
from noughts_server.cli.options.time import read_time
from noughts_server.cli.signals import run_loop
from noughts_server.cli.startable import require_startable
from noughts_server.cli.times import Seconds, seconds_option
from noughts_server.launching.launcher import launching
from noughts_server.tables.table import Column, Table, as_markdown

if TYPE_CHECKING:
    from noughts_server.bot_check.check_steps import StepResult
    from noughts_server.bot_check.conformance import ConformanceReport

_LARGEST_GAMES = 10_000
_LONGEST_OUTPUT = 40_000
"""Characters of output in Markdown: comments on GitHub have at most 65,536."""
_GAMES = "plays against random moves"


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
    sandbox: SandboxOptions = SandboxOptions(),
    steps: Annotated[bool, Option("--steps/--no-steps", help="Run about thirty further checks after the games")] = True,
    junit: Annotated[
        Path | None,
        Option("--junit", metavar="FILE", help="Report of the steps as JUnit XML, for CI", rich_help_panel="Output"),
    ] = None,
    markdown: Annotated[
        Path | None, Option("--markdown", metavar="FILE", help="Report as Markdown, e.g. for a comment")
    ] = None,
) -> None:
    """Start a bot the way a referee does, play a few games against random moves, and report faults.

    About thirty steps follow: both sides, each declared variant, openings, clocks, many concurrent games, restarts, and
    so on, in the tournament sandbox. Exit code 1 if a step fails. The games are played twice with the same seeds;
    a bot whose games differ has another source of random numbers, which is allowed.
    """
    from noughts_referee.children.running_child import ChildSettings
    from noughts_server.bot_check.check_steps import run_steps
    from noughts_server.bot_check.conformance import ConformancePlan
    from noughts_server.bot_check.conformance import check as check_bot
    from noughts_server.bot_check.inviting import inviting
    from noughts_server.bot_check.own_variants import declared_by_each

    locking = sandbox.locking
    parsed = require_startable(parse_spec(spec), locking)
    times = ChildSettings(start=start_timeout)
    chosen = None if variant is None else read_variant(variant)
    parsed_seed, clock_us = read_seed(seed), _read_limit(time)

    async def checked() -> "tuple[ConformanceReport, list[StepResult]]":
        async with launching(locking, printing.note) as launcher, AsyncExitStack() as stack:
            invite = await stack.enter_async_context(inviting()) if dials_in(parsed) else None
            tell = stack.enter_context(counting("Checking"))
            [declared] = await declared_by_each([parsed], launcher, times) if chosen is None else [()]
            played = chosen or own_variant(declared)
            playing = ConformancePlan(played, games, parsed_seed, move_seconds, times, invite, clock_us, tell)
            found = await check_bot(parsed, playing, launcher)
            return found, [] if found.faults or not steps else await run_steps(parsed, launcher, playing)

    found, taken = run_loop(checked())
    document = {**found.document(), "steps": [step.document() for step in taken]}
    lines = [printing.printable(line) for line in _lines(found, taken)]
    output.show(document, "\n".join(lines))
    reports = {"--junit": (junit, _junit(found, taken)), "--markdown": (markdown, _markdown(found, taken, lines))}
    for option, (file, text) in reports.items():
        if file is not None:
            with problems_with(f"{option} {file}", OSError, raises=Problem):
                file.write_text(text, encoding="utf-8", errors="replace")
    if found.faults or any(step.outcome == "failed" for step in taken):
        raise SystemExit(FAILED)


def _read_limit(time: str | None) -> int:
    """Return the move limit in microseconds, 0 for none. Raises UsageProblem for other time controls."""
    read = None if time is None else read_time(time)
    if read is not None and read.bank_us:
        raise UsageProblem(f"--time {time!r}: got a base time, expected a limit per move, e.g. 0.1/move")
    return read.move_us if read else 0


def _lines(found: "ConformanceReport", taken: "Sequence[StepResult]") -> Iterator[str]:
    document = found.document()
    name = f" ({found.name})" if found.name else ""
    if found.move_us:
        score = f"{found.wins} won, {found.draws} drawn, {found.losses} lost"
        resigned = f", {found.resigned} of them resigned" if found.resigned else ""
        played = printing.count(len(found.games), "game")
        yield f"{found.spec}{name}: {played} of {found.variant} against random moves: {score}{resigned}."
        mean, most = (round(document["move_us"][key]) for key in ("mean", "most"))
        # An engine starts with its first game.
        there = "A" if found.rules else f"Started after {found.start_ms:.0f} ms; a"
        yield f"{there} move takes {mean:,} us, at most {most:,} us."
    yield from (f"It {manner}." for manner in found.manners)
    yield from (f"The rule of {name}: it {kept}." for name, kept in found.rules.items())
    if found.said:
        yield "It printed:"
        yield from (f"  {line}" for line in _counted(found.said.splitlines()))
    yield from (f"Wrong: {found.spec}: {fault}." for fault in found.faults)
    if found.faults:
        return
    yield (
        "The same seeds give the same games."
        if found.repeats
        else "The same seeds give different games: its seed is not its only source of random numbers."
    )
    yield from _step_lines(found.spec, taken)
    if not any(step.outcome == "failed" for step in taken):
        yield "Nothing is wrong."


def _step_lines(spec: str, taken: "Sequence[StepResult]") -> Iterator[str]:
    """Yield the failed steps, each with advice, and the totals."""
    for step in taken:
        if step.outcome == "failed":
            yield f"Wrong: {spec}: {step.name}: {step.detail}."
            yield f"  What to do: {step.advice}."
            if step.said:
                yield "  It printed:"
                yield from (f"    {line}" for line in _counted(step.said.strip().splitlines()[-20:]))
    unclaimed = [step.name for step in taken if step.outcome == "skipped" and "would lose here" in step.detail]
    if unclaimed:
        yield f"It declares no variants, and would lose when it {'; '.join(unclaimed)}. Declare those that it plays."
    if taken:
        counts = Counter(step.outcome for step in taken)
        skipped = f", {counts['skipped']} left out:" if counts["skipped"] else "."
        yield f"{counts['passed']} of {printing.count(len(taken), 'step')} passed{skipped}"
        reasons = dict.fromkeys(step.detail for step in taken if step.outcome == "skipped")
        for reason in reasons:
            names = (step.name for step in taken if step.outcome == "skipped" and step.detail == reason)
            yield f"  {'; '.join(names)}: {reason}"


def _junit(found: "ConformanceReport", taken: "Sequence[StepResult]") -> str:
    failed = sum(step.outcome == "failed" for step in taken) + bool(found.faults)
    suite = ElementTree.Element(
        "testsuite", name=f"noughts bot check {found.spec}", tests=str(len(taken) + 1), failures=str(failed),
        skipped=str(sum(step.outcome == "skipped" for step in taken)),
    )  # fmt: skip
    games = ElementTree.SubElement(suite, "testcase", classname=found.spec, name=_GAMES)
    if found.faults:
        failure = ElementTree.SubElement(games, "failure", message=printing.printable("; ".join(found.faults)))
        failure.text = printing.printable(found.said)
    for step in taken:
        case = ElementTree.SubElement(
            suite, "testcase", classname=found.spec, name=step.name, time=f"{step.seconds:.3f}"
        )
        if step.outcome == "failed":
            text = f"{step.advice}\n{step.said}"
            ElementTree.SubElement(case, "failure", message=printing.printable(step.detail)).text = printing.printable(
                text
            )
        elif step.outcome == "skipped":
            ElementTree.SubElement(case, "skipped", message=step.detail)
    return ElementTree.tostring(suite, "unicode")


def _markdown(found: "ConformanceReport", taken: "Sequence[StepResult]", lines: Sequence[str]) -> str:
    """Return the verdict, a table of the failures and, folded, the lines for people as code."""
    rows = [(_GAMES, fault, "") for fault in found.faults]
    rows += [(step.name, step.detail, step.advice) for step in taken if step.outcome == "failed"]
    columns = [Column("step", "Step"), Column("detail", "What the bot did"), Column("advice", "What to do")]
    table = as_markdown(Table("steps", f"{found.spec} {'fails' if rows else 'passes'} the check", columns, rows))
    # No line of an indented block of code can end it.
    code = textwrap.indent("\n".join(lines), "    ")[:_LONGEST_OUTPUT]
    return f"{table}\n<details><summary>Output</summary>\n\n{code}\n\n</details>\n"


def _counted(said: Sequence[str]) -> Iterator[str]:
    """Yield repeated lines once, with their number. Indented lines belong to the line above and are all kept."""
    times = Counter(said)
    told = set()
    for line in said:
        if line.startswith(" ") or times[line] == 1:
            yield line
        elif line not in told:
            told.add(line)
            yield f"{line}   ({times[line]:,} times)"


@command(
    example="""
$ cc -shared -fPIC -I $(noughts bot header --include-path) my.c -o my.so

$ noughts bot header
.../noughts_bot.h
"""
)
def header(
    folder: Annotated[
        bool, Option("--include-path", "--folder", help="Print only the folder of the header, for the compiler's -I")
    ] = False,
) -> None:
    """Print the path of the C header for bots in shared libraries: `noughts_bot.h`."""
    document = {"header": str(HEADER), "folder": str(HEADER.parent), "version": VERSION}
    output.show(document, str(HEADER.parent if folder else HEADER))
