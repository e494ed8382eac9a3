"""The books of openings in the package: text files in this folder, made by `tools/make_books.py`."""

from importlib.resources import files

BOOKS = ("balanced15", "balanced20")
"""Their names: for free Gomoku on 15x15 and 20x20, and for other variants that allow their moves."""


def book_lines(name: str) -> list[str]:
    """Return the lines of a book, in the format of `reading`."""
    return files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()
