"""The curves of a tuning: each parameter's value by iteration, in a terminal and as a picture."""

from collections.abc import Sequence
from pathlib import Path

from noughts_server.cli import printing
from noughts_server.cli.drawing.chart import print_line_chart
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.extras import require_extra
from noughts_server.statistics.optima import TunedParameter
from noughts_server.statistics.spsa import Course

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
    # These modules need the extra `charts`.
    from noughts_server.drawing.charts import chart_file
    from noughts_server.drawing.tuning_chart import FILE, tuning_chart

    charts = [
        tuning_chart(
            FILE,
            row.parameter.name,
            _points(course, index),
            interval=None if row.optimum is None else (row.optimum.low, row.optimum.high),
            step=row.parameter.step,
        )
        for index, row in enumerate(rows)
    ]
    title = f"Tuning over {course.iteration - 1:,} iterations"
    with problems_with(f"--svg {file}", OSError, raises=Problem):
        file.write_text(chart_file(charts, title), encoding="utf-8")


def _points(course: Course, index: int) -> list[tuple[float, float]]:
    """Return a parameter's value by iteration, at most `_MOST_POINTS`, the last one included."""
    return [(iteration, values[index]) for iteration, values in course.curve(_MOST_POINTS).items()]
