"""The command `noughts db prune`."""

from typing import TYPE_CHECKING, Annotated

from typer import Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.times import read_duration

if TYPE_CHECKING:
    from noughts_server.store.engine.database import Store


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
    database: DatabaseOption = None,
    *,
    output: OutputOptions,
) -> None:
    """Delete old responses kept for repeated requests, and old notes on games that a bot lost through its own fault.

    Games, scores and ratings are kept. The file does not shrink; its space is reused. A server can keep running.
    """
    from noughts_server.store.games.pruning import leftovers

    ages_ms = [
        round(read_duration(text, option).total_seconds() * 1000)
        for text, option in ((requests, "--requests"), (notes, "--notes"))
    ]

    async def drop(store: "Store") -> list[tuple[str, int]]:
        now = store.now_ms()
        counts = []
        for leftover in leftovers(*ages_ms):
            count = await store.read(lambda connection: leftover.count(connection, now))  # noqa: B023
            remaining = 0 if dry_run else count
            while remaining > 0:
                dropped = await store.write(lambda connection: leftover.drop_some(connection, now))  # noqa: B023
                # A running server can have deleted some meanwhile.
                remaining = remaining - dropped if dropped else 0
            counts.append((leftover.name, count))
        return counts

    counts = in_database(database, drop)
    output.show(
        {"dropped": [{"what": name, "rows": count} for name, count in counts], "dry_run": dry_run},
        printing.table(
            ("what", ">would go" if dry_run else ">dropped"), [(name, f"{count:,}") for name, count in counts]
        ),
    )
