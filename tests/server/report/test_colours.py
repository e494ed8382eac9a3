"""Contrast in both schemes, by WCAG 2.2: 4.5 for text (criterion 1.4.3), 3 for what is drawn (1.4.11)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import noughts_server.report
from noughts_server.drawing.charts import charts_css, heat_map_css

CSS = charts_css() + heat_map_css() + (Path(noughts_server.report.__file__).parent / "report.css").read_text()


def colours(scheme: str) -> dict[str, str]:
    # Charts, the heat map and the page have their colours in light and in dark.
    schemes = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    assert len(schemes) == 6
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", "".join(schemes[scheme == "dark" :: 2])))
    assert len(found) > 20
    return found


def luminance(colour: str) -> float:
    def linear(part: int) -> float:
        value = part / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[place : place + 2], 16)) for place in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    found = colours(scheme)
    for ink in ("text", "muted", "accent"):
        for ground in ("page", "card"):
            assert contrast(found[ink], found[ground]) >= 4.5, (ink, ground)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_on_every_colour_of_the_heat_map_can_be_read(scheme: str) -> None:
    found = colours(scheme)
    used = dict(re.findall(r"\.heat-(\d) \{[^}]*\scolor: var\(--([\w-]+)\)", CSS))
    assert len(used) == 9
    for level, ink in used.items():
        assert contrast(found[ink], found[f"heat-{level}"]) >= 4.5, level


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_stand_out_from_the_ground(scheme: str) -> None:
    found = colours(scheme)
    for number in range(1, 9):
        assert contrast(found[f"series-{number}"], found["card"]) >= 3, number


def test_both_schemes_have_every_colour() -> None:
    assert colours("light").keys() == colours("dark").keys()
