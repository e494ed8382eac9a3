"""Assemble the page of a report. The same games give the same bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from noughts_referee.rules import Termination, in_words
from noughts_server.core.plain_text import printable
from noughts_server.core.version import software_version
from noughts_server.drawing.board_svg import board_css, board_script
from noughts_server.drawing.charts import MOST_SERIES, charts_css, heat_map_css
from noughts_server.report.charts import ratings_chart, times_chart
from noughts_server.report.collect import MOST_FAULTS, Collected
from noughts_server.report.embedded import games_json
from noughts_server.report.heat_map import MOST_DRAWN, MOST_WITH_NUMBERS, HeatRow, heat_picture, heat_rows
from noughts_server.report.match import match
from noughts_server.report.ratings import MOST_BARS, fit_ratings
from noughts_server.statistics.sprt import Sprt
from noughts_server.tables.crosstable import LEVELS
from noughts_server.tables.kinds import TableKind, make_table
from noughts_server.tables.standings import BRACKET_RANKED_BY, RANKED_BY, TIE_BREAKS
from noughts_server.tables.table import Table, Value, cell_text
from noughts_server.tables.tally import Tally

MOST_ROWS = 500
"""Limit of the rows of a table."""
_MOST_OPENINGS = 100
_HERE = Path(__file__).parent

_TERMINATIONS = frozenset(map(str, Termination))


@dataclass(slots=True)
class Part:
    """A part of the page, with a heading."""

    anchor: str
    title: str
    content: Any = None
    """The values for the template's sentences about the part."""
    tables: Sequence[Table] = ()
    chart: Markup | None = None
    legend: Sequence[str] = ()
    """The names of the chart's series, in order."""
    heat: Sequence[HeatRow] = ()
    """The rows of the coloured crosstable."""
    viewer: Markup | None = None
    """The JSON of the games for the script that shows them on a board."""


def page(collected: Collected, test: Sprt) -> str:
    """Return the page as HTML; `test` is the test of the LLR chart, if two have played."""
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    parts = list(_parts(collected, test))
    tally = collected.tally
    return environment.get_template("report.html.jinja").render(
        title=printable(collected.title) or "Report",
        facts=list(_facts(tally)),
        parts=parts,
        has_viewer=any(part.viewer for part in parts),
        games=tally.games,
        version=software_version(),
        ranks_by=f"{BRACKET_RANKED_BY if tally.has_bracket else RANKED_BY}; ties are broken by {TIE_BREAKS}",
        levels=LEVELS,
        most_faults=MOST_FAULTS,
        most_bars=MOST_BARS,
        most_with_numbers=MOST_WITH_NUMBERS,
        cell=_cell,
        css=_trusted("\n".join((board_css(), charts_css(), heat_map_css(), _text("report.css")))),
        script=viewer_script(),
    )


def viewer_script() -> Markup:
    """Return the script that shows games. It contains the module that shows moves on boards, without its exports."""
    return _trusted(board_script().replace("\nexport ", "\n") + _text("viewer.js"))


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _trusted(text: str) -> Markup:
    """Return the text of our own files, which needs no escaping."""
    return Markup(text)  # noqa: S704  # our own files


def _cell(value: Value, unit: Any) -> str:
    return in_words(str(value)) if value in _TERMINATIONS else cell_text(value, unit)


def _facts(tally: Tally) -> Iterator[tuple[str, str]]:
    scores = [counts.score for counts in tally.pairs.values()]
    games = sum(score.games for score in scores)
    yield "variant", ", ".join(sorted(tally.variants))
    yield from ((name, printable(text)) for name, text in tally.about.facts())
    yield "bots", f"{len(tally.labels):,}"
    yield "games", f"{tally.games:,}"
    if tally.distinct < tally.games:
        yield "distinct games", f"{tally.distinct:,}"
    if tally.void:
        yield "void", f"{tally.void:,}"
    if games:
        yield "drawn", f"{sum(score.draws for score in scores) / games:.1%}"
        yield "first mover's score", f"{sum(score.points for score in scores) / games:.1%}"
    yield "plies a game", f"{sum(counts.plies for counts in tally.pairs.values()) / tally.games:.1f}"


def _parts(collected: Collected, test: Sprt) -> Iterator[Part]:
    tally = collected.tally
    yield Part("standings", "Standings", tables=[make_table(TableKind.STANDINGS, tally, MOST_ROWS)])
    if collected.course is not None:
        (other,) = (label for label in tally.labels if label != collected.course.label)
        statistics = match(collected.course, other, test)
        bounds = (f"accept H1 at {test.upper:.2f}", f"accept H0 at {test.lower:.2f}")
        yield Part("match", "Match", statistics, chart=statistics.chart, legend=("LLR", *bounds))
    yield _crosstable(tally)
    if tally.about.matches:
        pairings = make_table(TableKind.PAIRINGS, tally, MOST_ROWS)
        yield Part(TableKind.PAIRINGS, pairings.caption, tables=[pairings])
    yield from _ratings(tally)
    yield Part("sides", "By side", tables=[make_table(TableKind.SIDES, tally, MOST_ROWS)])
    yield Part("terminations", "By termination", tables=[make_table(TableKind.TERMINATIONS, tally, MOST_ROWS)])
    if set(tally.openings) != {()}:
        yield Part("openings", "By opening", tables=[make_table(TableKind.OPENINGS, tally, _MOST_OPENINGS)])
    yield _times(tally)
    yield from _games(collected)


def _ratings(tally: Tally) -> Iterator[Part]:
    ratings = fit_ratings(tally)
    if ratings is None:
        return
    table = replace(ratings.table, rows=ratings.table.rows[:MOST_ROWS])
    chart = ratings_chart(ratings.bars) if ratings.bars else None
    yield Part(anchor="ratings", title="Ratings", content=ratings, tables=[table], chart=chart)


def _crosstable(tally: Tally) -> Part:
    number = len(tally.labels)
    chart = heat_picture(tally) if number > MOST_WITH_NUMBERS else None
    numbers = {"bots": number, "drawn": min(number, MOST_DRAWN)}
    return Part("crosstable", "Crosstable", numbers, chart=chart, heat=heat_rows(tally))


def _times(tally: Tally) -> Part:
    table = make_table(TableKind.TIMES, tally, MOST_ROWS)
    labels = [row.label for row in tally.standings() if row.label in tally.times and tally.times[row.label].count]
    chart_labels = labels[:MOST_SERIES]
    chart = times_chart([(label, tally.times[label]) for label in chart_labels]) if chart_labels else None
    return Part(
        anchor="times",
        title="Move times",
        content={"shown": chart_labels, "timed": len(labels)},
        tables=[table],
        chart=chart,
        legend=chart_labels,
    )


def _games(collected: Collected) -> Iterator[Part]:
    document, number = games_json(collected.sample.games())
    if number:
        numbers = {"shown": number, "played": collected.tally.games, "stride": collected.sample.stride}
        yield Part("games", "Games", numbers, viewer=document)
