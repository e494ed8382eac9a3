"""`noughts ratings suspicious`: rated results that look as if they were arranged."""

from typing import Any

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.core.resource_names import short

_COLUMNS = ("pattern", "bot", "owner", "against", "owner", ">games", ">lost", ">counted", ">points", "newest game")


@command(
    example="""
$ noughts ratings suspicious --token-file admin.token
Nothing looks suspicious.
"""
)
def suspicious(*, server: ServerOptions, output: OutputOptions) -> None:
    """List rated results that look as if they were arranged. Needs a token with the scope `admin`.

    Each row is a reason to look at the games, not a proof. `rating-moved`: the bots of one other owner have moved the
    rating by at least 300 points. `given-up`: at least half of the bot's losses against one owner, and at least 10, are
    resignations, its own faults or losses by its own scores. Against other owners, their share is at most half as
    large. `short-losses`: the same for games of less than a third of the usual moves. `conceded`: an organiser's bots
    lost at least three games because the organiser stopped the tournament during them.

    The column `counted` has the losses that show the pattern, `points` the change of the rating by `rating-moved`.
    """
    with server.connected(token_needed=True) as client:
        results = client.call(client.leaderboards.FindSuspiciousResults, pb.FindSuspiciousResultsRequest()).results

    output.show(
        {"results": [_document(result) for result in results]},
        lambda: printing.print_rows(_COLUMNS, map(_row, results), "Nothing looks suspicious."),
    )


def _pattern(result: pb.SuspiciousResult) -> str:
    name = pb.SuspiciousPattern.Name(result.pattern)
    return name.removeprefix("SUSPICIOUS_PATTERN_").lower().replace("_", "-")


def _row(result: pb.SuspiciousResult) -> tuple[object, ...]:
    return (
        _pattern(result),
        short(result.bot),
        result.owner,
        short(result.opponent),
        result.other_owner,
        f"{result.games:,}",
        f"{result.losses:,}",
        f"{result.counted:,}" if result.counted else "",
        f"{result.points:+.0f}" if result.rating_list else "",
        short(result.newest_game).replace("/games/", "/"),
    )


def _document(result: pb.SuspiciousResult) -> dict[str, Any]:
    return {
        "pattern": _pattern(result),
        "bot": result.bot,
        "owner": result.owner,
        "opponent": result.opponent,
        "other_owner": result.other_owner,
        "games": result.games,
        "losses": result.losses,
        "counted": result.counted,
        "share_elsewhere": result.share_elsewhere if result.HasField("share_elsewhere") else None,
        "rating_list": result.rating_list or None,
        "points": result.points if result.rating_list else None,
        "newest_game": result.newest_game or None,
    }
