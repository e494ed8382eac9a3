"""`noughts challenge`: a few unrated games against a bot that is online on a server."""

from functools import partial
from typing import Annotated

from typer import Argument, Option

from noughts_bots.reference.specs import make_bot, parse_spec, unique_labels
from noughts_proto.v1 import challenges_pb2 as pb
from noughts_proto.v1 import games_pb2, tournaments_pb2
from noughts_referee.rules import Termination
from noughts_server.cli import completion, options, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.drawing.match_summary import MatchSummary
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.former_command import command
from noughts_server.cli.logs import configure_logs
from noughts_server.cli.options.game import OpeningRuleOption, SeedOption
from noughts_server.cli.options.time import TimeOfPlayerOption, TimeOption
from noughts_server.cli.remote.challenge_run import challenge_request, free_name, play_challenge, play_challenge_with
from noughts_server.cli.signals import run_loop
from noughts_server.cli.typed_names import read_bot
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
    own: Annotated[
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
    variant: Annotated[
        str | None,
        Option(
            "--variant",
            metavar="V",
            autocompletion=completion.variants,
            help="Variant. Default: the first that both bots play, else tictactoe",
            rich_help_panel="Game",
        ),
    ] = None,
    opening_rule: OpeningRuleOption = None,
    time: TimeOption = "none",
    time_of: TimeOfPlayerOption = None,
    margin: options.TournamentMarginOption = "",
    seed: SeedOption = None,
    at: AtServer = AtServer(),
) -> None:
    """Play a few unrated games against a bot that is online on a server, and estimate the Elo difference.

    You play using a reference bot that this command runs, or your own bot (--as). The opponent's owner can refuse
    challenges (`noughts bot run --no-challenges`).
    """
    if own is not None and (spec is not None or name):
        raise UsageProblem("--as: got --run or --name as well, expected --as without them")
    read_variant, read_time = None, options.read_time(time)
    if variant is not None or opening_rule is not None:
        read_variant = options.read_variant(variant or options.USUAL_VARIANT, opening_rule)
    read_seed = None if seed is None else options.read_seed(seed)
    settings = TournamentSettings(
        variant="" if read_variant is None else read_variant.name,
        time=read_time,
        games_per_pair=games,
        margin_ms=options.read_tournament_margin(margin),
    )
    rival = read_bot(opponent.removeprefix("bot:"))
    configure_logs(options.LogLevel.WARNING)
    with at.connected(token_needed=True) as client:
        if own is not None:
            challenger, play = read_bot(own), play_challenge
        else:
            parsed = parse_spec(spec or "random")
            # Report a wrong option or variant now, not in each game.
            make_bot(parsed, read_variant)
            challenger = bot_name(name or free_name(client, unique_labels((parsed,))[0]))
            play = partial(play_challenge_with, parsed)
        request = challenge_request(settings, time_of, challenger=challenger, opponent=rival, seed=read_seed)
        _show(client, request, run_loop(play(client, request)))


def _show(client: Client, request: pb.CreateChallengeRequest, played: tournaments_pb2.Tournament) -> None:
    table = client.call(client.tournaments.GetCrosstable, tournaments_pb2.GetCrosstableRequest(name=played.name))
    listed = games_pb2.ListGamesRequest(parent=played.name)
    games = list(client.each(client.games.ListGames, listed, lambda page: page.games, _MOST_GAMES))
    ends = sorted(Termination(game.termination) for game in games)
    terminations = {str(end): ends.count(end) for end in dict.fromkeys(ends)}
    labels = {row.bot_version: row.label for row in played.standings}
    challenger = f"{request.challenger}/"
    first = next(label for version, label in labels.items() if f"{version}/".startswith(challenger))
    second = next(label for label in labels.values() if label != first)
    result = MatchSummary(played.variant, played.seed, first, second, list(table.cells), terminations)
    result.show({"tournament": played.name, **printing.picked(request, "challenger", "opponent")})
    if played.state == tournaments_pb2.TOURNAMENT_STATE_CANCELLED:
        raise Problem(f"{played.name} was cancelled after {printing.count(len(games), 'game')}: {played.reason or '-'}")
