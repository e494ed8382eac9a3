"""`noughts leaderboard`: who is strongest at a server."""

from typing import TYPE_CHECKING, Annotated

import typer

from noughts_server.cli import options, output
from noughts_server.cli.names import short
from noughts_server.cli.output import Format

if TYPE_CHECKING:
    from noughts_proto.v1 import leaderboards_pb2 as pb

TimeClassOption = Annotated[
    str,
    typer.Option("--time-class", metavar="CLASS", help="`untimed`, `bullet`, `blitz`, `rapid` or `classical`."),
]


def leaderboard(
    variant: options.VariantOption = "tictactoe",
    time_class: TimeClassOption = "untimed",
    limit: options.LimitOption = 50,
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """The bots of a rating list, strongest first. There is a list for each variant and time class.

    JSON: {"rating_list", "rows": [{"rank", "name", "rating", "games", "wins", "draws", "losses", "provisional"}]}.
    """
    read_variant = options.read_variant(variant)
    from noughts_proto.v1 import leaderboards_pb2 as pb
    from noughts_server.cli.client import connected

    request = pb.GetLeaderboardRequest(variant=read_variant.name, time_class=time_class)
    names: list[str] = []

    def rows_of(page: pb.GetLeaderboardResponse) -> "list[pb.LeaderboardRow]":
        names.append(page.rating_list)
        return list(page.rows)

    with connected(server, token, token_file) as client:
        rows = client.pages(client.leaderboards.GetLeaderboard, request, rows_of, limit)
    if output_format is Format.JSON:
        output.print_json({"rating_list": names[0], "rows": [_document(row) for row in rows]})
        return
    columns = (">#", "bot", ">rating", ">games", ">wins", ">draws", ">losses")
    lines = [
        (row.rank, short(row.bot), _rating(row), f"{row.games:,}", f"{row.wins:,}", f"{row.draws:,}", f"{row.losses:,}")
        for row in rows
    ]
    console = output.stdout()
    output.heading(console, names[0])
    console.print(output.table(columns, lines) if lines else "Nobody has a rating here yet.")
    if any(row.provisional for row in rows):
        console.print("\n? provisional: too few games to be sure")


def _rating(row: "pb.LeaderboardRow") -> str:
    return f"{output.rating(row.rating)}{'?' if row.provisional else ' '}"


def _document(row: "pb.LeaderboardRow") -> dict[str, object]:
    return {
        "rank": row.rank,
        "name": short(row.bot),
        "rating": row.rating,
        "games": row.games,
        "wins": row.wins,
        "draws": row.draws,
        "losses": row.losses,
        "provisional": row.provisional,
    }
