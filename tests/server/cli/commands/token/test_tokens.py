"""`noughts token` and `noughts ratings rebuild`, on a database and at a server."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from noughts_server.store.engine.database import Store
from tests.server.cli.conftest import Ask, Refusal
from tests.support.patience import PATIENCE
from tests.support.processes import PROGRAM


@pytest.fixture
def empty_database(database: str) -> str:
    """The address of a database with our tables, which are empty."""

    async def make() -> None:
        await (await Store.open(database)).close()

    asyncio.run(make())
    return database


def test_token_is_created_listed_and_revoked(noughts: Any, database: str) -> None:
    created = json.loads(noughts(f"token create --owner alice --label laptop --db {database} --format json").stdout)
    assert list(created) == ["id", "owner", "token", "scopes", "expires"]
    rows = json.loads(noughts(f"token list --db {database} --format json").stdout)["tokens"]
    assert len(rows) == 1
    assert (rows[0]["id"], rows[0]["owner"], rows[0]["label"]) == (created["id"], "alice", "laptop")
    assert rows[0]["revoked"] is None
    revoked = json.loads(noughts(f"token revoke {created['id']} --db {database} --format json").stdout)
    assert revoked["revoked"] is not None
    assert "alice" in noughts(f"token list --db {database}").stdout


def test_stdout_has_only_the_secret_and_lists_never_have_it(noughts: Any, database: str) -> None:
    result = noughts(f"token create --owner alice --db {database}")
    secret = result.stdout.strip()
    assert " " not in secret
    assert secret not in result.stderr
    assert secret not in noughts(f"token list --db {database} --format json").stdout


def test_only_its_user_can_read_the_file_of_a_secret(noughts: Any, database: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    noughts(f"token create --owner alice --db {database} --output {file}")
    assert file.read_text().startswith("nou_")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_refused_owner_leaves_no_database(refusal: Refusal, tmp_path: Path) -> None:
    refusal(f"token create --owner 'no name' --db sqlite:///{tmp_path}/games.db", code=2)
    assert list(tmp_path.iterdir()) == []


def test_unknown_token_cannot_be_revoked(refusal: Refusal, empty_database: str) -> None:
    refusal(f"token revoke 7 --db {empty_database}", code=1)


def test_owner_without_a_name_is_a_usage_error(refusal: Refusal, database: str) -> None:
    refusal(f"token create --owner '' --db {database}", code=2)


def test_empty_list_says_what_to_do(noughts: Any, empty_database: str) -> None:
    assert "noughts token create" in noughts(f"token list --db {empty_database}").stdout


def test_default_database_is_in_the_users_data_folder(noughts: Any, tmp_path: Path) -> None:
    noughts("token create --owner alice")
    assert [path.name for path in (tmp_path / "data").rglob("*.db")]


def test_file_that_is_no_database_is_an_error(noughts: Any, tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear Alice, " * 1000)
    result = noughts(f"token list --db sqlite:///{file}", code=1)
    assert str(file) in result.stderr
    assert file.read_text().startswith("Dear Alice")


def test_rebuilding_no_ratings_changes_nothing(noughts: Any, empty_database: str) -> None:
    report = json.loads(noughts(f"ratings rebuild --db {empty_database} --format json").stdout)
    assert report == {"games": 0, "ratings": 0, "differences": [], "history": {"points": 0, "corrected": 0}}
    assert "nothing was changed" in noughts(f"ratings rebuild --db {empty_database}").stdout


@pytest.mark.parametrize("line", ["token list", "token revoke 1", "ratings rebuild"])
def test_reading_a_missing_database_does_not_create_it(refusal: Refusal, tmp_path: Path, line: str) -> None:
    refusal(f"{line} --db {tmp_path}/typo.db", code=1)
    assert not list(tmp_path.glob("typo*"))


def test_the_first_token_says_that_its_database_is_new(noughts: Any, tmp_path: Path) -> None:
    first, second = (noughts(f"token create --owner ada --db {tmp_path}/games.db") for _ in range(2))
    assert f"New database at sqlite:///{tmp_path}/games.db" in first.stderr
    assert "New database" not in second.stderr
    assert first.stdout.startswith("nou_")


def test_token_commands_ask_the_server_of_the_environment(noughts: Any, server: str, database: str) -> None:
    scopes = "--scope admin --scope organise --scope play"
    secret = noughts(f"token create --owner alice {scopes} --db {database}").stdout.strip()
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": secret}
    created = json.loads(noughts("token create --label second --format json", env=env).stdout)
    assert (created["owner"], created["id"]) == ("alice", 2)
    noughts(f"token revoke {created['id']}", env=env)
    (first, second) = json.loads(noughts("token list --format json", env=env).stdout)["tokens"]
    assert first["revoked"] is None
    assert second["revoked"] is not None


def test_db_option_beats_the_server_of_the_environment(noughts: Any, database: str) -> None:
    result = noughts(f"token create --owner alice --db {database} --format json", env={"NOUGHTS_SERVER": "127.0.0.1:1"})
    assert json.loads(result.stdout)["owner"] == "alice"


def test_without_a_token_the_first_one_is_created_in_the_database(noughts: Any, tmp_path: Path) -> None:
    env = {"NOUGHTS_SERVER": "127.0.0.1:1", "NOUGHTS_DB": str(tmp_path / "games.db")}
    assert noughts("token create --owner alice", env=env).stdout.startswith("nou_")


def test_token_is_created_listed_and_revoked_at_a_server(
    ask: Ask, noughts: Any, server: str, env: dict[str, str]
) -> None:
    created = ask(f"token create --server {server} --scope play:mybot --expires 3h --label laptop")
    assert (created["owner"], created["scopes"]) == ("alice", ["play:mybot"])
    assert datetime.fromisoformat(created["expires"]) > datetime.now(UTC)
    rows = ask(f"token list --server {server}")["tokens"]
    assert [row["label"] for row in rows] == ["", "laptop"]
    assert "expires in 3 h" in noughts(f"token list --server {server}", env=env).stdout
    limited_env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": created["token"]}
    errors = noughts("tournament create mine", code=1, env=limited_env).stderr
    assert "lacks the scope `organise`; it has `play:mybot`" in errors
    assert "--scope organise" in errors
    assert ask(f"token revoke {created['id']} --server {server}")["revoked"] is not None
    assert "the token was revoked" in noughts("tournament create mine", code=1, env=limited_env).stderr


def test_unwritable_file_of_a_secret_creates_no_token(
    ask: Ask, server: str, env: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "ada.token"
    line = [
        "sh",
        "-c",
        'ulimit -f 0; exec "$@"',
        "sh",
        *PROGRAM,
        "token",
        "create",
        "--server",
        server,
        "-o",
        str(file),
    ]
    result = subprocess.run(line, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert f"--output {file}: File too large" in result.stderr
    assert "Free some space" in result.stderr
    assert not file.exists()
    assert len(ask(f"token list --server {server}")["tokens"]) == 1


@pytest.mark.parametrize(
    "line",
    [
        "token create",
        "token create --owner alice --expires soon",
        "token create --owner alice --scope everything",
        "token list --db x.db --server 127.0.0.1:1",
    ],
)
def test_wrong_options_of_token_are_usage_errors(refusal: Refusal, line: str) -> None:
    refusal(line, code=2)


def test_bot_whose_token_is_revoked_in_the_database_stops_and_says_why(bob: Any, noughts: Any, database: str) -> None:
    noughts(f"token revoke {bob.token_id} --db {database}")
    _, errors = bob.communicate(timeout=PATIENCE)
    assert bob.returncode == 1
    assert "the token was revoked" in errors
