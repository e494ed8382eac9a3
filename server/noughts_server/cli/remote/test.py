"""`noughts test`: test a bot version against another one on a server."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from typer import Argument, Option

from noughts_proto.v1 import tests_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_server.cli import completion, format_options, options, output, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.former_command import command
from noughts_server.cli.openings_options import OpeningsOption, openings_wording, read_random_openings
from noughts_server.cli.options.names import TestArgument
from noughts_server.cli.options.statistics import SprtOption
from noughts_server.cli.remote.tournament_end import OVER, verdict, wait_for_end
from noughts_server.cli.remote.tournament_view import (
    conditions_document,
    match_document,
    print_summary,
    state_wording,
    time_wording,
)
from noughts_server.cli.times import iso, milliseconds
from noughts_server.cli.tournament_options import LARGEST_GAMES, GameOptions
from noughts_server.cli.typed_names import read_bot, read_test
from noughts_server.competition.formats import MATCH
from noughts_server.convert.settings import openings_message, settings_message
from noughts_server.core.resource_names import short, tournament_name
from noughts_server.openings.settings import OpeningsKind

_ENDS = (*OVER, tournaments_pb2.TOURNAMENT_STATE_PAUSED)
_NO_OPENINGS = tournaments_pb2.Openings(kind=OpeningsKind.NONE)


@dataclass(frozen=True)
class TestOptions(GameOptions):
    """What a test plays, and its rank in the queue."""

    variant: Annotated[
        str | None,
        Option(
            "--variant",
            metavar="V",
            autocompletion=completion.variants,
            help="Variant. Default: the first that both versions play, else tictactoe",
            rich_help_panel="Game",
        ),
    ] = None
    openings: OpeningsOption = ""
    games: Annotated[
        int,
        Option(
            "--games",
            metavar="N",
            min=0,
            max=LARGEST_GAMES,
            show_default=False,
            help="Games per pair; with --sprt at most. Default: 100,000",
            rich_help_panel="Game",
        ),
    ] = 0
    concurrency: options.PacedConcurrencyOption = 0
    sprt: SprtOption = None
    margin: options.TournamentMarginOption = ""
    priority: format_options.PriorityOption = 0
    throughput: Annotated[
        int,
        Option(
            "--throughput",
            metavar="PERCENT",
            min=1,
            max=1000,
            help="Share of the games of all running tests",
            rich_help_panel="Game",
        ),
    ] = 100


@command(
    example="""
$ noughts test create mybot absent --games 200 --name later --priority 5
tests/later: mybot@1 against absent@1
running, 0 of 200 games played
tictactoe, time none, openings random, 4 plies
priority 5, throughput 100 %, by alice
Not online: absent@1
...
Wait for the result: noughts test wait later
"""
)
def create(
    new: Annotated[
        str,
        Argument(
            metavar="NEW",
            autocompletion=completion.bots,
            help="Your version to test: `mybot` (its newest version) or `mybot@2`",
        ),
    ],
    base: Annotated[
        str,
        Argument(
            metavar="BASE",
            autocompletion=completion.bots,
            help="Version to test against: `mybot` (its newest version) or `mybot@2`",
        ),
    ],
    playing: TestOptions,
    name: Annotated[str, Option("--name", metavar="NAME", help="ID of the test. Default: NEW-vs-BASE")] = "",
    title: Annotated[str, Option("--title", help="Title of the test", rich_help_panel="Output")] = "",
    at: AtServer = AtServer(),
) -> None:
    """Create a test and start it: unrated pairs of games until a sequential test is decided.

    The test is --sprt (default: elo0=0,elo1=5); with --games alone, all games are played. BASE is also your bot, or a
    bot that is online and open to tests of others. Owners share the games equally. Of your running tests, those with
    the highest --priority get the next games, and those of equal priority share them in proportion to --throughput.
    """
    chosen, random = playing.openings, None
    if playing.variant is None and playing.opening_rule is None:
        # The server chooses the variant by the two versions. It checks these openings, too.
        random = read_random_openings(chosen, playing.openings_order, playing.symmetries)
    if not chosen or random is not None:
        playing = replace(playing, openings="none", symmetries=playing.symmetries and random is None)
    if playing.sprt is not None:
        format_options.read_sprt(playing.sprt)
    settings = playing.settings(
        options.read_times_of(playing.time_of),
        rated=False,
        schedule=MATCH,
        sprt=playing.sprt or "",
        **printing.picked(playing, "priority", "throughput"),
        margin_ms=options.read_tournament_margin(playing.margin),
        title=title.encode(errors="replace").decode(),
    )
    # Without a choice of openings, the server chooses them by the variant and the length of the test.
    tournament = settings_message(settings, seed=None if playing.seed is None else options.read_seed(playing.seed))
    if random is not None:
        tournament.openings.CopyFrom(openings_message(random) or _NO_OPENINGS)
    elif chosen and not settings.openings:
        tournament.openings.CopyFrom(_NO_OPENINGS)
    if playing.variant is None and playing.opening_rule is None and not settings.openings:
        tournament.variant = ""
    wanted = pb.Test(
        name=read_test(name) if name else "",
        new_version=read_bot(new),
        base_version=read_bot(base),
        tournament=tournament,
    )
    with at.connected(token_needed=True) as client:
        made = client.call(client.tests.CreateTest, pb.CreateTestRequest(test=wanted)).test
    _show(made)
    output.hint(f"Wait for the result: noughts test wait {short(made.name)}")


@command(
    example="""
$ noughts test list
test...state...new...base...priority  share  variant...games...LLR...nElo
...
later...running...mybot@1  absent@1...
mybot-1...H1...mybot@1  rival@1...
...
"""
)
def list_tests(
    owner: Annotated[str, Option("--owner", metavar="NAME", help="Only tests of this owner")] = "",
    limit: options.LimitOption = None,
    at: AtServer = AtServer(),
) -> None:
    """List the queue of tests: running ones by priority and age, then stopped ones, then the last to end."""
    with at.connected() as client:
        request = pb.ListTestsRequest(owner=owner)
        pages = partial(client.each, client.tests.ListTests, request, lambda page: page.tests)
        found = list(options.limited(pages, limit))
    columns = ("test", "state", "new", "base", ">priority", ">share", "variant", ">games", ">LLR", ">nElo")
    hint = "No tests yet. Create one: noughts test create NEW BASE"
    output.show_rows({"tests": list(map(_document, found))}, columns, map(_row, found), hint)


@command(
    example="""
$ noughts test show later
tests/later: mybot@1 against absent@1
running, 0 of 200 games played
...
"""
)
def show(
    name: TestArgument,
    at: AtServer,
) -> None:
    """Show a test with its statistics."""
    with at.connected() as client:
        shown = client.call(client.tests.GetTest, pb.GetTestRequest(name=read_test(name))).test
    _show(shown)


@command(
    example="""
$ noughts test stop later
tests/later: mybot@1 against absent@1
stopped, 0 of 200 games played
...
"""
)
def stop(
    name: TestArgument,
    at: AtServer,
    now: options.NowOption = False,
) -> None:
    """Stop a test: running games finish, no new ones start. `test resume` continues it.

    `noughts tournament cancel ID` ends it for good.
    """
    request = pb.StopTestRequest(name=read_test(name), now=now)
    with at.connected() as client:
        stopped = client.call(client.tests.StopTest, request).test
    _show(stopped)


@command(
    example="""
$ noughts test resume later
tests/later: mybot@1 against absent@1
running, 0 of 200 games played
...
"""
)
def resume(
    name: TestArgument,
    at: AtServer,
) -> None:
    """Resume a stopped test."""
    with at.connected() as client:
        resumed = client.call(client.tests.ResumeTest, pb.ResumeTestRequest(name=read_test(name))).test
    _show(resumed)


@command(
    example="""
$ noughts test wait mybot-1-vs-rival-1
tests/mybot-1-vs-rival-1: mybot@1 against rival@1
finished, ... games played
...
"""
)
def wait(
    name: TestArgument,
    at: AtServer,
) -> None:
    """Wait until a test is over or stopped, then show it.

    The exit code is 0 if it accepted H1 or has played all games of --games, 1 if it accepted H0, and 3 if it was
    stopped or cancelled, or is over without a decision. If the command fails, the exit code is 1 as well, and standard
    output is empty.
    """
    request = pb.GetTestRequest(name=read_test(name))
    with at.connected() as client:
        client.call(client.tests.GetTest, request)
        wait_for_end(client, tournament_name(short(request.name)), _ENDS)
        shown = client.call(client.tests.GetTest, request).test
    _show(shown)
    if code := verdict(shown.tournament):
        raise SystemExit(code)


def _show(shown: pb.Test) -> None:
    output.show(_document(shown), partial(_print, shown))


def _print(shown: pb.Test) -> None:
    console, tournament = printing.stdout(), shown.tournament
    new, base = _typed(shown.new_version), _typed(shown.base_version)
    printing.heading(console, f"{shown.name}: {new} against {base}")
    most = "at most " if tournament.sprt and tournament.state not in OVER else ""
    conditions = [tournament.variant, f"time {time_wording(tournament)}", openings_wording(tournament.openings)]
    share = f"priority {tournament.priority}, throughput {tournament.throughput} %"
    console.print(
        f"{_state(tournament)}, {tournament.games_done:,} of {most}{tournament.games_total:,} games played\n"
        f"{', '.join(filter(None, conditions))}\n{share}, by {printing.printable(tournament.owner)}",
        soft_wrap=True,
    )
    if offline := _offline(tournament):
        console.print(f"Not online: {', '.join(map(_typed, offline))}", style="yellow")
    print_summary(tournament)


def _row(shown: pb.Test) -> tuple[object, ...]:
    tournament, match = shown.tournament, shown.tournament.match
    return (
        short(shown.name),
        f"{match.sprt.decision} accepted" if match.sprt.decision in ("H0", "H1") else _state(tournament),
        _typed(shown.new_version),
        _typed(shown.base_version),
        tournament.priority,
        f"{tournament.throughput} %",
        tournament.variant,
        f"{tournament.games_done:,}",
        f"{match.sprt.llr:.2f}" if match.sprt.decision else "",
        f"{match.normalized_elo:+.0f}" if match.HasField("normalized_elo") else "",
    )


def _state(tournament: tournaments_pb2.Tournament) -> str:
    return state_wording(tournament).replace("paused", "stopped", 1)


def _offline(tournament: tournaments_pb2.Tournament) -> list[str]:
    """Return the versions that the test waits for."""
    return [row.bot_version for row in tournament.standings if row.label in tournament.offline]


def _typed(version: str) -> str:
    """Return `mybot@2` for `bots/mybot/versions/2`."""
    return short(version).replace("/versions/", "@")


def _document(shown: pb.Test) -> dict[str, Any]:
    tournament = shown.tournament
    times = {name: iso(milliseconds(tournament, name)) for name in ("create_time", "start_time", "end_time")}
    names = {"test": shown.name, **printing.picked(shown, "new_version", "base_version")}
    details = tournament.match_details
    match = match_document(tournament.match) | {"summary": details.summary, "advice": details.advice}
    statistics = {"match": match, "offline": _offline(tournament)}
    return {**names, **conditions_document(tournament), **times, **statistics}
