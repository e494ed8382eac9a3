"""`noughts course add`: tokens for students who join late."""

from typing import Annotated

from typer import Argument

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.course.settings import FolderArgument
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.processes.signals import run_loop
from noughts_server.leagues.course_folder import CourseFolder


@command(
    example="""
$ noughts course add ai-101 zoe
1 new token in ai-101/tokens.csv
"""
)
def add(
    folder: FolderArgument,
    logins: Annotated[list[str], Argument(metavar="LOGIN...", help="Logins of the students")],
    output: OutputOptions,
) -> None:
    """Add students who join a course late: a token for each, in tokens.csv.

    The course's server can keep running.
    """
    files = CourseFolder(folder)
    students = run_loop(files.add(logins))
    document = {"folder": str(folder), "students": students, "tokens": str(files.tokens)}
    output.show(document, f"{printing.count(len(logins), 'new token')} in {files.tokens}")
