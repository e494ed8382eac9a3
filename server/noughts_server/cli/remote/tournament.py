"""`noughts tournament`: organising tournaments at a server."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from noughts_server.cli import options, output
from noughts_server.cli.openings_options import OpeningsOptions, read_openings
from noughts_server.cli.output import Format
from noughts_server.cli.parameters import Argument, Option
from noughts_server.cli.remote.tournament_view import (
    conditions_document,
    show_tournament,
    state_wording,
    time_wording,
)
from noughts_server.cli.resource_names import bot_name, short, tournament_name
from noughts_server.cli.times import read_moment

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.openings.settings import Openings

NameArgument = Annotated[str, Argument(metavar="NAME", help="The tournament, e.g. `spring`.")]


def create(
    name: NameArgument,
    variant: options.VariantOption = "tictactoe",
    opening_rule: options.OpeningOption = None,
    opening: OpeningsOptions = OpeningsOptions(),  # noqa: B008  # read from the command line
    games: Annotated[int, Option("--games", min=1, max=1_000_000, metavar="N", help="Games of each pair.")] = 2,
    time: options.TimeOption = "none",
    time_of: options.TimeOfOption = None,
    concurrency: Annotated[
        int, Option("--concurrency", min=1, max=65_536, metavar="C", help="Games in flight at most.")
    ] = 1_024,
    seed: options.SeedOption = None,
    title: Annotated[str, Option("--title", help="For people.")] = "",
    unrated: Annotated[bool, Option("--unrated", help="Its games do not count for the leaderboard.")] = False,
    join_from: Annotated[
        str | None,
        Option("--join-from", metavar="WHEN", help="When bots may join; else at once.", show_default=False),
    ] = None,
    join_until: Annotated[
        str | None,
        Option("--join-until", metavar="WHEN", help="Until when; else until the start.", show_default=False),
    ] = None,
    start_at: Annotated[
        str | None,
        Option("--start-at", metavar="WHEN", help="When it starts by itself; else with `start`.", show_default=False),
    ] = None,
    entries_min: Annotated[
        int, Option("--min-entries", min=2, max=4_096, metavar="N", help="With fewer it does not start.")
    ] = 2,
    entries_max: Annotated[
        int, Option("--max-entries", min=2, max=4_096, metavar="N", help="It takes no more.")
    ] = 4_096,
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Creates a tournament that bots can join.

    WHEN is a moment such as `2026-03-01T18:00` (by this machine's time zone), `2026-03-01T17:00Z` or `+10m` from now.
    A tournament that starts by itself is cancelled if it has too few entries by then. With --time-of it is unrated.

    JSON, as of show, start, pause and cancel: {"tournament", "title", "state", "variant", "time", "own_times",
    "games_per_pair",
    "concurrency", "seed", "rated", "games", "games_total", "entries_min", "entries_max", "join_from", "join_until",
    "start_at", "reason", "challenge", "openings", "standings", "crosstable", "offline"}.
    """
    read_variant, read_time = options.read_variant(variant, opening_rule), options.read_time(time)
    own_times = options.read_times_of(time_of)
    openings = read_openings(opening.openings, opening.openings_order, opening.symmetries, read_variant)
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import connected
    from noughts_server.cli.remote.time_controls import time_message

    wanted = pb.Tournament(
        name=tournament_name(name),
        title=title.encode(errors="replace").decode(),
        variant=read_variant.name,
        time=time_message(read_time),
        own_times={label: time_message(own) for label, own in own_times.items()},
        games_per_pair=games,
        concurrency=concurrency,
        seed=options.read_seed(seed),
        rated=not unrated and not own_times,
        openings=_openings_message(openings),
        entries_min=entries_min,
        entries_max=entries_max,
        join_from=_moment(join_from, "--join-from"),
        join_until=_moment(join_until, "--join-until"),
        start_at=_moment(start_at, "--start-at"),
    )
    with connected(server, token, token_file) as client:
        request = pb.CreateTournamentRequest(tournament=wanted)
        created = client.call(client.tournaments.CreateTournament, request).tournament
        show_tournament(client, created, output_format)
    if output_format is Format.TEXT:
        output.note(f"Next: noughts tournament join {short(created.name)} --bot BOT")


def _openings_message(openings: "Openings") -> "pb.Openings | None":
    from noughts_proto.v1 import tournaments_pb2 as pb

    if not openings:
        return None
    return pb.Openings(
        kind=openings.kind,
        plies=openings.plies,
        name=openings.name,
        order=openings.order,
        symmetries=openings.symmetries,
        text=openings.text,
    )


def _moment(text: str | None, option: str) -> "Timestamp | None":
    from google.protobuf.timestamp_pb2 import Timestamp

    if text is None:
        return None
    moment = Timestamp()
    moment.FromDatetime(read_moment(text, option))
    return moment


def join(
    name: NameArgument,
    bot: Annotated[str, Option("--bot", metavar="BOT", help="Your bot: `mybot`, or `mybot@2` for a version.")],
    label: Annotated[
        str, Option("--label", metavar="LABEL", help="Its name in this tournament; else the bot's name.")
    ] = "",
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Enters a bot, pinned at its newest version. It must have logged in once.

    JSON: {"tournament", "label", "bot_version"}.
    """
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import connected

    request = pb.JoinTournamentRequest(name=tournament_name(name), bot=bot_name(bot), label=label)
    with connected(server, token, token_file) as client:
        joined = client.call(client.tournaments.JoinTournament, request)
    if output_format is Format.JSON:
        document = {"tournament": request.name, "label": joined.label, "bot_version": joined.bot_version}
        output.print_json(document)
    else:
        output.stdout().print(f"{joined.bot_version} plays in {request.name} as {joined.label}.")


def withdraw(
    name: NameArgument,
    label: Annotated[str, Argument(metavar="LABEL", help="The entry's name in the tournament.")],
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Takes an entry out before the start.

    JSON: {"tournament", "label"}.
    """
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import connected

    request = pb.WithdrawTournamentRequest(name=tournament_name(name), label=label)
    with connected(server, token, token_file) as client:
        client.call(client.tournaments.WithdrawTournament, request)
    if output_format is Format.JSON:
        output.print_json({"tournament": request.name, "label": label})
    else:
        output.stdout().print(f"{label} no longer plays in {request.name}.")


@dataclass(frozen=True, slots=True)
class TournamentCall:
    """What commands need that call a method on one tournament and show what came of it."""

    name: NameArgument
    server: options.ServerOption = None
    token: options.TokenOption = None
    token_file: options.TokenFileOption = None
    output_format: options.FormatOption = Format.TEXT


def start(call: TournamentCall) -> None:
    """Starts a tournament, or resumes one that is paused."""
    _call("StartTournament", call)


def pause(call: TournamentCall) -> None:
    """Begins no new game; those running are finished. `start` goes on."""
    _call("PauseTournament", call)


def cancel(call: TournamentCall) -> None:
    """Ends a tournament for good; what was played stays."""
    _call("CancelTournament", call)


def show(call: TournamentCall) -> None:
    """A tournament with its standings and its crosstable."""
    _call("GetTournament", call)


def _call(method: str, call: TournamentCall) -> None:
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import connected

    request = getattr(pb, f"{method}Request")(name=tournament_name(call.name))
    with connected(call.server, call.token, call.token_file) as client:
        answer: Any = client.call(getattr(client.tournaments, method), request)
        show_tournament(client, answer.tournament, call.output_format)


def list_tournaments(
    challenges: Annotated[
        bool, Option("--challenges", help="Challenges, which are left out otherwise, and nothing else.")
    ] = False,
    limit: options.LimitOption = 50,
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """All tournaments, newest first.

    JSON: {"tournaments": [{"tournament", "title", "state", "variant", "time", "games", "games_total", ...}]}.
    """
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import connected

    with connected(server, token, token_file) as client:
        found = client.pages(
            client.tournaments.ListTournaments,
            pb.ListTournamentsRequest(challenges=challenges),
            lambda page: page.tournaments,
            limit,
        )
    if output_format is Format.JSON:
        output.print_json({"tournaments": [conditions_document(row) for row in found]})
        return
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
    output.stdout().print(
        output.table(columns, rows) if rows else f"No {'challenges' if challenges else 'tournaments'} yet."
    )
