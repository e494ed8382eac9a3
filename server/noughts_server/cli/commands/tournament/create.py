"""The command `noughts tournament create`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated

from google.protobuf.timestamp_pb2 import Timestamp
from typer import Option

from noughts_proto.v1 import status_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.drawing.dry_run import entry_counts, pace_of, show_forecasts
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.formats import PriorityOption, ThroughputOption
from noughts_server.cli.options.game import DryRunOption, TitleOption, read_seed, variant_option
from noughts_server.cli.options.names import TournamentArgument, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.options.time import TournamentMarginOption, read_times_of, read_tournament_margin
from noughts_server.cli.options.tournament import FormatOptions
from noughts_server.cli.times import read_moment
from noughts_server.client.client import Client
from noughts_server.competition.tournament_settings import usual_concurrency
from noughts_server.convert.settings import settings_message
from noughts_server.core.resource_names import short


@dataclass(frozen=True)
class CreateOptions(FormatOptions):
    """The format, conditions and limits of a tournament on a server."""

    variant: Annotated[str | None, variant_option("Variant, see `noughts variants`. Default: tictactoe")] = None
    concurrency: Annotated[
        int,
        Option(
            "--concurrency",
            metavar="C",
            min=0,
            max=65_536,
            help="Concurrent games. Default: 1,024",
            rich_help_panel="Game",
        ),
    ] = 0
    margin: TournamentMarginOption = ""
    live_scores: Annotated[
        bool,
        Option("--live-scores", help="Show the bots' scores even during timed games", rich_help_panel="Time control"),
    ] = False
    keep_scores: Annotated[bool, Option("--keep-scores", help="Store the bots' scores and comments with the games")] = (
        False
    )
    live_analysis: Annotated[
        bool, Option("--live-analysis", help="Analyse games before the end of the tournament; bots could use it")
    ] = False
    priority: PriorityOption = 0
    throughput: ThroughputOption = 0


@command(
    example="""
$ noughts tournament create spring --games 10 --seed 1
tournaments/spring
open
round-robin, tictactoe, time none, 10 games a pair, rated, ...
...
Next: noughts tournament join spring --bot BOT
"""
)
def create(
    name: TournamentArgument,
    title: TitleOption = "",
    unrated: Annotated[bool, Option("--unrated", help="Do not rate the games")] = False,
    join_from: Annotated[
        str | None, Option("--join-from", metavar="WHEN", help="Time from which bots can join. Default: now")
    ] = None,
    join_until: Annotated[
        str | None, Option("--join-until", metavar="WHEN", help="Time until which bots can join. Default: the start")
    ] = None,
    start_at: Annotated[
        str | None,
        Option("--start-at", metavar="WHEN", help="Time of an automatic start. Default: none (`tournament start`)"),
    ] = None,
    entries_min: Annotated[
        int, Option("--min-entries", metavar="N", min=2, max=4096, help="Minimum number of entries")
    ] = 2,
    entries_max: Annotated[
        int, Option("--max-entries", metavar="N", min=2, max=4096, help="Maximum number of entries")
    ] = 4_096,
    repeat: Annotated[
        str | None, Option("--repeat", metavar="weekly", help="Open a new season with the same entries each week")
    ] = None,
    dry_run: DryRunOption = False,
    *,
    options: CreateOptions,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Create a tournament that bots can join.

    WHEN is a time such as `2026-03-01T18:00` (in this machine's time zone), `2026-03-01T17:00Z` or `+10m` from now. A
    tournament that starts automatically is cancelled if it has too few entries. With --time-of it is unrated.
    """
    if repeat not in (None, "weekly"):
        raise UsageProblem(f"--repeat {repeat!r}: expected weekly")
    own_times = read_times_of(options.time_of)
    settings = options.settings(
        own_times,
        live_scores=options.live_scores,
        keep_scores=options.keep_scores,
        live_analysis=options.live_analysis,
        priority=options.priority,
        throughput=options.throughput,
        margin_ms=read_tournament_margin(options.margin),
        rated=not unrated and not own_times,
        title=title.encode(errors="replace").decode(),
    )
    if not options.concurrency:
        settings = replace(settings, concurrency=usual_concurrency(settings.schedule, settings.throughput))
    if dry_run:
        counts = entry_counts(settings, entries_min, entries_max)
        show_forecasts(output, settings, counts, pace_of(settings, one_by_one=True), one=False)
        return
    identifier = read_tournament(name)
    with server.connected() as client:
        now = partial(_now_at, client)
        tournament = pb.Tournament(
            name=identifier,
            entries_min=entries_min,
            entries_max=entries_max,
            join_from=_moment(join_from, "--join-from", now),
            join_until=_moment(join_until, "--join-until", now),
            start_at=_moment(start_at, "--start-at", now),
            repeat=pb.REPEAT_WEEKLY if repeat else pb.REPEAT_UNSPECIFIED,
        )
        seed = None if options.seed is None else read_seed(options.seed)
        tournament.MergeFrom(settings_message(settings, seed=seed))
        request = pb.CreateTournamentRequest(tournament=tournament)
        created = client.call(client.tournaments.CreateTournament, request).tournament
        show_tournament(output, client, created)
    output.hint(f"Next: noughts tournament join {short(created.name)} --bot BOT")


def _moment(text: str | None, option: str, now: Callable[[], datetime]) -> Timestamp | None:
    if text is None:
        return None
    moment = Timestamp()
    moment.FromDatetime(read_moment(text, option, now))
    return moment


def _now_at(client: Client) -> datetime:
    """Return the time by the server's clock, from which it starts tournaments."""
    status = client.call(client.status.GetStatus, status_pb2.GetStatusRequest())
    return status.start_time.ToDatetime(UTC) + timedelta(seconds=status.uptime_seconds)
