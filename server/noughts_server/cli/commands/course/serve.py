"""`noughts course serve`: the server of a course, with a tournament each night."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from typer import Option

from noughts_proto.security import Dialling, is_loopback, local_address
from noughts_proto.transport import DEFAULT_SERVER
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.course.settings import (
    FolderArgument,
    NightlyOpeningsOption,
    naming_key,
    read_nightly_openings,
)
from noughts_server.cli.commands.serve import ServeOptions, run_server
from noughts_server.cli.connection import read_address, read_token
from noughts_server.cli.drawing.night_estimate import estimate_document, estimate_wording
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.listening import (
    CertificateOption,
    InsecureServerOption,
    KeyOption,
    ListenOption,
    ProxyOption,
    read_identity,
)
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import HINTS
from noughts_server.cli.options.submissions import read_acceptance
from noughts_server.cli.options.website import DEFAULT_WEB, HttpsOption
from noughts_server.client.client import Client, connected
from noughts_server.leagues import nights
from noughts_server.leagues.course import Course
from noughts_server.leagues.course_folder import CourseFolder, keep_deadline
from noughts_server.leagues.nights import Night, NightEstimate
from noughts_server.runtime.endless_work import running

if TYPE_CHECKING:
    from noughts_server.server import Server


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
    python_packages: Annotated[
        str | None,
        Option(
            "--python-packages", metavar="NAMES", help="Packages that bots can import. Default: those of course.json"
        ),
    ] = None,
    *,
    output: OutputOptions,
) -> None:
    """Run the course's server until Ctrl-C, with a tournament of all bots each night."""
    files = CourseFolder(folder)
    course = files.read()
    nightly_openings = read_nightly_openings(files, course, openings)
    packages = _read_packages(files, course, python_packages)
    identity = read_identity(tls_cert, tls_key)
    if identity is None:
        web = web or DEFAULT_WEB
        _check_sign_in(web, protected=https or insecure)
    dialling = Dialling() if identity is None else identity.dialling()

    @asynccontextmanager
    async def playing(server: "Server", site: str | None) -> AsyncIterator[None]:
        def organiser() -> AbstractContextManager[Client]:
            return connected(local_address(server.address), read_token(None, files.organiser), dialling, HINTS)

        def estimate_night() -> NightEstimate:
            with organiser() as client:
                bots = len(nights.online_bots(client))
                return nights.estimate_of(client, course.night(datetime.now().astimezone(), nightly_openings), bots)

        await keep_deadline(server.store, course)
        estimate = await asyncio.to_thread(estimate_night)
        output.announce(
            {
                "grpc": server.address,
                "web": site,
                "metrics": server.metrics_address,
                "night": estimate_document(estimate),
            },
            f"{course.name} is served at {server.address}",
            (f"Site: {site}\n" if site else "")
            + f"Each night at {course.nightly} all bots meet in {course.variant}. Now: {estimate_wording(estimate)}.",
        )
        async with running(nights.play_nights(course, nightly_openings, organiser, _announce, printing.warn)):
            yield

    options = ServeOptions(
        listen=listen,
        database=str(files.database),
        web=web,
        tls_cert=tls_cert,
        tls_key=tls_key,
        insecure=insecure,
        https=https,
        proxy=proxy,
        accept=course.accept,
        python_packages=packages,
    )
    run_server(output, options, playing)


def _announce(night: Night) -> None:
    printing.note(f"The night's tournament: {night.name}, {estimate_wording(night.estimate)}")


def _read_packages(files: CourseFolder, course: Course, python_packages: str | None) -> str:
    """Return the packages of --python-packages, else those of the course, and write them to the instructions."""
    packages = course.python_packages if python_packages is None else python_packages
    with naming_key(files, "python_packages") if python_packages is None else nullcontext():
        read_acceptance("noughts course serve", course.accept, packages)
    for missing in files.update_instructions(course, packages):
        printing.warn(f"{files.instructions} {missing.removesuffix('.')}.")
    return packages


def _check_sign_in(web: str, *, protected: bool) -> None:
    """Raise UsageProblem for a website that would send the students' tokens over a network without encryption."""
    host, _ = read_address(web, "--web")
    if not (protected or is_loopback(host)):
        raise UsageProblem(
            f"--web {web!r}: got an address that other machines can reach, where others could read tokens in "
            "transit; expected a loopback address, or --https",
            "Put an HTTPS proxy in front of it and give --https, or accept the risk with --insecure.",
        )
