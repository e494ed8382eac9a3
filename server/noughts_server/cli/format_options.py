"""Formats of tournaments: who meets whom, and what ends a game or a run."""

from typing import TYPE_CHECKING, Annotated

from typer import Option

from noughts_server.cli import completion
from noughts_server.cli.errors import UsageProblem

if TYPE_CHECKING:
    from noughts_server.competition.schedule import ScheduleKind


ScheduleOption = Annotated[
    str,
    Option(
        "--schedule",
        metavar="KIND",
        help="`round-robin`, `gauntlet` (the first against all), `swiss`, `knockout`, or `ladder` (until stopped).",
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
        help="Rounds of a `swiss`; else log2 of the bots, rounded up.",
        show_default=False,
    ),
]
StopWhenDecidedOption = Annotated[
    bool, Option("--stop-when-decided", help="A `knockout`'s match ends as soon as nobody can catch up.")
]
DrawAfterOption = Annotated[
    int | None,
    Option(
        "--draw-after",
        min=1,
        max=100_000,
        metavar="PLIES",
        help="A game of so many plies is a draw, `adjudicated`.",
        show_default=False,
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
        show_default=False,
    ),
]
DryRunOption = Annotated[
    bool, Option("--dry-run", help="Say how many games that is, and about how long they take; play none of them.")
]
FitOption = Annotated[
    bool,
    Option("--fit", help="Also ratings from all games at once, with 95 % errors and what moving first is worth."),
]
FatalOption = Annotated[
    bool,
    Option(
        "--fatal",
        help="The first crash, illegal move, loss on time or disconnection ends the run: exit code 1.",
    ),
]


def read_schedule(text: str) -> "ScheduleKind":
    """How pairings are made, e.g. `round-robin`. Raises UsageProblem."""
    from noughts_server.competition.schedule import ScheduleKind

    kinds = {str(kind): kind for kind in ScheduleKind}
    if text not in kinds:
        raise UsageProblem(f"--schedule {text!r}: expected {' or '.join(f'`{name}`' for name in kinds)}")
    return kinds[text]


def check_format(kind: "ScheduleKind", games: int, *, rounds: int | None, stop_when_decided: bool) -> None:
    """Raises UsageProblem for options that the format of a tournament has no use for."""
    from noughts_server.competition.schedule import ScheduleKind

    if rounds is not None and kind is not ScheduleKind.SWISS:
        raise UsageProblem(
            f"--rounds {rounds}: got --schedule {kind}, expected `swiss`, which alone has rounds to choose"
        )
    if stop_when_decided and kind is not ScheduleKind.KNOCKOUT:
        raise UsageProblem(f"--stop-when-decided: got --schedule {kind}, expected `knockout`")
    if kind.follows_results and games % 2:
        raise UsageProblem(f"--games {games}: expected an even number: in a {kind} both bots begin equally often")
