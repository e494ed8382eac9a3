"""`noughts webhook`, and the deliveries of a server that is killed and restarted."""

from __future__ import annotations

import json
from typing import Any

from tests.server.cli.conftest import Refusal, Transcript
from tests.support.patience import PATIENCE
from tests.support.processes import first_line
from tests.support.receiver import Receiver

SERVE_LINE = "serve --listen 127.0.0.1:0 --no-web --accept none --log-level error --format json"


def test_a_webhook_is_created_tested_listed_and_deleted(
    noughts: Any, refusal: Refusal, transcript: Transcript, start: Any, database: str, token: str, receiver: Receiver
) -> None:
    with start(f"{SERVE_LINE} --db {database} --allow-private-webhooks") as process:
        env = {"NOUGHTS_SERVER": json.loads(first_line(process))["grpc"], "NOUGHTS_TOKEN": token}
        transcript("webhook list", env=env)
        created = noughts(f"webhook create {receiver.url}", env=env)
        secret = created.stdout.strip()
        assert "Webhook 1. Keep its secret" in created.stderr
        transcript("webhook test 1", env=env)
        assert receiver.requests[0].is_signed(secret)
        output = noughts("webhook list --format json", env=env).stdout
        assert secret not in output
        [webhook] = json.loads(output)["webhooks"]
        assert (webhook["id"], webhook["owner"], webhook["waiting"], webhook["payload"]) == (1, "alice", 0, "json")
        receiver.status = 404
        assert "the status 404" in noughts("webhook test 1", env=env, code=1).stderr
        assert "404" in noughts("webhook list", env=env).stdout
        transcript("webhook delete 1", env=env)
        refusal("webhook test 1 --format json", env=env, code=1)


def test_a_private_address_says_which_option_allows_it(refusal: Refusal, server: str, token: str) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    refusal("webhook create http://localhost:9000/", env=env, code=2)
    refusal("webhook create http://localhost/ --event rain", env=env, code=2)


def test_a_killed_server_delivers_waiting_events_after_its_restart(
    noughts: Any, start: Any, database: str, token: str, receiver: Receiver
) -> None:
    line = f"{SERVE_LINE} --db {database} --allow-private-webhooks"
    receiver.status = None
    with start(line) as process:
        env = {"NOUGHTS_SERVER": json.loads(first_line(process))["grpc"], "NOUGHTS_TOKEN": token}
        secret = noughts(f"webhook create {receiver.url}", env=env).stdout.strip()
        for bot in ("ada", "ben"):
            noughts(f"bot register {bot}", env=env)
        noughts("tournament create cup", env=env)
        for words in ("join cup --bot ada --bot ben", "start cup", "withdraw cup ada", "cancel cup"):
            noughts(f"tournament {words}", env=env)
        # The first request has arrived and gets no answer.
        assert receiver.arrived.acquire(timeout=PATIENCE)
        process.kill()
        process.wait()
    receiver.status = 204
    with start(line) as process:
        first_line(process)
        for _ in range(3):
            assert receiver.arrived.acquire(timeout=120)
    events = [request.headers["Noughts-Event"] for request in receiver.requests]
    assert events == ["tournament.started", "bot.withdrawn", "tournament.finished"]
    assert len({request.delivery for request in receiver.requests}) == 3
    assert all(request.is_signed(secret) for request in receiver.requests)
    assert [request.document["state"] for request in receiver.requests] == ["running", "running", "cancelled"]
