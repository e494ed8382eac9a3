"""Texts of other people in terminals, files and spreadsheets."""

import random
import re

import pytest

from noughts_server.core.plain_text import of_spreadsheet_cell, printable, spreadsheet_cell, without_controls

FORMULAS = [
    "=1+1",
    "=cmd|' /C calc'!A0",
    "+1",
    "-2+3",
    "@SUM(1)",
    " =1",
    "\t=1",
    "\r=1",
    "\n=1",
    "'=1",
    "\uff1d1",
    "\uff0b1",
    # Programs that split cells at such characters would read a formula after them.
    "a;=1",
    "a; +1",
    "a|@x",
    "a\n-1",
    "a;'=1",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_part_of_a_cell_is_a_formula(text: str) -> None:
    for part in re.split("[;|\n]", spreadsheet_cell(text)):
        assert not re.match(r"\s*[=+\-@\uff0b\uff0d\uff1d\uff20]", part)


@pytest.mark.parametrize("text", ["", "ada", "a-b", "a=b", "'quoted'", "1-0", "a, b; c", "\u5f20\u3000\u4e09"])
def test_ordinary_cells_stay_as_they_are(text: str) -> None:
    assert spreadsheet_cell(text) == text


def test_any_text_is_the_same_after_writing_and_reading_its_cell() -> None:
    rng = random.Random(1)
    for _ in range(20_000):
        text = "".join(rng.choices("=+-@;|' ab\n\uff1d", k=rng.randrange(9)))
        assert of_spreadsheet_cell(spreadsheet_cell(text)) == text


@pytest.mark.parametrize("control", "\x00\x07\x1b\x7f\x9b\u2028\u2029\u202e\u2066\ud800")
def test_characters_that_control_a_terminal_are_replaced(control: str) -> None:
    for clean in (printable, without_controls, spreadsheet_cell):
        assert clean(f"a{control}b") == "a\ufffdb"


def test_letters_spaces_and_joiners_of_other_languages_remain() -> None:
    text = "\u5f20\u3000\u4e09 \u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f4bb\t\n"
    assert without_controls(text) == text
