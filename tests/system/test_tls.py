"""TLS between real processes, with certificates of a temporary authority."""

import json
import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import grpc
import pytest

from noughts_proto.security import Dialling, Identity, SecurityProblem
from tests.support.authority import Authority
from tests.support.patience import PATIENCE
from tests.support.processes import (
    environment,
    eventually,
    exit_code_and_errors,
    first_line,
    json_of,
    json_of_process,
    run_here,
    started,
)

from .node import install_bot, node_bot

FIRST = """
from noughts_bots import Bot


class First(Bot):
    def choose(self, position):
        return position.free[0]
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that all parties trust."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def identity(authority: Authority) -> Identity:
    """The certificate of the server."""
    return authority.identity("server")


def serve_line(identity: Identity, *more: str) -> list[str]:
    certificate, key = str(identity.certificate), str(identity.key)
    return [
        "serve",
        "--no-web",
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        certificate,
        "--tls-key",
        key,
        "--format",
        "json",
        *more,
    ]


@pytest.fixture
def server_env(tmp_path: Path) -> dict[str, str]:
    """The environment of a server of the test's own and of commands on its database."""
    return environment(XDG_DATA_HOME=str(tmp_path / "data"))


@pytest.fixture(scope="module")
def env_of_server(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of `server` and of commands on its database."""
    return environment(XDG_DATA_HOME=str(tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def server(identity: Identity, env_of_server: dict[str, str]) -> Iterator[str]:
    """HOST:PORT of a server that speaks TLS, for all tests."""
    with started(serve_line(identity), env_of_server) as process:
        yield str(json.loads(first_line(process))["grpc"])
        process.terminate()
        assert exit_code_and_errors(process)[0] == 0


def test_match_is_played_over_tls(server: str, authority: Authority, env_of_server: dict[str, str]) -> None:
    token = json_of("token create --owner ada", env_of_server)["token"]
    env = environment(NOUGHTS_SERVER=server, NOUGHTS_TOKEN=token, NOUGHTS_TLS_CA=str(authority.certificate))
    with ExitStack() as stack:
        for name in ("left", "right"):
            bot = stack.enter_context(started(["bot", "run", "random", "--name", name], env))
            assert "online" in first_line(bot)
        json_of("tournament create cup --games 20", env)
        for name in ("left", "right"):
            json_of(f"tournament join cup --bot {name}", env)
        json_of("tournament start cup", env)
        cup = eventually(lambda: json_of("tournament show cup", env), lambda shown: shown["state"] == "finished")
        challenge = json_of("challenge bot:left --with random --games 6", env)
        lines = run_here(["watch", "cup", "--format", "json"], env).stdout.splitlines()
    assert (cup["games"], challenge["games"]) == (20, 6)
    assert json.loads(lines[-1])


async def test_bot_in_node_plays_over_tls(
    server: str, authority: Authority, env_of_server: dict[str, str], tmp_path: Path
) -> None:
    token = json_of_process("token create --owner ada", env_of_server)["token"]
    bot = install_bot(tmp_path)
    async with node_bot(bot, server, token, "--tls-ca", str(authority.certificate)) as playing:
        await playing.until("playing as bots/node")


def test_each_address_needs_a_certificate_for_its_own_name(
    authority: Authority, server_env: dict[str, str], tmp_path: Path
) -> None:
    names = ("wrong.example.org", "127.0.0.1", "localhost")
    with ExitStack() as stack:
        ports = []
        for name in names:
            line = serve_line(authority.identity(name, names=(name,)), "--db", str(tmp_path / name))
            process = stack.enter_context(started(line, server_env))
            ports.append(json.loads(first_line(process))["grpc"].rpartition(":")[2])
        server = f"localhost:{ports[0]},127.0.0.1:{ports[1]},localhost:{ports[2]}"
        ca = ["--server", server, "--tls-ca", str(authority.certificate), "--format", "json"]
        assert json.loads(run_here(["status", "--once", *ca], server_env).stdout)["address"] == f"127.0.0.1:{ports[1]}"
        with started(["bot", "run", "random", *ca], {**server_env, "NOUGHTS_TOKEN": "nou_none"}) as bot:
            _, errors = bot.communicate(timeout=PATIENCE)
    assert "the server refused the bot" in errors


def test_plaintext_to_a_tls_server_gets_a_hint(server: str) -> None:
    assert "--tls-ca" in run_here(["health", "--server", server], environment(), code=1).stderr
    with started(["bot", "run", "random"], environment(NOUGHTS_SERVER=server, NOUGHTS_TOKEN="nou_none")) as bot:
        assert "perhaps the server speaks TLS" in first_line(bot)


def test_a_renewed_certificate_is_served_without_a_restart(authority: Authority, server_env: dict[str, str]) -> None:
    renewed = authority.identity("renewed", days=-1)
    with started(serve_line(renewed), server_env) as process:
        server = json.loads(first_line(process))["grpc"]
        line = ["health", "--server", server, "--tls-ca", str(authority.certificate)]
        assert "expired" in run_here(line, environment(), code=1).stderr
        renewed.key.write_bytes(b"half a key")
        assert "expired" in run_here(line, environment(), code=1).stderr
        authority.identity("renewed")
        assert "serving" in run_here(line, environment()).stdout
        process.terminate()
        code, log = exit_code_and_errors(process)
        assert code == 0
        assert "the old one is kept" in log
        assert "was read again" in log


def test_the_health_check_works_over_tls(server: str, authority: Authority) -> None:
    answer = json_of(f"health --server {server} --tls-ca {authority.certificate}", environment())
    assert answer == {"server": server, "status": "serving"}


@pytest.mark.parametrize("line", ["bot list --online", "bot run random --name mine", "health"])
def test_certificate_of_another_authority_is_a_clear_error(server: str, tmp_path: Path, line: str) -> None:
    other = Authority(tmp_path, "other")
    env = environment(NOUGHTS_SERVER=server, NOUGHTS_TOKEN="nou_none")
    errors = run_here([*line.split(), "--tls-ca", str(other.certificate)], env, code=1).stderr
    assert "got a certificate that no authority trusted here has signed" in errors
    assert "--tls-ca" in errors
    assert "Traceback" not in errors


def test_certificate_for_another_name_is_a_clear_error(authority: Authority, server_env: dict[str, str]) -> None:
    elsewhere = authority.identity("elsewhere", names=("referee.example.org",))
    with started(serve_line(elsewhere), server_env) as process:
        server = json.loads(first_line(process))["grpc"]
        line = ["health", "--server", server, "--tls-ca", str(authority.certificate)]
        assert "got a certificate for another host name" in run_here(line, environment(), code=1).stderr


def test_certificate_that_has_expired_is_not_called_untrusted(authority: Authority, server_env: dict[str, str]) -> None:
    with started(serve_line(authority.identity("expired", days=-1)), server_env) as process:
        server = json.loads(first_line(process))["grpc"]
        line = ["health", "--server", server, "--tls-ca", str(authority.certificate)]
        assert "got a certificate that has expired" in run_here(line, environment(), code=1).stderr


def test_client_certificate_without_its_key_is_named(authority: Authority) -> None:
    env = environment(NOUGHTS_TLS_CERT=str(authority.certificate))
    assert "NOUGHTS_TLS_KEY: got nothing" in run_here(["health"], env, code=1).stderr


def test_authority_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    line = ["health", "--tls-ca", str(tmp_path / "missing.pem")]
    assert "missing.pem: got No such file" in run_here(line, environment(), code=1).stderr


def test_tls_to_a_plaintext_server_is_a_clear_error(authority: Authority, server_env: dict[str, str]) -> None:
    with started(["serve", "--no-web", "--listen", "127.0.0.1:0", "--format", "json"], server_env) as process:
        server = json.loads(first_line(process))["grpc"]
        line = ["bot", "list", "--server", server, "--tls-ca", str(authority.certificate)]
        assert "got plaintext, expected TLS" in run_here(line, environment(), code=1).stderr


def test_a_server_can_require_client_certificates(
    authority: Authority, identity: Identity, server_env: dict[str, str]
) -> None:
    client = authority.identity("client")
    with started(serve_line(identity, "--tls-client-ca", str(authority.certificate)), server_env) as process:
        server = json.loads(first_line(process))["grpc"]
        stranger = environment(NOUGHTS_SERVER=server, NOUGHTS_TLS_CA=str(authority.certificate))
        assert "NOUGHTS_TLS_CERT" in run_here(["bot", "list", "--online"], stranger, code=1).stderr
        known = {**stranger, "NOUGHTS_TLS_CERT": str(client.certificate), "NOUGHTS_TLS_KEY": str(client.key)}
        assert json_of("bot list --online", known) == {"bots": []}


def test_all_services_work_with_certificates_of_both_sides(
    authority: Authority, identity: Identity, server_env: dict[str, str], tmp_path: Path
) -> None:
    client = authority.identity("member")
    (tmp_path / "first.py").write_text(FIRST)
    options = ("--tls-client-ca", str(authority.certificate), "--accept", "py", "--rate-own-games")
    with ExitStack() as stack:
        process = stack.enter_context(started(serve_line(identity, *options), server_env))
        server = json.loads(first_line(process))["grpc"]
        scopes = "--scope play --scope submit --scope organise"
        token = json_of(f"token create --owner ada {scopes}", server_env)["token"]
        env = environment(
            NOUGHTS_SERVER=server,
            NOUGHTS_TOKEN=token,
            NOUGHTS_TLS_CA=str(authority.certificate),
            NOUGHTS_TLS_CERT=str(client.certificate),
            NOUGHTS_TLS_KEY=str(client.key),
        )
        bot = stack.enter_context(started(["bot", "run", "random", "--name", "left"], env))
        assert "online" in first_line(bot)
        json_of(f"bot submit {tmp_path / 'first.py'} --name right", env)
        json_of("tournament create cup --games 20", env)
        for name in ("left", "right"):
            json_of(f"tournament join cup --bot {name}", env)
        (tmp_path / "token").write_text(token)
        line = ["web", "--listen", "127.0.0.1:0", "--token-file", str(tmp_path / "token"), "--format", "json"]
        site = json.loads(first_line(stack.enter_context(started(line, env))))["web"]
        json_of("tournament start cup", env)
        cup = eventually(lambda: json_of("tournament show cup", env), lambda shown: shown["state"] == "finished")
        assert cup["games"] == 20
        assert json.loads(run_here(["watch", "cup", "--format", "json"], env).stdout.splitlines()[-1])
        assert json_of("health", env)["status"] == "serving"
        for path in ("/", "/tournaments/cup", "/api/v1/tournaments"):
            with urlopen(f"{site}{path}", timeout=PATIENCE) as page:
                assert b"cup" in page.read(), path
        form = urlencode({"opponent": "house:random", "variant": "tictactoe", "begins": "you", "mark": "begins"})
        with urlopen(f"{site}/play", form.encode(), timeout=PATIENCE) as table:
            assert "/play/" in table.url


def is_answered(server: str, context: ssl.SSLContext) -> bool:
    """Return whether the server sends data to a client. With TLS 1.3, it refuses a client only after the handshake."""
    host, _, port = server.rpartition(":")
    try:
        with (
            socket.create_connection((host, int(port)), timeout=20) as connection,
            context.wrap_socket(connection, server_hostname=host) as encrypted,
        ):
            return encrypted.recv(1) != b""
    except (ssl.SSLError, ConnectionError):
        return False


def test_unauthenticated_and_outdated_clients_get_no_connection(
    authority: Authority, identity: Identity, server_env: dict[str, str], tmp_path: Path
) -> None:
    other = Authority(tmp_path, "other")

    def context(signed_by: Authority | None = None, **options: Any) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(authority.certificate))
        context.set_alpn_protocols(["h2"])
        if signed_by is not None:
            client_identity = signed_by.identity("mine", **options)
            context.load_cert_chain(client_identity.certificate, client_identity.key)
        return context

    with started(serve_line(identity, "--tls-client-ca", str(authority.certificate)), server_env) as process:
        server = json.loads(first_line(process))["grpc"]
        assert is_answered(server, context(authority))
        outdated = context(authority)
        outdated.set_ciphers("ALL:@SECLEVEL=0")
        outdated.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            outdated.maximum_version = ssl.TLSVersion.TLSv1_1
        for refused in (context(), context(other), context(authority, days=-1), outdated):
            assert not is_answered(server, refused)
        host, _, port = server.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=20) as plain:
            plain.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
            # The server can answer with a TLS alert (type 21), but not with HTTP/2.
            with suppress(ConnectionError):
                assert plain.recv(64)[:1] in (b"", b"\x15")
        process.terminate()
        code, log = exit_code_and_errors(process)
    assert code == 0
    assert "Traceback" not in log


def test_key_of_another_certificate_stops_the_server_at_once(
    authority: Authority, identity: Identity, server_env: dict[str, str]
) -> None:
    other = authority.identity("another")
    errors = run_here(serve_line(Identity(identity.certificate, other.key)), server_env, code=1).stderr
    assert "got the key of another certificate" in errors
    assert "openssl" in errors


def test_invalid_and_unreadable_certificates_are_named(
    identity: Identity, server_env: dict[str, str], tmp_path: Path
) -> None:
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("not a certificate")
    errors = run_here(serve_line(Identity(nonsense, identity.key)), server_env, code=1).stderr
    assert "nonsense.pem" in errors
    assert "PEM" in errors
    errors = run_here(serve_line(Identity(identity.certificate, tmp_path / "missing.key")), server_env, code=1).stderr
    assert "missing.key: got No such file" in errors


def test_serve_with_tls_tells_clients_the_options_and_starts_no_website(
    identity: Identity, server_env: dict[str, str]
) -> None:
    line = [word for word in serve_line(identity) if word not in ("--no-web", "--format", "json")]
    with started(line, server_env) as process:
        address = first_line(process).split()[-1]
        process.terminate()
        output, errors = process.communicate(timeout=PATIENCE)
    assert f"noughts bot run minimax --name mybot --server {address} --tls-ca CA.pem" in output
    assert "If clients trust it anyway, write --tls instead." in output
    assert "No website: `serve` starts one only without TLS." in errors
    assert "noughts web --server NAME:PORT --tls-ca CA.pem" in errors


def test_certificate_without_a_key_is_a_usage_error(identity: Identity, server_env: dict[str, str]) -> None:
    line = ["serve", "--no-web", "--listen", "127.0.0.1:0", "--tls-cert", str(identity.certificate)]
    assert "--tls-key" in run_here(line, server_env, code=2).stderr


@pytest.mark.parametrize("line", ["tournament create cup", "bot run random"])
def test_token_is_not_sent_to_another_machine_in_plaintext(line: str) -> None:
    env = environment(NOUGHTS_SERVER="referee.invalid:7450", NOUGHTS_TOKEN="nou_secret")
    errors = run_here(line.split(), env, code=1).stderr
    assert "got a connection in plaintext, expected TLS" in errors
    assert "--insecure" in errors
    assert "nou_secret" not in errors


@pytest.mark.parametrize("address", ["127.0.0.1:1", "localhost:1", "[::1]:1", "127.8.9.1:1"])
def test_token_stays_on_this_machine_in_plaintext(address: str) -> None:
    Dialling().check(address, "token")


@pytest.mark.parametrize("address", ["0.0.0.0:1", "10.0.0.1:1", "[::]:1", "loopback:1", "127.0.0.1.nip.invalid:1"])
def test_a_possibly_remote_address_needs_tls_or_consent(address: str) -> None:
    with pytest.raises(SecurityProblem):
        Dialling().check(address, "token")
    Dialling().check(address, "")
    Dialling(tls=True).check(address, "token")
    Dialling(insecure=True).check(address, "token")


@pytest.mark.parametrize("dialling", [Dialling(), Dialling(tls=True)])
def test_local_connections_bypass_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, dialling: Dialling
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy, socket.create_server(("127.0.0.1", 0)) as server:
        host, port = proxy.getsockname()
        for variable in ("http_proxy", "https_proxy", "grpc_proxy"):
            monkeypatch.setenv(variable, f"http://{host}:{port}")
        for variable in ("no_proxy", "no_grpc_proxy"):
            monkeypatch.delenv(variable, raising=False)
        with dialling.channel(f"127.0.0.1:{server.getsockname()[1]}") as channel:
            method: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/noughts/Anything")
            call = method.future(b"", timeout=30)
            called, _, _ = select.select([proxy, server], [], [], 20)
            call.cancel()
    assert called == [server]
