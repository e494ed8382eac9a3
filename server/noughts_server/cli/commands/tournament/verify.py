"""The command `noughts tournament verify`."""

from collections.abc import Iterable
from typing import Annotated

from typer import Option

from noughts_proto.v1 import games_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_referee.rules import OldSeed, commitment, game_seed
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem
from noughts_server.cli.options.names import TournamentArgument, read_tournament
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import AddressOptions

_MOST_NUMBERS = 10


@command(
    example="""
$ noughts tournament verify autumn
The seed commitment of tournaments/autumn is valid
...
The seeds of all 20 games follow from it.
"""
)
def verify(
    name: TournamentArgument,
    noted_hash: Annotated[
        str | None, Option("--hash", metavar="SHA256", help="Hash of the seed that you noted at the start")
    ] = None,
    *,
    server: AddressOptions,
    output: OutputOptions,
) -> None:
    """Verify the seed commitment of a tournament that has ended, from public data.

    The published seed must match the hash published at the start, and every game's seed must follow from it. This
    proves that nobody chose a game's random numbers after the start. Exit code 1 if something does not match.
    """
    request = pb.GetTournamentRequest(name=read_tournament(name))
    with server.connected() as client:
        tournament = client.call(client.tournaments.GetTournament, request).tournament
        if not tournament.HasField("seed"):
            raise Problem(
                f"{request.name}: its seed is still secret: the server publishes it at the end of the tournament",
                f"Write down its hash now, and pass it to `verify --hash` at the end: {tournament.seed_hash}",
            )
        games_request = games_pb2.ListGamesRequest(parent=request.name)
        games = client.list_items(client.games.ListGames, games_request, lambda page: page.games)
        count, differing = compare(tournament, games)
    expected_hash = (noted_hash or tournament.seed_hash).strip().lower()
    is_valid = commitment(tournament.seed) == expected_hash
    # JSON shows also what does not match, as `fits` and `differing`; the text is printed only if all matches.
    if output.is_json or (is_valid and not differing):
        source = (
            "that you noted" if noted_hash else "that the server reports; one noted at the start proves more (--hash)"
        )
        output.announce(
            {
                "tournament": request.name,
                **printing.seed_document(tournament.seed),
                "seed_hash": tournament.seed_hash,
                "noted": noted_hash,
                "fits": is_valid,
                "games": count,
                "differing": differing,
            },
            f"The seed commitment of {request.name} is valid",
            f"Seed {tournament.seed} has the hash {source}.\n"
            f"The seeds of all {printing.count(count, 'game')} follow from it.",
        )
    if not is_valid:
        raise Problem(
            f"{request.name}: its seed {tournament.seed} has the hash {commitment(tournament.seed)}, "
            f"expected {expected_hash}",
            "Either the seed is not the one chosen before the start, or you noted a different hash. Ask the organiser.",
        )
    if differing:
        numbers = ", ".join(map(str, differing[:_MOST_NUMBERS])) + (", ..." if len(differing) > _MOST_NUMBERS else "")
        games_text = printing.count(len(differing), "game")
        raise Problem(
            f"{request.name}: the seeds of {games_text} do not follow from its seed: {numbers}",
            "The random numbers of these games were not fixed before the start. Ask the operator.",
        )


def compare(tournament: pb.Tournament, games: Iterable[games_pb2.Game]) -> tuple[int, list[int]]:
    """Return the count of games, and the numbers of games whose seed does not follow from the tournament's seed.

    Tournaments from before seeds were secret derive all seeds by an older rule. The rule with fewer differences counts.
    """
    seeds = {int(game.name.rpartition("/")[2]): game.seed for game in games}
    differing_by_rule = [
        [number for number, seed in seeds.items() if seed != game_seed(tournament_seed, number)]
        for tournament_seed in (tournament.seed, OldSeed(tournament.seed))
    ]
    return len(seeds), min(differing_by_rule, key=len)
