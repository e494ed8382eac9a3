"""`noughts bot table build`: the file that the bot `table` plays from."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from noughts_bots.reference.locked_file import LockedFile
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.reference.table import build as build_table
from noughts_bots.reference.table_file import save
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.options.game import VariantOption, read_variant
from noughts_server.cli.options.output import OutputOptions


@command(
    example="""
$ noughts bot table build three-stage -o three-stage.table
three-stage.table: 4,520 positions of tictactoe.
table:file=three-stage.table plays exactly like three-stage.
"""
)
def build(
    spec: Annotated[
        str,
        Argument(
            metavar="SPEC",
            autocompletion=completion.specs,
            help="Reference bot, e.g. `pascal` or `nextstep:depth=3`",
        ),
    ],
    file: Annotated[Path, Option("-o", "--output", metavar="FILE", help="Table to write", rich_help_panel="Output")],
    variant: VariantOption = "tictactoe",
    *,
    output: OutputOptions,
) -> None:
    """Write a table of a bot's moves in every position; `table:file=FILE` then plays the same moves.

    The table is plain text that you can edit. It works for boards of at most 12 cells.
    """
    rules = read_variant(variant)
    bot = make_bot(parse_spec(spec), rules)
    lock = LockedFile(file)
    try:
        with counting("Positions") as show:
            table = build_table(bot, rules, lambda done, total: show(done, total, ""))
        save(file, table, comments=(f"{printing.printable(spec)}, by `noughts bot table build`",))
    finally:
        lock.release()
    output.show(
        {
            "file": str(file),
            "spec": spec,
            "variant": rules.name,
            "level": table.level,
            "positions": len(table.rows),
        },
        f"{file}: {printing.count(len(table.rows), 'position')} of {rules.name}.\n"
        f"table:file={file} plays exactly like {spec}.",
    )
