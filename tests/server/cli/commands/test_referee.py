"""`noughts referee` and the options of the bus: errors come before anything is done."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cluster.cluster import Nats
from tests.support.command_line import invoke

POSTGRES = "postgresql+psycopg://me@127.0.0.1:1/noughts"


@pytest.mark.parametrize(
    "words, expected",
    [
        (["referee"], ("--bus: got none", "without a bus it plays its games itself")),
        (["referee", "--bus", "nats://localhost"], ("--db: got none with --bus, expected a PostgreSQL",)),
        (["serve", "--bus", "nats://localhost", "--db", "sqlite:///x"], ("--db: got 'sqlite:///x' with --bus",)),
        (["referee", "--bus", "redis://localhost", "--db", POSTGRES], ("--bus: got 'redis://localhost'", "tls://HOST")),
        (
            ["referee", "--bus", "nats://localhost", "--db", POSTGRES, "--bus-cert", "x.pem"],
            ("--bus-cert and --bus-key: got one of them",),
        ),
        (
            ["referee", "--bus", "nats://localhost", "--db", POSTGRES, "--bus-creds", "none.creds"],
            ("--bus-creds 'none.creds': there is no such file",),
        ),
        (
            ["referee", "--bus", "nats://localhost", "--db", POSTGRES, "--offers", "random"],
            ("--offers 'random': got no program or plugin", "noughts bot run NAME --server"),
        ),
        (
            ["referee", "--bus", "nats://localhost", "--db", POSTGRES, "--offers", "gomocup{time=9/move}:true"],
            ("got option time=9/move, but each tournament has its own time control", "Fix: Remove the option"),
        ),
        (
            ["referee", "--bus", "nats://localhost", "--db", POSTGRES, "--offers", "gomocup{margin=soon}:true"],
            ("option margin 'soon': expected milliseconds",),
        ),
        (["referee", "--bus", "nats://bus.example", "--db", POSTGRES], ("without credentials", "--insecure")),
        (["serve", "--bus", "nats://localhost,nats://10.0.0.1", "--db", POSTGRES], ("without credentials",)),
        (["referee", "--bus", "nats://localhost", "--db", POSTGRES, "--seats", "x"], ("--seats",)),
        (["referee", "--bus", "nats://localhost", "--db", POSTGRES, "--absence", "soon"], ("--inactivity-timeout",)),
    ],
)
def test_what_no_cluster_can_be_made_of_is_said_with_what_to_do(
    words: Sequence[str], expected: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = invoke(words, code=2).stderr
    for text in expected:
        assert text in " ".join(said.split())


def test_a_bus_or_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = invoke(["referee", "--bus", "nats://127.0.0.1:1", "--db", POSTGRES], code=1).stderr
    assert "127.0.0.1:1/noughts: it cannot be reached" in " ".join(said.split())
    nats = Nats(tmp_path)
    nats.start()
    try:
        said = invoke(["serve", "--bus", nats.url, "--db", POSTGRES, "--no-web"], code=1).stderr
    finally:
        nats.kill()
    assert "127.0.0.1:1/noughts: it cannot be reached" in " ".join(said.split())
