"""Untrusted texts for terminals, files and spreadsheets, without characters that control these programs."""

import re

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Fullwidth signs begin a formula in some spreadsheets. A spreadsheet that splits lines at ; or |, or ignores quotes,
# sees more cells than the file has.
_FORMULA = re.compile(r"(^|[;|\n])(?=[\s']*[=+\-@\uff0b\uff0d\uff1d\uff20])")
_QUOTED_FORMULA = re.compile(r"(^|[;|\n])'(?=[\s']*[=+\-@\uff0b\uff0d\uff1d\uff20])")


def printable(text: str, *, keep: str = "") -> str:
    """Return the text for a screen or page: characters that cannot be printed are replaced, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in keep else _REPLACEMENT for letter in text)


def without_controls(text: str) -> str:
    """Return the text for a file of data: only characters that steer a terminal or split lines are replaced.

    Line feeds and tabs remain, as do all letters, spaces and joiners of other languages.
    """
    return _CONTROLS.sub(_REPLACEMENT, text)


def spreadsheet_cell(text: str) -> str:
    """Return the text for a cell of CSV. A text that a spreadsheet would compute gets an apostrophe in front."""
    return _FORMULA.sub(r"\1'", without_controls(text).replace("\t", " "))


def of_spreadsheet_cell(text: str) -> str:
    """Return the text of a cell that `spreadsheet_cell` made."""
    return _QUOTED_FORMULA.sub(r"\1", text)
