"""The folder of a course, which holds everything: the database, the tokens, what was chosen."""

import csv
import json
import os
import stat
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from noughts_server.errors import InvalidArgument
from noughts_server.leagues.course import Course
from noughts_server.leagues.instructions import instructions
from noughts_server.leagues.problems import LeagueProblem
from noughts_server.leagues.students import TOKENS_HEADER, Student, check_logins, tokens_csv
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.sqlite import url_of
from noughts_server.store.people.bots import COURSE_LABEL
from noughts_server.store.people.tokens import create_token

ORGANISER = "organiser"
"""The owner of the nights' tournaments."""
_PRIVATE = stat.S_IRUSR | stat.S_IWUSR


class CourseFolder:
    """The files of a course."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "league.sqlite"
        self.tokens = path / "tokens.csv"
        self.instructions = path / "INSTRUCTIONS.md"
        self.reports = path / "reports"
        self._settings = path / "course.json"
        self.organiser = path / "organiser.token"

    def read(self) -> Course:
        """Return the course. Raise LeagueProblem if the folder has none."""
        try:
            return Course(**json.loads(self._settings.read_text(encoding="utf-8")))
        except OSError as error:
            hint = "Make one: noughts course init FOLDER --class class.csv"
            raise LeagueProblem(f"{self._settings}: {error.strerror}, expected the folder of a course", hint) from error
        except (ValueError, TypeError) as error:
            raise LeagueProblem(f"{self._settings}: got {error}, expected what `noughts course init` writes") from error

    def logins(self) -> list[str]:
        """Return the logins of tokens.csv."""
        return [row["login"] for row in csv.DictReader(self.tokens.read_text(encoding="utf-8").splitlines())]

    async def create(self, course: Course, students: list[Student]) -> None:
        """Make the folder with all its files. Raise LeagueProblem if it exists and is not empty."""
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise LeagueProblem(f"{self.path}: it is there already, and not empty", "Choose another folder.")
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            secrets = await self._make_tokens([each.login for each in students], course.end, organiser=True)
            self._settings.write_text(json.dumps(asdict(course), indent=2) + "\n", encoding="utf-8")
            _write_private(self.organiser, secrets[""] + "\n")
            _write_private(self.tokens, TOKENS_HEADER + tokens_csv(students, secrets))
            self.instructions.write_text(instructions(course), encoding="utf-8")
        except BaseException:
            # An unfinished course would block the next attempt.
            for file in self.path.iterdir():
                file.unlink()
            self.path.rmdir()
            raise

    async def add(self, logins: list[str]) -> int:
        """Make tokens for late students. Return how many students there are then. Raise LeagueProblem."""
        course, known = self.read(), self.logins()
        check_logins([*known, *logins], lambda number: "LOGIN")
        added = tokens_csv(map(Student, logins), await self._make_tokens(logins, course.end))
        _write_private(self.tokens, self.tokens.read_text(encoding="utf-8") + added)
        return len(known) + len(logins)

    async def _make_tokens(
        self, logins: Iterable[str], end: datetime | None, *, organiser: bool = False
    ) -> dict[str, str]:
        """Return the secrets of new tokens by login; the organiser's has an empty one."""
        store = await Store.open(url_of(self.database.absolute()), create=organiser)
        try:
            now = store.now_ms()
            life = None if end is None else round(end.timestamp() * 1000) - now
            if life is not None and life <= 0:
                raise InvalidArgument.of("--closes", f"{end}, a moment that has passed", "one to come")

            def tokens(connection: Connection) -> dict[str, str]:
                made = {
                    login: create_token(
                        connection, owner=login, label=COURSE_LABEL, scopes=("play", "submit"), life_ms=life, now_ms=now
                    )
                    for login in logins
                }
                if organiser:
                    scopes = ("admin", "organise", "play")
                    made[""] = create_token(connection, owner=ORGANISER, label=ORGANISER, scopes=scopes, now_ms=now)
                return {login: token.secret for login, token in made.items()}

            return await store.write(tokens)
        finally:
            await store.close()


def _write_private(file: Path, text: str) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE), "w", encoding="utf-8") as opened:
        opened.write(text)
