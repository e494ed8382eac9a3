"""Contrast in the light and the dark scheme, as WCAG 2.2 demands: 4.5 for text (1.4.3), 3 for graphics (1.4.11)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import noughts_server.report
from noughts_server.drawing.charts import charts_css, heat_map_css

CSS = charts_css() + heat_map_css() + (Path(noughts_server.report.__file__).parent / "report.css").read_text()


def colours(scheme: str) -> dict[str, str]:
    """Return the colours of a scheme by name."""
    # The style sheets of charts, heat map and page have one block of colours each for light, then one for dark.
    schemes = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    assert len(schemes) == 6
    blocks = schemes[1::2] if scheme == "dark" else schemes[::2]
    by_name = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", "".join(blocks)))
    assert len(by_name) > 20
    return by_name


def luminance(colour: str) -> float:
    def linear(part: int) -> float:
        value = part / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[start : start + 2], 16)) for start in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(scheme: str) -> None:
    values = colours(scheme)
    for text_colour in ("text", "muted", "accent"):
        for background in ("page", "card"):
            assert contrast(values[text_colour], values[background]) >= 4.5, (text_colour, background)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_have_enough_contrast_on_all_heat_map_colours(scheme: str) -> None:
    values = colours(scheme)
    text_colours = dict(re.findall(r"\.heat-(\d) \{[^}]*\scolor: var\(--([\w-]+)\)", CSS))
    assert len(text_colours) == 9
    for level, text_colour in text_colours.items():
        assert contrast(values[text_colour], values[f"heat-{level}"]) >= 4.5, level


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_of_charts_have_enough_contrast(scheme: str) -> None:
    values = colours(scheme)
    for number in range(1, 9):
        assert contrast(values[f"series-{number}"], values["card"]) >= 3, number


def test_both_schemes_have_every_colour() -> None:
    assert colours("light").keys() == colours("dark").keys()
