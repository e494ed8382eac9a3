"""Delivery of events to a real HTTP server that fails, hangs and recovers."""

import asyncio
import math
import re
import socket
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from structlog.testing import capture_logs

from noughts_referee.rules import Result
from noughts_server.competition.formats import MATCH
from noughts_server.core.limits import Limits
from noughts_server.runtime import webhooks
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.webhooks import FORMATS, WebhookDelivery, sentence
from noughts_server.store.engine.database import Connection
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.people.webhooks import EVENTS, Webhook, create_webhook, get_webhook, report_event
from noughts_server.store.tournaments.entries import withdraw_entry
from tests.support.arena import NOW, Arena, open_arena
from tests.support.authority import Authority
from tests.support.receiver import Receiver, webhook_receiver

START, END, LEFT, DECIDED, *_ = EVENTS
HOUR = 3_600_000


@pytest.fixture
async def arena(tmp_path: Path) -> AsyncIterator[Arena]:
    """A store whose clock moves only by `pass_time`."""
    async with open_arena(tmp_path / "x.sqlite") as opened:
        opened.store.now_ms = lambda: NOW
        yield opened


def pass_time(arena: Arena, milliseconds: int = HOUR) -> None:
    now = arena.store.now_ms() + milliseconds
    arena.store.now_ms = lambda: now


async def make_webhook(arena: Arena, url: str, format: str = "json") -> Webhook:
    def make(connection: Connection) -> Webhook:
        owner = create_owner(connection, "alice")
        return create_webhook(
            connection, owner_id=owner, url=url, format=format, events="", now_ms=NOW, limits=Limits()
        )

    return await arena.store.write(make)


async def deliver(arena: Arena, *, private: bool = True) -> None:
    """Check the outbox once, and wait for all requests that this starts."""
    async with asyncio.TaskGroup() as requests:
        await WebhookDelivery(arena.store, private=private).begin_due(requests)


async def read_webhook(arena: Arena, webhook: Webhook) -> Webhook:
    return await arena.store.read(partial(get_webhook, webhook_id=webhook.id))


async def cause_three_events(arena: Arena) -> None:
    """Start a tournament, withdraw an entry, and finish it."""
    cup = await arena.tournament(bots=("ada", "bob", "cleo"))
    await arena.store.write(partial(withdraw_entry, slug="cup", label="cleo", now_ms=NOW, reason="left"))
    await arena.commit(await arena.play(cup))


async def test_each_event_arrives_once_in_order_and_signed(arena: Arena, receiver: Receiver) -> None:
    webhook = await make_webhook(arena, receiver.url)
    await cause_three_events(arena)
    for status in (500, 404, 204, 503, 204, 204, 204):
        receiver.status = status
        await deliver(arena)
        pass_time(arena)
    assert [request.headers["Noughts-Event"] for request in receiver.good()] == [START, LEFT, END]
    deliveries = [request.delivery for request in receiver.requests]
    first, second, third = dict.fromkeys(deliveries)
    # A refused event is sent again with the same delivery id, before any other event.
    assert deliveries == [first, first, first, second, second, third]
    assert all(request.is_signed(webhook.secret) for request in receiver.requests)
    assert not receiver.requests[0].is_signed("another")
    document = receiver.good()[1].document
    assert (document["id"], document["event"], document["entry"]) == (second, LEFT, "cleo")
    assert receiver.good()[2].document["games_done"] == 6
    assert receiver.good()[2].document["winners"]
    after = await read_webhook(arena, webhook)
    assert (after.waiting, after.failures, after.problem) == (0, 0, None)


async def test_one_request_a_second_and_fewer_after_failures(arena: Arena, receiver: Receiver) -> None:
    await make_webhook(arena, receiver.url)
    await cause_three_events(arena)
    await deliver(arena)
    pass_time(arena, 999)
    await deliver(arena)
    assert len(receiver.requests) == 1
    pass_time(arena, 1)
    receiver.status = 500
    await deliver(arena)
    pass_time(arena, 1_999)
    await deliver(arena)
    assert len(receiver.requests) == 2
    pass_time(arena, 1)
    await deliver(arena)
    assert len(receiver.requests) == 3


async def test_a_webhook_that_hangs_delays_no_other(arena: Arena, receiver: Receiver) -> None:
    await make_webhook(arena, receiver.url)
    with webhook_receiver() as hanging_receiver:
        hanging_receiver.status = None
        await make_webhook(arena, hanging_receiver.url)
        await arena.tournament()
        delivery = WebhookDelivery(arena.store, private=True)
        async with asyncio.TaskGroup() as requests:
            await delivery.begin_due(requests)
            assert await asyncio.to_thread(hanging_receiver.arrived.acquire, timeout=60)
            assert await asyncio.to_thread(receiver.arrived.acquire, timeout=60)
            # The receiver that hangs gets no second request meanwhile.
            pass_time(arena, 2_000)
            await delivery.begin_due(requests)
            hanging_receiver.released.set()
        assert (len(receiver.good()), hanging_receiver.arrived.acquire(blocking=False)) == (1, False)


async def test_connection_to_a_receiver_that_reads_nothing_is_closed(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT_SECONDS", 0.2)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        webhook = await make_webhook(arena, f"http://127.0.0.1:{deaf.getsockname()[1]}/")
        tournament = await arena.tournament(start=False)
        winners = [f"{'x' * 60}{number}" for number in range(100_000)]
        report = partial(report_event, event=END, tournament=tournament.id, now_ms=NOW, winners=winners)
        await arena.store.write(report)
        await deliver(arena)
        assert (await read_webhook(arena, webhook)).failures == 1
        peers = {socket_connection.raddr for socket_connection in psutil.Process().net_connections()}
        assert deaf.getsockname() not in peers


async def test_no_answer_within_the_timeout_is_a_failure(
    arena: Arena, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT_SECONDS", 0.1)
    receiver.status = None
    webhook = await make_webhook(arena, receiver.url)
    await arena.tournament()
    await deliver(arena)
    after = await read_webhook(arena, webhook)
    assert (after.failures, after.problem, after.waiting) == (1, "no answer within 0.1 s", 1)


async def test_a_receiver_gets_its_events_after_an_outage(arena: Arena) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        webhook = await make_webhook(arena, f"http://127.0.0.1:{port}/")
        await arena.tournament()
        await deliver(arena)
        assert (await read_webhook(arena, webhook)).failures == 1
    pass_time(arena)
    with webhook_receiver() as receiver:
        arena.execute(f"UPDATE webhooks SET url = '{receiver.url}'")
        await deliver(arena)
        assert [request.headers["Noughts-Event"] for request in receiver.good()] == [START]


async def test_redirects_are_not_followed(arena: Arena, receiver: Receiver) -> None:
    webhook = await make_webhook(arena, receiver.url)
    receiver.status, receiver.headers = 307, {"Location": receiver.url}
    await arena.tournament()
    await deliver(arena)
    assert len(receiver.requests) == 1
    assert "status 307" in str((await read_webhook(arena, webhook)).problem)


@pytest.mark.parametrize("answer", [b"x" * 100_000, b"SSH-2.0-server\r\n", b""])
async def test_an_answer_that_is_not_http_is_a_failure(arena: Arena, answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        webhook = await make_webhook(arena, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        await arena.tournament()
        await deliver(arena)
    assert (await read_webhook(arena, webhook)).failures == 1


async def test_private_addresses_are_refused_unless_allowed(arena: Arena, receiver: Receiver) -> None:
    webhook = await make_webhook(arena, receiver.url)
    await arena.tournament()
    await deliver(arena, private=False)
    assert (await read_webhook(arena, webhook)).problem == "localhost has no public address"
    assert not receiver.arrived.acquire(blocking=False)


async def test_ports_of_other_services_are_refused_unless_allowed(arena: Arena, receiver: Receiver) -> None:
    webhook = await make_webhook(arena, "http://8.8.8.8:25/")
    await arena.tournament()
    await deliver(arena, private=False)
    assert (await read_webhook(arena, webhook)).problem == "port 25, expected 80, 443 or above 1024"


async def test_the_connection_goes_to_the_address_that_was_checked(
    arena: Arena, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[list[str]] = [["10.0.0.1"], ["127.0.0.1"]]

    def look_up(host: str, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in answers.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    webhook = await make_webhook(arena, receiver.url.replace("localhost", "hooks.example"))
    await arena.tournament()
    await deliver(arena, private=False)
    assert (await read_webhook(arena, webhook)).problem == "hooks.example has no public address"
    pass_time(arena)
    # The name is resolved only once for a request, so the connection goes to the address that was checked.
    await deliver(arena)
    assert (answers, len(receiver.good())) == ([], 1)
    assert receiver.good()[0].headers["Host"].startswith("hooks.example:")


@pytest.mark.parametrize("trusted", [True, False])
async def test_certificate_of_the_name_is_needed(
    arena: Arena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    authority = Authority(tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    with webhook_receiver(identity=authority.identity("hooks")) as receiver:
        webhook = await make_webhook(arena, receiver.url)
        await arena.tournament()
        await deliver(arena)
        problem = (await read_webhook(arena, webhook)).problem
        assert (len(receiver.good()), problem is None) == (int(trusted), trusted)
        assert trusted or "certificate verify failed" in str(problem)


SPRING_TITLE = "<@all> & *[more](https://evil.example)*"
SLACK_FLAGS = {"mrkdwn": False, "parse": "none", "link_names": False, "unfurl_links": False, "unfurl_media": False}
DISCORD_TEXT = r"Tournament \<\@all\> \& \*\[more\]\(https\:\/\/evil\.example\)\* has started (tictactoe)."
SLACK_TEXT = "Tournament &lt;@all&gt; &amp; *[more](https://evil.example)* has started (tictactoe)."


@pytest.mark.parametrize("format", FORMATS)
async def test_format_decides_what_a_request_contains(arena: Arena, receiver: Receiver, format: str) -> None:
    await make_webhook(arena, receiver.url, format)
    await arena.tournament(title=SPRING_TITLE)
    await deliver(arena)
    [request] = receiver.good()
    expected = {
        "discord": {"content": DISCORD_TEXT, "allowed_mentions": {"parse": []}, "flags": 4},
        "slack": {"text": SLACK_TEXT, **SLACK_FLAGS},
        "json": {
            "id": request.delivery,
            "event": START,
            "time": "2023-11-14T22:13:20.000+00:00",
            "tournament": "tournaments/cup",
            "title": SPRING_TITLE,
            "variant": "tictactoe",
            "state": "running",
            "games_total": 2,
            "games_done": 0,
        },
    }
    assert request.document == expected[format]


@pytest.mark.parametrize("event", EVENTS)
def test_discord_shows_every_name_of_a_sentence_as_it_is(event: str) -> None:
    facts: dict[str, Any] = dict.fromkeys(re.findall(r"{(\w+)}", EVENTS[event]), "**# ~x~ `y` |z| _w_\n> 1.")
    text = sentence(event, "discord", facts | {"games_done": 1, "llr": 1.0})
    assert r"\*\*\# \~x\~ \`y\` \|z\| \_w\_ \> 1\." in text


@pytest.mark.parametrize("event", EVENTS)
def test_longest_texts_fit_into_a_message_of_discord(event: str) -> None:
    facts: dict[str, Any] = dict.fromkeys(re.findall(r"{(\w+)}", EVENTS[event]), "*" * 10_000)
    assert len(sentence(event, "discord", facts | {"games_done": 1, "llr": 1.0})) < 2_000


@pytest.mark.parametrize("format", ["discord", "slack"])
@pytest.mark.parametrize(
    "winners, end",
    [
        ([], "6 games were played."),
        (["ada"], "6 games were played. Winner: ada."),
        (["ada", "bob"], "6 games were played. Winners: ada, bob."),
        (list("abcdefgh"), "6 games were played. Winners: a, b, c, d, e, f and 2 more."),
    ],
)
def test_sentence_about_an_end_names_the_winners(format: str, winners: list[str], end: str) -> None:
    facts = {"title": "cup", "state": "finished", "games_done": 6}
    assert sentence(END, format, facts | {"winners": winners}).endswith(end)
    assert sentence(END, format, facts).endswith("6 games were played.")  # an event stored by an earlier version


def test_winners_in_a_sentence_are_escaped_and_cut() -> None:
    facts = {"title": "*" * 10_000, "state": "finished", "games_done": 6, "winners": ["a_#2" + "_" * 59] * 9}
    text = sentence(END, "discord", facts)
    assert r"Winners: a\_\#2\_" in text
    assert len(text) < 2_000


@pytest.mark.parametrize("format", FORMATS)
async def test_decision_of_a_match_is_delivered_before_its_end(arena: Arena, receiver: Receiver, format: str) -> None:
    await make_webhook(arena, receiver.url, format)
    match = await arena.tournament(schedule=MATCH, games_per_pair=400, sprt="elo0=0,elo1=400")
    results = {0: Result.FIRST_WINS, 1: Result.SECOND_WINS}
    claimed = await arena.play(match)
    games = [game._replace(result=results[game.first], moves=bytes([game.ordinal // 2, 0])) for game in claimed]
    await arena.commit(games[:200])
    await arena.commit(games[200:])
    for _ in range(3):
        await deliver(arena)
        pass_time(arena)
    assert [request.headers["Noughts-Event"] for request in receiver.good()] == [START, DECIDED, END]
    document = receiver.good()[1].document
    if format == "json":
        pairs = document["pentanomial"][4]
        assert (document["decision"], document["games_done"], document["games_total"]) == ("H1", 2 * pairs, 2 * pairs)
        assert (document["pentanomial"], document["repeats"]) == ([0, 0, 0, 0, pairs], 0)
        assert document["llr"] > math.log(19)
    else:
        text = document["content" if format == "discord" else "text"]
        assert re.fullmatch(r"The test of cup is decided: H1 \(LLR \d\.\d\d, \d+ games\)\.", text)


async def test_a_server_that_does_not_lead_delivers_nothing(arena: Arena, receiver: Receiver) -> None:
    await make_webhook(arena, receiver.url)
    await arena.tournament()
    leads_was_called = asyncio.Event()

    def leads() -> bool:
        leads_was_called.set()
        return False

    async with running(WebhookDelivery(arena.store, leads, private=True).run()):
        await asyncio.wait_for(leads_was_called.wait(), 60)
    assert receiver.requests == []


async def test_an_error_of_the_store_loses_no_event(arena: Arena, receiver: Receiver) -> None:
    await make_webhook(arena, receiver.url)
    await arena.tournament()
    arena.execute("ALTER TABLE outbox RENAME TO hidden")
    with capture_logs() as logs:
        await deliver(arena)
    assert [line["event"] for line in logs] == ["webhook_check_failed"]
    arena.execute("ALTER TABLE hidden RENAME TO outbox")
    await deliver(arena)
    assert len(receiver.good()) == 1
