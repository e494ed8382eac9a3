"""Charts as SVG: lines and dots over axes with round numbers.

`curve.css` has the style of their parts, and `charts.css` the colours of reports and files. The website has its own
colours.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from math import ceil, floor, log10
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from noughts_server.core.messages import _, ngettext, number_text

MOST_SERIES = 8
"""The number of colours in `charts.css`: `series-1` and so on."""

Point = tuple[float, float]


class Tick(NamedTuple):
    """A value on an axis, its label, and the classes of its rule."""

    value: float
    text: str
    kind: str = ""


class Frame(NamedTuple):
    """The size of a chart, and the margins around its plot."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


PAGE = Frame(width=640, height=220, left=48, right=12, top=12, bottom=28)
"""The frame of a chart on a page of the website. The style sheet of the website relies on this size."""
_LOW = Frame(width=640, height=130, left=12, right=12, top=8, bottom=28)
"""The frame of a small chart on a page."""
_FEWEST_IN_DISTRIBUTION = 20
"""Fewer bots have no distribution."""


class Chart:
    """A chart. Each method adds a part, which covers earlier ones. Values beyond the axes are at the edge."""

    def __init__(self, frame: Frame, across: Point, up: Point) -> None:
        """`across` and `up` are the ends of the axes."""
        self._frame = frame
        self._right = frame.width - frame.right
        self._below = frame.height - frame.bottom
        self._x = _scale(*across, frame.left, self._right)
        self._y = _scale(*up, self._below, frame.top)
        self._parts: list[str] = []

    def rules(self, ticks: Iterable[Tick]) -> None:
        """Draw horizontal rules with their labels on the left."""
        left = self._frame.left
        for tick in ticks:
            y = self._y(tick.value)
            self._path(f"rule {tick.kind}".rstrip(), f"M{left} {y}H{self._right}")
            self._text("up", left - 6, y + 4, tick.text)

    def labels(self, ticks: Iterable[Tick]) -> None:
        """Write labels below the plot."""
        for tick in ticks:
            x = self._x(tick.value)
            # On a narrow page the letters are larger than the margin.
            self._text("across last" if x > self._right - 1 else "across", x, self._below + 18, tick.text)

    def titles(self, across: str, up: str = "") -> None:
        """Write the names of both axes."""
        self._text("across title", (self._frame.left + self._right) / 2, self._below + 40, across)
        if up:
            middle = (self._frame.top + self._below) / 2
            self._text("across title", 16, middle, up, f' transform="rotate(-90 16 {middle})"')

    def marks(self, ticks: Iterable[Tick]) -> None:
        """Draw vertical lines with their labels at the top."""
        for tick in ticks:
            x = self._x(tick.value)
            self._path("mark", f"M{x} {self._frame.top}V{self._below}")
            self._text("version", x + 4, self._frame.top + 10, tick.text)

    def band(self, lower: Iterable[Point], upper: Iterable[Point]) -> None:
        """Fill the space between two lines."""
        self._path("band", f"{self._line([*upper, *reversed([*lower])])}Z")

    def bar(self, start: float, end: float, height: float, kind: str = "") -> None:
        """Fill a rectangle from the lower end of the axis up."""
        left, right = self._x(start), self._x(end)
        self._path(f"bar {kind}".rstrip(), f"M{left} {self._below}V{self._y(height)}H{right}V{self._below}z")

    def line(self, points: Sequence[Point], kind: str = "") -> None:
        self._path(f"line {kind}".rstrip(), self._line(points))

    def dots(self, points: Iterable[Point], kind: str, radius: float) -> None:
        for x, y in points:
            self._parts.append(f'<circle class="dot {kind}" cx="{self._x(x)}" cy="{self._y(y)}" r="{radius}"/>')

    def spark(self, points: Iterable[Point]) -> Markup:
        """Return only a line, without axes, as a picture that stretches to its place."""
        frame = self._frame
        plot = f"{frame.left} {frame.top - 4} {self._right - frame.left} {self._below - frame.top + 8}"
        return Markup(  # noqa: S704  # numbers
            f'<svg class="spark" viewBox="{plot}" preserveAspectRatio="none" aria-hidden="true">'
            f'<path d="{self._line(points)}"/></svg>'
        )

    def legend(self, names: Iterable[str]) -> None:
        """Write the names of the series below the plot, two in a row. The bottom margin needs 20 units for each row."""
        half = (self._right - self._frame.left) / 2
        for number, name in enumerate(names):
            x, y = self._frame.left + number % 2 * half, self._below + 60 + number // 2 * 20
            self._path(f"key series-{number % MOST_SERIES + 1}", f"M{x} {y - 10}h12v12h-12z")
            self._text("name", x + 18, y, name)

    def svg(self, attributes: str) -> Markup:
        """Return the chart with these attributes, which must be safe markup."""
        size = f'viewBox="0 0 {self._frame.width} {self._frame.height}"'
        return Markup(f'<svg class="curve" {size} {attributes}>{"".join(self._parts)}</svg>')  # noqa: S704  # escaped

    def file(self, title: str) -> str:
        """Return the chart as a file, with its colours for light and for dark displays."""
        return chart_file([self], title)

    @property
    def frame(self) -> Frame:
        return self._frame

    def _line(self, points: Iterable[Point]) -> str:
        return "M" + "L".join(f"{self._x(x)} {self._y(y)}" for x, y in points)

    def _path(self, kind: str, line: str) -> None:
        self._parts.append(f'<path class="{kind}" d="{line}"/>')

    def _text(self, kind: str, x: float, y: float, text: str, attributes: str = "") -> None:
        place = f'x="{round(x, 1)}" y="{round(y, 1)}"'
        self._parts.append(f'<text class="{kind}" {place}{attributes}>{escape(text)}</text>')


def chart_file(charts: Sequence[Chart], title: str) -> str:
    """Return charts of equal size, one below the other, as a file with its colours for light and dark displays."""
    width, height = charts[0].frame.width, charts[0].frame.height
    whole = f'width="{width}" height="{height * len(charts)}"'
    drawn = "".join(
        chart.svg(f'x="0" y="{number * height}" width="{width}" height="{height}"')
        for number, chart in enumerate(charts)
    )
    return (
        f'<svg class="curve" viewBox="0 0 {width} {height * len(charts)}" {whole} role="img"'
        f' xmlns="http://www.w3.org/2000/svg"><title>{escape(title)}</title><style>{charts_css()}</style>'
        f'<rect class="ground" {whole}/><text class="across title" x="{width / 2}" y="24">{escape(title)}</text>'
        f"{drawn}</svg>"
    )


class DrawnChart(NamedTuple):
    """A chart of the website, with a description for screen readers."""

    svg: Markup
    spark: Markup
    """Only the line, for small pictures."""
    words: str


def rating_line(points: Sequence[Mapping[str, Any]], versions: Sequence[tuple[int, str]] = ()) -> DrawnChart | None:
    """Return a bot's rating curve, as the API has it; None for fewer than two points.

    `versions` has the number of games before each version, and its name.
    """
    if len(points) < 2:
        return None
    games, ratings, errors = ([point[name] for point in points] for name in ("games", "rating", "error95"))
    lower = [rating - error for rating, error in zip(ratings, errors, strict=True)]
    upper = [rating + error for rating, error in zip(ratings, errors, strict=True)]
    # The intervals of the first points are so large that the line would be flat: the band begins after them.
    settled = slice(len(points) // 4, None)
    least = min(*ratings, *lower[settled])
    most = max(*ratings, *upper[settled])
    margin = max(10.0, (most - least) * 0.1)
    least -= margin
    most += margin
    first, last = min(games), max(games)

    chart = Chart(PAGE, across=(first, last), up=(least, most))
    chart.rules(Tick(value, f"{value:.0f}") for value in round_numbers(least, most))
    chart.labels(count_ticks(first, last))
    chart.band(zip(games[settled], lower[settled], strict=True), zip(games[settled], upper[settled], strict=True))
    chart.marks(Tick(since, version) for since, version in versions if first <= since <= last)
    line = [*zip(games, ratings, strict=True)]
    chart.line(line)
    return _drawn(
        chart,
        line,
        _(
            "Rating after %(first)s to %(last)s games: from %(before)s to %(now)s, between %(lowest)s and %(highest)s;"
            " now %(now)s ± %(margin)s (95 %%).",
            first=number_text(first),
            last=number_text(last),
            before=f"{ratings[0]:.0f}",
            lowest=f"{min(ratings):.0f}",
            highest=f"{max(ratings):.0f}",
            now=f"{ratings[-1]:.0f}",
            margin=f"{errors[-1]:.0f}",
        ),
    )


def rating_bars(bins: Sequence[tuple[float, int]], width: float, own: float) -> DrawnChart | None:
    """Return the distribution of ratings with the bar of `own` marked; None for fewer than 20 bots.

    `bins` has the lower ends of intervals of this width, and their numbers of bots.
    """
    total = sum(count for _, count in bins)
    if total < _FEWEST_IN_DISTRIBUTION:
        return None
    least, most = bins[0][0] - width, bins[-1][0] + 2 * width
    tallest = max(count for _, count in bins)
    below = sum(count for rating, count in bins if rating + width <= own)
    same = sum(count for rating, count in bins if rating <= own < rating + width)
    chart = Chart(_LOW, across=(least, most), up=(0, tallest * 1.1))
    chart.labels(Tick(value, f"{value:.0f}") for value in round_numbers(least, most))
    for rating, count in bins:
        chart.bar(rating + width * 0.06, rating + width * 0.94, count, "own" if rating <= own < rating + width else "")
    # The bots in its own interval count half: their order is in the leaderboard.
    share = (below + max(0, same - 1) / 2) / max(1, total - 1)
    words = ngettext(
        "Its rating is higher than that of about %(share)s %% of the other %(num)s bot.",
        "Its rating is higher than that of about %(share)s %% of the other %(num)s bots.",
        total - 1,
        share=f"{100 * share:.0f}",
    )
    return _drawn(chart, [(rating, float(count)) for rating, count in bins], words)


def llr_line(course: Sequence[Mapping[str, float]], lower: float, upper: float) -> DrawnChart | None:
    """Return the course of a test, as the API has it, with its bounds; None for fewer than two points."""
    if len(course) < 2:
        return None
    points = [(point["pairs"], point["llr"]) for point in course]
    ratios = [ratio for _pairs, ratio in points]
    last = points[-1][0]
    margin = (upper - lower) / 8
    frame = PAGE._replace(left=72)  # The words at the left are longer than numbers.
    chart = Chart(frame, across=(0, last), up=(min(lower, *ratios) - margin, max(upper, *ratios) + margin))
    chart.rules([Tick(upper, _("gain"), "h1"), Tick(0, "0"), Tick(lower, _("no gain"), "h0")])
    chart.labels(count_ticks(0, last))
    chart.line(points)
    llr = number_text(ratios[-1], ".2f")
    words = _("LLR after each pair of games, up to %(llr)s after %(pairs)s.", llr=llr, pairs=number_text(last))
    return _drawn(chart, points, words)


def value_line(
    values: Sequence[tuple[int, int, int]], dots: Collection[int], plies: int, mistakes: int
) -> DrawnChart | None:
    """Return the course of a game's value for the first player; None for fewer than two known values.

    A win that is near is at the edge, and a distant one half as far from the middle.

    Args:
        values: the number of moves before each known value, 1, 0 or -1, and the plies to the end of the game.
        dots: the plies of positions after mistakes that are marked. A position of unknown value has no dot.
        plies: the number of moves of the game.
        mistakes: the number of all mistakes.
    """
    if len(values) < 2:
        return None
    farthest = max(1, *(value[2] for value in values))
    points = [(float(ply), value * (1 - distance / farthest / 2)) for ply, value, distance in values]
    chart = Chart(PAGE, across=(0, plies), up=(-1.1, 1.1))
    chart.rules([Tick(1, ""), Tick(0, _("draw")), Tick(-1, "")])
    chart.labels(count_ticks(0, plies))
    for stretch in _stretches(points):
        chart.line(stretch)
    marked = [point for point in points if point[0] in dots]
    chart.dots(marked, "mistake", 4)
    won, drawn, lost = (sum(value[1] == each for value in values) for each in (1, 0, -1))
    words = ngettext(
        "Known values for the first player: won in %(won)s, drawn in %(drawn)s, lost in %(lost)s positions;"
        " %(num)s mistake.",
        "Known values for the first player: won in %(won)s, drawn in %(drawn)s, lost in %(lost)s positions;"
        " %(num)s mistakes.",
        mistakes,
        won=won,
        drawn=drawn,
        lost=lost,
    )
    return _drawn(chart, points, words)


def _stretches(points: Sequence[Point]) -> Iterator[Sequence[Point]]:
    """Yield the parts of a line without gaps. A single point is a line of length 0."""
    stretch: list[Point] = []
    for point in points:
        if stretch and point[0] != stretch[-1][0] + 1:
            yield stretch if len(stretch) > 1 else [*stretch, *stretch]
            stretch = []
        stretch.append(point)
    if stretch:
        yield stretch if len(stretch) > 1 else [*stretch, *stretch]


def curve_css() -> str:
    """Return the style sheet of the parts of a chart. They take the text colour of the chart or of the part."""
    return (files(__package__) / "curve.css").read_text(encoding="utf-8")


def charts_css() -> str:
    """Return the style sheet of charts in reports and files, for light and for dark displays."""
    return curve_css() + (files(__package__) / "charts.css").read_text(encoding="utf-8")


def heat_map_css() -> str:
    """Return the style sheet of the colours from all games lost to all won, for light and for dark displays."""
    return (files(__package__) / "heat_map.css").read_text(encoding="utf-8")


def count_ticks(least: float, most: float) -> Iterator[Tick]:
    """Yield the labels of round whole numbers between two values."""
    for number in round_numbers(least, most):
        if number == round(number):
            yield Tick(number, f"{number:,.0f}")


def round_numbers(least: float, most: float) -> list[float]:
    """Return about three to six round numbers between two values."""
    span = (most - least) or 1.0
    size = 10 ** floor(log10(span / 3))
    step = next(size * factor for factor in (1, 2, 5, 10, 20) if span / (size * factor) <= 5)
    return [number * step for number in range(ceil(least / step), floor(most / step) + 1)]


def _drawn(chart: Chart, line: Sequence[Point], words: str) -> DrawnChart:
    svg = chart.svg(f'role="img" aria-label="{escape(words)}"')
    return DrawnChart(svg=svg, spark=chart.spark(line), words=words)


def _scale(least: float, most: float, start: float, end: float) -> Callable[[float], float]:
    """Return the function from a value to its coordinate. Values beyond the limits are at the edge."""
    return lambda value: round(
        start + (min(max(value, least), most) - least) / ((most - least) or 1) * (end - start), 1
    )
