"""The teacher's list of students, as spreadsheets save it."""

from pathlib import Path

import pytest

from noughts_server.leagues.course import LeagueProblem
from noughts_server.leagues.students import Student, read_class

ADA = Student("ada", "Ada, Countess", "ada@example")
BOB = Student("bob", "Bob", "bob@example")


@pytest.mark.parametrize(
    "content",
    [
        '"login","name","email"\n"ada","Ada, Countess","ada@example"\n"bob","Bob","bob@example"\n',
        "Login; name; email\nada;Ada, Countess;ada@example\nbob;Bob;bob@example\n",
        '"email"\t"login"\t"name"\nada@example\tada\tAda, Countess\n\t\t\nbob@example\tbob\tBob\n',
        '\n\nlogin,name,email\n\nada,"Ada, Countess",ada@example\n  \nbob,Bob,bob@example',
    ],
)
def test_list_of_a_spreadsheet_is_read(tmp_path: Path, content: str) -> None:
    file = tmp_path / "class.csv"
    file.write_text(content)
    assert read_class(file) == [ADA, BOB]


@pytest.mark.parametrize("content", ["ada\n\n bob \n", '"ada"\n"bob"\n'])
def test_list_of_logins_is_read(tmp_path: Path, content: str) -> None:
    file = tmp_path / "class.txt"
    file.write_text(content)
    assert read_class(file) == [Student("ada"), Student("bob")]


@pytest.mark.parametrize(
    "content, expected",
    [
        ("ada\n\n\nada b\n", "line 4: got the login 'ada b'"),
        ("ada\nbob,Bob\n", "line 2: got the login 'bob,Bob'"),
        ("\nlogin,name\n\nada,Ada\n\nADA,Ada\n", "line 6: got 'ADA' twice"),
        ('login,name\nada,"Ada\nCountess"\n?,Bob\n', "line 4: got the login '?'"),
        ('"name","email"\n', """line 1: got '"name","email"', expected a column `login`"""),
    ],
)
def test_wrong_line_of_a_list_is_named(tmp_path: Path, content: str, expected: str) -> None:
    file = tmp_path / "class.csv"
    file.write_text(content)
    with pytest.raises(LeagueProblem) as refused:
        read_class(file)
    assert refused.value.message.startswith(f"--students {file}, {expected}")
