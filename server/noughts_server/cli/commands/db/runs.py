"""The command `noughts db runs`."""

from datetime import UTC, datetime
from typing import Annotated, Any

from typer import Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.processes.signals import run_loop
from noughts_server.cli.times import read_duration


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
    *,
    output: OutputOptions,
) -> None:
    """List the runs of this machine that were interrupted, and delete old ones.

    `noughts match` and `noughts tournament run` without --db keep an interrupted run in your data folder, so that
    --resume can continue it. --prune deletes runs that have not changed for this time, and those without a game. A run
    that another command uses stays.
    """
    from noughts_server.local.kept_runs import kept_runs

    interrupted_runs = run_loop(kept_runs())
    oldest = datetime.now(UTC) - read_duration(prune, "--prune") if prune else None
    documents = []
    for run in interrupted_runs:
        is_old = oldest is not None and (run.changed < oldest or run.games == 0)
        is_deleted = is_old and (dry_run or run.remove())
        documents.append(
            {
                "file": str(run.file),
                "time": run.changed.isoformat(timespec="microseconds"),
                "title": run.title or None,
                "games": run.games,
                "games_total": run.games_total,
                "bytes": run.size,
                "deleted": is_deleted and not dry_run,
                "would_delete": is_deleted and dry_run,
            }
        )
    rows = [
        (
            printing.printable(str(run.file)),
            run.changed.strftime("%Y-%m-%d %H:%M"),
            "?" if run.games is None else f"{run.games:,} of {run.games_total:,}",
            f"{run.size:,}",
            _deletion(document),
        )
        for run, document in zip(interrupted_runs, documents, strict=True)
    ]
    columns = ("file", "changed (UTC)", ">games", ">bytes", "")
    output.show_rows({"runs": documents}, columns, rows, "No run is kept.", first_whole=True)


def _deletion(document: dict[str, Any]) -> str:
    if document["deleted"]:
        return "deleted"
    return "would be deleted" if document["would_delete"] else ""
