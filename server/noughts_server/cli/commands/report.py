"""The command `noughts report`."""

from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.extras import require_extra
from noughts_server.cli.game_sources import FileDialect, GameSource
from noughts_server.cli.options.formats import read_sprt
from noughts_server.cli.options.output import OutputOptions
from noughts_server.records.formats import replacing
from noughts_server.report.collect import collect

_DEFAULT_TEST = "elo0=0,elo1=5"


@command(
    example="""
$ noughts report games.jsonl -o report.html
report.html: 30 games, 37 kB. Open it in a browser.
""",
    extra="server",
)
def report(
    file: Annotated[
        Path,
        Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Page to write (`.html`), or a folder for `report.html`",
            rich_help_panel="Output",
        ),
    ] = Path("report.html"),
    title: Annotated[
        str, Option("--title", help="Title of the page. Default: title of the tournament", rich_help_panel="Output")
    ] = "",
    most_games: Annotated[
        int,
        Option(
            "--limit",
            "--games",
            metavar="N",
            min=0,
            max=100_000,
            help="Maximum number of games to replay",
            rich_help_panel="Output",
        ),
    ] = 500,
    sprt: Annotated[
        str | None,
        Option(
            "--sprt",
            metavar="elo0=E,elo1=E",
            help="Test of a two-bot match. Default: elo0=0,elo1=5",
            rich_help_panel="Statistics",
        ),
    ] = None,
    *,
    games: GameSource,
    files: FileDialect,
    output: OutputOptions,
) -> None:
    """Write a tournament as one HTML file with tables, charts and games to replay on a board.

    The page loads nothing else, so you can send it, print it, and open it from a folder. The same games always
    produce an identical page. If there are more than --limit games, the page has every second game (or every fourth,
    and so on), and also games that ended with a fault.
    """
    require_extra("noughts report", "charts")
    test = read_sprt(_DEFAULT_TEST if sprt is None else sprt, complete=False)
    path = file if file.suffix == ".html" and not file.is_dir() else file / "report.html"
    # Create the folder before the games are read, so that an error appears at once.
    with problems_with(f"-o {file}", OSError, raises=Problem, expected="a folder or file that can be created"):
        path.parent.mkdir(parents=True, exist_ok=True)
    from noughts_server.report.page import page

    content = games.read(
        lambda source: collect(title or source.title, source.games, most_games=most_games, about=source.about),
        files.dialect,
    )
    if sprt is not None and content.course is None:
        raise UsageProblem(
            f"--sprt {sprt}: got a tournament of {len(content.tally.labels)} bots, expected a match of two",
            "Leave out --sprt: the report of a tournament has no test.",
        )
    html = page(content, test)
    write_errors = problems_with(f"{path}", OSError, raises=Problem, expected="a file that can be written")
    with write_errors, replacing(path) as out:
        out.write(html)
    size = path.stat().st_size
    games_text = printing.count(content.tally.games, "game")
    output.show(
        {"report": str(path), "tournament": content.title, "games": content.tally.games, "bytes": size},
        f"{path}: {games_text}, {size / 1000:,.0f} kB. Open it in a browser.",
    )
