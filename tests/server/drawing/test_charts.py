"""The labels of charts."""

import re

from noughts_server.drawing.charts import rating_line


def test_few_games_of_a_rating_curve_are_labelled_once_each() -> None:
    points = [{"games": games, "rating": 1000.0 + games, "error95": 5.0} for games in (1, 2)]
    chart = rating_line(points)
    assert chart is not None
    labels = re.findall(r">(\d+)</text>", chart.svg)
    assert [label for label in labels if len(label) == 1] == ["1", "2"]
