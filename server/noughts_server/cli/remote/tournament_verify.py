"""`noughts tournament verify`: verify the seed commitment of a tournament."""

from collections.abc import Iterable
from typing import Annotated

from typer import Option

from noughts_proto.v1 import games_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_referee.rules import OldSeed, commitment, game_seed
from noughts_server.cli import output, printing
from noughts_server.cli.client import connected
from noughts_server.cli.errors import Problem
from noughts_server.cli.former_command import command
from noughts_server.cli.options.names import TournamentArgument
from noughts_server.cli.typed_names import read_tournament

_SHOWN = 10


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
    noted: Annotated[
        str | None, Option("--hash", metavar="SHA256", help="Hash of the seed that you noted at the start")
    ] = None,
    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT[,...]",
            help="Server addresses, tried in order. Default: NOUGHTS_SERVER or 127.0.0.1:7450",
            rich_help_panel="Connection",
        ),
    ] = None,
) -> None:
    """Verify the seed commitment of a tournament that has ended, from public data.

    The published seed must match the hash published at the start, and every game's seed must follow from it. This
    proves that nobody chose a game's random numbers after the start. Exit code 1 if something does not match.
    """
    full_name = read_tournament(name)
    with connected(server) as client:
        found = client.call(client.tournaments.GetTournament, pb.GetTournamentRequest(name=full_name)).tournament
        if not found.HasField("seed"):
            raise Problem(
                f"{full_name}: its seed is still secret: the server publishes it at the end of the tournament",
                f"Write down its hash now, and pass it to `verify --hash` at the end: {found.seed_hash}",
            )
        listed = games_pb2.ListGamesRequest(parent=full_name)
        count, differing = compare(found, client.each(client.games.ListGames, listed, lambda page: page.games))
    held_to = (noted or found.seed_hash).strip().lower()
    fits = commitment(found.seed) == held_to
    if output.is_json() or (fits and not differing):
        whose = "that you noted" if noted else "that the server reports; one noted at the start proves more (--hash)"
        output.announce(
            {
                "tournament": full_name,
                **printing.seed_document(found.seed),
                "seed_hash": found.seed_hash,
                "noted": noted,
                "fits": fits,
                "games": count,
                "differing": differing,
            },
            f"The seed commitment of {full_name} is valid",
            f"Seed {found.seed} has the hash {whose}.\n"
            f"The seeds of all {printing.count(count, 'game')} follow from it.",
        )
    if not fits:
        raise Problem(
            f"{full_name}: its seed {found.seed} has the hash {commitment(found.seed)}, expected {held_to}",
            (
                "Either the seed is not the one chosen before the start, or you noted a different hash. Ask the "
                "organiser."
            ),
        )
    if differing:
        some = ", ".join(map(str, differing[:_SHOWN])) + (", ..." if len(differing) > _SHOWN else "")
        raise Problem(
            (f"{full_name}: the seeds of {printing.count(len(differing), 'game')} do not follow from its seed: {some}"),
            "The random numbers of these games were not fixed before the start. Ask the operator.",
        )


def compare(tournament: pb.Tournament, games: Iterable[games_pb2.Game]) -> tuple[int, list[int]]:
    """Return the number of games, and the numbers of those whose seed does not follow from the tournament's.

    In tournaments from before seeds were secret, all seeds may instead follow by the old rule.
    """
    seeds = {int(game.name.rpartition("/")[2]): game.seed for game in games}
    differing = [
        [number for number, seed in seeds.items() if seed != game_seed(tournament_seed, number)]
        for tournament_seed in (tournament.seed, OldSeed(tournament.seed))
    ]
    return len(seeds), min(differing, key=len)
