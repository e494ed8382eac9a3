"""Every method of every service, called without a token, with wrong ones, and by an owner without permission."""

import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from noughts_proto.v1 import (
    bots_pb2,
    challenges_pb2,
    feed_pb2,
    games_pb2,
    leaderboards_pb2,
    play_pb2,
    registration_pb2,
    status_pb2,
    tests_pb2,
    tokens_pb2,
    tournaments_pb2,
    tunings_pb2,
    webhooks_pb2,
)
from noughts_server.services import access as access_module
from noughts_server.services.access import Access, declaration
from noughts_server.services.bots import BotServicer
from noughts_server.services.challenges import ChallengeServicer
from noughts_server.services.feed import FeedServicer
from noughts_server.services.games import GameServicer
from noughts_server.services.leaderboards import LeaderboardServicer
from noughts_server.services.play import PlayServicer
from noughts_server.services.registration import RegistrationServicer
from noughts_server.services.status import StatusServicer
from noughts_server.services.tests import TestServicer as ServicerOfTests
from noughts_server.services.tokens import TokenServicer
from noughts_server.services.tournaments import TournamentServicer
from noughts_server.services.tunings import TuningServicer
from noughts_server.services.webhooks import WebhookServicer
from noughts_server.store.people.tokens import authenticate, revoke_token
from tests.support.client import Client, bearer, client_of, hello, refusal_of
from tests.support.root import ROOT

SERVICERS: dict[Any, type] = {
    bots_pb2: BotServicer,
    challenges_pb2: ChallengeServicer,
    feed_pb2: FeedServicer,
    games_pb2: GameServicer,
    leaderboards_pb2: LeaderboardServicer,
    play_pb2: PlayServicer,
    registration_pb2: RegistrationServicer,
    status_pb2: StatusServicer,
    tests_pb2: ServicerOfTests,
    tokens_pb2: TokenServicer,
    tournaments_pb2: TournamentServicer,
    tunings_pb2: TuningServicer,
    webhooks_pb2: WebhookServicer,
}

_TEST: dict[str, Any] = {"name": "tests/try", "new_version": "bots/ada", "base_version": "bots/bob"}
_TUNING: dict[str, Any] = {
    "name": "tunings/try",
    "bot": "minimax:depth=$depth",
    "parameters": [{"name": "depth", "start": 2, "low": 1, "high": 4, "step": 1, "rate": 0.02, "whole": True}],
    "iterations": 2,
    "games_per_iteration": 2,
}
# The request of each method: enough to reach the check of the caller.
_REQUESTS: dict[str, dict[str, Any]] = {
    "Play": {"hello": hello().hello},
    "UpdateBot": {"name": "bots/ada", "new_name": "eve"},
    "RetireBot": {"name": "bots/ada"},
    "RegisterBot": {"name": "bots/ada"},
    "CreateChallenge": {"challenger": "bots/ada", "opponent": "bots/bob"},
    "CreateToken": {"token": {"scopes": ["admin"]}},
    "RevokeToken": {"name": "tokens/1"},
    "CreateTournament": {"tournament": {"name": "tournaments/new"}},
    "UpdateTournament": {"tournament": {"name": "tournaments/cup"}},
    "JoinTournament": {"name": "tournaments/cup", "bot": "bots/ada"},
    "WithdrawTournament": {"name": "tournaments/cup", "label": "ada"},
    "ExtendTournament": {"name": "tournaments/cup", "rounds": 1},
    "StartTournament": {"name": "tournaments/cup"},
    "PauseTournament": {"name": "tournaments/cup"},
    "CancelTournament": {"name": "tournaments/cup"},
    "CreateTest": {"test": _TEST},
    "StopTest": {"name": "tests/try"},
    "StopRepeating": {"name": "tournaments/cup"},
    "ResumeTest": {"name": "tests/try"},
    "CreateInvitation": {},
    "RevokeInvitation": {"name": "invitations/1"},
    "CreateWebhook": {"webhook": {"url": "http://127.0.0.1:1/"}},
    "TestWebhook": {"name": "webhooks/1"},
    "DeleteWebhook": {"name": "webhooks/1"},
    "CreateTuning": {"tuning": _TUNING},
    "ClaimGames": {"name": "tunings/try", "worker": "me", "pairs": 1},
    "RenewClaim": {"name": "tunings/try", "claim": "1"},
    "ReportGames": {"name": "tunings/try", "claim": "1"},
    "LeaveTuning": {"name": "tunings/try", "worker": "me"},
    "DeleteTuning": {"name": "tunings/try"},
}
_OF_OWN_TOKENS = ("GetToken", "ListTokens")
"""Methods that any token may call, because they return only the caller's own tokens."""
_WITHOUT_OTHER_OWNERS = ("CreateTournament", "CreateToken", "CreateChallenge", "CreateWebhook", "ListWebhooks")
"""Methods that concern nothing of other owners."""


class Rpc(NamedTuple):
    """A method of the protocol, and who may call it."""

    method: MethodDescriptor
    access: Access | None

    @property
    def name(self) -> str:
        return str(self.method.name)


def rpcs() -> list[Rpc]:
    """All methods of all services in the files of the protocol."""
    methods = []
    for file, servicer in SERVICERS.items():
        for service in file.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                declared = declaration(getattr(servicer, method.name))
                methods.append(Rpc(method, declared.access if declared else None))
    return methods


RPCS = rpcs()
CLOSED = [rpc for rpc in RPCS if rpc.access not in (Access.ANYONE, Access.NEWCOMER)]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server where alice has a tournament and two bots."""
    async with client_of(tmp_path / "x.sqlite") as opened:
        token = await opened.token("alice")
        await opened.register("ada", "bob")
        await opened.create(token)
        await opened.join(token, "ada")
        request = tests_pb2.CreateTestRequest(test=tests_pb2.Test(**_TEST))
        await opened.tests.CreateTest(request, metadata=bearer(token))
        tuning = tunings_pb2.CreateTuningRequest(tuning=tunings_pb2.Tuning(**_TUNING))
        await opened.tunings.CreateTuning(tuning, metadata=bearer(token))
        await opened.webhook("http://127.0.0.1:1/")
        yield opened


async def first_answer(channel: grpc.aio.Channel, rpc: Rpc, secret: str | None) -> Any:
    """Call this method with the token `secret`, if any, and return the first answer."""
    request = GetMessageClass(rpc.method.input_type)(**_REQUESTS.get(rpc.name, {}))
    path = f"/{rpc.method.containing_service.full_name}/{rpc.name}"
    parse = GetMessageClass(rpc.method.output_type).FromString
    metadata = () if secret is None else bearer(secret)
    if rpc.name != "Play":
        unary: Any = channel.unary_unary(path, response_deserializer=parse)
        return await unary(request.SerializeToString(), metadata=metadata)
    stream: Any = channel.stream_stream(path, response_deserializer=parse)(metadata=metadata)
    try:
        await stream.write(request.SerializeToString())
        return await stream.read()
    finally:
        stream.cancel()


def test_all_services_of_the_protocol_are_tested() -> None:
    files = {
        file.stem for file in (ROOT / "proto/noughts_proto/v1").glob("*.proto") if "\nservice " in file.read_text()
    }
    assert files == {Path(file.DESCRIPTOR.name).stem for file in SERVICERS}


@pytest.mark.parametrize("rpc", RPCS, ids=lambda rpc: rpc.name)
def test_every_method_declares_who_may_call_it(rpc: Rpc) -> None:
    assert rpc.access is not None
    # Every method that does not only read needs a token.
    assert (rpc.access is Access.ANYONE) == (
        re.match("Get|List|Watch", rpc.name) is not None and not re.search("Token|Webhook|Invitation", rpc.name)
    )


async def test_methods_that_need_a_token_refuse_missing_and_ended_ones(client: Client) -> None:
    store = client.server.store
    revoked = await client.token("alice", "admin")
    expired = await client.token("alice", "admin", lifetime_ms=1)
    caller = await store.read(partial(authenticate, secret=revoked, now_ms=store.now_ms()))
    await store.write(partial(revoke_token, token_id=caller.token_id, now_ms=store.now_ms()))
    secrets = {None: "UNAUTHENTICATED", "": "UNAUTHENTICATED", "nou_unknown": "UNAUTHENTICATED"}
    async with grpc.aio.insecure_channel(client.server.address) as channel:
        for secret, reason in (*secrets.items(), (revoked, "TOKEN_REVOKED"), (expired, "TOKEN_EXPIRED")):
            for rpc in CLOSED:
                refusal = await refusal_of(first_answer(channel, rpc, secret))
                expected = (rpc.name, grpc.StatusCode.UNAUTHENTICATED, reason)
                assert (rpc.name, refusal.code, refusal.reason) == expected


async def test_no_method_is_answered_to_a_token_of_another_scope(client: Client) -> None:
    wrong = {
        Access.PLAY: (await client.token("alice", "organise"), await client.token("alice", "play:bob")),
        Access.SUBMIT: (await client.token("alice", "play", "organise"),),
        Access.ORGANISE: (await client.token("alice", "play"),),
        Access.ADMIN: (await client.token("alice", "play", "submit", "organise"),),
        Access.TOKEN: (await client.token("alice", "play:bob"),),
    }
    async with grpc.aio.insecure_channel(client.server.address) as channel:
        for rpc in CLOSED:
            if rpc.name in _OF_OWN_TOKENS:
                continue
            assert rpc.access is not None
            for secret in wrong[rpc.access]:
                refusal = await refusal_of(first_answer(channel, rpc, secret))
                expected = (rpc.name, grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")
                assert (rpc.name, refusal.code, refusal.reason) == expected


async def test_no_method_changes_what_belongs_to_another_owner(client: Client) -> None:
    mallory = await client.token("mallory")
    async with grpc.aio.insecure_channel(client.server.address) as channel:
        for rpc in CLOSED:
            if rpc.name in (*_OF_OWN_TOKENS, *_WITHOUT_OTHER_OWNERS):
                continue
            refusal = await refusal_of(first_answer(channel, rpc, mallory))
            assert (rpc.name, refusal.code) == (rpc.name, grpc.StatusCode.PERMISSION_DENIED)


async def test_a_method_without_a_declaration_of_access_is_closed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(StatusServicer.GetStatus, access_module._DECLARATION)
    [rpc] = [rpc for rpc in RPCS if rpc.name == "GetStatus"]
    async with grpc.aio.insecure_channel(client.server.address) as channel:
        assert (await refusal_of(first_answer(channel, rpc, await client.token("root", "admin")))).reason == "INTERNAL"
