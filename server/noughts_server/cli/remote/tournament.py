"""`noughts tournament`: organise tournaments on a server."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any

from google.protobuf.timestamp_pb2 import Timestamp
from typer import Argument, Option

from noughts_proto.v1 import bots_pb2, status_pb2, tokens_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import completion, options, output, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.drawing.tournament import conditions_document, show_tournament, state_wording, time_wording
from noughts_server.cli.dry_run import entry_counts, pace_of, show_forecasts
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.former_command import command
from noughts_server.cli.options.formats import PriorityOption, ThroughputOption
from noughts_server.cli.options.game import DryRunOption, NowOption, TitleOption, read_seed
from noughts_server.cli.options.names import TournamentArgument
from noughts_server.cli.options.output import LimitOption, OutputOptions
from noughts_server.cli.options.statistics import FitOption
from noughts_server.cli.options.time import TournamentMarginOption, read_times_of, read_tournament_margin
from noughts_server.cli.options.tournament import FormatOptions
from noughts_server.cli.times import read_moment
from noughts_server.cli.tournament_end import verdict, wait_for_end
from noughts_server.cli.typed_names import read_bot, read_tournament
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.competition.tournament_settings import usual_concurrency
from noughts_server.convert.settings import settings_message
from noughts_server.core.resource_names import short


@dataclass(frozen=True)
class CreateOptions(FormatOptions):
    """The format, conditions and limits of a tournament on a server."""

    variant: Annotated[
        str | None,
        Option(
            "--variant",
            metavar="V",
            autocompletion=completion.variants,
            help="Variant, see `noughts variants`. Default: tictactoe",
            rich_help_panel="Game",
        ),
    ] = None
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
    playing: CreateOptions,
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
    at: AtServer = AtServer(),
) -> None:
    """Create a tournament that bots can join.

    WHEN is a time such as `2026-03-01T18:00` (in this machine's time zone), `2026-03-01T17:00Z` or `+10m` from now. A
    tournament that starts automatically is cancelled if it has too few entries. With --time-of it is unrated.
    """
    if repeat not in (None, "weekly"):
        raise UsageProblem(f"--repeat {repeat!r}: expected weekly")
    own_times = read_times_of(playing.time_of)
    settings = playing.settings(
        own_times,
        **printing.picked(playing, "live_scores", "keep_scores", "priority", "throughput"),
        margin_ms=read_tournament_margin(playing.margin),
        rated=not unrated and not own_times,
        title=title.encode(errors="replace").decode(),
    )
    if not playing.concurrency:
        settings = replace(settings, concurrency=usual_concurrency(settings.schedule, settings.throughput))
    if dry_run:
        counts = entry_counts(settings, entries_min, entries_max)
        show_forecasts(OutputOptions(format=output.FORMAT.get()), settings, counts, pace_of(settings), one=False)
        return
    identifier = read_tournament(name)
    with at.connected() as client:
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
        seed = None if playing.seed is None else read_seed(playing.seed)
        tournament.MergeFrom(settings_message(settings, seed=seed))
        request = pb.CreateTournamentRequest(tournament=tournament)
        created = client.call(client.tournaments.CreateTournament, request).tournament
        show_tournament(client, created)
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


@command(
    example="""
$ noughts tournament join spring --bot mybot --bot patient
bots/mybot/versions/1 plays in tournaments/spring as mybot.
bots/patient/versions/1 plays in tournaments/spring as patient.
"""
)
def join(
    name: TournamentArgument,
    entrant: Annotated[
        str | None, Argument(metavar="[BOT]", autocompletion=completion.bots, help="The same as --bot")
    ] = None,
    bot: Annotated[
        list[str] | None,
        Option(
            "--bot",
            metavar="BOT",
            autocompletion=completion.bots,
            help="Your bot: `mybot`, or `mybot@2` for a version (repeatable)",
        ),
    ] = None,
    label: Annotated[
        str, Option("--label", metavar="LABEL", help="Name in this tournament. Default: the bot's name")
    ] = "",
    all_online: Annotated[bool, Option("--all-online", help="All your bots that are online")] = False,
    at: AtServer = AtServer(),
) -> None:
    """Enter bots, pinned to their newest versions. Each must have logged in at least once.

    After the start, bots can join a ladder, Swiss or Danish tournament at any time, and a round robin or gauntlet while
    it is paused.
    """
    wanted = [read_bot(each) for each in (*([] if entrant is None else [entrant]), *(bot or ()))]
    if wanted and all_online:
        raise UsageProblem("join: got --all-online and bots by name, expected one of the two")
    if not wanted and not all_online:
        raise UsageProblem("join: got no bot, expected --bot BOT, one or more times, or --all-online")
    if label and len(wanted) != 1:
        raise UsageProblem(f"--label {label!r}: got several bots, expected one: each label must be unique")
    parent, entered, refused = read_tournament(name), [], []
    with at.connected() as client:
        if all_online:
            wanted = _online(client)
        for each in wanted:
            request = pb.JoinTournamentRequest(name=parent, bot=each, label=label)
            try:
                joined = client.call(client.tournaments.JoinTournament, request)
            except CallFailed as failed:
                if not all_online or not failed.refused:
                    raise
                refused.append({"bot": each, "reason": failed.message})
                continue
            entered.append({"label": joined.label, "bot_version": joined.bot_version})
            if not output.is_json():
                printing.stdout().print(f"{joined.bot_version} plays in {parent} as {joined.label}.")
    for out in refused:
        printing.warn(f"{out['bot']} was not entered: {out['reason']}")
    if not entered:
        text = f"--all-online: got {len(refused)} bots of yours that are online, and none was entered in {parent}"
        raise Problem(text, "" if refused else "Connect one with `noughts bot run`.")
    if output.is_json():
        more = {"refused": refused} if all_online else {}
        printing.print_json({"tournament": parent, **entered[0], "entries": entered, **more})


def _online(client: Client) -> list[str]:
    """Return the names of the caller's bots that are online."""
    own = client.call(client.tokens.GetToken, tokens_pb2.GetTokenRequest(name="tokens/self")).token.owner
    request = bots_pb2.ListBotsRequest(online_only=True, owner=own)
    return [each.name for each in client.each(client.bots.ListBots, request, lambda page: page.bots)]


@command(
    example="""
$ noughts tournament withdraw cup centre
centre no longer plays in tournaments/cup.
"""
)
def withdraw(
    name: TournamentArgument,
    label: Annotated[str | None, Argument(metavar="[LABEL]", help="Name of the entry in the tournament")] = None,
    bot: Annotated[
        str | None,
        Option(
            "--bot", metavar="BOT", autocompletion=completion.bots, help="The bot that was entered, instead of LABEL"
        ),
    ] = None,
    at: AtServer = AtServer(),
) -> None:
    """Withdraw an entry. After the start it loses its remaining games."""
    if bool(label) == bool(bot):
        raise UsageProblem("withdraw: expected either LABEL, the entry's name, or --bot BOT")
    request = pb.WithdrawTournamentRequest(name=read_tournament(name))
    with at.connected() as client:
        request.label = label or _label_of(client, request.name, bot or "")
        client.call(client.tournaments.WithdrawTournament, request)
    document = {"tournament": request.name, "label": request.label}
    output.show(document, f"{request.label} no longer plays in {request.name}.")


def _label_of(client: Client, tournament: str, bot: str) -> str:
    """Return the label of the only entry of a bot or bot version. Raises Problem if there are none or several."""
    wanted = read_bot(bot)
    shown = client.call(client.tournaments.GetTournament, pb.GetTournamentRequest(name=tournament)).tournament
    labels = [row.label for row in shown.standings if f"{row.bot_version}/".startswith(f"{wanted}/")]
    if len(labels) == 1:
        return labels[0]
    if labels:
        raise Problem(f"--bot {bot!r}: it has {len(labels)} entries, expected one", f"Name one: {', '.join(labels)}")
    raise Problem(f"--bot {bot!r}: it has no entry in {tournament}", f"noughts tournament show {short(tournament)}")


@command(
    example="""
$ noughts tournament start spring
tournaments/spring
...
"""
)
def start(name: TournamentArgument, at: AtServer) -> None:
    """Start a tournament, or resume a paused one."""
    _call("StartTournament", name, at)


@command(
    example="""
$ noughts tournament pause summer
tournaments/summer
paused, 0 of 2 games played
...
"""
)
def pause(name: TournamentArgument, at: AtServer, now: NowOption = False) -> None:
    """Pause a tournament: running games finish, no new ones start. `tournament start` resumes it."""
    _call("PauseTournament", name, at, now=now)


@command(
    example="""
$ noughts tournament cancel summer
tournaments/summer
cancelled, 0 of 2 games played
...
"""
)
def cancel(name: TournamentArgument, at: AtServer) -> None:
    """Cancel a tournament for good; finished games are kept."""
    _call("CancelTournament", name, at)


@command(
    example="""
$ noughts tournament extend spring --games 10
tournaments/spring
...
"""
)
def extend(
    name: TournamentArgument,
    at: AtServer,
    games: Annotated[
        int, Option("--games", metavar="N", min=0, max=1_000_000, help="Further games per pair", rich_help_panel="Game")
    ] = 0,
    rounds: Annotated[
        int,
        Option(
            "--rounds",
            metavar="N",
            min=0,
            max=4096,
            help="Further rounds of a `swiss` or `danish`",
            rich_help_panel="Game",
        ),
    ] = 0,
) -> None:
    """Add games to a tournament that is running or finished. They are played immediately.

    Without --games or --rounds, a finished tournament is set to paused, so that bots can join; `start` resumes it.
    """
    _call("ExtendTournament", name, at, games_per_pair=games, rounds=rounds)


@command(
    example="""
$ noughts tournament wait autumn
tournaments/autumn
finished, 20 of 20 games played
...
"""
)
def wait(name: TournamentArgument, at: AtServer) -> None:
    """Wait until a tournament is over, then show it.

    The exit code is 0 if it finished, 1 if it is a match whose test accepted H0 or if all candidates were dropped, and
    3 if it was cancelled or its test was not decided.
    """
    with at.connected() as client:
        over = wait_for_end(client, read_tournament(name))
        show_tournament(client, over)
    if code := verdict(over):
        raise SystemExit(code)


@command(
    example="""
$ noughts tournament show autumn
tournaments/autumn
finished, 20 of 20 games played
...
1  mybot      18    16      4       0    1644
2  rival       2     0      4      16    1356
...
"""
)
def show(name: TournamentArgument, at: AtServer, fit: FitOption = False) -> None:
    """Show a tournament with its standings and its crosstable."""
    _call("GetTournament", name, at, fit=fit)


def _call(method: str, name: str, at: AtServer, *, fit: bool = False, **fields: Any) -> None:
    """Call a method on one tournament, then show the tournament."""
    request = getattr(pb, f"{method}Request")(name=read_tournament(name), **fields)
    with at.connected() as client:
        answer: Any = client.call(getattr(client.tournaments, method), request)
        show_tournament(client, answer.tournament, fit=fit)


@command(
    example="""
$ noughts tournament list
name    state      variant    time  games  title
...
spring  finished   tictactoe  none  20/20
...
cup     open       tictactoe  none    0/0
...
"""
)
def list_tournaments(
    challenges: Annotated[
        bool, Option("--only-challenges", "--challenges", help="Only challenges, which are left out by default")
    ] = False,
    limit: LimitOption = None,
    at: AtServer = AtServer(),
) -> None:
    """List all tournaments, newest first."""
    with at.connected() as client:
        request = pb.ListTournamentsRequest(challenges=challenges)
        pages = partial(client.each, client.tournaments.ListTournaments, request, lambda page: page.tournaments)
        found = list(options.limited(pages, limit))
    columns = ("name", "state", "variant", "time", ">games", "title")
    rows = [
        (
            short(row.name),
            state_wording(row),
            row.variant,
            time_wording(row),
            f"{row.games_done:,}/{row.games_total:,}",
            row.title,
        )
        for row in found
    ]
    document = {"tournaments": list(map(conditions_document, found))}
    output.show_rows(document, columns, rows, f"No {'challenges' if challenges else 'tournaments'} yet.")
