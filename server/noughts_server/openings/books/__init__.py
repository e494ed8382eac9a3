"""Books of openings that come with the package: text files beside this, made by `tools/make_books.py`."""

from importlib.resources import files

BOOKS = ("balanced15", "balanced20")
"""Their names: for free Gomoku on 15x15 and on 20x20, and for whatever else allows their moves."""


def book_lines(name: str) -> list[str]:
    """The lines of a book, in the form that `reading` reads."""
    return files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()
