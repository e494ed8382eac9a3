"""The students of a course: the teacher's list of them, and the file with their tokens."""

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from noughts_server.core.plain_text import spreadsheet_cell
from noughts_server.core.text_files import TextLines, WrongBytes
from noughts_server.leagues.course import ORGANISER, LeagueProblem

_MOST_STUDENTS = 2_000
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
TOKENS_HEADER = "login,name,email,token\n"


@dataclass(frozen=True, slots=True)
class Student:
    """A row of the teacher's list."""

    login: str
    name: str = ""
    email: str = ""


def read_class(file: Path) -> list[Student]:
    """Return the students of a CSV file, or of a file with a login a line. Raise LeagueProblem."""
    try:
        with TextLines(file) as text:
            lines = [line.rstrip("\n") for line in text if line.strip()]
    except OSError as error:
        raise LeagueProblem(f"--students {file}: {error.strerror}") from error
    except WrongBytes as error:
        raise LeagueProblem(f"--students {file}, {error}", error.fix) from error
    header = [cell.strip().lower() for cell in re.split(r"[,;\t]", lines[0])] if lines else []
    has_header = "login" in header
    if has_header:
        delimiter = next((separator for separator in ",;\t" if separator in lines[0]), ",")
        rows = (dict(zip(header, row, strict=False)) for row in csv.reader(lines[1:], delimiter=delimiter))
        students = [
            Student(
                login=row.get("login", "").strip(), name=row.get("name", "").strip(), email=row.get("email", "").strip()
            )
            for row in rows
        ]
    elif len(header) > 1:
        hint = "Name the column with the logins `login`, in the first line."
        raise LeagueProblem(f"--students {file}, line 1: got {lines[0]!r}, expected a column `login`", hint)
    else:
        students = [Student(line.strip()) for line in lines]
    if not 1 <= len(students) <= _MOST_STUDENTS:
        raise LeagueProblem(f"--students {file}: got {len(students)} students, expected 1 to {_MOST_STUDENTS:,}")
    check_logins(
        [student.login for student in students], lambda number: f"--students {file}, line {number + has_header}"
    )
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


def tokens_csv(students: Iterable[Student], secrets: dict[str, str]) -> str:
    """Return a line for each student, with the student's token."""
    text = StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for student in students:
        cells = [spreadsheet_cell(text) for text in (student.login, student.name, student.email)]
        lines.writerow([*cells, secrets[student.login]])
    return text.getvalue()
