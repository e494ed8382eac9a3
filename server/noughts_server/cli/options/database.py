"""The option for the database of a command."""

from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_server.cli.errors import UsageProblem

DatabaseOption = Annotated[
    str | None,
    Option("--db", metavar="URL", help="Database: file or SQLAlchemy URL. Default: noughts.db in your data folder"),
]


def read_database(text: str | None) -> str | None:
    """Return the URL of the database, also for the path of an SQLite file. Raises UsageProblem for a missing folder."""
    if text is None or "://" in text:
        return text
    if not text.strip():
        raise UsageProblem("--db: got nothing, expected a file or an SQLAlchemy URL")
    from noughts_server.store.engine.sqlite import url_of

    path = Path(text).absolute()
    if not path.parent.is_dir():
        raise UsageProblem(f"--db {text}: folder {path.parent} does not exist", f"Create it: mkdir -p {path.parent}")
    return url_of(path)


GamesDatabaseOption = Annotated[
    str | None,
    Option(
        "--db",
        metavar="URL",
        rich_help_panel="Output",
        help="Database to store the games in: file or SQLAlchemy URL. Default: none",
    ),
]
