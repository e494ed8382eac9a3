"""A caller with only the address learns the services by reflection, without stubs."""

import asyncio
import json
import re
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.people.tokens import create_token
from tests.support.root import ROOT

SERVICES = {
    f"noughts.v1.{name}"
    for file in (ROOT / "proto" / "noughts_proto" / "v1").glob("*.proto")
    for name in re.findall(r"^service (\w+)", file.read_text(), re.MULTILINE)
} | {"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}

PROTOCOL_PAGE = ROOT / "docs" / "reference" / "protocol.md"

Returned = TypeVar("Returned")


class Stranger:
    """A caller without our stubs, which builds its calls from the descriptors that the server sends."""

    def __init__(self, address: str, token: str = "") -> None:
        self.address = address
        self.token = token

    async def services(self) -> set[str]:
        """Return the names of all services."""
        return await self._in_thread(lambda channel, database: set(database.get_services()))

    async def message(self, name: str) -> Descriptor:
        """Return the descriptor of a message type."""
        return await self._in_thread(lambda channel, database: DescriptorPool(database).FindMessageTypeByName(name))

    async def call(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        """Call `SERVICE/METHOD` with a request in JSON, and return the answer in JSON."""
        service, _, name = method.partition("/")

        def call(channel: grpc.Channel, database: Any) -> dict[str, Any]:
            method_descriptor = DescriptorPool(database).FindServiceByName(service).FindMethodByName(name)
            answer_type = GetMessageClass(method_descriptor.output_type)
            stub: Any = channel.unary_unary(
                f"/{method}",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=answer_type.FromString,
            )
            metadata = (("authorization", f"Bearer {self.token}"),) if self.token else ()
            message = ParseDict(request, GetMessageClass(method_descriptor.input_type)())
            answer = stub(message, metadata=metadata, timeout=30)
            return MessageToDict(answer, preserving_proto_field_name=True)

        return await self._in_thread(call)

    async def _in_thread(self, ask: Callable[[grpc.Channel, Any], Returned]) -> Returned:
        def connect_and_ask() -> Returned:
            with grpc.insecure_channel(self.address) as channel:
                return ask(channel, ProtoReflectionDescriptorDatabase(channel))

        return await asyncio.to_thread(connect_and_ask)


@asynccontextmanager
async def stranger_at(tmp_path: Path, *, reflection: bool = True) -> AsyncIterator[Stranger]:
    settings = ServerSettings(
        listen="127.0.0.1:0", database=f"sqlite:///{tmp_path / 'x.sqlite'}", reflection=reflection
    )
    async with running_server(settings) as server:
        make = partial(create_token, owner="alice", now_ms=server.store.now_ms())
        yield Stranger(server.address, (await server.store.write(make)).secret)


@pytest.fixture
async def stranger(tmp_path: Path) -> AsyncIterator[Stranger]:
    """A stranger with a token, on a server with reflection."""
    async with stranger_at(tmp_path) as opened:
        yield opened


async def test_every_service_is_listed(stranger: Stranger) -> None:
    assert await stranger.services() == SERVICES


async def test_a_message_is_described_including_types_of_other_packages(stranger: Stranger) -> None:
    frame = await stranger.message("noughts.v1.PlayResponse")
    turns, statuses = (frame.fields_by_name[name].message_type for name in ("turns", "statuses"))
    assert turns is not None
    assert turns.fields_by_name["own_clock_us"].cpp_type == FieldDescriptor.CPPTYPE_UINT64
    assert statuses is not None
    assert statuses.full_name == "google.rpc.Status"


async def test_a_call_needs_only_what_reflection_returns(stranger: Stranger) -> None:
    request = {"tournament": {"name": "tournaments/spring-cup", "variant": "mnk:5,5,4"}}
    created = await stranger.call("noughts.v1.TournamentService/CreateTournament", request)
    assert created["tournament"]["state"] == "TOURNAMENT_STATE_OPEN"
    stranger.token = ""
    listed = await stranger.call("noughts.v1.TournamentService/ListTournaments", {"page_size": 5})
    assert [tournament["name"] for tournament in listed["tournaments"]] == ["tournaments/spring-cup"]


@pytest.mark.parametrize("with_token", [True, False])
async def test_the_leaderboard_is_read_with_and_without_a_token(stranger: Stranger, with_token: bool) -> None:
    stranger.token = stranger.token if with_token else ""
    answer = await stranger.call("noughts.v1.LeaderboardService/GetLeaderboard", {"variant": "tictactoe"})
    assert answer.keys() == {"rating_list", "view", "views"}
    assert answer["rating_list"] == "tictactoe/untimed"


async def test_a_refusal_is_an_answer_of_the_service_not_of_reflection(stranger: Stranger) -> None:
    stranger.token = ""
    with pytest.raises(grpc.RpcError) as caught:
        await stranger.call("noughts.v1.TournamentService/CreateTournament", {"tournament": {"name": "tournaments/x"}})
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_an_unknown_symbol_is_an_answer_and_the_stream_continues(stranger: Stranger) -> None:
    async with grpc.aio.insecure_channel(stranger.address) as channel:
        call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
        request_type = reflection_pb2.ServerReflectionRequest
        await call.write(request_type(file_containing_symbol="noughts.v1.Chess"))
        assert (await call.read()).error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]
        await call.write(request_type(file_containing_symbol="noughts.v1.Hello"))
        assert (await call.read()).file_descriptor_response.file_descriptor_proto
        await call.done_writing()
        assert await call.code() is grpc.StatusCode.OK


async def test_commands_of_the_protocols_page_do_what_they_say(stranger: Stranger) -> None:
    """The test reads each command line as grpcurl does, and makes the call with `Stranger`."""
    secret = stranger.token
    commands = re.findall(r"^grpcurl (.*)$", PROTOCOL_PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        words = shlex.split(command.replace("$NOUGHTS_TOKEN", secret))
        assert "-plaintext" in words, command
        address = words.index("127.0.0.1:7450")
        options = dict(pairwise(words[:address]))
        stranger.token = options.get("-H", "").removeprefix("authorization: Bearer ")
        match words[address + 1 :]:
            case ["list"]:
                assert await stranger.services() == SERVICES
            case ["list", service]:
                assert service in SERVICES
            case ["describe", message]:
                assert (await stranger.message(message)).full_name == message
            case [method]:
                assert await stranger.call(method, json.loads(options.get("-d", "{}"))), command
            case other:
                pytest.fail(f"the test does not know these arguments of grpcurl: {other}")


async def test_without_reflection_the_server_still_serves_other_calls(tmp_path: Path) -> None:
    async with stranger_at(tmp_path, reflection=False) as stranger:
        with pytest.raises(grpc.RpcError) as caught:
            await stranger.services()
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        async with grpc.aio.insecure_channel(stranger.address) as channel:
            health: Any = health_pb2_grpc.HealthStub(channel)  # its stubs know no methods
            answer = await health.Check(health_pb2.HealthCheckRequest())
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
