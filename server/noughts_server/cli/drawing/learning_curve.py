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
    file.write_text(_picture(title, curve), encoding="utf-8")
    return table


def _picture(title: str, curve: Sequence[Evaluation]) -> str:
    # This module needs the extra `charts`.
    from noughts_server.drawing.charts import MOST_SERIES, Chart, Frame, Tick, count_ticks

    series = [
        (f"against {opponent}, moving {moving}", [row for row in curve if (row.opponent, row.side) == (opponent, side)])
        for opponent in dict.fromkeys(evaluation.opponent for evaluation in curve)
        for side, moving in enumerate(_SIDES)
    ]
    legend_rows = (len(series) + 1) // 2
    below = 60 + 20 * legend_rows
    frame = Frame(width=900, height=460 + below, left=84, right=24, top=44, bottom=below)
    most_games = max((row.games for row in curve), default=0)
    chart = Chart(frame, across=(0, most_games), up=(0, 1))
    chart.rules(Tick(points / 5, f"{points / 5:.2f}") for points in range(6))
    chart.labels(count_ticks(0, most_games))
    chart.titles("games learnt", "points a game (exact)")
    for number, (_, rows) in enumerate(series):
        points = [(row.games, row.points) for row in rows]
        chart.line(points, f"series-{number % MOST_SERIES + 1}")
        chart.dots(points, f"series-{number % MOST_SERIES + 1}", radius=2.5)
    chart.legend(name for name, _ in series)
    return chart.file(title)
