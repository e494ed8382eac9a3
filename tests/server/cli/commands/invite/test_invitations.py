"""`noughts invite` and `noughts join`, on a database and at a server."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal
from tests.support.processes import first_line


def serving(start: Any, database: str, mode: str, *more: str) -> Any:
    """A server at which newcomers can register in this mode."""
    words = f"serve --listen 127.0.0.1:0 --no-web --registration {mode} --db {database} --format json"
    return start(" ".join((words, *more)))


def test_invitation_is_created_listed_and_revoked_in_a_database(noughts: Any, database: str) -> None:
    create = f"invite create --uses 30 --expires 7d --note class --site https://example.org --db {database}"
    created = json.loads(noughts(f"{create} --format json").stdout)
    assert created["link"] == f"https://example.org/invite#{created['invitation']}"
    assert (created["uses"], created["used"], created["scopes"]) == (30, 0, ["play", "submit"])
    listed = noughts(f"invite list --db {database} --format json").stdout
    assert created["invitation"] not in listed
    (row,) = json.loads(listed)["invitations"]
    assert (row["label"], row["owners"], row["revoked"]) == ("class", [], None)
    assert "expires in 7 days" in noughts(f"invite list --db {database}").stdout
    revoked = json.loads(noughts(f"invite revoke 1 --db {database} --format json").stdout)
    assert revoked["revoked"] is not None
    assert "revoked" in noughts(f"invite list --db {database}").stdout


def test_stdout_has_only_the_link(noughts: Any, database: str) -> None:
    result = noughts(f"invite create --db {database}")
    assert result.stdout.startswith("http://127.0.0.1:7480/invite#inv_")
    assert len(result.stdout.split()) == 1
    assert result.stdout.strip().partition("#")[2] not in result.stderr


def test_invitation_to_a_tournament_without_games_for_newcomers_warns(noughts: Any, env: Any, database: str) -> None:
    def warning(tournament: str) -> str:
        at_server = json.loads(noughts(f"invite create --tournament {tournament} --format json", env=admin).stdout)
        in_file = noughts(f"invite create --tournament {tournament} --db {database}")
        assert in_file.stderr.count("Warning: ") == bool(at_server["warning"])
        assert (at_server["warning"] or "") in in_file.stderr.replace("Warning: ", "")
        return str(at_server["warning"])

    token = noughts(f"token create --owner root --scope admin --db {database}").stdout.strip()
    admin = {**env, "NOUGHTS_TOKEN": token}
    for name, options in (("spring", ""), ("open", "--schedule ladder"), ("later", "--start-at 2999-01-01T10:00")):
        noughts(f"tournament create {name} {options}", env=env)
        for bot in ("ada", "bob"):
            noughts(f"bot register {bot}", env=env)
    assert warning("spring") == (
        "spring has not started. Newcomers get no game in it until: noughts tournament start spring"
    )
    assert warning("later").startswith("later starts at 2999-01-01 10:00. Newcomers get no game")
    for name in ("spring", "open"):
        noughts(f"tournament join {name} --bot ada --bot bob", env=env)
        noughts(f"tournament start {name}", env=env)
    assert warning("open") == "None"
    assert warning("spring") == (
        "spring has started, so newcomers cannot join it now. A ladder takes them at any time."
    )
    noughts("tournament pause open", env=env)
    assert warning("open").startswith("open is paused")
    noughts("tournament cancel open", env=env)
    assert warning("open") == "open is over, so newcomers cannot enter it."


@pytest.mark.processes
def test_newcomer_joins_with_a_code_and_plays(noughts: Any, start: Any, database: str, tmp_path: Path) -> None:
    code = json.loads(noughts(f"invite create --uses 2 --db {database} --format json").stdout)["invitation"]
    with serving(start, database, "invitation") as process:
        server = json.loads(first_line(process))["grpc"]
        joined = json.loads(noughts(f"join {code} --name ada --server {server} --format json").stdout)
        assert (joined["owner"], joined["scopes"], joined["tournament"]) == ("ada", ["play", "submit"], None)
        env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": joined["token"]}
        assert json.loads(noughts("bot register ada --format json", env=env).stdout)["owner"] == "ada"
        file = tmp_path / "token"
        noughts(f"join {code} --name bob --server {server} -o {file}")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text().startswith("nou_")
        assert "used up" in noughts(f"join {code} --name eve --server {server}", code=1).stderr
    assert "ada, bob" in noughts(f"invite list --db {database}").stdout


@pytest.mark.processes
def test_newcomer_joins_an_open_server_after_a_proof_of_work(noughts: Any, start: Any, database: str) -> None:
    with serving(start, database, "open", "--set-limit proof_bits=10") as process:
        server = json.loads(first_line(process))["grpc"]
        result = noughts(f"join --name ada --server {server}")
        assert result.stdout.startswith("nou_")
        assert "10 bits" in result.stderr


@pytest.mark.processes
def test_closed_server_says_how_to_let_newcomers_in(noughts: Any, start: Any, database: str) -> None:
    with serving(start, database, "closed") as process:
        server = json.loads(first_line(process))["grpc"]
        assert "noughts serve --registration" in noughts(f"join --name ada --server {server}", code=1).stderr


@pytest.mark.parametrize(
    "line",
    [
        "invite create --uses 0 --db x.db",
        "invite create --scope play,admin --db x.db",
        "invite create --site nowhere --db x.db",
        "invite create --expires soon --db x.db",
        "join inv_secret",
        "join nowhere --name ada",
        "join http://example.org/invite#inv_secret --name ada",
    ],
)
def test_wrong_option_is_a_usage_error(refusal: Refusal, line: str, tmp_path: Path) -> None:
    refusal(line, code=2)
    assert not list(tmp_path.glob("*.db"))


def test_unknown_invitation_or_tournament_is_an_error(refusal: Refusal, noughts: Any, database: str) -> None:
    noughts(f"invite create --db {database}")
    refusal(f"invite revoke 7 --db {database}", code=1)
    refusal(f"invite create --tournament none --db {database}", code=1)
