"""The files of `noughts tune`: the parameters that a user writes, and the course with the result of each iteration."""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.position_lines import read_object
from noughts_server.core.spec_template import SpecTemplate
from noughts_server.statistics.spsa import Course, Parameter, PlayedIteration, Tuning

_USUAL_RATE = 0.02
"""Ten times the usual rate of fishtest, for thousands of games instead of hundreds of thousands."""
_MOST_PARAMETERS = 100
_LARGEST_NUMBER = 1e12
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYS = ("start", "range", "step", "rate")
_EXAMPLE = """For example:
  bot = "exec:python bot.py --attack $attack"
  [parameters.attack]
  start = 100
  range = [0, 400]
  step = 20"""


def read_parameters(file: Path) -> tuple[SpecTemplate, tuple[Parameter, ...]]:
    """Read a TOML file with a bot and its parameters. Raises UsageProblem with the reason."""
    with problems_with(str(file), OSError), problems_with(str(file), tomllib.TOMLDecodeError, UnicodeDecodeError):
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    if unknown := sorted(set(document) - {"bot", "parameters"}):
        raise UsageProblem(f"{file}: got {', '.join(unknown)}, expected `bot` and `parameters`", _EXAMPLE)
    text, tables = document.get("bot"), document.get("parameters")
    if not isinstance(text, str) or not text:
        raise UsageProblem(f'{file}: got no bot, expected `bot = "SPEC"` with $NAME for each parameter', _EXAMPLE)
    if not isinstance(tables, dict) or not tables:
        raise UsageProblem(f"{file}: got no parameter, expected a table `[parameters.NAME]` for each", _EXAMPLE)
    if len(tables) > _MOST_PARAMETERS:
        raise UsageProblem(f"{file}: got {len(tables)} parameters, expected at most {_MOST_PARAMETERS}")
    bot = SpecTemplate(text)
    if not bot.is_valid:
        raise UsageProblem(f"{file}, bot: got {text!r}, expected $NAME for each parameter, and $$ for a dollar sign")
    for name in sorted(bot.names ^ set(tables)):
        problem = f"parameter {name} without ${name} in the bot" if name in tables else f"${name} without a parameter"
        raise UsageProblem(f"{file}: got {problem}, expected both", _EXAMPLE)
    return bot, tuple(_parameter(file, name, table) for name, table in tables.items())


def _parameter(file: Path, name: str, table: Any) -> Parameter:
    subject = f"{file}, parameters.{name}"
    if not _NAME.fullmatch(name):
        raise UsageProblem(f"{subject}: expected a name of letters, digits and underscores")
    if not isinstance(table, dict):
        raise UsageProblem(f"{subject}: got {table!r}, expected a table with start, range and step", _EXAMPLE)
    if unknown := sorted(set(table) - set(_KEYS)):
        raise UsageProblem(f"{subject}: got {', '.join(unknown)}, expected {', '.join(_KEYS)}")
    limits = table.get("range")
    if not isinstance(limits, list) or len(limits) != 2:
        raise UsageProblem(f"{subject}.range: got {limits!r}, expected [LEAST, GREATEST]")
    start = _number(f"{subject}.start", table.get("start"))
    low, high = (_number(f"{subject}.range", limit) for limit in limits)
    step = _number(f"{subject}.step", table.get("step"))
    rate = _number(f"{subject}.rate", table.get("rate", _USUAL_RATE))
    if not low < high:
        raise UsageProblem(f"{subject}.range: got [{low:g}, {high:g}], expected the lesser number first")
    if not low <= start <= high:
        raise UsageProblem(f"{subject}.start: got {start:g}, expected a number in the range {low:g} to {high:g}")
    if not 0 < step <= high - low:
        raise UsageProblem(f"{subject}.step: got {step:g}, expected more than 0, and at most the width of the range")
    if not 0 < rate <= 1:
        raise UsageProblem(f"{subject}.rate: got {rate:g}, expected more than 0, and at most 1")
    whole = all(isinstance(number, int) for number in (table["start"], *limits))
    return Parameter(name=name, start=start, low=low, high=high, step=step, rate=rate, whole=whole)


def _number(subject: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST_NUMBER:
        raise UsageProblem(f"{subject}: got {value!r}, expected a number of at most {_LARGEST_NUMBER:g}")
    return float(value)


class CourseFile:
    """The file of JSON lines with what is tuned, and with each iteration as soon as it is played."""

    def __init__(self, path: Path, conditions: Mapping[str, Any]) -> None:
        """`conditions` is everything on which the results depend: the first line of the file."""
        self._path = path
        self._conditions = dict(conditions)
        self._file: TextIO | None = None

    def begin(self) -> None:
        """Create the file. Raises Problem if there is one already."""
        with problems_with(
            str(self._path),
            OSError,
            raises=Problem,
            hint="Add --resume to continue the tuning in this file, or name another with -o."
            if self._path.exists()
            else "",
        ):
            self._file = open(self._path, "x", encoding="utf-8", newline="\n")  # noqa: SIM115  # closed in `close`
        self._write(self._conditions)

    def resume(self, course: Course) -> None:
        """Add the iterations of the file to the course, and append later ones to the file.

        Raises UsageProblem if the file is damaged or of another tuning. An incomplete last line is dropped.
        """
        with problems_with(str(self._path), OSError, hint="Leave out --resume to begin."):
            content = self._path.read_bytes()
        whole, _, _ = content.rpartition(b"\n")
        lines = whole.decode("utf-8", "replace").splitlines()
        if lines:
            self._check_conditions(self._read(lines[0], 1))
        for number, line in enumerate(lines[1:], start=2):
            course.add(self._iteration(self._read(line, number), course, number))
        with problems_with(str(self._path), OSError, raises=Problem):
            os.truncate(self._path, len(whole) + 1 if lines else 0)
            self._file = open(self._path, "a", encoding="utf-8", newline="\n")  # noqa: SIM115  # closed in `close`
        if not lines:
            self._write(self._conditions)

    def add(self, course: Course, result: PlayedIteration) -> None:
        """Append the iteration that was added to the course last."""
        self._write(
            {
                "iteration": course.iteration - 1,
                "wins": result.wins,
                "draws": result.draws,
                "losses": result.losses,
                "values": course.last_values,
            }
        )

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, document: Mapping[str, Any]) -> None:
        assert self._file is not None
        with problems_with(str(self._path), OSError, raises=Problem):
            self._file.write(json.dumps(document) + "\n")
            self._file.flush()

    def _read(self, line: str, number: int) -> dict[str, Any]:
        with problems_with(f"{self._path}, line {number}", ValueError):
            return read_object(line)

    def _check_conditions(self, found: Mapping[str, Any]) -> None:
        # A comparison as JSON, because the file cannot tell 1 from 1.0 or a list from a tuple.
        conditions = json.loads(json.dumps(self._conditions))
        for name in {**conditions, **found}:
            if conditions.get(name) != found.get(name):
                raise UsageProblem(
                    f"--resume: {self._path} was begun with {name} {json.dumps(found.get(name))},"
                    f" got {json.dumps(conditions.get(name))}",
                    "Use the settings of that run, or name another file with -o.",
                )

    def _iteration(self, document: Mapping[str, Any], course: Course, number: int) -> PlayedIteration:
        wins, draws, losses = document.get("wins"), document.get("draws"), document.get("losses")
        if (
            document.get("iteration") == course.iteration
            and isinstance(wins, int)
            and isinstance(draws, int)
            and isinstance(losses, int)
            and min(wins, draws, losses) >= 0
        ):
            return PlayedIteration(wins=wins, draws=draws, losses=losses)
        raise UsageProblem(f"{self._path}, line {number}: expected the result of iteration {course.iteration}")


def recorded_seed(path: Path) -> int | None:
    """Return the seed in the first line of a course file; None if there is no such line."""
    try:
        with open(path, encoding="utf-8") as file:
            seed = json.loads(file.readline()).get("seed")
    except (OSError, ValueError, AttributeError):
        return None
    return seed if isinstance(seed, int) else None


def conditions_of(bot: SpecTemplate, tuning: Tuning, games: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything on which the results of a tuning depend; `games` describes the games of an iteration."""
    parameters = [
        {
            "name": parameter.name,
            "start": parameter.start,
            "range": [parameter.low, parameter.high],
            "step": parameter.step,
            "rate": parameter.rate,
            "whole": parameter.whole,
        }
        for parameter in tuning.parameters
    ]
    return {
        "bot": bot.text,
        "parameters": parameters,
        "iterations": tuning.iterations,
        "seed": tuning.seed,
        **games,
    }
