"""The command `noughts tournament tables`."""

import sys
from enum import StrEnum
from typing import Annotated, Any

from typer import Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.tables import show_table
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.game_sources import FileDialect, GameSource
from noughts_server.tables.kinds import TableKind, make_table
from noughts_server.tables.table import Table, as_csv, as_markdown
from noughts_server.tables.tally import Tally

_USUAL_OPENINGS = 20


class TablesFormat(StrEnum):
    """The values of --format."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class Kind(StrEnum):
    """The values of --kind: one `TableKind`, or all of them."""

    ALL = "all"
    STANDINGS = TableKind.STANDINGS
    CROSSTABLE = TableKind.CROSSTABLE
    PAIRINGS = TableKind.PAIRINGS
    SIDES = TableKind.SIDES
    TERMINATIONS = TableKind.TERMINATIONS
    OPENINGS = TableKind.OPENINGS
    TIMES = TableKind.TIMES
    MODELS = TableKind.MODELS


@command(
    example="""
$ noughts tournament tables games.jsonl --kind standings
...
#  bot          points  games  wins  draws  losses  h2h    SB
...
1  minimax          17     20    14      6       0       107½
...
""",
    extra="server",
)
def tables(
    kind: Annotated[Kind, Option("--kind", help="Table to show", rich_help_panel="Output")] = Kind.ALL,
    limit: Annotated[
        int | None,
        Option(
            "--limit",
            metavar="N",
            min=1,
            max=1_000_000_000,
            help="Maximum number of rows per table. Default: all",
            rich_help_panel="Output",
        ),
    ] = None,
    output_format: Annotated[
        TablesFormat,
        Option(
            "--format",
            help="Output format; `csv` prints one table, `markdown` is for web pages",
            rich_help_panel="Output",
        ),
    ] = TablesFormat.TEXT,
    *,
    games: GameSource,
    files: FileDialect,
) -> None:
    """Show standings with tie-breaks, crosstable, pairings, and results by side, termination and opening.

    Bots are ranked by points, then by head-to-head score (points in the games among the tied bots, if all of them have
    met equally often), then by Sonneborn-Berger (the points against each opponent times that opponent's total), then
    by wins. Bots that are equal on all of these share a rank.
    """
    if output_format is TablesFormat.CSV and kind is Kind.ALL:
        kinds = ", ".join(name for name in Kind if name is not Kind.ALL)
        raise UsageProblem("--format csv: got no table, expected --kind as well", f"Choose one of {kinds}.")
    title, tally = games.read(lambda source: (source.title, source.tally()), files.dialect)
    table_kinds = list(TableKind) if kind is Kind.ALL else [TableKind(kind)]
    if kind is Kind.ALL and output_format is not TablesFormat.JSON:
        optional_rows = {TableKind.PAIRINGS: tally.about.matches, TableKind.MODELS: tally.models}
        table_kinds = [table_kind for table_kind in table_kinds if optional_rows.get(table_kind, True)]
    # If the user asks for no number of rows, the text has only a screen of openings.
    is_overview = limit is None and output_format is TablesFormat.TEXT and kind is Kind.ALL
    openings_limit = _USUAL_OPENINGS if is_overview else limit
    tables = [
        make_table(table_kind, tally, openings_limit if table_kind is TableKind.OPENINGS else limit)
        for table_kind in table_kinds
    ]
    if output_format is TablesFormat.JSON:
        printing.print_json(_document(title, tally, tables))
    elif output_format is TablesFormat.TEXT:
        _show(title, tally, tables)
    else:
        write = as_csv if output_format is TablesFormat.CSV else as_markdown
        sys.stdout.write("\n".join(map(write, tables)))
        sys.stdout.flush()
        if output_format is TablesFormat.CSV and tally.unknown_note:
            printing.stderr().print(printing.printable(tally.unknown_note), soft_wrap=True)


def _document(title: str, tally: Tally, tables: list[Table]) -> dict[str, Any]:
    facts = {
        "tournament": title,
        "games": tally.games,
        "void": tally.void,
        "distinct_games": tally.distinct,
        "variants": dict(sorted(tally.variants.items())),
        "unknown": tally.unknown_note or None,
        **tally.about.document(),
    }
    return facts | {
        # The crosstable has the form of `tournament run`, with only the entries in the table.
        table.kind: tally.crosstable(str(label) for _, label, *_ in table.rows).document()
        if table.kind == TableKind.CROSSTABLE
        else table.document()
        for table in tables
    }


def _show(title: str, tally: Tally, tables: list[Table]) -> None:
    console = printing.stdout()
    variants = ", ".join(sorted(tally.variants))
    repeated = f", {tally.distinct:,} of them distinct" if tally.distinct < tally.games else ""
    printing.heading(console, f"{title}: {variants}, {printing.count(tally.games, 'game')}{repeated}")
    if facts := ", ".join(f"{name} {text}" for name, text in tally.about.facts()):
        console.print(printing.printable(facts), soft_wrap=True)
    for table in tables:
        console.print()
        show_table(console, table)
