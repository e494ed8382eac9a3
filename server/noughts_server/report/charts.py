"""The charts of a report: ratings with intervals, the course of a test, and thinking times."""

from collections.abc import Sequence
from math import log10
from typing import NamedTuple

from markupsafe import Markup

from noughts_server.drawing.charts import MOST_SERIES, Chart, Frame, Tick, round_numbers
from noughts_server.tables.time_histogram import TimeHistogram

_WIDTH = 900
_BINS_PER_DECADE = 8
_LETTER = 7
"""Rough width of a letter of a label."""


class RatingBar(NamedTuple):
    name: str
    rating: float
    error95: float | None


def ratings_chart(bars: Sequence[RatingBar]) -> Markup:
    """Draw ratings with their 95 % confidence intervals, the strongest on top."""
    names = [_short(bar.name) for bar in bars]
    left = 24 + _LETTER * max(map(len, names))
    frame = Frame(width=_WIDTH, height=110 + 22 * len(bars), left=left, right=24, top=12, bottom=48)
    ends = [bar.rating + sign * (bar.error95 or 0.0) for bar in bars for sign in (-1, 1)]
    room = max(1.0, (max(ends) - min(ends)) * 0.03)
    least, most = min(ends) - room, max(ends) + room
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
    games, ratios = points[-1][0], [llr for _, llr in points]
    room = (upper - lower) / 20
    least, most = min(lower, *ratios) - room, max(upper, *ratios) + room
    chart = Chart(_frame(340), across=(0, games), up=(least, most))
    chart.rules(Tick(value, f"{value:.2f}") for value in round_numbers(least, most))
    chart.labels(Tick(value, f"{value:,.0f}") for value in round_numbers(0, games) if value == round(value))
    chart.titles("games", "LLR")
    chart.line(points, "series-1")
    chart.line([(0, upper), (games, upper)], "bound series-2")
    chart.line([(0, lower), (games, lower)], "bound series-3")
    return _svg(chart, "llr")


def times_chart(histograms: Sequence[tuple[str, TimeHistogram]]) -> Markup:
    """Draw the share of each bot's moves by time, on a logarithmic scale; at most `MOST_SERIES` bots."""
    bins_of = [_by_bin(histogram) for _, histogram in histograms[:MOST_SERIES]]
    low = min((place for bins in bins_of for place in bins), default=0)
    high = max((place for bins in bins_of for place in bins), default=0)
    first, last = low // _BINS_PER_DECADE, -(-(high + 1) // _BINS_PER_DECADE)
    most = max((max(bins.values()) / sum(bins.values()) for bins in bins_of), default=1.0)
    chart = Chart(_frame(380), across=(first, last), up=(0, most))
    chart.rules(Tick(share, f"{share:.0%}") for share in round_numbers(0, most))
    chart.labels(Tick(decade, _time_label(decade)) for decade in range(first, last + 1))
    chart.titles("thinking time of a move, logarithmic", "share of the bot's moves")
    places = range(first * _BINS_PER_DECADE, last * _BINS_PER_DECADE)
    for number, bins in enumerate(bins_of, start=1):
        total = sum(bins.values())
        shares = ((place, bins.get(place, 0) / total) for place in places)
        steps = [(edge / _BINS_PER_DECADE, share) for place, share in shares for edge in (place, place + 1)]
        chart.line(steps, f"series-{number}")
    return _svg(chart, "times")


def _by_bin(histogram: TimeHistogram) -> dict[int, int]:
    """Return the counts by eighths of a decade; bin 0 begins at 1 µs and includes shorter times."""
    bins: dict[int, int] = {}
    for microseconds, count in histogram.items():
        place = int(log10(max(1, microseconds)) * _BINS_PER_DECADE)
        bins[place] = bins.get(place, 0) + count
    return bins


def _time_label(decade: int) -> str:
    unit, scale = (("µs", 0), ("ms", 3), ("s", 6))[min(decade // 3, 2)]
    return f"{10 ** (decade - scale):,} {unit}"


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:27]}…"


def _frame(height: int) -> Frame:
    return Frame(width=_WIDTH, height=height, left=84, right=32, top=12, bottom=52)


def _svg(chart: Chart, name: str) -> Markup:
    return chart.svg(f'id="chart-{name}" aria-hidden="true" focusable="false"')
