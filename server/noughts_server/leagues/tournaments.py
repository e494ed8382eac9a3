"""Creation of the tournaments of a league."""

from itertools import count

import grpc

from noughts_proto.v1.tournaments_pb2 import CreateTournamentRequest
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.convert.settings import settings_message
from noughts_server.core.resource_names import tournament_name


def create_tournament(client: Client, settings: TournamentSettings, name: str, *, numbered: bool = False) -> str | None:
    """Create the tournament and return its resource name; the server chooses its seed at random.

    If the name is taken, return None, or with `numbered` take the first free one of NAME-2, NAME-3 and so on.
    """
    for number in count(1):
        resource = tournament_name(name if number == 1 else f"{name}-{number}")
        message = settings_message(settings, seed=None)
        message.name = resource
        try:
            client.call(client.tournaments.CreateTournament, CreateTournamentRequest(tournament=message))
            return resource
        except CallFailed as failed:
            if failed.code is not grpc.StatusCode.ALREADY_EXISTS:
                raise
            if not numbered:
                return None
    raise AssertionError
