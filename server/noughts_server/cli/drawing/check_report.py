"""The result of `noughts bot check` as text, JUnit XML and Markdown."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from noughts_server.cli import printing
from noughts_server.tables.table import Column, Table, as_markdown

if TYPE_CHECKING:
    from noughts_server.bot_check.check_steps import StepResult
    from noughts_server.bot_check.conformance import ConformanceReport

_LONGEST_OUTPUT = 40_000
"""Characters of output in Markdown: comments on GitHub have at most 65,536."""
_GAMES_STEP = "plays against random moves"


def check_as_lines(report: "ConformanceReport", results: "Sequence[StepResult]") -> Iterator[str]:
    """Yield the report as lines of text: the games, the faults, and the steps."""
    document = report.document()
    name = f" ({report.name})" if report.name else ""
    if report.move_us:
        score = f"{report.wins} won, {report.draws} drawn, {report.losses} lost"
        resigned = f", {report.resigned} of them resigned" if report.resigned else ""
        games_text = printing.count(len(report.games), "game")
        yield f"{report.spec}{name}: {games_text} of {report.variant} against random moves: {score}{resigned}."
        mean = round(document["move_us"]["mean"])
        longest = round(document["move_us"]["most"])
        # An engine starts with its first game.
        start = "A" if report.rules else f"Started after {report.start_ms:.0f} ms; a"
        yield f"{start} move takes {mean:,} us, at most {longest:,} us."
    yield from (f"It {manner}." for manner in report.manners)
    yield from (f"The rule of {name}: it {verdict}." for name, verdict in report.rules.items())
    if report.output:
        yield "It printed:"
        yield from (f"  {line}" for line in _without_repeats(report.output.splitlines()))
    yield from (f"Wrong: {report.spec}: {fault}." for fault in report.faults)
    if report.faults:
        return
    yield (
        "The same seeds give the same games."
        if report.repeats
        else "The same seeds give different games: its seed is not its only source of random numbers."
    )
    yield from _step_lines(report.spec, results)
    if not any(result.outcome == "failed" for result in results):
        yield "Nothing is wrong."


def _step_lines(spec: str, results: "Sequence[StepResult]") -> Iterator[str]:
    """Yield the failed steps, each with advice, and the totals."""
    for result in results:
        if result.outcome == "failed":
            yield f"Wrong: {spec}: {result.name}: {result.detail}."
            yield f"  What to do: {result.advice}."
            if result.output:
                yield "  It printed:"
                yield from (f"    {line}" for line in _without_repeats(result.output.strip().splitlines()[-20:]))
    skipped_results = [result for result in results if result.outcome == "skipped"]
    would_lose = [result.name for result in skipped_results if "would lose here" in result.detail]
    if would_lose:
        yield f"It declares no variants, and would lose when it {'; '.join(would_lose)}. Declare those that it plays."
    if results:
        counts = Counter(result.outcome for result in results)
        skipped = f", {counts['skipped']} left out:" if counts["skipped"] else "."
        yield f"{counts['passed']} of {printing.count(len(results), 'step')} passed{skipped}"
        for reason in dict.fromkeys(result.detail for result in skipped_results):
            names = (result.name for result in skipped_results if result.detail == reason)
            yield f"  {'; '.join(names)}: {reason}"


def check_as_junit(report: "ConformanceReport", results: "Sequence[StepResult]") -> str:
    """Return the result as JUnit XML: a case for the games, and one for each step."""
    failed = sum(result.outcome == "failed" for result in results) + bool(report.faults)
    skipped = sum(result.outcome == "skipped" for result in results)
    suite = ElementTree.Element(
        "testsuite",
        name=f"noughts bot check {report.spec}",
        tests=str(len(results) + 1),
        failures=str(failed),
        skipped=str(skipped),
    )
    games = ElementTree.SubElement(suite, "testcase", classname=report.spec, name=_GAMES_STEP)
    if report.faults:
        failure = ElementTree.SubElement(games, "failure", message=printing.printable("; ".join(report.faults)))
        failure.text = printing.printable(report.output)
    for result in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=report.spec, name=result.name, time=f"{result.seconds:.3f}"
        )
        if result.outcome == "failed":
            failure = ElementTree.SubElement(case, "failure", message=printing.printable(result.detail))
            failure.text = printing.printable(f"{result.advice}\n{result.output}")
        elif result.outcome == "skipped":
            ElementTree.SubElement(case, "skipped", message=result.detail)
    return ElementTree.tostring(suite, "unicode")


def check_as_markdown(report: "ConformanceReport", results: "Sequence[StepResult]", lines: Sequence[str]) -> str:
    """Return the verdict, a table of the failures, and the lines of text as a folded block of code."""
    rows = [(_GAMES_STEP, fault, "") for fault in report.faults]
    rows += [(result.name, result.detail, result.advice) for result in results if result.outcome == "failed"]
    columns = [Column("step", "Step"), Column("detail", "What the bot did"), Column("advice", "What to do")]
    table = as_markdown(Table("steps", f"{report.spec} {'fails' if rows else 'passes'} the check", columns, rows))
    # An indented block, because no line of the output can end it.
    code = textwrap.indent("\n".join(lines), "    ")[:_LONGEST_OUTPUT]
    return f"{table}\n<details><summary>Output</summary>\n\n{code}\n\n</details>\n"


def _without_repeats(lines: Sequence[str]) -> Iterator[str]:
    """Yield repeated lines once, with their count. Indented lines continue the line above, so all of them remain."""
    counts = Counter(lines)
    printed_lines = set()
    for line in lines:
        if line.startswith(" ") or counts[line] == 1:
            yield line
        elif line not in printed_lines:
            printed_lines.add(line)
            yield f"{line}   ({counts[line]:,} times)"
