"""The command `noughts db analyses rebuild`."""

from functools import partial

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.database import in_database
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions


@command(
    example="""
$ noughts db analyses rebuild --db games.db --format json
{"analyses":...}
""",
    extra="server",
)
def rebuild(database: DatabaseOption = None, *, output: OutputOptions) -> None:
    """Analyse all games again that have a stored analysis.

    This helps after you installed the extra `connect4`. Stop the server first. If the command is interrupted, run it
    again. It also deletes analyses of games that are no longer stored.
    """
    from noughts_server.runtime.analyses import rebuild as analyse_again

    with counting("Games") as show:
        analyses = in_database(database, partial(analyse_again, show=show), alone=True)
    output.show({"analyses": analyses}, f"{printing.count(analyses, 'game')} analysed")
