"""`noughts serve`: its start, its stop, its warnings, and the services that it lists by reflection."""

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


def reflected_services(start: Any, database: str, options: str) -> list[str]:
    """Return the names of the services that a server with these options lists by reflection."""
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
    "options, warnings",
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
def test_ports_that_face_the_network_are_reported(start: Any, database: str, options: str, warnings: list[str]) -> None:
    with start(f"serve {options} --db {database} --format json --log-level error") as process:
        process.stdout.readline()
        process.terminate()
        errors = process.communicate(timeout=PATIENCE)[1]
    # All warnings stand on one line.
    assert len(errors.splitlines()) == (1 if warnings else 0), errors
    assert all(words in errors for words in warnings), errors


def test_printed_command_for_bots_has_a_host_for_all_addresses(start: Any, database: str) -> None:
    with start(f"serve --no-web --listen 0.0.0.0:0 --insecure --db {database} --log-level error") as process:
        port = process.stdout.readline().rpartition(":")[2].strip()
        process.terminate()
        printed = "".join(process.communicate(timeout=PATIENCE))
        assert f"noughts bot run minimax --name mybot --server HOST:{port}" in printed


@pytest.mark.parametrize("url", ["games.example", "ftp://games.example", "https://", "https://me@x", "https://x/y", ""])
def test_a_public_url_is_a_scheme_and_a_host(refusal: Refusal, url: str) -> None:
    refusal(f"serve --public-url '{url}' --no-web --listen 127.0.0.1:0", code=2)


def test_reflection_lists_the_services_by_default(start: Any, database: str) -> None:
    assert "noughts.v1.PlayService" in reflected_services(start, database, "")


def test_no_reflection_option_lists_no_services(start: Any, database: str) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        reflected_services(start, database, "--no-reflection")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_serve_announces_itself_in_text(start: Any, database: str) -> None:
    with start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --log-level error") as process:
        assert "serves at 127.0.0.1:" in process.stdout.readline()
        assert "noughts token create" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_serve_prints_its_addresses_and_stops_without_errors(
    start: Any, database: str, signal_number: signal.Signals
) -> None:
    with start(f"serve --no-web --listen 127.0.0.1:0 --db {database} --format json") as process:
        ready = json.loads(process.stdout.readline())
        assert set(ready) == {"grpc", "web", "metrics"}
        assert ready["web"] is None
        process.send_signal(signal_number)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert output == ""
    assert "event=serving" in errors
    assert not [line for line in errors.splitlines() if "level=info" not in line or "alembic" in line]


def _game_counts(noughts: Any, env: dict[str, str]) -> tuple[int, int]:
    """Return the number of finished games on the server, and that of running games."""
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
        while not json.loads(noughts("tournament show long --format json", env=env).stdout)["games"]:
            pass
        bot.send_signal(signal.SIGSTOP)  # its games will not end by themselves
        try:
            # Wait until the games of the stopped bot run and all others have ended.
            counts_before, counts = None, _game_counts(noughts, env)
            while counts_before != counts or not counts[1]:
                counts_before, counts = counts, _game_counts(noughts, env)
            server.send_signal(signal.SIGINT)
            with pytest.raises(Exception, match="timed out"):
                server.wait(timeout=1)
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=PATIENCE)
        finally:
            bot.send_signal(signal.SIGCONT)
        assert server.returncode == 130


def test_serve_refuses_to_listen_to_the_network_in_plaintext(refusal: Refusal) -> None:
    for listen in ("0.0.0.0:0", "[::]:0", "referee.example.org:7450"):
        refusal(f"serve --no-web --listen {listen}", code=2)


def test_insecure_option_lets_serve_listen_to_the_network(start: Any, database: str) -> None:
    with start(f"serve --no-web --listen 0.0.0.0:0 --insecure --db {database} --format json") as process:
        assert json.loads(process.stdout.readline())["grpc"].startswith("0.0.0.0:")
        process.terminate()
        process.communicate(timeout=PATIENCE)


def test_port_in_use_is_named(noughts: Any, server: str, tmp_path: Any) -> None:
    result = noughts(f"serve --no-web --listen {server} --db sqlite:///{tmp_path / 'other.db'}", code=1)
    assert server in result.stderr


def test_server_says_once_that_its_database_is_new(start: Any, tmp_path: Any) -> None:
    database = f"sqlite:///{tmp_path / 'new.db'}"

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


def test_wrong_address_of_a_collector_is_a_usage_error(refusal: Refusal) -> None:
    refusal("serve --no-web --listen 127.0.0.1:0 --trace 127.0.0.1:4317", code=2)


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
def test_a_wrong_limit_or_proxy_is_a_usage_error(refusal: Refusal, option: str) -> None:
    refusal(f"serve --no-web --listen 127.0.0.1:0 {option}", code=2)


def test_house_bots_need_a_server_without_tls(refusal: Refusal) -> None:
    refusal("serve --no-web --tls-cert c.pem --tls-key k.pem --house-bots levels", code=2)
