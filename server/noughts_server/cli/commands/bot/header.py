"""`noughts bot header`: the C header for bots in shared libraries."""

from typing import Annotated

from typer import Option

from noughts_bots.hosts.c_rules import VERSION
from noughts_bots.hosts.dll import HEADER
from noughts_server.cli.command import command
from noughts_server.cli.options.output import OutputOptions


@command(
    example="""
$ cc -shared -fPIC -I $(noughts bot header --include-path) my.c -o my.so

$ noughts bot header
.../noughts_bot.h
"""
)
def header(
    folder: Annotated[
        bool, Option("--include-path", "--folder", help="Print only the folder of the header, for the compiler's -I")
    ] = False,
    *,
    output: OutputOptions,
) -> None:
    """Print the path of the C header for bots in shared libraries: `noughts_bot.h`."""
    document = {"header": str(HEADER), "folder": str(HEADER.parent), "version": VERSION}
    output.show(document, str(HEADER.parent if folder else HEADER))
