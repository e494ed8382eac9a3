"""The folder of a course, with all its files: the database, the tokens and the settings."""

import json
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from functools import partial
from importlib import resources
from pathlib import Path
from string import Template

from noughts_proto.security import host_of, is_loopback
from noughts_server.core.limits import Limits
from noughts_server.leagues.course import ORGANISER, Course, LeagueProblem
from noughts_server.leagues.students import TOKENS_COLUMNS, CsvFile, Student, check_logins, tokens_csv
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.sqlite import url_of
from noughts_server.store.people.bots import COURSE_LABEL
from noughts_server.store.people.tokens import create_token, set_expiry

_IMPORTS = re.compile(r"(It can import )the standard library( only| and [\w, ]+)\.")
"""The sentence of the instructions that names the packages."""
_TASK = re.compile("^You write a bot that plays .*", re.MULTILINE)
"""The paragraph of the instructions that names the variant, the nights and the deadline."""
_PRIVATE = stat.S_IRUSR | stat.S_IWUSR


def instructions(course: Course) -> str:
    """Return the instructions for students, a page in Markdown."""
    words: dict[str, object] = {**asdict(course), "submissions": Limits().submissions}
    # Beyond one machine a token travels encrypted.
    words["tls"] = "" if is_loopback(host_of(course.server)) else " --tls"
    words["imports"] = _imports(course.python_packages)
    words["task"] = _task(course)

    def fill_template(part: str) -> str:
        template = resources.files(__package__) / "instructions" / f"{part}.md.template"
        return Template(template.read_text(encoding="utf-8")).substitute(words)

    for part, kind in (("python", "py"), ("wasm", "wasm")):
        words[part] = fill_template(part) if kind in course.accept else ""
    return fill_template("page")


def _task(course: Course) -> str:
    until = f" You can submit bots until {course.end.astimezone():%Y-%m-%d %H:%M %Z}." if course.end else ""
    return (
        f"You write a bot that plays {course.variant}. Each night at {course.nightly} all bots meet in a round robin, "
        f"{course.games_per_pair} games of each pair, with the clock `{course.time}`.{until}"
    )


def _imports(python_packages: str) -> str:
    packages = [name.strip() for name in python_packages.split(",") if name.strip()]
    return f"the standard library and {', '.join(packages)}" if packages else "the standard library only"


class CourseFolder:
    """The paths of a course's files, and the changes of these files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "league.sqlite"
        self.tokens = path / "tokens.csv"
        self.instructions = path / "INSTRUCTIONS.md"
        self.reports = path / "reports"
        self.settings = path / "course.json"
        self.organiser = path / "organiser.token"

    def read(self) -> Course:
        """Return the course. Raise LeagueProblem if the folder has none."""
        try:
            document = json.loads(self.settings.read_text(encoding="utf-8"))
        except OSError as error:
            hint = "Create one: noughts course init FOLDER --students class.csv"
            raise LeagueProblem(f"{self.settings}: {error.strerror}, expected the folder of a course", hint) from error
        except ValueError as error:
            hint = "Correct it, or write the file again: noughts course init OTHER-FOLDER --students class.csv"
            raise LeagueProblem(f"{self.settings} is not JSON: {error}", hint) from error
        try:
            return Course.of_document(document)
        except LeagueProblem as problem:
            raise LeagueProblem(f"{self.settings}: {problem.message}", problem.hint) from None

    def update_instructions(self, course: Course, python_packages: str) -> list[str]:
        """Write the current settings and packages into the instructions. Their other text stays.

        Return what the instructions have no place for, in words that follow their name. The instructions can be
        missing, because the teacher can move them.
        """
        if not self.instructions.exists():
            return []
        text = self.instructions.read_text(encoding="utf-8")
        changed, tasks = _TASK.subn(lambda match: _task(course), text, count=1)
        changed, imports = _IMPORTS.subn(lambda match: f"{match[1]}{_imports(python_packages)}.", changed)
        if changed != text:
            self.instructions.write_text(changed, encoding="utf-8")
        missing = []
        if not tasks:
            missing.append(f"does not say what is played and when: {_task(course)}")
        if not imports and "py" in course.accept:
            missing.append(f"does not say which packages bots can import: {python_packages or 'none'}")
        return missing

    def logins(self) -> list[str]:
        """Return the logins of all students. Raise LeagueProblem."""
        return _logins(self._read_tokens())

    def _read_tokens(self) -> CsvFile:
        table = CsvFile.read(self.tokens, str(self.tokens))
        if not {"login", "token"} <= set(table.header):
            hint = "Give the file a first line with the names of its columns: login,name,email,token"
            raise table.header_problem(str(self.tokens), "the columns login and token", hint)
        return table

    async def create(self, course: Course, students: list[Student]) -> None:
        """Make the folder with all its files. Raise LeagueProblem if it exists and is not empty."""
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise LeagueProblem(f"{self.path}: it already exists, and is not empty", "Choose another folder.")
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            secrets = await self._make_tokens([student.login for student in students], course.end, organiser=True)
            self.settings.write_text(json.dumps(asdict(course), indent=2) + "\n", encoding="utf-8")
            _write_private(self.organiser, secrets[""] + "\n")
            header = ",".join(TOKENS_COLUMNS) + "\n"
            _write_private(self.tokens, header + tokens_csv(students, secrets))
            self.instructions.write_text(instructions(course), encoding="utf-8")
        except BaseException:
            # An unfinished course would block the next attempt.
            for file in self.path.iterdir():
                file.unlink()
            self.path.rmdir()
            raise

    async def add(self, logins: list[str]) -> int:
        """Make tokens for further students. Return the number of all students. Raise LeagueProblem."""
        course = self.read()
        table = self._read_tokens()
        known_logins = _logins(table)
        check_logins(logins, lambda number: "LOGIN")
        lower_logins = {login.lower() for login in known_logins}
        if repeated_logins := [login for login in logins if login.lower() in lower_logins]:
            raise LeagueProblem(
                f"{', '.join(repeated_logins)}: got a student who has a token, expected a new login",
                f"Give the student the token in {self.tokens}, or leave the login out.",
            )
        secrets = await self._make_tokens(logins, course.end)
        new_lines = tokens_csv(map(Student, logins), secrets, table.header, table.separator)
        # The other tokens stay in the file if the disk is full.
        with self.tokens.open("a", encoding=table.encoding, newline="") as stream:
            stream.write(new_lines if table.ends_line else f"\n{new_lines}")
        return len(known_logins) + len(logins)

    async def _make_tokens(
        self, logins: Iterable[str], end: datetime | None, *, organiser: bool = False
    ) -> dict[str, str]:
        """Make tokens, and return their secrets by login. The organiser's token has an empty login."""
        store = await Store.open(url_of(self.database.absolute()), create=organiser)
        try:
            now = store.now_ms()
            lifetime_ms = None if end is None else round(end.timestamp() * 1000) - now
            if lifetime_ms is not None and lifetime_ms <= 0:
                hint = f"Write a later time into {self.settings}, then start `noughts course serve` again."
                raise LeagueProblem(f"closes: got {end}, which is in the past, expected a time in the future", hint)

            def make_all(connection: Connection) -> dict[str, str]:
                scopes: tuple[str, ...] = ("play", "submit")
                make = partial(
                    create_token, connection, label=COURSE_LABEL, scopes=scopes, lifetime_ms=lifetime_ms, now_ms=now
                )
                tokens = {login: make(owner=login) for login in logins}
                if organiser:
                    scopes = ("admin", "organise", "play")
                    tokens[""] = create_token(connection, owner=ORGANISER, label=ORGANISER, scopes=scopes, now_ms=now)
                return {login: token.secret for login, token in tokens.items()}

            return await store.write(make_all)
        finally:
            await store.close()


async def keep_deadline(store: Store, course: Course) -> None:
    """Let the students' tokens expire when the course closes. The teacher can have changed the time in course.json."""
    expires_at = None if course.end is None else round(course.end.timestamp() * 1000)
    await store.write(partial(set_expiry, label=COURSE_LABEL, expires_at=expires_at))


def _logins(table: CsvFile) -> list[str]:
    return [row.get("login", "") for row in table.documents()]


def _write_private(file: Path, text: str) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE), "w", encoding="utf-8") as stream:
        stream.write(text)
