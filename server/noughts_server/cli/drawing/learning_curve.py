"""A learning curve: points per game by number of games learnt, as a picture and as a table."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.extras import require_extra
from noughts_server.core.plain_text import spreadsheet_cell

_SIDES = ("first", "second")


class Evaluation(NamedTuple):
    """The learner's exact result against one opponent on one side."""

    games: int
    """The number of games learnt before."""
    opponent: str
    side: int
    """The learner's side: 0 moves first, 1 second."""
    wins: float
    draws: float
    losses: float
    points: float
    """Points per game: 1 for a win, 0.5 for a draw."""

    def document(self) -> dict[str, Any]:
        return {**self._asdict(), "side": _SIDES[self.side]}


def check_target(file: Path) -> None:
    """Raise UsageProblem or Problem if the picture could not be written after the games."""
    require_extra("noughts bot learn", "charts")
    if file.suffix.lower() != ".svg":
        raise UsageProblem(
            f"--curve {file}: expected a name that ends in .svg",
            "Name an .svg file; its numbers go to the .csv file next to it.",
        )
    if not file.absolute().parent.is_dir():
        raise Problem(f"--curve {file}: there is no folder {file.parent}")


def write_curve(file: Path, title: str, curve: Sequence[Evaluation]) -> Path:
    """Write the picture, and the table next to it; return the table's path."""
    table = file.with_suffix(".csv")
    with open(table, "w", encoding="utf-8", newline="") as file_of_table:
        writer = csv.DictWriter(file_of_table, Evaluation._fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {**evaluation.document(), "opponent": spreadsheet_cell(evaluation.opponent)} for evaluation in curve
        )
    file.write_bytes(_picture(title, curve))
    return table


def _picture(title: str, curve: Sequence[Evaluation]) -> bytes:
    import pygal
    from pygal.style import Style

    from noughts_server.report.charts import without

    chart = pygal.XY(
        title=title,
        x_title="games learnt",
        y_title="points a game (exact)",
        style=Style(background="white", plot_background="white", font_family="sans-serif", opacity=".9"),
        width=900,
        height=540,
        range=(0, 1),
        dots_size=2,
        legend_at_bottom=True,
        legend_at_bottom_columns=2,
        truncate_legend=-1,
        x_value_formatter=lambda games: f"{games:,.0f}",
        value_formatter=lambda points: f"{points:.2f}",
        js=(),
        no_prefix=True,
    )
    for opponent in dict.fromkeys(evaluation.opponent for evaluation in curve):
        for side, moving in enumerate(_SIDES):
            points = [(row.games, row.points) for row in curve if (row.opponent, row.side) == (opponent, side)]
            chart.add(f"against {opponent}, moving {moving}", points)
    chart.add_xml_filter(lambda root: without(root, "script"))
    return bytes(chart.render())
