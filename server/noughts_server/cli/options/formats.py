"""Formats of tournaments: the pairings, and the end of a game or a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from typer import Option

from noughts_server.cli import completion
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.competition.formats import FORMATS, TournamentFormat, format_named
from noughts_server.competition.formats.tournament_format import FormatError
from noughts_server.competition.tournament_settings import OPTIONS, TournamentSettings
from noughts_server.statistics.sprt import Sprt, SprtError

ScheduleOption = Annotated[
    str,
    Option(
        "--schedule",
        metavar="KIND",
        help=f"Kind: {', '.join(map(str, FORMATS))}",
        autocompletion=completion.schedules,
        rich_help_panel="Game",
    ),
]
RoundsOption = Annotated[
    int | None,
    Option(
        "--rounds",
        metavar="N",
        min=1,
        max=OPTIONS["rounds"].most,
        help="Rounds of a `swiss` or `danish`. Default: log2 of the entry count, rounded up",
        rich_help_panel="Game",
    ),
]
DrawAfterOption = Annotated[
    int | None,
    Option(
        "--draw-after",
        metavar="PLIES",
        min=1,
        max=OPTIONS["draw_after"].most,
        help="Ply at which the game is a draw",
        rich_help_panel="Game",
    ),
]
ResignOption = Annotated[
    str | None,
    Option(
        "--resign",
        metavar="RULE",
        help="Scores at which a bot loses, e.g. `moves=3,score=600,twosided`",
        rich_help_panel="Game",
    ),
]
DrawOption = Annotated[
    str | None,
    Option(
        "--draw",
        metavar="RULE",
        help="Scores of both at which a game is a draw, e.g. `moves=5,score=10,after=30`",
        rich_help_panel="Game",
    ),
]
AdjudicateOption = Annotated[
    str | None,
    Option(
        "--adjudicate",
        metavar="HOW",
        help="Games that the judge ends: `exact`, as soon as their value is proven",
        rich_help_panel="Game",
    ),
]
FuelOption = Annotated[
    int | None,
    Option(
        "--fuel",
        metavar="N",
        min=1,
        max=OPTIONS["fuel"].most,
        help="Fuel for each move of a WebAssembly module (about one unit per instruction)",
        rich_help_panel="Game",
    ),
]
ForfeitAfterOption = Annotated[
    int | None,
    Option(
        "--forfeit-after",
        metavar="N",
        min=1,
        max=OPTIONS["forfeit_after"].most,
        help="Number of crashes, illegal moves or late moves after which a bot is withdrawn",
        rich_help_panel="Players",
    ),
]
PriorityOption = Annotated[
    int,
    Option(
        "--priority",
        metavar="N",
        max=OPTIONS["priority"].most,
        min=0,
        help="Rank among tournaments with a --throughput",
        rich_help_panel="Game",
    ),
]
ThroughputOption = Annotated[
    int,
    Option(
        "--throughput",
        metavar="PERCENT",
        max=OPTIONS["throughput"].most,
        min=0,
        help="Share of the games of all tournaments with one. Default: 0 (does not share)",
        rich_help_panel="Game",
    ),
]


def read_sprt(text: str, *, complete: bool = True) -> Sprt:
    """Return the test that `Sprt.parse` reads. Raises UsageProblem."""
    with problems_with(f"--sprt {text!r}", SprtError):
        return Sprt.parse(text, complete=complete)


def read_rule(option: str, text: str | None, expected: str = "a rule") -> str:
    """Return the text of a rule by which games end early; empty without the option. Raises UsageProblem."""
    if text == "":
        raise UsageProblem(f"{option}: got '', expected {expected}")
    return text or ""


def read_schedule(text: str, **options: Any) -> TournamentFormat:
    """Return the format with this name. Raise UsageProblem for another name, and for options that it does not have."""
    with problems_with("--schedule", ValueError):
        named_format = format_named(text)
    with usage_problems():
        named_format.check(TournamentSettings(**options))
    return named_format


@contextmanager
def usage_problems() -> Iterator[None]:
    """Raise UsageProblem in the words of the command line for a FormatError."""
    try:
        yield
    except FormatError as error:
        if error.setting == "entries":
            raise UsageProblem(f"SPEC: got {error.got} bots, expected {error.expected}") from error
        option = "games" if error.setting == "games_per_pair" else error.setting.replace("_", "-")
        value = "" if error.got == "true" else f" {error.got}"
        raise UsageProblem(f"--{option}{value}: {error.why}") from error
