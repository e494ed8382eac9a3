"""`noughts course`: a league for a class."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from typer import Argument, Option

from noughts_proto.security import is_loopback
from noughts_proto.transport import DEFAULT_SERVER
from noughts_server.cli import connection_options, output, printing
from noughts_server.cli.client import connected
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.former_command import command
from noughts_server.cli.operator import serve as serving
from noughts_server.cli.operator.web import DEFAULT_WEB
from noughts_server.cli.operator.web_minder import dialled
from noughts_server.cli.options.game import DryRunOption, VariantOption, read_variant
from noughts_server.cli.options.listening import (
    CertificateOption,
    HttpsOption,
    InsecureServerOption,
    KeyOption,
    ListenOption,
    ProxyOption,
    PythonPackagesOption,
)
from noughts_server.cli.options.openings import read_openings
from noughts_server.cli.options.time import TimeOption, read_time
from noughts_server.cli.signals import run_loop
from noughts_server.cli.times import length, read_moment
from noughts_server.leagues import nights
from noughts_server.leagues.course import GAMES, MOST_GAMES, SITE, Course, are_kinds, is_clock, is_site
from noughts_server.leagues.course_folder import CourseFolder, keep_deadline
from noughts_server.leagues.nights import Night, NightEstimate
from noughts_server.leagues.students import read_class
from noughts_server.openings.settings import Openings
from noughts_server.openings.sufficiency import usual_openings
from noughts_server.runtime.endless_work import running

if TYPE_CHECKING:
    from noughts_server.server import Server

InitOpeningsOption = Annotated[
    str | None,
    Option(
        "--openings",
        metavar="WHICH",
        help="Openings of each night. Default: enough random ones for a pair",
        rich_help_panel="Openings",
    ),
]
NightlyOpeningsOption = Annotated[
    str | None,
    Option(
        "--openings",
        metavar="WHICH",
        help="Openings of each night. Default: those of course.json",
        rich_help_panel="Openings",
    ),
]
PackagesOption = Annotated[
    str | None,
    Option("--python-packages", metavar="NAMES", help="Packages that bots can import. Default: those of course.json"),
]
FolderArgument = Annotated[Path, Argument(metavar="FOLDER", help="Folder of the course")]


@command(
    example="""
$ noughts course init ai-101 --students class.csv --variant tictactoe
ai-101: 2 students, tictactoe each night at 02:00.
Their tokens, for you to give to each student: ai-101/tokens.csv
Instructions for the students: ai-101/INSTRUCTIONS.md
Next: noughts course serve ai-101
"""
)
def init(
    folder: FolderArgument,
    class_list: Annotated[
        Path,
        Option(
            "--students",
            "--class",
            metavar="FILE",
            help="CSV: column `login` (`name`, `email` optional), or one login per line",
        ),
    ],
    name: Annotated[str, Option("--name", metavar="NAME", help="Name of the course. Default: the folder name")] = "",
    variant: VariantOption = "connect4",
    games: Annotated[
        int,
        Option("--games", metavar="N", min=2, max=MOST_GAMES, help="Games per pair each night", rich_help_panel="Game"),
    ] = 10,
    time: TimeOption = "1/move",
    nightly: Annotated[
        str, Option("--nightly", metavar="HH:MM", help="Start time of the nightly tournament")
    ] = "02:00",
    closes: Annotated[
        str | None, Option("--closes", metavar="WHEN", help="Deadline for submissions, e.g. 2026-12-18T23:59")
    ] = None,
    accept: Annotated[
        str, Option("--accept", metavar="KINDS", help="Kinds of bots that students can submit: py, wasm or py,wasm")
    ] = "py,wasm",
    openings: InitOpeningsOption = None,
    python_packages: PythonPackagesOption = "",
    address: Annotated[
        str, Option("--public-url", "--site", metavar="URL", help="Public address of the website, for the instructions")
    ] = f"http://{DEFAULT_WEB}",
    server_address: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT",
            help="Server address for the instructions. Default: host of --public-url, port 7450",
            rich_help_panel="Connection",
        ),
    ] = None,
) -> None:
    """Create a league for a class: a token for each student, a nightly tournament, instructions.

    The command writes these files to the folder: league.sqlite, tokens.csv (secret: students log in with its tokens),
    INSTRUCTIONS.md for the students, and course.json, which you can edit.
    """
    students = read_class(class_list)
    if not is_clock(nightly):
        raise UsageProblem(f"--nightly {nightly!r}: expected HH:MM, e.g. 02:00")
    if not are_kinds(accept):
        raise UsageProblem(f"--accept {accept!r}: expected py, wasm, or both separated by a comma")
    if not is_site(address):
        raise UsageProblem(f"--public-url {address!r}: expected {SITE}, e.g. https://games.example")
    if games % 2:
        raise UsageProblem(f"--games {games}: expected {GAMES}")
    read_time(time)  # it is one
    serving.read_acceptance("noughts course init", accept, python_packages)
    end = None if closes is None else read_moment(closes, "--closes")
    if end is not None and end <= datetime.now(UTC):
        raise UsageProblem(f"--closes {closes!r}, which is in the past: expected a time in the future")
    server = server_address or f"{_host_of(address)}:{DEFAULT_SERVER.rpartition(':')[2]}"
    connection_options.read_address(server, "--server")
    played = read_variant(variant)
    if openings is None:
        openings = str(usual_openings(played, games // 2))
    read_openings(openings, "sequential", False, played)
    course = Course(
        name=name or folder.resolve().name,
        variant=played.name,
        games_per_pair=games,
        time=time,
        nightly=nightly,
        closes=end.isoformat() if end else "",
        accept=accept,
        address=address.rstrip("/"),
        server=server,
        openings=str(Path(openings).absolute()) if Path(openings).is_file() else openings,
        python_packages=python_packages,
    )
    files = CourseFolder(folder)
    run_loop(files.create(course, students))
    places = {"tokens": str(files.tokens), "instructions": str(files.instructions)}
    output.show(
        {"folder": str(folder), "students": len(students), **places},
        f"{course.name}: {printing.count(len(students), 'student')}, {course.variant} each night at {nightly}.\n"
        f"Their tokens, for you to give to each student: {places['tokens']}\n"
        f"Instructions for the students: {places['instructions']}",
    )
    output.hint(f"Next: noughts course serve {folder}")


@command(
    example="""
$ noughts course add ai-101 zoe
1 new token in ai-101/tokens.csv
"""
)
def add(
    folder: FolderArgument, logins: Annotated[list[str], Argument(metavar="LOGIN...", help="Logins of the students")]
) -> None:
    """Add students who join a course late: a token for each, in tokens.csv.

    The course's server can keep running.
    """
    files = CourseFolder(folder)
    students = run_loop(files.add(logins))
    document = {"folder": str(folder), "students": students, "tokens": str(files.tokens)}
    output.show(document, f"{printing.count(len(logins), 'new token')} in {files.tokens}")


@command(
    example="""
$ noughts course serve ai-101
ai-101 is served at 127.0.0.1:7450
Site: http://127.0.0.1:7480
Each night at 02:00 all bots meet in tictactoe. Now: ...
"""
)
def serve(
    folder: FolderArgument,
    listen: ListenOption = DEFAULT_SERVER,
    web: Annotated[
        str | None,
        Option(
            "--web", metavar="HOST:PORT", help="Address of the website. Default: 127.0.0.1:7480; off with --tls-cert"
        ),
    ] = None,
    tls_cert: CertificateOption = None,
    tls_key: KeyOption = None,
    insecure: InsecureServerOption = False,
    https: HttpsOption = False,
    proxy: ProxyOption = None,
    openings: NightlyOpeningsOption = None,
    python_packages: PackagesOption = None,
) -> None:
    """Run the course's server until Ctrl-C, with a tournament of all bots each night."""
    files = CourseFolder(folder)
    course = files.read()
    chosen_openings = _openings(files, course, openings)
    packages = _packages(files, course, python_packages)
    identity = serving.read_identity(tls_cert, tls_key)
    if identity is None:
        web = web or DEFAULT_WEB
        _check_sign_in(web, protected=https or insecure)
    dialling = None if identity is None else identity.dialling()

    @asynccontextmanager
    async def playing(server: "Server", site: str | None) -> AsyncIterator[None]:
        organiser = partial(connected, dialled(server.address), files.organiser, dialling=dialling)

        def tonight() -> NightEstimate:
            with organiser() as client:
                bots = len(nights.online_bots(client))
                return nights.estimate_of(client, course.night(datetime.now().astimezone(), chosen_openings), bots)

        await keep_deadline(server.store, course)
        estimate = await asyncio.to_thread(tonight)
        output.announce(
            {
                "grpc": server.address,
                "web": site,
                "metrics": server.metrics_address,
                "night": _estimate_document(estimate),
            },
            f"{course.name} is served at {server.address}",
            (f"Site: {site}\n" if site else "")
            + f"Each night at {course.nightly} all bots meet in {course.variant}. Now: {_estimate(estimate)}.",
        )
        nightly = nights.play_nights(course, chosen_openings, organiser, _tell, printing.warn)
        async with running(nightly):
            yield

    chosen = serving.ServeOptions(
        listen=listen, database=str(files.database), web=web, tls_cert=tls_cert, tls_key=tls_key, insecure=insecure,
        https=https, proxy=proxy, accept=course.accept, python_packages=packages,
    )  # fmt: skip
    serving.run_server(chosen, playing=playing)


@command(
    example="""
$ noughts course night ai-101
tournaments/night-... begins: ... bots, ... games, ...
When it is over: noughts course report ai-101
"""
)
def night(
    folder: FolderArgument,
    openings: NightlyOpeningsOption = None,
    dry_run: DryRunOption = False,
    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT[,...]",
            help="Server addresses, tried in order. Default: NOUGHTS_SERVER or 127.0.0.1:7450",
            rich_help_panel="Connection",
        ),
    ] = None,
) -> None:
    """Start a tournament of all submitted bots now, as `course serve` does each night.

    It is refused while another night runs.
    """
    files = CourseFolder(folder)
    course = files.read()
    chosen = _openings(files, course, openings)
    now = datetime.now().astimezone()
    with connected(server, files.organiser) as client:
        if dry_run:
            estimate = nights.plan_night(client, course.night(now, chosen))
            output.show({"dry_run": True, **_estimate_document(estimate)}, f"A night now: {_estimate(estimate)}.")
            return
        begun = nights.play_night(client, course, now, chosen, printing.warn)
        entries = [row.label for row in nights.standings(client, begun.name)]
    document = {"tournament": begun.name, "entries": entries, "estimate": _estimate_document(begun.estimate)}
    output.show(document, f"{begun.name} begins: {_estimate(begun.estimate)}.")
    output.hint(f"When it is over: noughts course report {folder}")


@command(
    example="""
$ noughts course report ai-101
... about ...night-... in ai-101/reports.
"""
)
def report(
    folder: FolderArgument,
    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT[,...]",
            help="Server addresses, tried in order. Default: NOUGHTS_SERVER or 127.0.0.1:7450",
            rich_help_panel="Connection",
        ),
    ] = None,
) -> None:
    """Write a page for each student about the latest nightly tournament: rank, points, opponents, faults."""
    files = CourseFolder(folder)
    files.read()
    with connected(server, files.organiser) as client:
        name = nights.newest_night(client)
        written = nights.write_reports(client, files, name)
    told = f"{printing.count(len(written), 'report')} about {name} in {files.reports}."
    output.show({"tournament": name, "reports": written}, told)


def _openings(files: CourseFolder, course: Course, given: str | None) -> Openings:
    """Return the openings of a night: those of --openings, else those of the course. Raise UsageProblem, Problem."""
    variant = read_variant(course.variant)
    if given is not None:
        return read_openings(given, "sequential", False, variant)
    with _key(files, "openings"):
        return read_openings(course.openings, "sequential", False, variant)


def _packages(files: CourseFolder, course: Course, given: str | None) -> str:
    """Return the packages of --python-packages, else those of the course, and tell them in the instructions."""
    packages = course.python_packages if given is None else given
    with _key(files, "python_packages") if given is None else nullcontext():
        serving.read_acceptance("noughts course serve", course.accept, packages)
    placed = files.update_instructions(course, packages)
    if "py" in course.accept and not placed:
        printing.warn(f"{files.instructions} does not say which packages bots can import: {packages or 'none'}.")
    return packages


@contextmanager
def _key(files: CourseFolder, key: str) -> Iterator[None]:
    """Name this key of course.json in problems of the option that has the same meaning."""
    try:
        yield
    except UsageProblem as wrong:
        what = wrong.message.removeprefix(f"--{key.replace('_', '-')}").lstrip(": ").replace("--accept", "accept")
        hint = wrong.hint or "Correct this key in the file, then run the command again."
        raise Problem(f"{files.settings}: {key}: {what}", hint) from wrong


def _tell(begun: Night) -> None:
    printing.note(f"The night's tournament: {begun.name}, {_estimate(begun.estimate)}")


def _estimate(night: NightEstimate) -> str:
    """Return e.g. `12 bots, 660 games, about 9 min (as fast as the last night)`."""
    took, games = length(max(1, night.seconds)), printing.count(night.games, "game")
    duration = {
        "night": f"about {took} (as fast as the last night)",
        "limits": f"at most about {took} (if all moves take all their time)",
        "assumption": f"about {took} (if a move takes 1 ms)",
    }[night.basis]
    return f"{printing.count(night.bots, 'bot')}, {games}, {duration}" if night.games else "fewer than two bots"


def _estimate_document(night: NightEstimate) -> dict[str, object]:
    return {"bots": night.bots, "games": night.games, "eta_seconds": night.seconds, "eta_basis": night.basis}


def _check_sign_in(web: str, *, protected: bool) -> None:
    """Raise UsageProblem for a website on which students could not sign in: their tokens could be read on the way."""
    host, _ = connection_options.read_address(web, "--web")
    if not (protected or is_loopback(host)):
        raise UsageProblem(
            (
                f"--web {web!r}: got an address that other machines can reach, where others could read tokens in "
                "transit; expected a loopback address, or --https"
            ),
            "Put an HTTPS proxy in front of it and give --https, or accept the risk with --insecure.",
        )


def _host_of(site: str) -> str:
    """The host of a website's address, which is valid; IPv6 addresses in brackets."""
    host = urlsplit(site).hostname or ""
    return f"[{host}]" if ":" in host else host
