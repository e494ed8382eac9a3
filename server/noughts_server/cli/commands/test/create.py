"""The command `noughts test create`."""

from dataclasses import dataclass, replace
from typing import Annotated

from typer import Argument, Option

from noughts_proto.v1 import tests_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_server.cli import completion
from noughts_server.cli.command import command
from noughts_server.cli.commands.test.tests import show_test
from noughts_server.cli.options.formats import PriorityOption, read_sprt
from noughts_server.cli.options.game import PacedConcurrencyOption, read_seed, variant_option
from noughts_server.cli.options.names import read_bot, read_test
from noughts_server.cli.options.openings import OpeningsOption, read_random_openings
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.options.statistics import SprtOption
from noughts_server.cli.options.time import TournamentMarginOption, read_times_of, read_tournament_margin
from noughts_server.cli.options.tournament import LARGEST_GAMES, GameOptions
from noughts_server.competition.formats import MATCH
from noughts_server.convert.settings import openings_message, settings_message
from noughts_server.core.resource_names import short
from noughts_server.openings.settings import OpeningsKind

_NO_OPENINGS = tournaments_pb2.Openings(kind=OpeningsKind.NONE)


@dataclass(frozen=True)
class TestOptions(GameOptions):
    """The games of a test, and its rank in the queue."""

    variant: Annotated[
        str | None, variant_option("Variant. Default: the first that both versions play, else tictactoe")
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
    concurrency: PacedConcurrencyOption = 0
    sprt: SprtOption = None
    margin: TournamentMarginOption = ""
    priority: PriorityOption = 0
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
    name: Annotated[str, Option("--name", metavar="NAME", help="ID of the test. Default: NEW-vs-BASE")] = "",
    title: Annotated[str, Option("--title", help="Title of the test", rich_help_panel="Output")] = "",
    *,
    options: TestOptions,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Create a test and start it: unrated pairs of games until a sequential test is decided.

    The test is --sprt (default: elo0=0,elo1=5); with --games alone, all games are played. BASE is also your bot, or a
    bot that is online and open to tests of others. Owners share the games equally. Of your running tests, those with
    the highest --priority get the next games, and those of equal priority share them in proportion to --throughput.
    """
    openings, random_openings = options.openings, None
    if options.variant is None and options.opening_rule is None:
        # The server chooses the variant by the two versions. It checks these openings, too.
        random_openings = read_random_openings(openings, options.openings_order, options.symmetries)
    if not openings or random_openings is not None:
        options = replace(options, openings="none", symmetries=options.symmetries and random_openings is None)
    if options.sprt is not None:
        read_sprt(options.sprt)
    settings = options.settings(
        read_times_of(options.time_of),
        rated=False,
        schedule=MATCH,
        sprt=options.sprt or "",
        priority=options.priority,
        throughput=options.throughput,
        margin_ms=read_tournament_margin(options.margin),
        title=title.encode(errors="replace").decode(),
    )
    # Without a choice of openings, the server chooses them by the variant and the length of the test.
    tournament = settings_message(settings, seed=None if options.seed is None else read_seed(options.seed))
    if random_openings is not None:
        tournament.openings.CopyFrom(openings_message(random_openings) or _NO_OPENINGS)
    elif openings and not settings.openings:
        tournament.openings.CopyFrom(_NO_OPENINGS)
    if options.variant is None and options.opening_rule is None and not settings.openings:
        tournament.variant = ""
    test = pb.Test(
        name=read_test(name) if name else "",
        new_version=read_bot(new),
        base_version=read_bot(base),
        tournament=tournament,
    )
    with server.connected(token_needed=True) as client:
        created = client.call(client.tests.CreateTest, pb.CreateTestRequest(test=test)).test
    show_test(output, created)
    output.hint(f"Wait for the result: noughts test wait {short(created.name)}")
