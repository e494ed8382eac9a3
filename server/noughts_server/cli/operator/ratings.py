"""`noughts ratings`: maintenance of the rating lists in the database itself, and a server's suspicious results."""

from typing import TYPE_CHECKING, Any

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.cli import options, output, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.database import in_database
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.former_command import command
from noughts_server.competition.elo import Rating
from noughts_server.core.resource_names import short

if TYPE_CHECKING:
    from noughts_server.store.ratings.rating_lists import RebuildReport


@command(
    example="""
$ noughts ratings rebuild --db games.db --format json
{"games":30,"ratings":3,...}
""",
    extra="server",
)
def rebuild(database: options.DatabaseOption = None) -> None:
    """Recompute all ratings and their history from the stored games, and correct what differs.

    Stop the server first. If the database comes from a version without a rating history, the command creates one.
    """
    from noughts_server.store.ratings.rating_lists import rebuild_ratings

    with counting("Games") as show:
        report = in_database(
            database, lambda store: store.write(lambda connection: rebuild_ratings(connection, show)), alone=True
        )
    output.show(_document(report), lambda: _print(report))


@command(
    example="""
$ noughts ratings suspicious --token-file admin.token
Nothing looks suspicious.
"""
)
def suspicious(at: AtServer = AtServer()) -> None:
    """List rated results that look as if they were arranged. Needs a token with the scope `admin`.

    Each row is a reason to look at the games, not a proof. `rating-moved`: the bots of one other owner have moved the
    rating by at least 300 points. `given-up`: at least half of the bot's losses against one owner, and at least 10, are
    resignations or its own faults. `short-losses`: the same for games of less than a third of the usual moves.
    `conceded`: an organiser's bots lost at least three games because it stopped its tournament while they ran.
    """
    with at.connected(token_needed=True) as client:
        found = client.call(client.leaderboards.FindSuspiciousResults, pb.FindSuspiciousResultsRequest()).results

    def show() -> None:
        columns = (
            "pattern",
            "bot",
            "owner",
            "against",
            "owner",
            ">games",
            ">lost",
            ">counted",
            ">points",
            "newest game",
        )
        printing.print_rows(columns, map(_row, found), "Nothing looks suspicious.")

    output.show({"results": list(map(_suspicious_document, found))}, show)


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


def _suspicious_document(result: pb.SuspiciousResult) -> dict[str, Any]:
    return {
        "pattern": _pattern(result),
        **printing.picked(result, "bot", "owner", "opponent", "other_owner", "games", "losses", "counted"),
        "share_elsewhere": result.share_elsewhere if result.HasField("share_elsewhere") else None,
        "rating_list": result.rating_list or None,
        "points": result.points if result.rating_list else None,
        "newest_game": result.newest_game or None,
    }


def _document(report: "RebuildReport") -> dict[str, Any]:
    return {
        "games": report.slots,
        "ratings": report.bots,
        "differences": [
            {
                "rating_list": row.rating_list,
                "name": row.bot,
                "stored": _value(row.stored),
                "rebuilt": _value(row.rebuilt),
            }
            for row in report.differences
        ],
        "history": {"points": report.history_points, "corrected": report.history_corrected},
    }


def _print(report: "RebuildReport") -> None:
    console = printing.stdout()
    console.print(f"{printing.count(report.slots, 'game')} give {printing.count(report.bots, 'rating')}.")
    if report.history_corrected:
        points = printing.count(report.history_points, "point")
        console.print(f"Their history has {points}, of which {report.history_corrected:,} were corrected.")
    if not report.differences and not report.history_corrected:
        console.print("All of them were correct; nothing was changed.")
    if not report.differences:
        return
    rows = [
        (row.rating_list, row.bot, *(printing.rating(_value(each)) for each in (row.stored, row.rebuilt)))
        for row in report.differences
    ]
    printing.heading(console, "Corrected")
    console.print(printing.table(("list", "bot", ">stored", ">now"), rows))


def _value(rating: Rating | None) -> float | None:
    return None if rating is None else rating.rating
