"""A tuning after the iterations so far, as text and as JSON."""

import shlex
from collections.abc import Sequence
from typing import Any

from noughts_server.cli import printing
from noughts_server.cli.drawing.tuning_curves import print_curves
from noughts_server.core.spec_template import SpecTemplate, value_text
from noughts_server.statistics.optima import TunedParameter
from noughts_server.statistics.spsa import Course


def tuning_document(bot: SpecTemplate, course: Course, rows: Sequence[TunedParameter]) -> dict[str, Any]:
    """Return the tuning after the iterations so far as JSON."""
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


def print_tuning(bot: SpecTemplate, course: Course, rows: Sequence[TunedParameter]) -> None:
    """Print the curves, the values and the optima, and the command that checks the result."""
    console = printing.stdout()
    tuning = course.tuning
    printing.heading(console, f"{bot.text}: {printing.count(course.iteration - 1, 'iteration')}, seed {tuning.seed}")
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
    # The spec can come from a server.
    check = f"noughts match {shlex.quote(tuned)} {shlex.quote(start)} --sprt elo0=0,elo1=5"
    console.print(printing.printable(f"Tuned: {tuned}\nCheck: {check}"), soft_wrap=True)


def _tuned_text(bot: SpecTemplate, rows: Sequence[TunedParameter]) -> str:
    """Return the spec of the tuned bot."""
    return bot.text_with({row.parameter.name: row.tuned for row in rows})
