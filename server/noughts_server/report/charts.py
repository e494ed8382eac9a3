"""The charts of a report: SVG drawn by pygal, with the page's colours and nothing else to load."""

from collections.abc import Iterable, Sequence
from math import log10
from typing import Any, NamedTuple

from markupsafe import Markup

from noughts_server.tables.time_histogram import TimeHistogram

# Defined in report.css.
_SERIES = tuple(f"var(--series-{number})" for number in range(1, 9))
MOST_SERIES = len(_SERIES)
_WIDTH = 900
_BINS_PER_DECADE = 8

Point = tuple[float, float] | None
"""None interrupts a line."""


class RatingBar(NamedTuple):
    name: str
    rating: float
    error95: float | None


def ratings_chart(bars: Sequence[RatingBar]) -> Markup:
    """Draw ratings with their 95 % confidence intervals, the strongest on top."""
    height = 110 + 22 * len(bars)
    placed = list(zip(range(len(bars), 0, -1), bars, strict=True))
    chart = _chart(
        "ratings",
        height,
        x_title="Elo",
        dots_size=4,
        allow_interruptions=True,
        x_value_formatter="{:.0f}".format,
        y_labels=[{"label": _short(bar.name), "value": place} for place, bar in placed],
        range=(0.3, len(bars) + 0.7),
        truncate_label=-1,
    )
    dots: list[Point] = []
    intervals: list[Point] = []
    for place, (_, rating, error) in placed:
        dots.append((rating, place))
        if error is not None:
            intervals += [(rating - error, place), (rating + error, place), None]
    chart.add("95 %", intervals, dots_size=0, stroke_style={"width": 6, "linecap": "round"})
    chart.add("rating", dots, stroke=False)
    return _svg(chart)


def llr_chart(points: Iterable[tuple[int, float]], lower: float, upper: float, games: int) -> Markup:
    """Draw the log-likelihood ratio over games as a series, followed by the upper and the lower limit."""
    formats = {"x_value_formatter": "{:,.0f}".format, "value_formatter": "{:.2f}".format}
    chart = _chart("llr", 340, x_title="games", y_title="LLR", show_dots=False, **formats)
    chart.add("LLR", list(points))
    for bound in (upper, lower):
        chart.add("bound", [(0, bound), (games, bound)], stroke_style={"width": 2, "dasharray": "7, 5"})
    return _svg(chart)


def times_chart(histograms: Sequence[tuple[str, TimeHistogram]]) -> Markup:
    """Draw the share of each bot's moves by time, on a logarithmic scale; at most `MOST_SERIES` bots."""
    titles = {"x_title": "thinking time of a move, logarithmic", "y_title": "share of the bot's moves"}
    chart = _chart("times", 380, show_dots=False, value_formatter="{:.0%}".format, **titles)
    lines = [(name, _by_bin(histogram)) for name, histogram in histograms]
    low = min((place for _, bins in lines for place in bins), default=0)
    high = max((place for _, bins in lines for place in bins), default=0)
    first, last = low // _BINS_PER_DECADE, -(-(high + 1) // _BINS_PER_DECADE)
    chart.x_labels = [{"label": _time_label(decade), "value": decade} for decade in range(first, last + 1)]
    places = range(first * _BINS_PER_DECADE, last * _BINS_PER_DECADE)
    for name, bins in lines:
        total = sum(bins.values())
        shares = ((place, bins.get(place, 0) / total) for place in places)
        chart.add(name, [(edge / _BINS_PER_DECADE, share) for place, share in shares for edge in (place, place + 1)])
    return _svg(chart)


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


def _chart(identity: str, height: int, **options: Any) -> Any:
    import pygal
    from pygal.style import Style

    style = Style(
        **dict.fromkeys(("background", "plot_background"), "transparent"),
        **dict.fromkeys(("foreground", "foreground_strong"), "var(--text)"),
        foreground_subtle="var(--muted)",
        **dict.fromkeys(("guide_stroke_color", "major_guide_stroke_color"), "var(--line)"),
        **dict.fromkeys(("guide_stroke_dasharray", "major_guide_stroke_dasharray"), "none"),
        font_family="inherit",
        **dict.fromkeys(("label_font_size", "major_label_font_size", "legend_font_size"), 13),
        title_font_size=14,
        **dict.fromkeys(("opacity", "opacity_hover", "stroke_opacity", "stroke_opacity_hover"), "1"),
        stroke_width="2",
        transition="0s",
        **dict.fromkeys(("colors", "value_colors", "ci_colors"), _SERIES),
    )
    size = {"width": _WIDTH, "height": height, "margin": 8, "max_scale": 8, "stroke_style": {"width": 2}}
    chart = pygal.XY(style=style, js=(), show_legend=False, no_data_text="no data", **size, **options)
    # pygal's own would be random; it precedes every rule of the chart's style.
    chart.uuid = identity
    chart.add_xml_filter(_for_a_page)
    return chart


def without(root: Any, *tags: str) -> Any:
    """Remove elements with these tags from a picture, and comments, which have addresses and the date."""
    for parent in list(root.iter()):
        for child in list(parent):
            if not isinstance(child.tag, str) or child.tag.rpartition("}")[2] in tags:
                parent.remove(child)
    return root


def _for_a_page(root: Any) -> Any:
    """Remove scripts, and texts for tooltips that scripts show."""
    without(root, "script", "desc", "title")
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    return root


def _svg(chart: Any) -> Markup:
    # pygal escapes all texts; the result is an element of the page.
    return Markup(chart.render(is_unicode=True, disable_xml_declaration=True))  # noqa: S704  # pygal escapes
