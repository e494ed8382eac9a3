"""The chart of a tuned parameter: its value by iteration, with the interval of its estimated optimum."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import escape

from noughts_server.drawing.charts import PAGE, Chart, DrawnChart, Frame, Point, Tick, count_ticks, round_numbers

FILE = Frame(width=900, height=260, left=84, right=24, top=44, bottom=60)
"""The frame of a chart in a file."""
_PAGE = PAGE._replace(left=64)
"""The frame of a chart on a page: the numbers at the left can be longer than those of ratings."""


def tuning_chart(
    frame: Frame, name: str, points: Sequence[Point], *, interval: Point | None, step: float, titles: bool = True
) -> Chart:
    """Return the chart of a parameter. `step` sets the height of a curve whose values are all equal."""
    values = [value for _, value in points]
    if interval is not None:
        values += interval
    margin = (max(values) - min(values) or step) * 0.1
    least, most = min(values) - margin, max(values) + margin
    last = points[-1][0]
    chart = Chart(frame, across=(0, last), up=(least, most))
    chart.rules(Tick(value, f"{value:g}") for value in round_numbers(least, most))
    chart.labels(count_ticks(0, last))
    if titles:
        chart.titles("iterations", name)
    if interval is not None:
        low, high = interval
        chart.band([(0, low), (last, low)], [(0, high), (last, high)])
    chart.line(points, "series-1")
    return chart


def tuning_line(tuning: Mapping[str, Any], index: int) -> DrawnChart | None:
    """Return the curve of a parameter of a tuning, as the API has it; None before the first iteration."""
    parameter = tuning["parameters"][index]
    points = [(point["iteration"], point["values"][index]) for point in tuning["curve"]]
    if len(points) < 2:
        return None
    optimum = parameter["optimum"]
    interval = None if optimum is None else (parameter["low95"], parameter["high95"])
    chart = tuning_chart(_PAGE, parameter["name"], points, interval=interval, step=parameter["step"], titles=False)
    words = (
        f"{parameter['name']}: {parameter['start']:.4g} at the start, {parameter['last']:.4g} after"
        f" {tuning['iterations_done']:,} of {tuning['iterations']:,} iterations."
    )
    if optimum is not None:
        low, high = parameter["low95"], parameter["high95"]
        words += f" Optimum {optimum:.4g}, 95 % interval {low:.4g} to {high:.4g}."
    svg = chart.svg(f'role="img" aria-label="{escape(words)}"')
    return DrawnChart(svg=svg, spark=chart.spark(points), words=words)
