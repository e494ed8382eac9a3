"""`noughts referee`, and `noughts serve --bus`: wrong options and an unreachable database."""

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
def test_wrong_options_of_a_cluster_are_refused_with_a_fix(
    words: Sequence[str], expected: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    errors = invoke(words, code=2).stderr
    for text in expected:
        assert text in " ".join(errors.split())


def test_unreachable_database_of_a_cluster_is_named(tmp_path: Path) -> None:
    errors = invoke(["referee", "--bus", "nats://127.0.0.1:1", "--db", POSTGRES], code=1).stderr
    assert "127.0.0.1:1/noughts: it cannot be reached" in " ".join(errors.split())
    nats = Nats(tmp_path)
    nats.start()
    try:
        errors = invoke(["serve", "--bus", nats.url, "--db", POSTGRES, "--no-web"], code=1).stderr
    finally:
        nats.kill()
    assert "127.0.0.1:1/noughts: it cannot be reached" in " ".join(errors.split())
