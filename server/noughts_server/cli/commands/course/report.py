"""`noughts course report`: a page for each student about the latest night."""

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.course.settings import FolderArgument
from noughts_server.cli.connection import read_token
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions
from noughts_server.leagues import nights
from noughts_server.leagues.course_folder import CourseFolder


@command(
    example="""
$ noughts course report ai-101
... about ...night-... in ai-101/reports.
"""
)
def report(folder: FolderArgument, server: AddressOptions, output: OutputOptions) -> None:
    """Write a page for each student about the latest nightly tournament: rank, points, opponents, faults."""
    files = CourseFolder(folder)
    files.read()
    with server.connected_with(read_token(None, files.organiser)) as client:
        name = nights.newest_night(client)
        reports = nights.write_reports(client, files, name)
    output.show(
        {"tournament": name, "reports": reports},
        f"{printing.count(len(reports), 'report')} about {name} in {files.reports}.",
    )
