"""The folder of a course, which holds everything: the database, the tokens, what was chosen."""

import csv
import json
import os
import stat
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path

from noughts_proto.security import host_of, is_loopback
from noughts_server.errors import InvalidArgument
from noughts_server.leagues.course import Course, LeagueProblem
from noughts_server.leagues.students import TOKENS_HEADER, Student, check_logins, tokens_csv
from noughts_server.limits import Limits
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.sqlite import url_of
from noughts_server.store.people.bots import COURSE_LABEL
from noughts_server.store.people.tokens import create_token

ORGANISER = "organiser"
"""The owner of the nights' tournaments."""
_PRIVATE = stat.S_IRUSR | stat.S_IWUSR


def instructions(course: Course) -> str:
    """Return the page in Markdown."""
    # Beyond one machine a token travels encrypted.
    tls = "" if is_loopback(host_of(course.server)) else " --tls"
    until = f" You can submit bots until {course.closes[:16].replace('T', ' ')}." if course.closes else ""
    python = (
        "Write it in a file `bot.py`:\n\n```python\nfrom noughts_bots import Bot\n\n\nclass Mine(Bot):\n"
        f'    variants = ("{course.variant}",)\n\n    def choose(self, position):\n'
        "        return position.rng().choice(position.free)\n```\n\n"
        "It can import the standard library only. Install Noughts from its source code, then try the bot:\n\n"
        "```\npip install '.[server]'   # in the folder of the source code\n"
        f"noughts bot check py:./bot.py:Mine --variant {course.variant}\n"
        f"noughts estimate py:./bot.py:Mine --variants {course.variant}\n```\n\n"
    )
    wasm = (
        "In C, Zig or Rust: `noughts bot new mybot --language c` writes a project; `make wasm` builds the file "
        "that you submit.\n\n"
    )
    return (
        f"# {course.name}\n\n"
        f"You write a bot that plays {course.variant}. Each night at {course.nightly} all bots meet in a round robin, "
        f"{course.games_per_pair} games of each pair, with the clock `{course.time}`.{until}\n\n"
        "## Write it\n\n"
        f"{python if 'py' in course.accept else ''}{wasm if 'wasm' in course.accept else ''}"
        "## Submit it\n\n"
        f"Open {course.address}/me, sign in with your token, and choose the file. Or from the command line:\n\n"
        "```\nexport NOUGHTS_TOKEN=...   # yours\n"
        f"noughts bot submit bot.py --name LOGIN-bot --server {course.server}{tls}\n```\n\n"
        "The server tries it at once. If it finds an error, it shows the error and the output of your bot. "
        f"You can submit up to {Limits().submissions} times an hour. The newest version plays the next night.\n\n"
        "## See how it does\n\n"
        f"{course.address} shows the night's games while they are played, the table, and your bot's page with "
        "what went wrong. "
        "Only you can read what it wrote to its standard error.\n\n"
        "Keep your token secret: anyone who has it can submit bots in your name.\n"
    )


class CourseFolder:
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
            hint = "Create one: noughts course init FOLDER --students class.csv"
            raise LeagueProblem(f"{self._settings}: {error.strerror}, expected the folder of a course", hint) from error
        except (ValueError, TypeError) as error:
            raise LeagueProblem(f"{self._settings}: got {error}, expected what `noughts course init` writes") from error

    def logins(self) -> list[str]:
        return [row["login"] for row in csv.DictReader(self.tokens.read_text(encoding="utf-8").splitlines())]

    async def create(self, course: Course, students: list[Student]) -> None:
        """Make the folder with all its files. Raise LeagueProblem if it exists and is not empty."""
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise LeagueProblem(f"{self.path}: it already exists, and is not empty", "Choose another folder.")
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
                raise InvalidArgument.of("--closes", f"{end}, which is in the past", "a time in the future")

            def tokens(connection: Connection) -> dict[str, str]:
                scopes: tuple[str, ...] = ("play", "submit")
                make = partial(create_token, connection, label=COURSE_LABEL, scopes=scopes, life_ms=life, now_ms=now)
                made = {login: make(owner=login) for login in logins}
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
