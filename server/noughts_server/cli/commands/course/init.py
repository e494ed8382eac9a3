"""`noughts course init`: create a league for a class."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from typer import Option

from noughts_proto.transport import DEFAULT_SERVER
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.course.settings import FolderArgument
from noughts_server.cli.connection import read_address
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.game import VariantOption, read_variant
from noughts_server.cli.options.openings import read_openings
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.submissions import PythonPackagesOption, read_acceptance
from noughts_server.cli.options.time import TimeOption, read_time
from noughts_server.cli.options.website import DEFAULT_WEB
from noughts_server.cli.processes.signals import run_loop
from noughts_server.cli.times import read_moment
from noughts_server.leagues.course import (
    EXPECTED_GAMES,
    EXPECTED_SITE,
    MOST_GAMES,
    Course,
    are_kinds,
    is_clock,
    is_site,
)
from noughts_server.leagues.course_folder import CourseFolder
from noughts_server.leagues.students import read_class
from noughts_server.openings.sufficiency import usual_openings


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
    openings: Annotated[
        str | None,
        Option(
            "--openings",
            metavar="WHICH",
            help="Openings of each night. Default: enough random ones for a pair",
            rich_help_panel="Openings",
        ),
    ] = None,
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
    *,
    output: OutputOptions,
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
        raise UsageProblem(f"--public-url {address!r}: expected {EXPECTED_SITE}, e.g. https://games.example")
    if games % 2:
        raise UsageProblem(f"--games {games}: expected {EXPECTED_GAMES}")
    read_time(time)
    read_acceptance("noughts course init", accept, python_packages)
    end = None if closes is None else read_moment(closes, "--closes")
    if end is not None and end <= datetime.now(UTC):
        raise UsageProblem(f"--closes {closes!r}, which is in the past: expected a time in the future")
    server = server_address or f"{_host_of(address)}:{DEFAULT_SERVER.rpartition(':')[2]}"
    read_address(server, "--server")
    rules = read_variant(variant)
    if openings is None:
        openings = str(usual_openings(rules, games // 2))
    read_openings(openings, "sequential", False, rules)
    course = Course(
        name=name or folder.resolve().name,
        variant=rules.name,
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
    output.show(
        {
            "folder": str(folder),
            "students": len(students),
            "tokens": str(files.tokens),
            "instructions": str(files.instructions),
        },
        f"{course.name}: {printing.count(len(students), 'student')}, {course.variant} each night at {nightly}.\n"
        f"Their tokens, for you to give to each student: {files.tokens}\n"
        f"Instructions for the students: {files.instructions}",
    )
    output.hint(f"Next: noughts course serve {folder}")


def _host_of(site: str) -> str:
    """Return the host of a website's valid address, with brackets around an IPv6 address."""
    host = urlsplit(site).hostname or ""
    return f"[{host}]" if ":" in host else host
