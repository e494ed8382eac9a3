"""`noughts course`: a league for a class."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from typer import Argument, Option

from noughts_proto.security import is_loopback
from noughts_proto.transport import DEFAULT_SERVER
from noughts_server.cli import connection_options, options, output
from noughts_server.cli.client import connected
from noughts_server.cli.command import command
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.operator import serve as serving
from noughts_server.cli.operator.web import DEFAULT_WEB
from noughts_server.cli.operator.web_minder import dialled
from noughts_server.cli.signals import run_loop
from noughts_server.cli.times import read_moment
from noughts_server.leagues import nights
from noughts_server.leagues.course import Course
from noughts_server.leagues.course_folder import CourseFolder
from noughts_server.leagues.students import read_class
from noughts_server.runtime.endless_work import running

if TYPE_CHECKING:
    from noughts_server.server import Server

_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")

FolderArgument = Annotated[Path, Argument(metavar="FOLDER")]


@command()
def init(
    folder: FolderArgument,
    class_list: Annotated[Path, Option("--students", "--class")],
    name: str = "",
    variant: options.VariantOption = "connect4",
    games: Annotated[int, Option("--games", min=2, max=1_000)] = 10,
    time: str = "1/move",
    nightly: str = "02:00",
    closes: str | None = None,
    accept: str = "py,wasm",
    address: Annotated[str, Option("--public-url", "--site")] = f"http://{DEFAULT_WEB}",
    server_address: Annotated[str | None, Option("--server")] = None,
) -> None:
    """Create a league for a class: a token for each student, a nightly tournament, instructions.

    The command writes these files to the folder: league.sqlite, tokens.csv (secret: students log in with its tokens),
    INSTRUCTIONS.md for the students, and course.json, which you can edit.
    """
    students = read_class(class_list)
    if not _CLOCK.fullmatch(nightly):
        raise UsageProblem(f"--nightly {nightly!r}: expected HH:MM, e.g. 02:00")
    if not set(accept.split(",")) <= {"py", "wasm"}:
        raise UsageProblem(f"--accept {accept!r}: expected py, wasm, or both separated by a comma")
    options.read_time(time)  # it is one
    end = None if closes is None else read_moment(closes, "--closes")
    server = server_address or f"{_host_of(address)}:{DEFAULT_SERVER.rpartition(':')[2]}"
    connection_options.read_address(server, "--server")
    course = Course(
        name or folder.resolve().name, options.read_variant(variant).name, games, time, nightly,
        end.isoformat() if end else "", accept, address.rstrip("/"), server,
    )  # fmt: skip
    files = CourseFolder(folder)
    run_loop(files.create(course, students))
    places = {"tokens": str(files.tokens), "instructions": str(files.instructions)}
    output.show(
        {"folder": str(folder), "students": len(students), **places},
        f"{course.name}: {output.count(len(students), 'student')}, {course.variant} each night at {nightly}.\n"
        f"Their tokens, for you to give to each student: {places['tokens']}\n"
        f"Instructions for the students: {places['instructions']}",
    )
    output.hint(f"Next: noughts course serve {folder}")


@command()
def add(folder: FolderArgument, logins: Annotated[list[str], Argument(metavar="LOGIN...")]) -> None:
    """Add students who join a course late: a token for each, in tokens.csv.

    The course's server can keep running.
    """
    files = CourseFolder(folder)
    students = run_loop(files.add(logins))
    document = {"folder": str(folder), "students": students, "tokens": str(files.tokens)}
    output.show(document, f"{output.count(len(logins), 'new token')} in {files.tokens}")


@command()
def serve(
    folder: FolderArgument,
    listen: str = DEFAULT_SERVER,
    web: str | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    insecure: bool = False,
    https: bool = False,
    proxy: list[str] | None = None,
) -> None:
    """Run the course's server until Ctrl-C, with a tournament of all bots each night."""
    files = CourseFolder(folder)
    course = files.read()
    identity = serving.read_identity(tls_cert, tls_key)
    if identity is None:
        web = web or DEFAULT_WEB
        _check_sign_in(web, protected=https or insecure)
    dialling = None if identity is None else identity.dialling()

    @asynccontextmanager
    async def playing(server: "Server", site: str | None) -> AsyncIterator[None]:
        output.announce(
            {"grpc": server.address, "web": site, "metrics": server.metrics_address},
            f"{course.name} is served at {server.address}",
            (f"Site: {site}\n" if site else "") + f"Each night at {course.nightly} all bots meet in {course.variant}.",
        )
        organiser = partial(connected, dialled(server.address), files.organiser, dialling=dialling)
        async with running(nights.play_nights(course, organiser, output.note, output.warn)):
            yield

    chosen = serving.ServeOptions(
        listen=listen, database=str(files.database), web=web, tls_cert=tls_cert, tls_key=tls_key, insecure=insecure,
        https=https, proxy=proxy, accept=course.accept,
    )  # fmt: skip
    serving.run_server(chosen, playing=playing)


@command()
def night(folder: FolderArgument, server: str | None = None) -> None:
    """Start a tournament of all submitted bots now, as `course serve` does each night."""
    files = CourseFolder(folder)
    course = files.read()
    with connected(server, files.organiser) as client:
        name = nights.play_night(client, course, datetime.now().astimezone(), output.warn)
        entries = [row.label for row in nights.standings(client, name)]
    output.show({"tournament": name, "entries": entries}, f"{name} begins.")
    output.hint(f"When it is over: noughts course report {folder}")


@command()
def report(folder: FolderArgument, server: str | None = None) -> None:
    """Write a page for each student about the latest nightly tournament: rank, points, opponents, faults."""
    files = CourseFolder(folder)
    files.read()
    with connected(server, files.organiser) as client:
        name = nights.newest_night(client)
        written = nights.write_reports(client, files, name)
    told = f"{output.count(len(written), 'report')} about {name} in {files.reports}."
    output.show({"tournament": name, "reports": written}, told)


def _check_sign_in(web: str, *, protected: bool) -> None:
    """Raise UsageProblem for a website on which students could not sign in: their tokens could be read on the way."""
    host, _ = connection_options.read_address(web, "--web")
    if not (protected or is_loopback(host)):
        raise UsageProblem.of("sign_in_in_the_open", web=web)


def _host_of(site: str) -> str:
    """The host of a website's address; IPv6 addresses in brackets. Raises UsageProblem."""
    host = urlsplit(site).hostname
    if not host:
        raise UsageProblem(f"--public-url {site!r}: expected an address, e.g. https://games.example")
    return f"[{host}]" if ":" in host else host
