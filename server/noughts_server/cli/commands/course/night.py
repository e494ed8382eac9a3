"""`noughts course night`: a nightly tournament that starts now."""

from datetime import datetime

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.course.settings import FolderArgument, NightlyOpeningsOption, read_nightly_openings
from noughts_server.cli.connection import read_token
from noughts_server.cli.drawing.night_estimate import estimate_document, estimate_wording
from noughts_server.cli.options.game import DryRunOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions
from noughts_server.leagues import nights
from noughts_server.leagues.course_folder import CourseFolder


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
    *,
    server: AddressOptions,
    output: OutputOptions,
) -> None:
    """Start a tournament of all submitted bots now, as `course serve` does each night.

    It is refused while another night runs.
    """
    files = CourseFolder(folder)
    course = files.read()
    nightly_openings = read_nightly_openings(files, course, openings)
    now = datetime.now().astimezone()
    with server.connected_with(read_token(None, files.organiser)) as client:
        if dry_run:
            estimate = nights.plan_night(client, course.night(now, nightly_openings))
            document = {"dry_run": True, **estimate_document(estimate)}
            output.show(document, f"A night now: {estimate_wording(estimate)}.")
            return
        started_night = nights.play_night(client, course, now, nightly_openings, printing.warn)
        entries = [row.label for row in nights.standings(client, started_night.name)]
    output.show(
        {"tournament": started_night.name, "entries": entries, "estimate": estimate_document(started_night.estimate)},
        f"{started_night.name} begins: {estimate_wording(started_night.estimate)}.",
    )
    output.hint(f"When it is over: noughts course report {folder}")
