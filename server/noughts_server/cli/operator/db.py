"""`noughts db`: looking after a database. Works on the database itself, also while its server runs."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from noughts_server.cli import options, output, printing
from noughts_server.cli.database import in_database
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.former_command import command
from noughts_server.cli.options import read_database
from noughts_server.cli.signals import run_loop
from noughts_server.cli.times import read_duration
from noughts_server.records.data_set import DataSet
from noughts_server.records.replay import faults_of_stored

if TYPE_CHECKING:
    from noughts_server.store.engine.database import Store

_MOST_SHOWN = 50

TargetArgument = Annotated[Path, Argument(metavar="FILE", help="File for the copy; must not exist yet")]


@command(
    example="""
$ noughts db check --db games.db --format json
{"tournaments":1,"games":30,"ratings":3,"errors":0,"findings":[]}
""",
    extra="server",
)
def check(database: options.DatabaseOption = None) -> None:
    """Check a database: run SQLite's own check, replay each game, and recompute scores and ratings.

    It also finds missing games. It changes nothing, and a server can keep running. Exit code 1 if anything is wrong.
    """
    from noughts_server.store.checking import check_database

    with counting("Games") as show:
        report = in_database(
            database,
            lambda store: store.read(lambda connection: check_database(connection, faults_of_stored, show)),
            reading=True,
        )
    lines = [f"{finding.where}: {finding.error}" for finding in report.findings[:_MOST_SHOWN]]
    if report.found > _MOST_SHOWN:
        lines.append(f"and {report.found - _MOST_SHOWN:,} more; --format json shows up to 1,000")
    wrong = printing.count(report.found, "error") if report.found else "nothing wrong"
    games, ratings = printing.count(report.games, "game"), printing.count(report.ratings, "rating")
    lines.append(f"{printing.count(report.tournaments, 'tournament')}, {games}, {ratings}: {wrong}")
    findings = [finding._asdict() for finding in report.findings]
    counted = printing.picked(report, "tournaments", "games", "ratings")
    document = {**counted, "errors": report.found, "findings": findings}
    output.show(document, printing.printable("\n".join(lines)))
    if report.found:
        raise SystemExit(1)


@command(
    example="""
$ noughts db backup copy.db --db games.db
copy.db: 30 games, ... bytes
""",
    extra="server",
)
def backup(target: TargetArgument, database: options.DatabaseOption = None) -> None:
    """Copy a database to one file, even while a server writes to it, and verify the copy.

    The file is either written completely or not at all.
    """
    from noughts_server.store.engine.backup import back_up

    with counting("Pages") as show:
        games = in_database(
            database, lambda store: store.read(lambda connection: back_up(connection, target, show)), reading=True
        )
    size = target.stat().st_size
    told = f"{printing.printable(str(target))}: {printing.count(games, 'game')}, {size:,} bytes"
    output.show({"file": str(target), "games": games, "bytes": size}, told)


@command(
    example="""
$ noughts db copy games.db copied.db
30 games, ... rows in all: copied, and compared with the copy
""",
    extra="server",
)
def copy(
    source: Annotated[str, Argument(metavar="FROM", help="Source database: a file or an SQLAlchemy URL")],
    target: Annotated[str, Argument(metavar="TO", help="Target database; must be empty")],
) -> None:
    """Copy a league from one database to another of any kind, and compare the two in full.

    This works between SQLite and PostgreSQL in both directions. First stop all servers that use either database.
    """
    from noughts_server.store.engine.copying import copy_database
    from noughts_server.store.engine.database import Store

    urls = [str(read_database(text)) for text in (source, target)]
    if urls[0] == urls[1]:
        raise UsageProblem("FROM and TO: got one database, expected two")

    async def copied(show: Callable[[int, int], None]) -> dict[str, int]:
        async with AsyncExitStack() as stack:
            old = await Store.open(urls[0], alone=True, create=False)
            stack.push_async_callback(old.close)
            new = await Store.open(urls[1], alone=True)
            stack.push_async_callback(new.close)
            return await copy_database(old, new, show)

    with counting("Rows") as show:
        rows = run_loop(copied(show))
    total = sum(rows.values())
    told = f"{printing.count(rows['games'], 'game')}, {printing.count(total, 'row')} in all: copied"
    output.show({"rows": total, "games": rows["games"]}, f"{told}, and compared with the copy")


@command(
    example="""
$ noughts db export --parquet archive --db games.db
archive: 30 games in 1 month; 1 file written
""",
    extra="parquet",
)
def export(
    parquet: Annotated[
        Path, Option("--parquet", metavar="FOLDER", help="Folder for the files, one a month: `2026-11.parquet`")
    ],
    license: Annotated[
        str,
        Option(
            "--license",
            metavar="NAME",
            help="Licence in the card, e.g. `CC0-1.0`. Default: not stated",
            rich_help_panel="Output",
        ),
    ] = "",
    database: options.DatabaseOption = None,
) -> None:
    """Write all games to Parquet files, one for each month in which games ended, with a data-set card.

    Run it again at any time: it writes only months that are new or have changed, and continues after an interruption. A
    server can keep running. The archive of each database needs a folder of its own.
    """
    from noughts_server.records.months import export_months

    made = DataSet(license=license, source="a database")
    with counting("Games") as show:
        files = in_database(database, lambda store: export_months(store, parquet, made, show), reading=True)
    written, total = sum(is_new for _, is_new in files.values()), sum(games for games, _ in files.values())
    months = [{"file": name, "games": games, "written": is_new} for name, (games, is_new) in files.items()]
    told = (
        f"{printing.printable(str(parquet))}: {printing.count(total, 'game')} in {printing.count(len(files), 'month')}"
    )
    output.show({"games": total, "months": months}, f"{told}; {printing.count(written, 'file')} written")


@command(
    example="""
$ noughts db prune --notes 30d --db games.db --dry-run
what                 would go
...
notes on games              0
""",
    extra="server",
)
def prune(
    requests: Annotated[
        str, Option("--requests", metavar="DURATION", help="Age at which responses to requests are deleted, e.g. `7d`")
    ] = "7d",
    notes: Annotated[
        str, Option("--notes", metavar="DURATION", help="Age at which notes on games are deleted, e.g. `90d` or `12h`")
    ] = "90d",
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be deleted, and change nothing", rich_help_panel="Output")
    ] = False,
    database: options.DatabaseOption = None,
) -> None:
    """Delete old responses to requests, and old notes on games that a bot lost through its own fault.

    Games, scores and ratings are kept. The file does not shrink; its space is reused. A server can keep running.
    """
    from noughts_server.store.games.pruning import leftovers

    ages = [
        round(read_duration(text, option).total_seconds() * 1000)
        for text, option in ((requests, "--requests"), (notes, "--notes"))
    ]

    async def drop(store: "Store") -> list[tuple[str, int]]:
        now = store.now_ms()
        dropped = []
        for leftover in leftovers(*ages):
            found = await store.read(lambda connection: leftover.count(connection, now))  # noqa: B023
            rest = 0 if dry_run else found
            while rest > 0:
                rest -= await store.write(lambda connection: leftover.drop_some(connection, now))  # noqa: B023
            dropped.append((leftover.name, found))
        return dropped

    dropped = in_database(database, drop)
    rows = [(what, f"{count:,}") for what, count in dropped]
    output.show(
        {"dropped": [{"what": what, "rows": rows} for what, rows in dropped], "dry_run": dry_run},
        printing.table(("what", ">would go" if dry_run else ">dropped"), rows),
    )


@command(
    example="""
$ noughts db runs --prune 30d --dry-run
No run is kept.
""",
    extra="server",
)
def runs(
    prune: Annotated[
        str,
        Option("--prune", metavar="DURATION", help="Delete runs unchanged for this time, e.g. `30d`, and empty ones"),
    ] = "",
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be deleted, and change nothing", rich_help_panel="Output")
    ] = False,
) -> None:
    """List the runs of this machine that were interrupted, and delete old ones.

    `noughts match` and `noughts tournament run` without --db keep an interrupted run in your data folder, so that
    --resume can continue it. --prune deletes runs that have not changed for this time, and those without a game. A run
    that another command uses stays.
    """
    from noughts_server.local.kept_runs import kept_runs

    found = run_loop(kept_runs())
    before = datetime.now(UTC) - read_duration(prune, "--prune") if prune else None
    documents = []
    for run in found:
        is_old = before is not None and (run.changed < before or run.games == 0)
        deleted = is_old and (dry_run or run.remove())
        documents.append(
            {
                "file": str(run.file),
                "time": run.changed.isoformat(timespec="microseconds"),
                "title": run.title or None,
                "games": run.games,
                "games_total": run.games_total,
                "bytes": run.size,
                "deleted": deleted and not dry_run,
                "would_delete": deleted and dry_run,
            }
        )
    rows = [
        (
            printing.printable(str(run.file)),
            run.changed.strftime("%Y-%m-%d %H:%M"),
            "?" if run.games is None else f"{run.games:,} of {run.games_total:,}",
            f"{run.size:,}",
            "deleted" if each["deleted"] else "would be deleted" if each["would_delete"] else "",
        )
        for run, each in zip(found, documents, strict=True)
    ]
    columns = ("file", "changed (UTC)", ">games", ">bytes", "")
    output.show_rows({"runs": documents}, columns, rows, "No run is kept.", first_whole=True)


@command(
    example="""
$ noughts db explorer rebuild --db games.db --format json
{"games":30}
""",
    extra="server",
)
def rebuild_explorer(database: options.DatabaseOption = None) -> None:
    """Recount all games for the opening explorer.

    Stop the server first. If the command is interrupted, run it again; the server also counts remaining games.
    """
    from noughts_server.store.games.explorer import count_some, forget_all, unexplored

    async def recounted(store: "Store") -> int:
        await store.write(forget_all)
        games, waiting = 0, await store.read(unexplored)
        while left := await store.read(unexplored):
            show(waiting - left, waiting)
            games += await store.write(lambda connection: count_some(connection, 2_000))
        return games

    with counting("Games") as show:
        games = in_database(database, recounted, alone=True)
    output.show({"games": games}, f"{printing.count(games, 'game')} counted")
