"""The curves of a tuning: each parameter's value by iteration, in a terminal and as a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from noughts_server.cli import printing
from noughts_server.cli.drawing.chart import print_line_chart
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.extras import require_extra
from noughts_server.statistics.spsa import Course, TunedParameter

if TYPE_CHECKING:
    from noughts_server.drawing.charts import Chart

_CHART_HEIGHT = 260
_MOST_POINTS = 1_000


def print_curves(course: Course) -> None:
    """Print the curve of each parameter."""
    last = f"{course.iteration - 1:,} of {course.tuning.iterations:,} iterations"
    for index, parameter in enumerate(course.tuning.parameters):
        points = _points(course, index)
        values = [value for _, value in points]
        printing.stdout().print(parameter.name)
        print_line_chart(points, up=(f"{min(values):.4g}", f"{max(values):.4g}"), across=("0", last))


def check_picture(file: Path) -> None:
    """Raise UsageProblem or Problem if the picture could not be written after the games."""
    require_extra("noughts tune", "charts")
    if file.suffix.lower() != ".svg":
        raise UsageProblem(f"--svg {file}: expected a name that ends in .svg")
    if not file.absolute().parent.is_dir():
        raise Problem(f"--svg {file}: there is no folder {file.parent}")


def write_curves(file: Path, course: Course, rows: Sequence[TunedParameter]) -> None:
    """Write a picture with a chart for each parameter. Raises Problem."""
    # This module needs the extra `charts`.
    from noughts_server.drawing.charts import chart_file

    charts = [_chart(course, index, row) for index, row in enumerate(rows)]
    title = f"Tuning over {course.iteration - 1:,} iterations"
    with problems_with(f"--svg {file}", OSError, raises=Problem):
        file.write_text(chart_file(charts, title), encoding="utf-8")


def _chart(course: Course, index: int, row: TunedParameter) -> "Chart":
    """Return a parameter's values by iteration, with the interval of its estimated optimum."""
    from noughts_server.drawing.charts import Chart, Frame, Tick, round_numbers

    parameter, optimum = row.parameter, row.optimum
    points = _points(course, index)
    values = [value for _, value in points]
    if optimum is not None:
        values += [optimum.low, optimum.high]
    margin = (max(values) - min(values) or parameter.step) * 0.1
    least, most = min(values) - margin, max(values) + margin
    last = course.iteration - 1
    frame = Frame(width=900, height=_CHART_HEIGHT, left=84, right=24, top=44, bottom=60)
    chart = Chart(frame, across=(0, last), up=(least, most))
    chart.rules(Tick(value, f"{value:g}") for value in round_numbers(least, most))
    chart.labels(Tick(value, f"{value:,.0f}") for value in round_numbers(0, last))
    chart.titles("iterations", parameter.name)
    if optimum is not None:
        chart.band([(0, optimum.low), (last, optimum.low)], [(0, optimum.high), (last, optimum.high)])
    chart.line(points, "series-1")
    return chart


def _points(course: Course, index: int) -> list[tuple[float, float]]:
    """Return a parameter's value by iteration, at most `_MOST_POINTS`, the last one included."""
    last = course.iteration - 1
    every = last // _MOST_POINTS + 1
    return [(iteration, course.values[iteration][index]) for iteration in dict.fromkeys([*range(0, last, every), last])]
