"""The students of a course: the teacher's list of them, and the file with their tokens."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from noughts_server.core.plain_text import spreadsheet_cell
from noughts_server.core.text_files import TextLines, WrongBytes
from noughts_server.leagues.course import ORGANISER, LeagueProblem

_MOST_STUDENTS = 2_000
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
TOKENS_COLUMNS = ("login", "name", "email", "token")


@dataclass(frozen=True, slots=True)
class Student:
    """A row of the teacher's list."""

    login: str
    name: str = ""
    email: str = ""


class Row(NamedTuple):
    """A row of a CSV file."""

    line: int
    """The number of its first line."""
    text: str
    """Its lines, unchanged."""
    cells: list[str]


@dataclass(frozen=True, slots=True)
class CsvFile:
    """The rows of a CSV file that are not empty. Spreadsheets separate cells by commas, semicolons or tabs."""

    rows: list[Row]
    separator: str
    encoding: str
    ends_line: bool
    """Whether the file ends with a line break."""

    @classmethod
    def read(cls, file: Path, subject: str) -> "CsvFile":
        """Read a file. Raise LeagueProblem that begins with the subject."""
        try:
            with TextLines(file) as text:
                lines = list(text)
        except OSError as error:
            raise LeagueProblem(f"{subject}: {error.strerror}") from error
        except WrongBytes as error:
            raise LeagueProblem(f"{subject}, {error}", error.fix) from error
        first_line = next(filter(str.strip, lines), "")
        separator = max(",;\t", key=first_line.count)
        reader = csv.reader(lines, delimiter=separator)
        rows = []
        begin = 0
        for cells in reader:
            row = Row(begin + 1, "".join(lines[begin : reader.line_num]), [cell.strip() for cell in cells])
            begin = reader.line_num
            if any(row.cells):
                rows.append(row)
        return cls(
            rows=rows,
            separator=separator,
            encoding=text.encoding,
            ends_line=bool(lines) and lines[-1].endswith("\n"),
        )

    @property
    def header(self) -> list[str]:
        """Return the names of the columns: the cells of the first row."""
        return [cell.lower() for cell in self.rows[0].cells] if self.rows else []

    def documents(self) -> list[dict[str, str]]:
        """Return the rows after the header, by the names of their columns. Cells can be missing."""
        return [dict(zip(self.header, row.cells, strict=False)) for row in self.rows[1:]]

    def header_problem(self, subject: str, expected: str, hint: str) -> LeagueProblem:
        """Return the problem that the header is wrong."""
        line, text, _ = self.rows[0] if self.rows else Row(1, "", [])
        return LeagueProblem(f"{subject}, line {line}: got {text.rstrip()!r}, expected {expected}", hint)


def read_class(file: Path) -> list[Student]:
    """Return the students of a CSV file, or of a file with a login a line. Raise LeagueProblem."""
    subject = f"--students {file}"
    table = CsvFile.read(file, subject)
    rows = table.rows
    if "login" in table.header:
        rows = rows[1:]
        students = [
            Student(login=row.get("login", ""), name=row.get("name", ""), email=row.get("email", ""))
            for row in table.documents()
        ]
    elif len(table.header) > 1:
        hint = "Name the column with the logins `login`, in the first line."
        raise table.header_problem(subject, "a column `login`", hint)
    else:
        students = [Student(row.cells[0] if len(row.cells) == 1 else row.text.strip()) for row in rows]
    if not 1 <= len(students) <= _MOST_STUDENTS:
        raise LeagueProblem(f"{subject}: got {len(students)} students, expected 1 to {_MOST_STUDENTS:,}")
    check_logins([student.login for student in students], lambda number: f"{subject}, line {rows[number - 1].line}")
    return students


def check_logins(logins: list[str], place: Callable[[int], str]) -> None:
    """Raise LeagueProblem for an invalid or repeated login.

    `place` returns the place of a login in the input by its number, from 1.
    """
    seen: set[str] = set()
    for number, login in enumerate(logins, 1):
        if not _LOGIN.fullmatch(login):
            expected = "1 to 40 of a-z, A-Z, 0-9 and ._-, beginning with a letter or a digit"
            raise LeagueProblem(f"{place(number)}: got the login {login!r}, expected {expected}")
        if login.lower() == ORGANISER:
            raise LeagueProblem(f"{place(number)}: got the login {login!r}, which is the teacher's, expected another")
        if login.lower() in seen:
            raise LeagueProblem(f"{place(number)}: got {login!r} twice, expected each login once")
        seen.add(login.lower())


def tokens_csv(
    students: Iterable[Student],
    secrets: Mapping[str, str],
    columns: Sequence[str] = TOKENS_COLUMNS,
    separator: str = ",",
) -> str:
    """Return a line for each student, with the student's token."""
    text = StringIO()
    lines = csv.DictWriter(text, columns, restval="", extrasaction="ignore", delimiter=separator, lineterminator="\n")
    for student in students:
        cells = {name: spreadsheet_cell(value) for name, value in asdict(student).items()}
        lines.writerow({**cells, "token": secrets[student.login]})
    return text.getvalue()
