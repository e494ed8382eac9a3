"""The command `noughts db check`."""

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.records.replay import errors_of_stored_game

_MOST_SHOWN = 50


@command(
    example="""
$ noughts db check --db games.db --format json
{"tournaments":1,"games":30,"ratings":3,"errors":0,"findings":[]}
""",
    extra="server",
)
def check(database: DatabaseOption = None, *, output: OutputOptions) -> None:
    """Check a database: run SQLite's own check, replay each game, and recompute scores and ratings.

    It also finds missing games. It changes nothing, and a server can keep running. Exit code 1 if anything is wrong.
    """
    from noughts_server.store.checking import check_database

    with counting("Games") as show:
        report = in_database(
            database,
            lambda store: store.read(lambda connection: check_database(connection, errors_of_stored_game, show)),
            reading=True,
        )
    lines = [f"{finding.where}: {finding.error}" for finding in report.findings[:_MOST_SHOWN]]
    if report.errors > _MOST_SHOWN:
        lines.append(f"and {report.errors - _MOST_SHOWN:,} more; --format json shows up to 1,000")
    wrong = printing.count(report.errors, "error") if report.errors else "nothing wrong"
    games, ratings = printing.count(report.games, "game"), printing.count(report.ratings, "rating")
    lines.append(f"{printing.count(report.tournaments, 'tournament')}, {games}, {ratings}: {wrong}")
    findings = [finding._asdict() for finding in report.findings]
    document = {
        "tournaments": report.tournaments,
        "games": report.games,
        "ratings": report.ratings,
        "errors": report.errors,
        "findings": findings,
    }
    output.show(document, printing.printable("\n".join(lines)))
    if report.errors:
        raise SystemExit(1)
