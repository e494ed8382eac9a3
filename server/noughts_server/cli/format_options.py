"""Formats of tournaments: who meets whom, and what ends a game or a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from typer import Option

from noughts_server.cli import completion
from noughts_server.cli.errors import UsageProblem
from noughts_server.competition.formats import FORMATS, TournamentFormat, format_named
from noughts_server.competition.formats.tournament_format import FormatError
from noughts_server.competition.tournament_settings import TournamentSettings

ScheduleOption = Annotated[
    str,
    Option(
        "--schedule",
        metavar="KIND",
        help=f"Format: {', '.join(f'`{each}`' for each in FORMATS)}.",
        autocompletion=completion.schedules,
    ),
]
RoundsOption = Annotated[
    int | None,
    Option(
        "--rounds",
        min=1,
        max=4_096,
        metavar="N",
        help="Rounds of a `swiss` or `danish`; else log2 of the bots, rounded up.",
    ),
]
StopWhenDecidedOption = Annotated[
    bool, Option("--stop-when-decided", help="A `knockout`'s match ends as soon as nobody can catch up.")
]
DrawAfterOption = Annotated[
    int | None,
    Option(
        "--draw-after", min=1, max=100_000, metavar="PLIES", help="A game of so many plies is a draw, `adjudicated`."
    ),
]
ForfeitAfterOption = Annotated[
    int | None,
    Option(
        "--forfeit-after",
        min=1,
        max=1_000_000_000,
        metavar="N",
        help="Who has lost N games by crashes, illegal or late moves is withdrawn.",
    ),
]
DryRunOption = Annotated[
    bool, Option("--dry-run", help="Say how many games that is, and about how long they take; play none of them.")
]
FitOption = Annotated[
    bool, Option("--fit", help="Also ratings from all games at once, with 95 % errors and what moving first is worth.")
]
FatalOption = Annotated[
    bool,
    Option("--fatal", help="The first crash, illegal move, loss on time or disconnection ends the run: exit code 1."),
]


def read_schedule(text: str, *, games: int, rounds: int | None, stop_when_decided: bool) -> TournamentFormat:
    """Return the format with this name. Raise UsageProblem for another name, and for options that it does not have."""
    try:
        found = format_named(text)
    except ValueError as error:
        raise UsageProblem(f"--schedule: {error}") from error
    with usage_problems():
        found.check(TournamentSettings(games_per_pair=games, rounds=rounds or 0, stop_when_decided=stop_when_decided))
    return found


@contextmanager
def usage_problems() -> Iterator[None]:
    """Raise UsageProblem in the words of the command line for a FormatError."""
    try:
        yield
    except FormatError as error:
        option = {"games_per_pair": "games"}.get(error.setting, error.setting).replace("_", "-")
        value = "" if error.got == "true" else f" {error.got}"
        raise UsageProblem(f"--{option}{value}: {error.why}") from error
