"""Arguments that name something on a server."""

from typing import Annotated

from typer import Argument

from noughts_server.cli import completion

TournamentArgument = Annotated[
    str, Argument(metavar="NAME", autocompletion=completion.tournaments, help="Tournament, e.g. `spring`")
]
TestArgument = Annotated[
    str, Argument(metavar="ID", autocompletion=completion.tests, help="Test, e.g. `mybot-2-vs-mybot-1`")
]
BotArgument = Annotated[
    str, Argument(metavar="NAME", autocompletion=completion.bots, help="Bot, e.g. `mybot` or `bots/mybot`")
]
WatchedArgument = Annotated[
    str,
    Argument(
        metavar="[NAME]",
        autocompletion=completion.tournaments,
        help="Tournament (`spring`) or game (`spring/7`). Default: everything live",
    ),
]
