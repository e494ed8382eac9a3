"""`noughts serve`: its start, its stop, and what it shows callers."""

from __future__ import annotations

import json
import signal
from contextlib import ExitStack
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from tests.server.cli.conftest import Refusal
from tests.support.patience import PATIENCE


def services(start: Any, database: str, options: str) -> list[str]:
    """Return the answer of a server with these options to a caller."""
    line = f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json --log-level error {options}"
    with start(line) as process:
        address = json.loads(process.stdout.readline())["grpc"]
        try:
            with grpc.insecure_channel(address) as channel:
                return list(ProtoReflectionDescriptorDatabase(channel).get_services())
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)


@pytest.mark.parametrize(
    "options, told",
    [
        ("--no-web --listen 0.0.0.0:0 --insecure", ["--listen 0.0.0.0:", "--proxy"]),
        ("--no-web --listen 0.0.0.0:0 --insecure --proxy 10.0.0.1", []),
        ("--listen 127.0.0.1:0 --web 0.0.0.0:0", ["--web faces the network", "--public-url"]),
        (
            "--listen 127.0.0.1:0 --web 0.0.0.0:0 --proxy 10.0.0.1 --insecure",
            ["tokens of people who sign in can be read", "--public-url"],
        ),
        ("--listen 127.0.0.1:0 --web 0.0.0.0:0 --public-url https://games.example", []),
        ("--listen 127.0.0.1:0 --web 127.0.0.1:0", []),
    ],
)
def test_ports_that_face_the_network_are_reported(start: Any, database: str, options: str, told: list[str]) -> None:
    with start(f"serve {options} --db {database} --format json --log-level error") as process:
        process.stdout.readline()
        process.terminate()
        errors = process.communicate(timeout=PATIENCE)[1]
    assert len(errors.splitlines()) == bool(told), errors
    assert all(words in errors for words in told), errors


def test_bots_are_sent_to_a_host_and_not_to_all_addresses(start: Any, database: str) -> None:
    with start(f"serve --no-web --listen 0.0.0.0:0 --insecure --db {database} --log-level error") as process:
        port = process.stdout.readline().rpartition(":")[2].strip()
        process.terminate()
        printed = "".join(process.communicate(timeout=PATIENCE))
        assert f"noughts bot run minimax --name mybot --server HOST:{port}" in printed


@pytest.mark.parametrize("url", ["games.example", "ftp://games.example", "https://", "https://me@x", "https://x/y", ""])
def test_a_public_url_is_a_scheme_and_a_host(refusal: Refusal, url: str) -> None:
    refusal(f"serve --public-url '{url}' --no-web --listen 127.0.0.1:0", code=2)


def test_services_are_told_by_default(start: Any, database: str) -> None:
    assert "noughts.v1.PlayService" in services(start, database, "")


def test_no_reflection_tells_nothing(start: Any, database: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        services(start, database, "--no-reflection")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_serve_announces_itself_in_text(start: Any, database: str) -> None:
    with start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --log-level error") as process:
        assert "serves at 127.0.0.1:" in process.stdout.readline()
        assert "noughts token create" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_says_where_it_is_and_stops_politely(start: Any, database: str, number: signal.Signals) -> None:
    with start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json") as process:
        ready = json.loads(process.stdout.readline())
        assert set(ready) == {"grpc", "web", "metrics"}
        assert ready["web"] is None
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert out == ""
    assert "event=serving" in err
    assert not [line for line in err.splitlines() if "level=info" not in line or "alembic" in line]


def _seen(noughts: Any, env: dict[str, str]) -> tuple[int, int]:
    """Return how many games are over on the server, and how many are running."""
    status = json.loads(noughts("status --once --format json", env=env).stdout)
    return status["games"], status["games_in_flight"]


def test_second_signal_stops_a_server_with_games_at_once(start: Any, database: str, token: str, noughts: Any) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json"))
        env = {"NOUGHTS_SERVER": json.loads(server.stdout.readline())["grpc"], "NOUGHTS_TOKEN": token}
        for name in ("one", "two"):
            bot = stack.enter_context(start(f"bot run random --name {name}", env))
            bot.stdout.readline()
        noughts("tournament create long --games 1000000 --time 600+0", env=env)
        for name in ("one", "two"):
            noughts(f"tournament join long --bot {name}", env=env)
        noughts("tournament start long", env=env)
        # Before the first game begins there is nothing to wait for.
        while not json.loads(noughts("tournament show long --format json", env=env).stdout)["games"]:
            pass
        bot.send_signal(signal.SIGSTOP)  # its games will not end by themselves
        try:
            before, now = None, _seen(noughts, env)
            while before != now or not now[1]:
                before, now = now, _seen(noughts, env)
            server.send_signal(signal.SIGINT)
            with pytest.raises(Exception, match="timed out"):
                server.wait(timeout=1)
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=20)
        finally:
            bot.send_signal(signal.SIGCONT)
        assert server.returncode == 130


def test_serve_refuses_to_be_heard_from_afar_in_plaintext(refusal: Refusal) -> None:
    for listen in ("0.0.0.0:0", "[::]:0", "referee.example.org:7450"):
        refusal(f"serve --no-web --listen {listen}", code=2)


def test_serve_may_be_told_to_be_heard_from_afar(start: Any, database: str) -> None:
    with start(f"serve --no-web --listen 0.0.0.0:0 --insecure --db {database} --format json") as process:
        assert json.loads(process.stdout.readline())["grpc"].startswith("0.0.0.0:")
        process.terminate()
        process.communicate(timeout=PATIENCE)


def test_port_in_use_is_named(noughts: Any, server: str, tmp_path: Any) -> None:
    result = noughts(f"serve --no-web --listen {server} --db sqlite:///{tmp_path / 'other.db'}", code=1)
    assert server in result.stderr


def test_server_says_once_that_its_database_is_new(start: Any, database: str) -> None:
    def log() -> str:
        with start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json") as process:
            process.stdout.readline()
            process.terminate()
            errors: str = process.communicate(timeout=PATIENCE)[1]
            return errors

    assert log().count("database_created") == 1
    assert log().count("database_created") == 0


def test_wrong_address_of_the_metrics_is_a_usage_error(refusal: Refusal) -> None:
    refusal("serve --no-web --listen 127.0.0.1:0 --metrics 7451", code=2)


def test_metrics_beyond_this_machine_are_a_usage_error(refusal: Refusal) -> None:
    refusal("serve --no-web --listen 127.0.0.1:0 --metrics 0.0.0.0:0", code=2)


@pytest.mark.parametrize(
    "option",
    [
        "--limit sessions",
        "--limit sessions=many",
        "--limit rockets=3",
        "--limit sessions=0",
        "--proxy example.org",
    ],
)
def test_a_bound_or_a_proxy_that_is_none_is_a_usage_error(refusal: Refusal, option: str) -> None:
    refusal(f"serve --no-web --listen 127.0.0.1:0 {option}", code=2)
