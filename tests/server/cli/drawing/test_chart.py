"""Charts as text."""

from __future__ import annotations

from noughts_server.cli.drawing.chart import line_chart


def test_chart_goes_from_corner_to_corner() -> None:
    assert line_chart([(0, 0.0), (3, 3.0)], 4, 4, unicode=False) == ["   *", "  * ", " *  ", "*   "]
    assert line_chart([(0, 0.0), (7, 7.0)], 4, 2) == ["  ⡠⠊", "⡠⠊  "]


def test_chart_of_one_point_or_a_flat_line_is_a_line() -> None:
    assert line_chart([(1, 1500.0)], 3, 1, unicode=False) == ["***"]
    assert line_chart([(1, 1500.0), (9, 1500.0)], 3, 3, unicode=False) == ["   ", "***", "   "]


def test_chart_has_no_gaps_where_the_line_is_steep() -> None:
    chart = line_chart([(0, 0.0), (1, 9.0)], 2, 5, unicode=False)
    assert all("*" in line for line in chart)
