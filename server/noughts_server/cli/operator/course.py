"""`noughts course`: a league for a class. Its folder holds everything: the database, the tokens, what was chosen."""

import csv
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import grpc
from typer import Argument, Option

from noughts_proto.security import Dialling, host_of, is_loopback
from noughts_proto.v1 import bots_pb2, games_pb2, tournaments_pb2
from noughts_server.cli import connection_options, options, output
from noughts_server.cli.client import connected
from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.operator.proxies import ProxyOption, read_proxies
from noughts_server.cli.operator.serve import CertificateOption, InsecureOption, KeyOption, read_identity
from noughts_server.cli.operator.web import DEFAULT_WEB, HttpsOption
from noughts_server.cli.operator.web_minder import dialled
from noughts_server.cli.times import read_moment
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.messages.settings_codec import time_control_message

if TYPE_CHECKING:
    from noughts_server.store.engine.database import Connection, Store
    from noughts_server.store.people.tokens import NewToken

_SETTINGS, _DATABASE, _TOKENS, _ORGANISER, _REPORTS = (
    "course.json",
    "league.sqlite",
    "tokens.csv",
    "organiser.token",
    "reports",
)
_INSTRUCTIONS = "INSTRUCTIONS.md"  # fmt: skip
_MOST_STUDENTS = 2_000
_PRIVATE = stat.S_IRUSR | stat.S_IWUSR
_LOOK_SECONDS = 20.0
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")

FolderArgument = Annotated[Path, Argument(metavar="FOLDER", help="The course's folder.")]


@dataclass(frozen=True, slots=True)
class Course:
    """What was chosen for it."""

    name: str
    variant: str
    games_per_pair: int
    time: str
    nightly: str
    """HH:MM, by the clock of this machine."""
    closes: str
    """When tokens expire, in ISO 8601; empty: never."""
    accept: str
    address: str
    """Where students find the site."""
    server: str = connection_options.DEFAULT_ADDRESS
    """Where their commands reach the server."""


@command("noughts course init ai-101 --class class.csv --variant connect4 --closes 2026-12-18T23:59")
def init(
    folder: FolderArgument,
    class_list: Annotated[
        Path,
        Option(
            "--class",
            metavar="FILE",
            help="CSV with a column `login` (and perhaps `name`, `email`), or a login a line.",
        ),
    ],
    name: Annotated[str, Option("--name", metavar="NAME", help="The course's name; else the folder's.")] = "",
    variant: options.VariantOption = "connect4",
    games: Annotated[int, Option("--games", min=2, max=1_000, metavar="N", help="Games of each pair, a night.")] = 10,
    time: options.TimeOption = "1/move",
    nightly: Annotated[str, Option("--nightly", metavar="HH:MM", help="When the night's tournament begins.")] = "02:00",
    closes: Annotated[
        str | None, Option("--closes", metavar="MOMENT", help="Until when bots are taken, e.g. 2026-12-18T23:59.")
    ] = None,
    accept: Annotated[
        str, Option("--accept", metavar="KINDS", help="What may be handed in: py, wasm or both.")
    ] = "py,wasm",
    address: Annotated[
        str, Option("--site", metavar="URL", help="Where students will find the site, for their instructions.")
    ] = "http://127.0.0.1:7480",
    server_address: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT",
            help="Where students reach the server, for their instructions. Default: the host of --site, port 7450",
        ),
    ] = None,
) -> None:
    """Writes a league for a class: a token for each student, a nightly tournament, a page of instructions.

    The folder gets league.sqlite, tokens.csv (for you alone: it holds what students log in with), INSTRUCTIONS.md for
    everybody, and course.json, which may be changed.
    """
    logins = _read_class(class_list)
    if not _CLOCK.fullmatch(nightly):
        raise UsageProblem(f"--nightly {nightly!r}: expected HH:MM, e.g. 02:00")
    if not set(accept.split(",")) <= {"py", "wasm"}:
        raise UsageProblem(f"--accept {accept!r}: expected py, wasm, or both with a comma")
    options.read_time(time)  # it is one
    end = None if closes is None else read_moment(closes, "--closes")
    server = server_address or f"{_host_of(address)}:{connection_options.DEFAULT_ADDRESS.rpartition(':')[2]}"
    connection_options.read_address(server, "--server")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Problem(f"{folder}: it is there already, and not empty", "Choose another folder.")
    course = Course(
        name or folder.resolve().name, options.read_variant(variant).name, games, time, nightly,
        end.isoformat() if end else "", accept, address.rstrip("/"), server,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    try:
        made = _make_tokens(folder, [row["login"] for row in logins], end, organiser=True)
        _write_settings(folder, course)
        _write_private(folder / _ORGANISER, made[""] + "\n")
        _write_private(folder / _TOKENS, "login,name,email,token\n" + _tokens_csv(logins, made))
        (folder / _INSTRUCTIONS).write_text(_instructions(course), encoding="utf-8")
    except BaseException:
        # An unfinished course would block the next attempt.
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        raise
    places = {"tokens": str(folder / _TOKENS), "instructions": str(folder / _INSTRUCTIONS)}
    output.show(
        {"folder": str(folder), "students": len(logins), **places},
        f"{course.name}: {output.count(len(logins), 'student')}, {course.variant} each night at {nightly}.\n"
        f"Their tokens, for you to hand out one by one: {places['tokens']}\n"
        f"What they do with them: {places['instructions']}",
    )
    output.hint(f"Next: noughts course serve {folder}")


@command("noughts course add ai-101 zoe")
def add(
    folder: FolderArgument,
    logins: Annotated[list[str], Argument(metavar="LOGIN...", help="The students' logins.")],
) -> None:
    """Adds late students to a course: a token for each, in tokens.csv.

    The course's server can run meanwhile.
    """
    course = _read_course(folder)
    known = [row["login"] for row in _read_tokens(folder)]
    _check_logins([*known, *logins], lambda number: "LOGIN")
    end = datetime.fromisoformat(course.closes) if course.closes else None
    rows = [{"login": login} for login in logins]
    added = _tokens_csv(rows, _make_tokens(folder, logins, end))
    _write_private(folder / _TOKENS, (folder / _TOKENS).read_text(encoding="utf-8") + added)
    tokens = str(folder / _TOKENS)
    document = {"folder": str(folder), "students": len(known) + len(logins), "tokens": tokens}
    output.show(document, f"{output.count(len(logins), 'new token')} in {tokens}")


@command("noughts course serve ai-101")
def serve(
    folder: FolderArgument,
    listen: Annotated[
        str, Option("--listen", metavar="HOST:PORT", help="Where bots and commands dial in; port 0: any free one.")
    ] = connection_options.DEFAULT_ADDRESS,
    web: Annotated[
        str | None,
        Option(
            "--web",
            metavar="HOST:PORT",
            help="Where browsers find the site. Default: 127.0.0.1:7480; no site with --tls-cert",
        ),
    ] = None,
    tls_cert: CertificateOption = None,
    tls_key: KeyOption = None,
    insecure: InsecureOption = False,
    https: HttpsOption = False,
    proxy: ProxyOption = None,
) -> None:
    """Runs the course's server until Ctrl-C, and plays a tournament of all bots each night."""
    course = _read_course(folder)
    identity = read_identity(tls_cert, tls_key)
    dialling = None if identity is None else identity.dialling()
    if identity is None:
        web = web or DEFAULT_WEB
        _check_sign_in(web, protected=https or insecure)
    given = {"--web": web, "--tls-cert": tls_cert, "--tls-key": tls_key}
    command = [
        *(sys.executable, "-m", "noughts_server.cli", "serve", "--db", str(folder / _DATABASE), "--listen", listen),
        *(part for option, value in given.items() if value is not None for part in (option, str(value))),
        *(["--insecure"] if insecure else []),
        *(["--https"] if https else []),
        *(part for address in read_proxies(proxy) for part in ("--proxy", address)),
        *("--accept", course.accept, "--format", "json"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: server.send_signal(signal.SIGINT))
        assert server.stdout is not None
        line = server.stdout.readline()
        if not line:
            raise SystemExit(server.wait())
        ready: dict[str, Any] = json.loads(line)
        site = f"Site: {ready['web']}\n" if ready["web"] else ""
        text = f"{site}Each night at {course.nightly} all bots meet in {course.variant}."
        output.announce(ready, f"{course.name} is served at {ready['grpc']}", text)
        due = next_night(course.nightly, datetime.now().astimezone())
        while True:
            try:
                raise SystemExit(server.wait(_LOOK_SECONDS))
            except subprocess.TimeoutExpired:
                now = datetime.now().astimezone()
            if now >= due:
                due = next_night(course.nightly, now)
                try:
                    output.note(
                        f"The night's tournament: {_play_night(folder, course, dialled(ready['grpc']), now, dialling)}"
                    )
                except (Problem, CallFailed) as problem:
                    output.warn(f"no tournament tonight: {problem.message}")


@command("noughts course night ai-101")
def night(
    folder: FolderArgument,
    server: connection_options.ServerOption = None,
) -> None:
    """Begins a tournament of all submitted bots now: `course serve` does so each night."""
    course = _read_course(folder)
    name = _play_night(folder, course, server, datetime.now().astimezone())
    with connected(server, folder / _ORGANISER) as client:
        entries = [row["label"] for row in _standings(client, name)]
    output.show({"tournament": name, "entries": entries}, f"{name} begins.")
    output.hint(f"When it is over: noughts course report {folder}")


@command("noughts course report ai-101")
def report(
    folder: FolderArgument,
    server: connection_options.ServerOption = None,
) -> None:
    """Writes a page for each student about the newest night: rank, points, whom they met, what went wrong."""
    course = _read_course(folder)
    place = folder / _REPORTS
    place.mkdir(exist_ok=True)
    written = []
    with connected(server, folder / _ORGANISER) as client:
        name = _newest_night(client)
        rows = _standings(client, name)
        everybody = bots_pb2.ListBotsRequest(show_retired=True)
        found = client.pages(client.bots.ListBots, everybody, lambda page: page.bots, 1_000_000)
        owners = {bot.name.removeprefix("bots/"): bot.owner for bot in found}
        faults = _faults(client, name)
        for login in [row["login"] for row in _read_tokens(folder)]:
            file = place / f"{login}.md"
            file.write_text(_report_of(course, name, login, rows, owners, faults), encoding="utf-8")
            written.append(str(file))
    told = f"{output.count(len(written), 'report')} about {name} in {place}."
    output.show({"tournament": name, "reports": written}, told)


def _check_sign_in(web: str, *, protected: bool) -> None:
    """Raise UsageProblem for a website on which students could not sign in: their tokens could be read on the way."""
    host, _ = connection_options.read_address(web, "--web")
    if not (protected or is_loopback(host)):
        raise UsageProblem(
            f"--web {web!r}: got an address beyond this machine, where tokens could be read on the way;"
            " expected a loopback address, or --https",
            "Put a proxy that speaks HTTPS before it and give --https, or accept the risk with --insecure.",
        )


def next_night(clock: str, now: datetime) -> datetime:
    """When the clock of this machine shows HH:MM next."""
    hour, minute = map(int, clock.split(":"))
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


# Making it.


def _read_class(file: Path) -> list[dict[str, str]]:
    """The rows, each with a `login`. Raises Problem."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"--class {file}: {getattr(error, 'strerror', None) or error}") from error
    lines = [line for line in text.splitlines() if line.strip()]
    has_header = bool(lines) and "login" in [cell.strip().lower() for cell in re.split(r"[,;\t]", lines[0])]
    if has_header:
        delimiter = next((each for each in ",;\t" if each in lines[0]), ",")
        header = [cell.strip().lower() for cell in next(csv.reader(lines[:1], delimiter=delimiter))]
        rows = [
            dict(zip(header, map(str.strip, row), strict=False)) for row in csv.reader(lines[1:], delimiter=delimiter)
        ]
    else:
        rows = [{"login": line.strip()} for line in lines]
    if not 1 <= len(rows) <= _MOST_STUDENTS:
        raise Problem(f"--class {file}: got {len(rows)} students, expected 1 to {_MOST_STUDENTS:,}")
    _check_logins([row.get("login", "") for row in rows], lambda number: f"--class {file}, line {number + has_header}")
    return rows


def _check_logins(logins: list[str], place: Callable[[int], str]) -> None:
    """Raise Problem for a login that is wrong or comes twice; `place` names the source of the login with a number."""
    seen: set[str] = set()
    for number, login in enumerate(logins, 1):
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", login):
            expected = "1 to 40 of a-z, A-Z, 0-9 and ._-, beginning with a letter or a digit"
            raise Problem(f"{place(number)}: got the login {login!r}, expected {expected}")
        if login.lower() in seen:
            raise Problem(f"{place(number)}: got {login!r} twice, expected each login once")
        seen.add(login.lower())


def _make_tokens(folder: Path, logins: list[str], end: datetime | None, *, organiser: bool = False) -> dict[str, str]:
    """Return the secrets of new tokens by login; that of the organiser has an empty one."""
    from noughts_server.cli.database import in_database
    from noughts_server.store.people.bots import COURSE_LABEL
    from noughts_server.store.people.tokens import create_token

    async def make(store: "Store") -> dict[str, str]:
        now = store.now_ms()
        life = None if end is None else round(end.timestamp() * 1000) - now
        if life is not None and life <= 0:
            raise UsageProblem(f"--closes {end}: got a moment that has passed, expected one to come")

        def tokens(connection: "Connection") -> "dict[str, NewToken]":
            made = {
                login: create_token(
                    connection, owner=login, label=COURSE_LABEL, scopes=("play", "submit"), life_ms=life, now_ms=now
                )
                for login in logins
            }
            if organiser:
                scopes = ("admin", "organise", "play")
                made[""] = create_token(connection, owner="organiser", label="organiser", scopes=scopes, now_ms=now)
            return made

        return {login: made.secret for login, made in (await store.write(tokens)).items()}

    return in_database(str(folder / _DATABASE), make, create=organiser)


def _write_private(file: Path, text: str) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE), "w", encoding="utf-8") as opened:
        opened.write(text)


def _tokens_csv(logins: list[dict[str, str]], made: dict[str, str]) -> str:
    lines = []
    for row in logins:
        cells = (row["login"], row.get("name", ""), row.get("email", ""), made[row["login"]])
        # What a spreadsheet would take for a formula stays a text.
        safe = (f"'{cell}" if cell[:1] in "=+-@" and cell else cell for cell in cells)
        lines.append(
            ",".join('"' + cell.replace('"', '""') + '"' if re.search(r'[",\n]', cell) else cell for cell in safe)
        )
    return "\n".join(lines) + "\n"


def _instructions(course: Course) -> str:
    # Beyond one machine a token travels encrypted.
    tls = "" if is_loopback(host_of(course.server)) else " --tls"
    until = f" Bots are taken until {course.closes[:16].replace('T', ' ')}." if course.closes else ""
    python = (
        "Write it in a file `bot.py`:\n\n```python\nfrom noughts_bots import Bot\n\n\nclass Mine(Bot):\n"
        f'    variants = ("{course.variant}",)\n\n    def choose(self, position):\n'
        "        return position.rng().choice(position.free)\n```\n\n"
        "Only the standard library may be imported. Try it on your machine:\n\n"
        "```\npip install 'noughts[server]'\n"
        f"noughts bot check py:./bot.py:Mine --variant {course.variant}\n"
        f"noughts gym py:./bot.py:Mine --variants {course.variant}\n```\n\n"
    )
    wasm = (
        "In C, Zig or Rust: `noughts bot new mybot --language c` writes a project; `make wasm` builds the file "
        "that you hand in.\n\n"
    )
    return (
        f"# {course.name}\n\n"
        f"You write a bot that plays {course.variant}. Each night at {course.nightly} all bots meet in a round robin, "
        f"{course.games_per_pair} games of each pair, with the clock `{course.time}`.{until}\n\n"
        "## Write it\n\n"
        f"{python if 'py' in course.accept else ''}{wasm if 'wasm' in course.accept else ''}"
        "## Hand it in\n\n"
        f"Open {course.address}/me, sign in with your token, and choose the file. Or from the command line:\n\n"
        "```\nexport NOUGHTS_TOKEN=...   # yours\n"
        f"noughts bot submit bot.py --name LOGIN-bot --server {course.server}{tls}\n```\n\n"
        "It is tried at once. What is wrong is told, with what your bot printed. You may hand in as often as you like "
        "(thirty times an hour): the newest version plays the next night.\n\n"
        "## See how it does\n\n"
        f"{course.address} shows the night's games while they are played, the table, and your bot's page with "
        "what went wrong. "
        "Only you can read what it wrote to its standard error.\n\n"
        "Your token is yours alone: it lets others hand in bots in your name.\n"
    )


def _host_of(site: str) -> str:
    """The host of a website's address; IPv6 addresses in brackets. Raises UsageProblem."""
    host = urlsplit(site).hostname
    if not host:
        raise UsageProblem(f"--site {site!r}: expected an address, e.g. https://games.example")
    return f"[{host}]" if ":" in host else host


def _write_settings(folder: Path, course: Course) -> None:
    (folder / _SETTINGS).write_text(json.dumps(asdict(course), indent=2) + "\n", encoding="utf-8")


# Running it.


def _read_course(folder: Path) -> Course:
    try:
        return Course(**json.loads((folder / _SETTINGS).read_text(encoding="utf-8")))
    except OSError as error:
        hint = "Make one: noughts course init FOLDER --class class.csv"
        raise Problem(f"{folder / _SETTINGS}: {error.strerror}, expected the folder of a course", hint) from error
    except (ValueError, TypeError) as error:
        raise Problem(f"{folder / _SETTINGS}: got {error}, expected what `noughts course init` writes") from error


def _read_tokens(folder: Path) -> list[dict[str, str]]:
    """Return the rows of tokens.csv."""
    return list(csv.DictReader((folder / _TOKENS).read_text(encoding="utf-8").splitlines()))


def _play_night(
    folder: Path, course: Course, server: str | None, now: datetime, dialling: Dialling | None = None
) -> str:
    """Makes the tournament, enters every bot that was handed in, and starts it. Returns its name. Raises Problem."""
    with connected(server, folder / _ORGANISER, dialling=dialling) as client:
        found = client.pages(
            client.bots.ListBots, bots_pb2.ListBotsRequest(online_only=True), lambda page: page.bots, 10_000
        )
        if len(found) < 2:
            raise Problem(f"got {output.count(len(found), 'bot')}, expected two at least: nobody has anybody to meet")
        tournament = tournaments_pb2.Tournament(
            title=f"{course.name}, {now:%Y-%m-%d}", variant=course.variant,
            games_per_pair=course.games_per_pair,
            schedule=tournaments_pb2.SCHEDULE_ROUND_ROBIN, rated=True,
            time=time_control_message(options.read_time(course.time)),
        )  # fmt: skip
        name = _create_night(client, tournament, f"tournaments/night-{now:%Y-%m-%d-%H%M}")
        entered = 0
        for bot in found:
            try:
                joining = tournaments_pb2.JoinTournamentRequest(name=name, bot=bot.latest_version)
                client.call(client.tournaments.JoinTournament, joining)
                entered += 1
            except CallFailed as failed:
                output.warn(f"{bot.name} is left out: {failed.message}")
        if entered < 2:
            reason = "fewer than two bots could be entered"
            client.call(client.tournaments.CancelTournament, tournaments_pb2.CancelTournamentRequest(name=name))
            raise Problem(f"{name}: {reason}, expected two at least")
        client.call(client.tournaments.StartTournament, tournaments_pb2.StartTournamentRequest(name=name))
        return name


def _create_night(client: Client, tournament: tournaments_pb2.Tournament, base: str) -> str:
    """Create the tournament under the first free name: the base, or the base with a number. Return the name."""
    for number in count(1):
        tournament.name = base if number == 1 else f"{base}-{number}"
        request = tournaments_pb2.CreateTournamentRequest(tournament=tournament)
        try:
            client.call(client.tournaments.CreateTournament, request)
            break
        except CallFailed as failed:
            if failed.code is not grpc.StatusCode.ALREADY_EXISTS:
                raise
    return tournament.name


def _newest_night(client: Client) -> str:
    request = tournaments_pb2.ListTournamentsRequest(owner="organiser")
    found = client.pages(client.tournaments.ListTournaments, request, lambda page: page.tournaments, 1_000)
    for tournament in found:
        if tournament.games_done:
            return tournament.name
    raise Problem(
        "got no tournament of a night yet, expected one that has begun", "Begin one: noughts course night FOLDER"
    )


def _standings(client: Client, name: str) -> list[dict[str, Any]]:
    tournament = client.call(
        client.tournaments.GetTournament, tournaments_pb2.GetTournamentRequest(name=name)
    ).tournament
    return [
        {
            "rank": rank, "label": row.label, "bot": row.bot_version.split("/")[1], "points": row.points,
            "wins": row.wins, "draws": row.draws, "losses": row.losses,
        }
        for rank, row in enumerate(tournament.standings, 1)
    ]  # fmt: skip


def _faults(client: Client, name: str) -> list[dict[str, str]]:
    """Games that somebody lost by a fault: who, and how."""
    request = games_pb2.ListGamesRequest(parent=name, faults_only=True)
    found = client.pages(client.games.ListGames, request, lambda page: page.games, 10_000)
    faults = []
    for game in found:
        loser = game.second if game.result == 1 else game.first
        faults.append({"label": loser, "game": game.name, "what": game.fault})
    return faults


def _report_of(
    course: Course,
    tournament: str,
    login: str,
    rows: list[dict[str, Any]],
    owners: dict[str, str],
    faults: list[dict[str, str]],
) -> str:
    """Return a student's page about the bots that the student owns."""
    own = [row for row in rows if owners.get(row["bot"]) == login]
    lines = [
        f"# {login}: {course.name}",
        "",
        f"The night of {tournament.removeprefix('tournaments/night-')}, {course.variant}.",
        "",
    ]
    if not own:
        lines += [f"No bot of yours played. Submit one, for example as `{login}-bot`.", ""]
    for row in own:
        lines.append(
            f"**{row['label']}**: rank {row['rank']} of {len(rows)}, {row['points']:g} points: {row['wins']} won, "
            f"{row['draws']} drawn, {row['losses']} lost."
        )
        mine = [fault for fault in faults if fault["label"] == row["label"]]
        lines.append("")
        if mine:
            lines.append(f"It lost {output.count(len(mine), 'game')} by what a bot must not do:")
            lines += [f"- {course.address}/{fault['game']}: it {fault['what'] or 'failed'}" for fault in mine[:10]]
            lines.append("")
    lines += ["| rank | bot | points |", "|---|---|---|"]
    lines += [f"| {row['rank']} | {row['label']} | {row['points']:g} |" for row in rows[:10]]
    return "\n".join(lines) + "\n"
