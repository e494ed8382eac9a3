"""The charts of a report: ratings with intervals, the course of a test, and thinking times."""

from collections.abc import Sequence
from math import ceil, log10
from typing import NamedTuple

from markupsafe import Markup

from noughts_server.drawing.charts import MOST_SERIES, Chart, Frame, Tick, count_ticks, round_numbers
from noughts_server.tables.time_histogram import TimeHistogram

_WIDTH = 900
_BINS_PER_DECADE = 8
_LETTER = 7
"""The approximate width of a letter of a label."""
_LONGEST_LABEL = 28
"""Characters of a label, so that the labels leave most of the width to the chart."""


class RatingBar(NamedTuple):
    """A bot's rating, with the half width of its interval."""

    name: str
    rating: float
    error95: float | None


def ratings_chart(bars: Sequence[RatingBar]) -> Markup:
    """Draw ratings with their 95 % confidence intervals, the strongest on top."""
    names = [_short(bar.name) for bar in bars]
    left = 24 + _LETTER * max(map(len, names))
    frame = Frame(width=_WIDTH, height=110 + 22 * len(bars), left=left, right=24, top=12, bottom=48)
    ends = [bar.rating + sign * (bar.error95 or 0.0) for bar in bars for sign in (-1, 1)]
    padding = max(1.0, (max(ends) - min(ends)) * 0.03)
    least = min(ends) - padding
    most = max(ends) + padding
    chart = Chart(frame, across=(least, most), up=(0.3, len(bars) + 0.7))
    places = range(len(bars), 0, -1)
    chart.rules(Tick(place, name) for place, name in zip(places, names, strict=True))
    chart.labels(Tick(value, f"{value:.0f}") for value in round_numbers(least, most))
    chart.titles("Elo")
    for place, (_, rating, error) in zip(places, bars, strict=True):
        if error is not None:
            chart.line([(rating - error, place), (rating + error, place)], "interval series-1")
    chart.dots([(bar.rating, place) for place, bar in zip(places, bars, strict=True)], "series-2", radius=4)
    return _svg(chart, "ratings")


def llr_chart(points: Sequence[tuple[int, float]], lower: float, upper: float) -> Markup:
    """Draw the log-likelihood ratio over games as a series, followed by the upper and the lower limit."""
    games, _ = points[-1]
    ratios = [llr for _, llr in points]
    padding = (upper - lower) / 20
    least = min(lower, *ratios) - padding
    most = max(upper, *ratios) + padding
    chart = Chart(_frame(340), across=(0, games), up=(least, most))
    chart.rules(Tick(value, f"{value:.2f}") for value in round_numbers(least, most))
    chart.labels(count_ticks(0, games))
    chart.titles("games", "LLR")
    chart.line(points, "series-1")
    chart.line([(0, upper), (games, upper)], "bound series-2")
    chart.line([(0, lower), (games, lower)], "bound series-3")
    return _svg(chart, "llr")


def times_chart(histograms: Sequence[tuple[str, TimeHistogram]]) -> Markup:
    """Draw the share of each bot's moves by time, on a logarithmic scale; at most `MOST_SERIES` bots."""
    counts_of_bots = [_counts_by_bin(histogram) for _, histogram in histograms[:MOST_SERIES]]
    first_bin = min((number for counts in counts_of_bots for number in counts), default=0)
    last_bin = max((number for counts in counts_of_bots for number in counts), default=0)
    first_decade = first_bin // _BINS_PER_DECADE
    last_decade = ceil((last_bin + 1) / _BINS_PER_DECADE)
    most = max((max(counts.values()) / sum(counts.values()) for counts in counts_of_bots), default=1.0)
    chart = Chart(_frame(380), across=(first_decade, last_decade), up=(0, most))
    chart.rules(Tick(share, f"{share:.0%}") for share in round_numbers(0, most))
    chart.labels(Tick(decade, _time_label(decade)) for decade in range(first_decade, last_decade + 1))
    chart.titles("thinking time of a move, logarithmic", "share of the bot's moves")
    for series, counts in enumerate(counts_of_bots, start=1):
        total = sum(counts.values())
        outline: list[tuple[float, float]] = []
        for number in range(first_decade * _BINS_PER_DECADE, last_decade * _BINS_PER_DECADE):
            share = counts.get(number, 0) / total
            outline += [(number / _BINS_PER_DECADE, share), ((number + 1) / _BINS_PER_DECADE, share)]
        chart.line(outline, f"series-{series}")
    return _svg(chart, "times")


def _counts_by_bin(histogram: TimeHistogram) -> dict[int, int]:
    """Return the counts by eighths of a decade; bin 0 begins at 1 µs and includes shorter times."""
    counts: dict[int, int] = {}
    for microseconds, count in histogram.items():
        number = int(log10(max(1, microseconds)) * _BINS_PER_DECADE)
        counts[number] = counts.get(number, 0) + count
    return counts


def _time_label(decade: int) -> str:
    unit, scale = (("µs", 0), ("ms", 3), ("s", 6))[min(decade // 3, 2)]
    return f"{10 ** (decade - scale):,} {unit}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_LABEL else f"{name[: _LONGEST_LABEL - 1]}…"


def _frame(height: int) -> Frame:
    return Frame(width=_WIDTH, height=height, left=84, right=32, top=12, bottom=52)


def _svg(chart: Chart, name: str) -> Markup:
    return chart.svg(f'id="chart-{name}" aria-hidden="true" focusable="false"')
