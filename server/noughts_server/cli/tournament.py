"""`noughts tournament`: organising tournaments at a server."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from noughts_server.cli import options, output
from noughts_server.cli.commands import command, group
from noughts_server.cli.crosstable import CROSSTABLE_HEADING, Crosstable
from noughts_server.cli.names import bot_name, short, tournament_name
from noughts_server.cli.output import Format
from noughts_server.cli.standings import standings_document, standings_table

if TYPE_CHECKING:
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import Client

tournament = group("Tournaments: run one here, or organise one at a server.")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The tournament, e.g. `spring`.")]
_AT_A_SERVER = "At a server"


@command(
    tournament,
    "create",
    "noughts tournament create spring --games 10 --seed 1",
    "noughts tournament create fives --variant mnk:15,15,5 --time 60+0.5 --title 'Five in a row'",
    panel=_AT_A_SERVER,
)
def create(
    name: NameArgument,
    variant: options.VariantOption = "tictactoe",
    games: Annotated[int, typer.Option("--games", min=1, max=1_000_000, metavar="N", help="Games of each pair.")] = 2,
    time: options.TimeOption = "none",
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, max=65_536, metavar="C", help="Games in flight at most.")
    ] = 1_024,
    seed: options.SeedOption = None,
    title: Annotated[str, typer.Option("--title", help="For people.")] = "",
    unrated: Annotated[bool, typer.Option("--unrated", help="Its games do not count for the leaderboard.")] = False,
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Creates a tournament that bots can join.

    JSON, as of show, start, pause and cancel: {"tournament", "title", "state", "variant", "time", "games_per_pair",
    "concurrency", "seed", "rated", "games", "games_total", "standings", "crosstable", "offline"}.
    """
    read_variant, read_time = options.read_variant(variant), options.read_time(time)
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_proto.v1 import types_pb2
    from noughts_server.cli.client import connected

    wanted = pb.Tournament(
        name=tournament_name(name),
        title=title.encode(errors="replace").decode(),
        variant=read_variant.name,
        time=types_pb2.TimeControl(
            move_us=read_time.move_us, bank_us=read_time.bank_us, increment_us=read_time.increment_us
        ),
        games_per_pair=games,
        concurrency=concurrency,
        seed=options.read_seed(seed),
        rated=not unrated,
    )
    with connected(server, token, token_file) as client:
        request = pb.CreateTournamentRequest(tournament=wanted)
        created = client.call(client.tournaments.CreateTournament, request).tournament
        _show(client, created, output_format)
    if output_format is Format.TEXT:
        output.note(f"Next: noughts tournament join {short(created.name)} --bot BOT")


@command(tournament, "join", "noughts tournament join spring --bot mybot", panel=_AT_A_SERVER)
def join(
    name: NameArgument,
    bot: Annotated[str, typer.Option("--bot", metavar="BOT", help="Your bot: `mybot`, or `mybot@2` for a version.")],
    label: Annotated[
        str, typer.Option("--label", metavar="LABEL", help="Its name in this tournament; else the bot's name.")
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


@command(tournament, "withdraw", "noughts tournament withdraw spring mybot", panel=_AT_A_SERVER)
def withdraw(
    name: NameArgument,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The entry's name in the tournament.")],
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


@command(tournament, "start", "noughts tournament start spring", panel=_AT_A_SERVER)
def start(
    name: NameArgument,
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Starts a tournament, or resumes one that is paused."""
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import connected

    request = pb.StartTournamentRequest(name=tournament_name(name))
    with connected(server, token, token_file) as client:
        _show(client, client.call(client.tournaments.StartTournament, request).tournament, output_format)


@command(tournament, "pause", "noughts tournament pause spring", panel=_AT_A_SERVER)
def pause(
    name: NameArgument,
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Begins no new game; those running are finished. `start` goes on."""
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import connected

    request = pb.PauseTournamentRequest(name=tournament_name(name))
    with connected(server, token, token_file) as client:
        _show(client, client.call(client.tournaments.PauseTournament, request).tournament, output_format)


@command(tournament, "cancel", "noughts tournament cancel spring", panel=_AT_A_SERVER)
def cancel(
    name: NameArgument,
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Ends a tournament for good; what was played stays."""
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import connected

    request = pb.CancelTournamentRequest(name=tournament_name(name))
    with connected(server, token, token_file) as client:
        _show(client, client.call(client.tournaments.CancelTournament, request).tournament, output_format)


@command(tournament, "show", "noughts tournament show spring --format json", panel=_AT_A_SERVER)
def show(
    name: NameArgument,
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """A tournament with its standings and its crosstable."""
    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import connected

    request = pb.GetTournamentRequest(name=tournament_name(name))
    with connected(server, token, token_file) as client:
        _show(client, client.call(client.tournaments.GetTournament, request).tournament, output_format)


@command(tournament, "list", "noughts tournament list --limit 20", panel=_AT_A_SERVER)
def list_tournaments(
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
            pb.ListTournamentsRequest(),
            lambda page: page.tournaments,
            limit,
        )
    if output_format is Format.JSON:
        output.print_json({"tournaments": [_conditions(row) for row in found]})
        return
    columns = ("name", "state", "variant", "time", ">games", "title")
    rows = [
        (short(row.name), _state(row), row.variant, _time(row), f"{row.games_done:,}/{row.games_total:,}", row.title)
        for row in found
    ]
    output.stdout().print(output.table(columns, rows) if rows else "No tournaments yet.")


def _show(client: "Client", shown: "pb.Tournament", output_format: Format) -> None:
    standings = [_Standing(row) for row in shown.standings]
    crosstable = _crosstable(client, shown)
    if output_format is Format.JSON:
        document = _conditions(shown)
        document["standings"] = standings_document(standings)
        document["crosstable"] = crosstable.document() if crosstable else None
        document["offline"] = list(shown.offline)
        output.print_json(document)
    else:
        _print(shown, standings, crosstable)


def _crosstable(client: "Client", shown: "pb.Tournament") -> Crosstable | None:
    """None where the server finds it too large."""
    from grpc import StatusCode

    from noughts_proto.v1 import tournaments_pb2 as pb
    from noughts_server.cli.client import CallFailed

    try:
        table = client.call(client.tournaments.GetCrosstable, pb.GetCrosstableRequest(name=shown.name))
    except CallFailed as failed:
        if failed.code is not StatusCode.RESOURCE_EXHAUSTED:
            raise
        return None
    return Crosstable((row.label for row in table.standings), table.cells)


class _Standing:
    """A line of the protocol's standings, in which a missing rating is None."""

    def __init__(self, row: "pb.Standing") -> None:
        self.label = row.label
        self.wins, self.draws, self.losses = row.wins, row.draws, row.losses
        self.points = row.points
        self.rating = row.rating if row.HasField("rating") else None


def _print(shown: "pb.Tournament", standings: list[_Standing], crosstable: Crosstable | None) -> None:
    console = output.stdout()
    output.heading(console, f"{shown.name} ({shown.title})" if shown.title else shown.name)
    console.print(
        f"{_state(shown)}, {shown.games_done:,} of {shown.games_total:,} games played\n"
        f"{shown.variant}, time {_time(shown)}, {output.count(shown.games_per_pair, 'game')} a pair,"
        f" {'rated' if shown.rated else 'unrated'}, seed {shown.seed}"
    )
    if shown.offline:
        console.print(f"Not online: {', '.join(map(output.printable, shown.offline))}", style="yellow")
    if standings:
        console.print()
        console.print(standings_table(standings))
    if shown.games_done and crosstable:
        console.print()
        output.heading(console, CROSSTABLE_HEADING)
        console.print(crosstable.table(console))


def _conditions(shown: "pb.Tournament") -> dict[str, Any]:
    return {
        "tournament": shown.name,
        "title": shown.title,
        "state": _state(shown),
        "variant": shown.variant,
        "time": _time(shown),
        "games_per_pair": shown.games_per_pair,
        "concurrency": shown.concurrency,
        "seed": shown.seed if shown.HasField("seed") else None,
        "rated": shown.rated,
        "games": shown.games_done,
        "games_total": shown.games_total,
    }


def _state(shown: "pb.Tournament") -> str:
    from noughts_proto.v1 import tournaments_pb2 as pb

    return pb.TournamentState.Name(shown.state).removeprefix("TOURNAMENT_STATE_").lower()


def _time(shown: "pb.Tournament") -> str:
    from noughts_referee.clock import TimeControl

    return str(TimeControl(shown.time.move_us, shown.time.bank_us, shown.time.increment_us))
