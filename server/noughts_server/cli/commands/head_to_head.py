"""The command `noughts head-to-head`."""

from typing import Annotated, Any

from typer import Argument, Option

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.game import game_document
from noughts_server.cli.drawing.games_of_bots import print_games
from noughts_server.cli.options.names import read_bot_without_version
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import short

_MOST_LAST_GAMES = 1_000


@command(
    example="""
$ noughts head-to-head mybot rival --limit 2
mybot against rival
variant    moved first  games  wins  draws  losses  points
...
tictactoe  mybot           10     9      1       0      9½
tictactoe  rival           10     7      3       0      8½
...
"""
)
def head_to_head(
    first: Annotated[str, Argument(metavar="A", autocompletion=completion.bots, help="Bot, e.g. `mybot`")],
    second: Annotated[str, Argument(metavar="B", autocompletion=completion.bots, help="Opponent of A")],
    limit: Annotated[
        int,
        Option(
            "--limit",
            metavar="N",
            min=0,
            max=1_000_000_000,
            help="Maximum number of recent games",
            rich_help_panel="Output",
        ),
    ] = 5,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Show the score of bot A against bot B, over all versions and tournaments, rated or not."""
    bot, opponent = read_bot_without_version(first), read_bot_without_version(second)
    request = pb.GetHeadToHeadRequest(bot=bot, opponent=opponent, last_games=min(limit, _MOST_LAST_GAMES))
    with server.connected() as client:
        response = client.call(client.leaderboards.GetHeadToHead, request)
    a, b = short(bot), short(opponent)
    output.show(_document(response, a, b), lambda: _print(response, a, b))


def _document(response: pb.GetHeadToHeadResponse, a: str, b: str) -> dict[str, Any]:
    return {
        "a": a,
        "b": b,
        "total": _by_side(response.total),
        "variants": {row.variant: _by_side(row.score) for row in response.variants},
        "games": list(map(game_document, response.last_games)),
    }


def _by_side(score: pb.ScoreBySide) -> dict[str, dict[str, int]]:
    return {"first": _score_document(score.first), "second": _score_document(score.second)}


def _print(response: pb.GetHeadToHeadResponse, a: str, b: str) -> None:
    console = printing.stdout()
    if not response.variants:
        console.print(f"{a} and {b} have not played each other yet.")
        return
    printing.heading(console, f"{a} against {b}")
    rows: list[tuple[object, ...]] = []
    for variant in response.variants:
        rows += _score_rows(variant.variant, variant.score, a, b)
    if len(response.variants) > 1:
        rows += _score_rows("all", response.total, a, b)
    columns = ("variant", "moved first", ">games", ">wins", ">draws", ">losses", ">points")
    console.print(printing.table(columns, rows))
    if response.last_games:
        console.print()
        printing.heading(console, "Last games")
        print_games(response.last_games)


def _score_rows(variant: str, score: pb.ScoreBySide, a: str, b: str) -> list[tuple[object, ...]]:
    return [
        (
            variant,
            first_mover,
            f"{side.wins + side.draws + side.losses:,}",
            f"{side.wins:,}",
            f"{side.draws:,}",
            f"{side.losses:,}",
            printing.points(side.wins + side.draws / 2),
        )
        for first_mover, side in ((a, score.first), (b, score.second))
    ]


def _score_document(score: pb.Score) -> dict[str, int]:
    return {"wins": score.wins, "draws": score.draws, "losses": score.losses}
