"""The command `noughts challenge`."""

from collections import Counter
from typing import Annotated

from typer import Argument, Option

from noughts_bots.reference.specs import make_bot, parse_spec, unique_labels
from noughts_proto.v1 import challenges_pb2 as pb
from noughts_proto.v1 import games_pb2, tournaments_pb2
from noughts_referee.rules import Termination
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.match_summary import MatchSummary
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.options.game import (
    USUAL_VARIANT,
    OpeningRuleOption,
    PairVariantOption,
    SeedOption,
    read_seed,
    read_variant,
)
from noughts_server.cli.options.logs import LogLevel, configure_logs
from noughts_server.cli.options.names import read_bot
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.options.time import (
    TimeOfPlayerOption,
    TimeOption,
    TournamentMarginOption,
    read_time,
    read_tournament_margin,
)
from noughts_server.cli.processes.signals import run_loop
from noughts_server.cli.server_games.challenges import challenge_request, free_name, play_challenge, play_challenge_with
from noughts_server.client.client import Client
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.resource_names import bot_name

_MOST_GAMES = 100


@command(
    example="""
$ noughts challenge bot:mybot --run random --games 10 --seed 1
...
alice-random          1     0      2       8
...
mybot                 9     8      2       0
...
Elo difference: -382 ...
"""
)
def challenge(
    opponent: Annotated[
        str,
        Argument(metavar="bot:NAME[@VERSION]", autocompletion=completion.opponents, help="Opponent; must be online"),
    ],
    spec: Annotated[
        str | None,
        Option(
            "--run",
            "--with",
            metavar="SPEC",
            autocompletion=completion.specs,
            help="Reference bot to run here, e.g. `nextstep:depth=3`. Default: `random`",
        ),
    ] = None,
    own_bot: Annotated[
        str | None,
        Option("--as", metavar="NAME", autocompletion=completion.bots, help="Your own online bot, instead of --run"),
    ] = None,
    name: Annotated[
        str, Option("--name", metavar="NAME", help="Name of the --run bot on the server. Default: OWNER-SPEC")
    ] = "",
    games: Annotated[
        int,
        Option(
            "--games",
            metavar="N",
            min=1,
            max=_MOST_GAMES,
            help="Games per pair (you and opponent); you move first in game 1",
            rich_help_panel="Game",
        ),
    ] = 2,
    variant: PairVariantOption = None,
    opening_rule: OpeningRuleOption = None,
    time: TimeOption = "none",
    time_of: TimeOfPlayerOption = None,
    margin: TournamentMarginOption = "",
    seed: SeedOption = None,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Play a few unrated games against a bot that is online on a server, and estimate the Elo difference.

    You play using a reference bot that this command runs, or your own bot (--as). The opponent's owner can refuse
    challenges (`noughts bot run --no-challenges`).
    """
    if own_bot is not None and (spec is not None or name):
        raise UsageProblem("--as: got --run or --name as well, expected --as without them")
    parsed_variant = None
    if variant is not None or opening_rule is not None:
        parsed_variant = read_variant(variant or USUAL_VARIANT, opening_rule)
    settings = TournamentSettings(
        variant="" if parsed_variant is None else parsed_variant.name,
        time=read_time(time),
        games_per_pair=games,
        margin_ms=read_tournament_margin(margin),
    )
    seed = None if seed is None else read_seed(seed)
    opponent_name = read_bot(opponent.removeprefix("bot:"))
    configure_logs(LogLevel.WARNING)
    with server.connected(token_needed=True) as client:
        if own_bot is not None:
            request = challenge_request(
                settings, time_of, challenger=read_bot(own_bot), opponent=opponent_name, seed=seed
            )
            tournament = run_loop(play_challenge(client, request, output))
        else:
            bot_spec = parse_spec(spec or "random")
            # Report a wrong option or variant now, not in each game.
            make_bot(bot_spec, parsed_variant)
            challenger = bot_name(name or free_name(client, unique_labels((bot_spec,))[0]))
            request = challenge_request(settings, time_of, challenger=challenger, opponent=opponent_name, seed=seed)
            tournament = run_loop(play_challenge_with(bot_spec, client, request, output))
        _show(output, client, request, tournament)


def _show(
    output: OutputOptions, client: Client, request: pb.CreateChallengeRequest, tournament: tournaments_pb2.Tournament
) -> None:
    crosstable_request = tournaments_pb2.GetCrosstableRequest(name=tournament.name)
    crosstable = client.call(client.tournaments.GetCrosstable, crosstable_request)
    games_request = games_pb2.ListGamesRequest(parent=tournament.name)
    games = list(client.list_items(client.games.ListGames, games_request, lambda page: page.games, _MOST_GAMES))
    counts = Counter(Termination(game.termination) for game in games)
    challenger = f"{request.challenger}/"
    first = next(row.label for row in tournament.standings if f"{row.bot_version}/".startswith(challenger))
    second = next(row.label for row in tournament.standings if row.label != first)
    summary = MatchSummary(
        variant=tournament.variant,
        seed=tournament.seed,
        first=first,
        second=second,
        pairs=list(crosstable.cells),
        terminations={str(termination): counts[termination] for termination in sorted(counts)},
    )
    summary.show(
        output, {"tournament": tournament.name, "challenger": request.challenger, "opponent": request.opponent}
    )
    if tournament.state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED:
        games_text = printing.count(len(games), "game")
        raise Problem(f"{tournament.name} was cancelled after {games_text}: {tournament.reason or '-'}")
