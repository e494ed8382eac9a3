"""`noughts bot show`: one bot of a server, with its ratings."""

from typing import Any

from noughts_proto.v1 import bots_pb2 as pb
from noughts_proto.v1 import leaderboards_pb2
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.bot.ratings import ratings_of
from noughts_server.cli.drawing.leaderboard import place_document, print_places
from noughts_server.cli.options.names import BotArgument, read_bot_without_version
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.times import iso, milliseconds
from noughts_server.core.resource_names import short


@command(
    example="""
$ noughts bot show mybot
mybot: alice's, version 1, online
#     list               rating  games  wins  draws  losses      accuracy
...
1  ●  tictactoe/untimed   1644?     20    16      4       0  ...% of ...
...
"""
)
def show(name: BotArgument, server: ServerOptions, output: OutputOptions) -> None:
    """Show one bot: owner, state, and its rating and record in each rating list."""
    resource = read_bot_without_version(name)
    with server.connected() as client:
        response = client.call(client.bots.GetBot, pb.GetBotRequest(name=resource))
        ratings = ratings_of(client, resource)
    newest = next(iter(response.versions), None)
    submission = newest.submission if newest is not None and newest.HasField("submission") else None
    output.show(_document(response.bot, ratings, submission), lambda: _print(response.bot, ratings, submission))


def _document(
    bot: pb.Bot, ratings: list[leaderboards_pb2.BotRating], submission: pb.Submission | None
) -> dict[str, Any]:
    return {
        "name": short(bot.name),
        "owner": bot.owner,
        "description": bot.description or None,
        "link": bot.link or None,
        "latest_version": bot.latest_version,
        "online": bot.online,
        "retired": iso(milliseconds(bot.retire_time)),
        "ratings": [{"rating_list": row.rating_list, **place_document(row.row)} for row in ratings],
        "submission": None
        if submission is None
        else {
            "kind": submission.kind,
            "entry": submission.entry,
            "bytes": submission.size,
            "sha256": submission.sha256.hex(),
            "file_name": submission.file_name,
        },
    }


def _print(bot: pb.Bot, ratings: list[leaderboards_pb2.BotRating], submission: pb.Submission | None) -> None:
    console = printing.stdout()
    version = bot.latest_version.rpartition("/")[2]
    online = "online" if bot.online else "offline"
    retired = ", retired" if bot.HasField("retire_time") else ""
    printing.heading(console, f"{short(bot.name)}: {bot.owner}'s, version {version}, {online}{retired}")
    for text in (bot.description, bot.link):
        if text:
            console.print(text, markup=False, highlight=False)
    if submission is not None:
        console.print(f"Submitted as {submission.kind}: {submission.file_name}, {submission.size:,} bytes.")
    if ratings:
        print_places(("list",), [((row.rating_list,), row.row) for row in ratings])
    else:
        console.print("No rated game yet.")
