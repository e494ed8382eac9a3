"""The bus over a real NATS server: delivery, losses, large messages, and access."""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nkeys  # type: ignore[import-untyped]  # the package has no types
import pytest
from nacl.signing import SigningKey

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.rules import Result, Termination
from noughts_referee.work_units import FinishedGame
from noughts_server.cluster import nats_bus
from noughts_server.cluster.bus_settings import BusSettings
from noughts_server.cluster.codecs import REFEREES, SERVERS, TO_REFEREE, codec
from noughts_server.cluster.message_parts import MOST_BYTES
from noughts_server.cluster.nats_bus import NatsBus
from noughts_server.core.errors import BadBusUrl, BusUnusable
from noughts_server.runtime.recorder import COMMITTED
from noughts_server.runtime.tournament_play import CHANGED
from noughts_server.store.games.results import CommitReport, TournamentProgress
from tests.cluster.cluster import Nats
from tests.support.authority import Authority
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.processes


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[Nats]:
    """A NATS server that only this test uses."""
    server = Nats(tmp_path)
    server.start()
    yield server
    server.kill()


@asynccontextmanager
async def two_nodes(settings: BusSettings) -> AsyncIterator[tuple[NatsBus, NatsBus]]:
    """Two nodes on the bus."""
    here, there = NatsBus(settings, "here"), NatsBus(settings, "there")
    async with here.running(), there.running():
        yield here, there


async def publish_until_received(bus: NatsBus, subject: str, message: Any, *others: NatsBus) -> list[Any]:
    """Publish a message again and again, until each of the others has received it; return all that they received."""
    received: list[Any] = []
    subscriptions = [other.subscribe(subject, received.append) for other in others]
    async with asyncio.timeout(PATIENCE):
        while received.count(message) < len(others):
            # Subscriptions take some time to reach the server, which drops messages that come earlier.
            bus.publish(subject, message)
            await asyncio.sleep(0.02)
    for unsubscribe in subscriptions:
        unsubscribe()
    return received


async def test_a_message_reaches_each_subscriber_once(nats: Nats) -> None:
    async with two_nodes(BusSettings(nats.url)) as (here, there):
        received_here: list[int] = []
        received_there: list[int] = []
        here.subscribe(CHANGED, received_here.append)
        there.subscribe(CHANGED, received_there.append)
        await publish_until_received(here, CHANGED, 0, there)
        received_here.clear()
        received_there.clear()
        for number in range(1, 1001):
            here.publish(CHANGED, number)
        assert received_here == list(range(1, 1001))
        await wait_until(lambda: 1000 in received_there)
        assert [number for number in received_there if number] == list(range(1, 1001))


@pytest.mark.parametrize("name", ["two words", "a\r\nPING", "x" * 10_000])
async def test_node_with_a_wrong_name_costs_no_connection(nats: Nats, name: str) -> None:
    async with two_nodes(BusSettings(nats.url)) as (here, there):
        await publish_until_received(here, CHANGED, 1, there)
        here.publish(f"{TO_REFEREE}:{name}", pb.ClusterAnswers(server="here"))
        assert 2 in await publish_until_received(here, CHANGED, 2, there)
        assert here.lost == 0


async def test_messages_without_a_codec_stay_in_their_process(nats: Nats) -> None:
    async with two_nodes(BusSettings(nats.url)) as (here, there):
        received_there: list[object] = []
        there.subscribe("presence", received_there.append)
        here.publish("presence", object())
        await publish_until_received(here, CHANGED, 1, there)
        assert received_there == []


async def test_messages_pass_again_after_nats_was_killed(nats: Nats) -> None:
    async with two_nodes(BusSettings(nats.url)) as (here, there):
        reconnected: list[str] = []
        here.on_connected.append(lambda: reconnected.append("here"))
        there.on_connected.append(lambda: reconnected.append("there"))
        await publish_until_received(here, CHANGED, 1, there)
        await asyncio.to_thread(nats.kill)
        await wait_until(lambda: not here.connected and not there.connected)
        here.publish(CHANGED, 2)
        assert here.lost == 1
        await asyncio.to_thread(nats.start)
        await wait_until(lambda: sorted(reconnected) == ["here", "there"])
        assert set(await publish_until_received(here, CHANGED, 3, there)) == {3}


def test_a_report_travels_in_parts_and_arrives_unchanged() -> None:
    games = [
        FinishedGame(
            tournament=1 + ordinal % 2,
            ordinal=ordinal,
            attempt=ordinal % 3,
            first=0,
            second=1,
            result=Result.FIRST_WINS,
            termination=Termination.LINE,
            moves=bytes(range(200)),
            times=bytes(400),
            fault="it slept" if ordinal % 100 == 0 else "",
        )
        for ordinal in range(10_000)
    ]
    progress = [
        TournamentProgress(key, f"tournaments/{key}", games_done=5_000, games_total=9_000, finished=False)
        for key in (1, 2)
    ]
    report = CommitReport(seconds=1.5, games=games, progress=progress)
    report_codec = codec(COMMITTED)
    assert report_codec is not None
    messages = list(report_codec.encode(report))
    assert max(map(len, messages)) < 1_000_000 < sum(map(len, messages))
    parts = [report_codec.decode(message) for message in messages]
    assert sorted((game for part in parts for game in part.games), key=lambda game: game.ordinal) == games
    assert sorted(progress.tournament for part in parts for progress in part.progress) == [1, 2]
    # A tournament's progress is in the part with its last games, so that a reader has all of them.
    for key in (1, 2):
        last = max(index for index, part in enumerate(parts) if any(game.tournament == key for game in part.games))
        assert [progress.tournament for progress in parts[last].progress] == [key]


async def test_nodes_synchronise_after_too_many_messages_waited(nats: Nats, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nats_bus, "_MOST_WAITING", 10)
    async with two_nodes(BusSettings(nats.url)) as (here, _):
        synchronised = asyncio.Event()
        here.on_connected.append(synchronised.set)
        for number in range(10):
            here.publish(CHANGED, number)
        await asyncio.sleep(0.1)
        assert (here.lost, synchronised.is_set()) == (0, False)
        for number in range(11):
            here.publish(CHANGED, number)
        async with asyncio.timeout(PATIENCE):
            await synchronised.wait()
        assert here.lost == 1


async def test_message_larger_than_nats_takes_arrives_whole(nats: Nats) -> None:
    bots = [pb.BotPresence(version=number, variants=["x" * 200] * 100) for number in range(250)]
    message = pb.ServerPresence(server="here", bots=bots, complete=True)
    assert message.ByteSize() > 5_000_000
    async with two_nodes(BusSettings(nats.url)) as (here, there):
        first, *_ = await publish_until_received(here, SERVERS, message, there)
        assert first == message
        assert here.lost == 0


async def test_message_in_parts_of_a_small_max_payload_arrives_whole(tmp_path: Path) -> None:
    config = tmp_path / "nats.conf"
    config.write_text("max_payload: 20000\n")
    nats = Nats(tmp_path, "--config", str(config))
    nats.start()
    try:
        message = pb.ClusterAnswers(server="here", bots=[pb.BotAnswers(comment=["é" * 1_000] * 100)])
        async with two_nodes(BusSettings(nats.url)) as (here, there):
            first, *_ = await publish_until_received(here, f"{TO_REFEREE}:there", message, there)
            assert first == message
    finally:
        nats.kill()


async def test_too_large_message_counts_as_lost_and_the_others_arrive(nats: Nats) -> None:
    async with two_nodes(BusSettings(nats.url)) as (here, there):
        here.publish(REFEREES, pb.RefereePresence(referee="x" * (MOST_BYTES + 1)))
        assert set(await publish_until_received(here, CHANGED, 3, there)) == {3}
        assert here.lost == 1


# Access: encryption, certificates and credentials.


async def test_encryption_is_checked_on_both_sides(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server, node = authority.identity("server"), authority.identity("node")
    options = ("--tls", "--tlscert", str(server.certificate), "--tlskey", str(server.key), "--tlsverify")
    nats = Nats(tmp_path, *options, "--tlscacert", str(authority.certificate))
    nats.start()
    try:
        url = f"tls://127.0.0.1:{nats.port}"
        good = BusSettings(url, authorities=authority.certificate, certificate=node.certificate, key=node.key)
        async with two_nodes(good) as (here, there):
            assert set(await publish_until_received(here, CHANGED, 3, there)) == {3}
        for bad in (
            BusSettings(url),
            BusSettings(url, authorities=authority.certificate),
        ):
            with pytest.raises(BusUnusable, match="cannot be reached"):
                async with NatsBus(bad, "eve").running():
                    pass
    finally:
        nats.kill()


class Signer:
    """An operator, an account or a user of NATS, with the keys that sign its JWTs."""

    def __init__(self, prefix: int) -> None:
        self.seed = nkeys.encode_seed(SigningKey.generate()._seed, prefix)
        self._keys = nkeys.from_seed(bytearray(self.seed))
        self.public_key = self._keys.public_key.decode()

    def sign_jwt(self, subject: str, name: str, kind: str) -> str:
        """Return a JWT of this kind for the subject: the public key of another signer, or its own."""
        claims: dict[str, Any] = {"iss": self.public_key, "sub": subject, "name": name, "iat": 1_700_000_000}
        claims["nats"] = {"type": kind, "version": 2}
        if kind == "account":
            claims["nats"]["limits"] = dict.fromkeys(
                ("subs", "conn", "data", "payload", "leaf", "imports", "exports"), -1
            )
        if kind == "user":
            claims["nats"] |= {"pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1}
        digest = hashlib.new("sha256", json.dumps(claims).encode()).digest()
        claims["jti"] = base64.b32encode(digest).decode().rstrip("=")
        head = _base64url(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode())
        text = f"{head}.{_base64url(json.dumps(claims).encode())}"
        return f"{text}.{_base64url(self._keys.sign(text.encode()))}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


async def test_nats_with_accounts_admits_only_nodes_with_credentials(tmp_path: Path) -> None:
    operator, account = Signer(nkeys.PREFIX_BYTE_OPERATOR), Signer(nkeys.PREFIX_BYTE_ACCOUNT)
    user = Signer(nkeys.PREFIX_BYTE_USER)
    config = tmp_path / "nats.conf"
    operator_jwt = operator.sign_jwt(operator.public_key, "O", "operator")
    account_jwt = operator.sign_jwt(account.public_key, "A", "account")
    user_jwt = account.sign_jwt(user.public_key, "U", "user")
    config.write_text(
        f"operator: {operator_jwt}\nresolver: MEMORY\nresolver_preload: {{ {account.public_key}: {account_jwt} }}\n"
    )
    credentials = tmp_path / "node.creds"
    credentials.write_text(
        f"-----BEGIN NATS USER JWT-----\n{user_jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{bytes(user.seed).decode()}\n------END USER NKEY SEED------\n"
    )
    nats = Nats(tmp_path, "--config", str(config))
    nats.start()
    try:
        async with two_nodes(BusSettings(nats.url, credentials)) as (here, there):
            assert set(await publish_until_received(here, CHANGED, 3, there)) == {3}
        with pytest.raises(BusUnusable, match="cannot be reached"):
            async with NatsBus(BusSettings(nats.url), "eve").running():
                pass
    finally:
        nats.kill()


async def test_unreachable_bus_is_named_without_its_password() -> None:
    with pytest.raises(BusUnusable, match="cannot be reached") as caught:
        async with NatsBus(BusSettings("nats://me:hunter2@127.0.0.1:1"), "here").running():
            pass
    assert "hunter2" not in str(caught.value)
    assert "nats://127.0.0.1:1" in str(caught.value)


@pytest.mark.parametrize("url", ["localhost", "http://host:1", "nats://", "nats://host:0", "nats://a:1,redis://b:2"])
def test_invalid_bus_url_is_an_error_that_shows_the_form(url: str) -> None:
    with pytest.raises(BadBusUrl, match="nats://HOST:PORT"):
        BusSettings(url).urls  # noqa: B018  # the property raises


def test_unreadable_certificates_are_an_error_of_the_bus(tmp_path: Path) -> None:
    path = tmp_path / "none.pem"
    path.write_text("rubbish")
    with pytest.raises(BusUnusable, match="its certificates cannot be read"):
        BusSettings("tls://127.0.0.1:4222", authorities=path).context()
