"""Options of `noughts course`, and how its commands read course.json."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.options.game import read_variant
from noughts_server.cli.options.openings import read_openings
from noughts_server.leagues.course import Course
from noughts_server.leagues.course_folder import CourseFolder
from noughts_server.openings.settings import Openings

FolderArgument = Annotated[Path, Argument(metavar="FOLDER", help="Folder of the course")]
NightlyOpeningsOption = Annotated[
    str | None,
    Option(
        "--openings",
        metavar="WHICH",
        help="Openings of each night. Default: those of course.json",
        rich_help_panel="Openings",
    ),
]


def read_nightly_openings(folder: CourseFolder, course: Course, openings: str | None) -> Openings:
    """Return the openings of a night: those of --openings, else those of the course. Raises UsageProblem, Problem."""
    variant = read_variant(course.variant)
    if openings is not None:
        return read_openings(openings, "sequential", False, variant)
    with naming_key(folder, "openings"):
        return read_openings(course.openings, "sequential", False, variant)


@contextmanager
def naming_key(folder: CourseFolder, key: str) -> Iterator[None]:
    """Replace the name of an option by the key of course.json with the same meaning, in problems of the block."""
    try:
        yield
    except UsageProblem as problem:
        reason = problem.message.removeprefix(f"--{key.replace('_', '-')}").lstrip(": ").replace("--accept", "accept")
        hint = problem.hint or "Correct this key in the file, then run the command again."
        raise Problem(f"{folder.settings}: {key}: {reason}", hint) from problem
