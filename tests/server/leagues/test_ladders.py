"""The ladders of the house: they are created, or started if an earlier attempt was interrupted."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from noughts_bots.reference.random_ import Random
from noughts_bots.sdk.unhurried import Unhurried
from noughts_proto.security import Dialling
from noughts_proto.v1.tournaments_pb2 import (
    TOURNAMENT_STATE_OPEN,
    TOURNAMENT_STATE_RUNNING,
    GetTournamentRequest,
    JoinTournamentRequest,
    Tournament,
)
from noughts_server.client.client import Client, connected
from noughts_server.client.failures import CallFailed
from noughts_server.leagues.ladders import LADDERS, playing_ladders, start_ladders
from noughts_server.leagues.tournaments import create_tournament
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.engine.sqlite import url_of
from noughts_server.store.people.tokens import HOUSE_OWNER, list_tokens
from noughts_server.testing import serving
from tests.support.background import bots_online

LADDER = replace(LADDERS[0], bots=("random", "minimax"))
NAMES = {"random": "one", "minimax": "two"}


def tournament(client: Client) -> Tournament:
    request = GetTournamentRequest(name=f"tournaments/{LADDER.name}")
    found: Tournament = client.call(client.tournaments.GetTournament, request).tournament
    return found


@pytest.mark.parametrize("joined", [(), ("one",), ("one", "two")])
def test_a_ladder_that_an_interruption_left_open_is_started(joined: tuple[str, ...]) -> None:
    with serving() as server, ExitStack() as stack:
        token = server.token(HOUSE_OWNER)
        client = stack.enter_context(connected(server.address, token, Dialling()))
        slow = {name: Unhurried(Random(), 60) for name in NAMES.values()}
        stack.enter_context(bots_online(server.address, token, **slow))
        name = create_tournament(client, LADDER.settings, LADDER.name)
        assert name is not None
        for bot in joined:
            client.call(client.tournaments.JoinTournament, JoinTournamentRequest(name=name, bot=f"bots/{bot}"))
        for _ in range(2):
            start_ladders(server.address, token, [LADDER], NAMES)
            ladder = tournament(client)
            assert ladder.state == TOURNAMENT_STATE_RUNNING
            assert {row.label for row in ladder.standings} == {"one", "two"}


def test_an_open_tournament_of_another_owner_is_not_started() -> None:
    with serving() as server, connected(server.address, server.token(), Dialling()) as client:
        create_tournament(client, LADDER.settings, LADDER.name)
        start_ladders(server.address, server.token(HOUSE_OWNER), [LADDER], NAMES)
        assert tournament(client).state == TOURNAMENT_STATE_OPEN


def test_a_ladder_that_the_server_does_not_start_is_a_problem() -> None:
    with serving() as server, ExitStack() as stack:
        token = server.token(HOUSE_OWNER)
        stack.enter_context(bots_online(server.address, token, one=Unhurried(Random(), 60)))
        with pytest.raises(CallFailed, match="expected at least 2"):
            start_ladders(server.address, token, [replace(LADDER, bots=("random",))], NAMES)


async def test_the_token_of_the_ladders_is_revoked_at_their_end(tmp_path: Path) -> None:
    settings = ServerSettings(listen="127.0.0.1:0", database=url_of(tmp_path / "live.sqlite"))
    async with running_server(settings) as server:
        for _ in range(2):
            async with playing_ladders(server, 60):
                valid = [token for token in await server.store.read(list_tokens) if token.revoked_at is None]
                assert [token.owner for token in valid] == [HOUSE_OWNER]
            assert all(token.revoked_at is not None for token in await server.store.read(list_tokens))
