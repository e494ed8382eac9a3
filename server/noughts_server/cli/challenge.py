"""`noughts challenge`: a few unrated games against a bot that is online at a server."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from noughts_server.cli import options, output
from noughts_server.cli.bot import check_options
from noughts_server.cli.match_result import MatchResult
from noughts_server.cli.names import bot_name
from noughts_server.cli.output import Format
from noughts_server.cli.problems import Problem, UsageProblem

if TYPE_CHECKING:
    from noughts_bots.specs import BotSpec
    from noughts_proto.v1 import challenges_pb2 as pb
    from noughts_proto.v1 import tournaments_pb2
    from noughts_server.cli.client import Client

_MOST_GAMES = 100
_LOOK_SECONDS = 0.2
_LONGEST_NAME = 63

Returned = TypeVar("Returned")


def challenge(
    opponent: Annotated[
        str, typer.Argument(metavar="bot:NAME[@VERSION]", help="The bot to play against; it must be online.")
    ],
    spec: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="SPEC",
            help="A reference bot, run here, e.g. `nextstep:depth=3`; else `random`.",
            show_default=False,
        ),
    ] = None,
    own: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Instead: your own bot that is online.", show_default=False),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="With --with: its name at the server; else OWNER-SPEC.")
    ] = "",
    games: Annotated[
        int,
        typer.Option(
            "--games", min=1, max=_MOST_GAMES, metavar="N", help="Games; sides alternate, you begin the first."
        ),
    ] = 2,
    variant: options.VariantOption = "tictactoe",
    time: options.TimeOption = "none",
    seed: options.SeedOption = None,
    server: options.ServerOption = None,
    token: options.TokenOption = None,
    token_file: options.TokenFileOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Plays a few unrated games against a bot that is online at a server, and estimates the difference in Elo.

    You play with a reference bot that this command runs for as long as it takes, or with your own bot (--as). The
    opponent's owner can forbid it (`noughts bot run --no-challenges`).

    JSON, as of match: {"games", "variant", "seed", "a": {"wins", "draws", "losses"}, "b", "a_first", "a_second",
    "terminations", "elo": {"value", "error95", "los"}, "tournament", "challenger", "opponent"}; a is the challenger.
    """
    if own is not None and (spec is not None or name):
        raise UsageProblem("--as: got --with or --name as well, expected only one of the ways to play")
    read_variant, read_time, read_seed = options.read_variant(variant), options.read_time(time), options.read_seed(seed)
    from noughts_bots.loop import run_loop
    from noughts_bots.specs import parse_spec
    from noughts_proto.v1 import challenges_pb2 as pb
    from noughts_proto.v1 import types_pb2
    from noughts_server.cli.client import connected
    from noughts_server.cli.logs import configure_logs

    request = pb.CreateChallengeRequest(
        opponent=bot_name(opponent.removeprefix("bot:")),
        variant=read_variant.name,
        time=types_pb2.TimeControl(
            move_us=read_time.move_us, bank_us=read_time.bank_us, increment_us=read_time.increment_us
        ),
        games=games,
        seed=read_seed,
    )
    configure_logs(options.LogLevel.WARNING)
    secret = options.require_token(token, token_file)
    with connected(server, token=None if token is None else secret, token_file=token_file) as client:
        if own is not None:
            request.challenger = bot_name(own)
            played = run_loop(_play(client, request))
        else:
            parsed = parse_spec(spec or "random")
            check_options(parsed)
            request.challenger = f"bots/{name or _free_name(client, parsed)}"
            played = run_loop(_play_with(client, request, parsed, secret))
        _show(client, request, played, output_format)


def _free_name(client: "Client", spec: "BotSpec") -> str:
    """OWNER-SPEC, numbered where a bot of that name is online: two sessions of one bot would drive each other out."""
    from grpc import StatusCode

    from noughts_bots.specs import unique_labels
    from noughts_proto.v1 import bots_pb2, tokens_pb2
    from noughts_server.cli.client import CallFailed

    owner = client.call(client.tokens.GetToken, tokens_pb2.GetTokenRequest(name="tokens/self")).token.owner
    wanted, number = f"{owner}-{unique_labels((spec,))[0]}"[:_LONGEST_NAME], 1
    while True:
        suffix = "" if number == 1 else f"#{number}"
        name = f"{wanted[: _LONGEST_NAME - len(suffix)]}{suffix}"
        try:
            if not client.call(client.bots.GetBot, bots_pb2.GetBotRequest(name=f"bots/{name}")).bot.online:
                return name
        except CallFailed as failed:
            if failed.code is StatusCode.NOT_FOUND:
                return name
            raise
        number += 1


async def _play_with(
    client: "Client", request: "pb.CreateChallengeRequest", spec: "BotSpec", secret: str
) -> "tournaments_pb2.Tournament":
    """Plays with a reference bot that is online from here as long as it takes."""
    from noughts_bots.session import Login, play
    from noughts_bots.specs import make_bot

    bot = make_bot(spec)
    bot.accepts_challenges = False
    login = Login(client.address, secret, name=request.challenger.partition("/")[2])
    online = asyncio.Event()

    async def keep_playing() -> None:
        await play(bot, login, lambda _: online.set())
        raise Problem("the server ended the bot's session before the games were over")

    # What goes wrong with either ends both; `problems` finds it in the group.
    async with asyncio.TaskGroup() as tasks:
        playing = tasks.create_task(keep_playing())
        await online.wait()
        played = await _play(client, request)
        playing.cancel()
    return played


async def _play(client: "Client", request: "pb.CreateChallengeRequest") -> "tournaments_pb2.Tournament":
    """Begins the challenge and waits for its end; gives it up when interrupted."""
    from noughts_proto.v1 import tournaments_pb2

    made = await _aside(lambda: client.call(client.challenges.CreateChallenge, request).tournament)
    output.note(f"{made.name}: {request.challenger} against {request.opponent}, {output.count(request.games, 'game')}.")
    get = tournaments_pb2.GetTournamentRequest(name=made.name)
    over = (
        tournaments_pb2.TOURNAMENT_STATE_FINISHED,
        tournaments_pb2.TOURNAMENT_STATE_CANCELLED,
    )
    try:
        while True:
            shown = await _aside(lambda: client.call(client.tournaments.GetTournament, get).tournament)
            if shown.state in over:
                return shown
            await asyncio.sleep(_LOOK_SECONDS)
    except asyncio.CancelledError:
        # If this fails, too, the server ends the challenge when the bot has been away for a while.
        with suppress(Problem):
            client.call(client.tournaments.CancelTournament, tournaments_pb2.CancelTournamentRequest(name=made.name))
        raise


async def _aside(call: Callable[[], Returned]) -> Returned:
    """A call that blocks, in a thread: the bot thinks on the event loop meanwhile."""
    return await asyncio.to_thread(call)


def _show(
    client: "Client",
    request: "pb.CreateChallengeRequest",
    played: "tournaments_pb2.Tournament",
    output_format: Format,
) -> None:
    from noughts_proto.v1 import games_pb2, tournaments_pb2
    from noughts_referee.rules import Termination

    table = client.call(client.tournaments.GetCrosstable, tournaments_pb2.GetCrosstableRequest(name=played.name))
    listed = games_pb2.ListGamesRequest(parent=played.name)
    games = client.pages(client.games.ListGames, listed, lambda page: page.games, _MOST_GAMES)
    ends = sorted(Termination(game.termination) for game in games)
    terminations = {str(end): ends.count(end) for end in dict.fromkeys(ends)}
    first, second = _labels(played, request.challenger)
    result = MatchResult(played.variant, request.seed, first, second, list(table.cells), terminations)
    result.show(
        output_format, {"tournament": played.name, "challenger": request.challenger, "opponent": request.opponent}
    )
    if played.state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED:
        raise Problem(f"{played.name} was cancelled after {output.count(len(games), 'game')}: {played.reason or '-'}")


def _labels(played: "tournaments_pb2.Tournament", challenger: str) -> tuple[str, str]:
    """The challenger's label and the opponent's."""
    labels = {row.bot_version: row.label for row in played.standings}
    own = next(label for version, label in labels.items() if f"{version}/".startswith(f"{challenger}/"))
    return own, next(label for label in labels.values() if label != own)
