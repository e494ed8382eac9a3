"""What commands print where rich is not installed: the same words, without colours and boxes."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO


class PlainConsole:
    """As much of rich's Console as commands use that work without it."""

    is_terminal = False
    """It draws no pictures and no progress."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._stderr = stderr

    @property
    def file(self) -> TextIO:
        """Where it prints, looked up for each line."""
        return sys.stderr if self._stderr else sys.stdout

    @property
    def encoding(self) -> str:
        """Of the file."""
        return self.file.encoding or "utf-8"

    @property
    def width(self) -> int:
        """Columns of the terminal, or 80."""
        return shutil.get_terminal_size().columns

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", style: str = "", soft_wrap: bool = False) -> None:
        """Prints the texts. Styles are left out, and lines end where the terminal ends them."""
        print(*objects, sep=sep, end=end, file=self.file)


class PlainTable:
    """Columns of text; those whose name begins with `>` are aligned to the right."""

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        self._columns = columns
        self._rows = [tuple(name.lstrip(">") for name in columns), *rows]

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self._rows, strict=True)]
        head, *rows = self._rows
        return "\n".join(self._line(row, widths) for row in (head, ["-" * width for width in widths], *rows))

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        aligned = (
            cell.rjust(width) if name.startswith(">") else cell.ljust(width)
            for name, cell, width in zip(self._columns, cells, widths, strict=True)
        )
        return "  ".join(aligned).rstrip()
