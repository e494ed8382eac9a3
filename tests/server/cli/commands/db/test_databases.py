"""`noughts db`: a real database is checked, copied while its server runs, pruned and exported."""

import json
import os
import sqlite3
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from noughts_server.core.errors import DatabaseUnusable
from noughts_server.store.engine.backup import back_up
from noughts_server.store.engine.schema import REVISION
from noughts_server.testing import ServerUnderTest, serving
from tests.support.arena import open_arena
from tests.support.command_line import invoke
from tests.support.damage import damage_last_games
from tests.support.databases import SCHEMA_1_0
from tests.support.mounts import small_disk
from tests.support.processes import PROGRAM

DAY_MS = 86_400_000


def noughts(*words: str, code: int = 0) -> Any:
    """Run a command, and return the JSON that it prints."""
    return json.loads(invoke([*words, "--format", "json"], code=code).stdout)


def execute(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture(scope="module")
def server_and_copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerUnderTest, Path]]:
    """A server with a match of 100 games and one of 4, and a copy of its database."""
    file = tmp_path_factory.mktemp("db") / "copy.db"
    with serving() as server:
        server.match("random", "three-stage", games=100)
        server.match("random", "fives", games=4, variant="gomoku+swap2", time="60+0")
        database = str(server._server.store.url)
        backup = noughts("db", "backup", str(file), "--db", database)
        assert backup == {"file": str(file), "games": 104, "bytes": file.stat().st_size}
        yield server, file


@pytest.fixture
def copy(server_and_copy: tuple[ServerUnderTest, Path], tmp_path: Path) -> Path:
    """A copy of that database, which the test can change."""
    file = tmp_path / "noughts.db"
    with closing(sqlite3.connect(server_and_copy[1])) as source, closing(sqlite3.connect(file)) as target:
        source.backup(target)
    return file


def test_upgrade_creates_migrates_and_leaves_current_databases_alone(tmp_path: Path) -> None:
    new, old = str(tmp_path / "new.db"), str(tmp_path / "old.db")
    assert noughts("db", "upgrade", "--db", new) == {"schema": REVISION, "before": None}
    assert noughts("db", "upgrade", "--db", new) == {"schema": REVISION, "before": REVISION}
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript((SCHEMA_1_0 / "sqlite.sql").read_text())
    assert invoke(["db", "upgrade", "--db", old]).stdout == f"schema {REVISION}: migrated from 0014\n"
    assert invoke(["db", "upgrade", "--db", old]).stdout == f"schema {REVISION}: nothing to do\n"


def test_a_database_on_a_read_only_disk_is_checked_and_copied(copy: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=8m,mode=700") as disk:
        (disk.own_path / "a%b?c.db").write_bytes(copy.read_bytes())
        disk.remount("ro")
        program, database = (*disk.enter, *PROGRAM), str(disk.folder / "a%b?c.db")
        check = subprocess.run([*program, "db", "check", "--db", database], capture_output=True, text=True)
        assert (check.returncode, check.stdout) == (0, "2 tournaments, 104 games, 4 ratings: nothing wrong\n")
        words = ["db", "backup", str(tmp_path / "copy.db"), "--db", database]
        assert subprocess.run([*program, *words]).returncode == 0
        prune = subprocess.run([*program, "db", "prune", "--db", database], capture_output=True, text=True)
        assert prune.returncode == 1
        assert "read-only" in prune.stderr


def test_database_of_a_running_server_passes_the_check(server_and_copy: tuple[ServerUnderTest, Path]) -> None:
    url = server_and_copy[0]._server.store.url
    assert noughts("db", "check", "--db", url) == {
        "tournaments": 2,
        "games": 104,
        "ratings": 4,
        "errors": 0,
        "findings": [],
    }


def test_backup_is_one_file_that_only_its_user_can_read(server_and_copy: tuple[ServerUnderTest, Path]) -> None:
    copy = server_and_copy[1]
    assert os.listdir(copy.parent) == ["copy.db"]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    text = invoke(["db", "check", "--db", str(copy)]).stdout
    assert text == "2 tournaments, 104 games, 4 ratings: nothing wrong\n"


def test_failed_backup_leaves_existing_and_no_partial_files(copy: Path, tmp_path: Path) -> None:
    existing = tmp_path / "there.db"
    existing.write_text("mine")
    errors = invoke(["db", "backup", str(existing), "--db", str(copy)], code=1).stderr
    assert "already exists" in errors
    assert existing.read_text() == "mine"
    errors = invoke(["db", "backup", str(tmp_path / "no" / "x.db"), "--db", str(copy)], code=1).stderr
    assert "cannot be written (No such file or directory)" in errors
    assert not list(tmp_path.glob("*.partial"))


async def test_backup_that_fails_at_its_end_does_not_block_the_next_one(tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    async with open_arena(tmp_path / "league.db") as arena:
        back_up_there = partial(back_up, target=target, on_progress=lambda done, total: target.touch())
        with pytest.raises(DatabaseUnusable, match="already exists"):
            await arena.store.read(back_up_there)
        target.unlink()
        assert await arena.store.read(partial(back_up, target=target)) == 0


@pytest.mark.parametrize(
    "statement, where, error",
    [
        ("DELETE FROM games WHERE ordinal = 7", "tournaments/", "expected the 99 stored"),
        ("UPDATE games SET first_entry = 1, second_entry = 0 WHERE ordinal = 7", "/games/7", "as its slot has them"),
        ("UPDATE games SET attempt = 9 WHERE ordinal = 7", "/games/7", "as its unit was claimed"),
        ("UPDATE games SET ordinal = 1007 WHERE ordinal = 7", "/games/1007", "expected 1 to 100"),
        ("UPDATE games SET moves = x'0000' WHERE ordinal = 7", "/games/7", "expected a legal move"),
        ("UPDATE games SET result = 2 + (result = 2), termination = 2 WHERE ordinal = 7", "/games/7", "expected"),
        ("UPDATE games SET result = 99 WHERE ordinal = 7", "tournaments/", "cannot be read on"),
        (
            (
                "INSERT INTO journal (tournament_id, ordinal, first_entry, second_entry, moves, times, first_clock_us,"
                " second_clock_us, opening_plies) SELECT 1, ordinal, 0, 1, x'0000', x'', 0, 0, 0 FROM games"
                " WHERE ordinal = 7"
            ),
            "/games/7",
            "journal: move 2",
        ),
        ("UPDATE pair_scores SET wins = wins + 1", "tournaments/", "score of the entries"),
        ("UPDATE entry_scores SET draws = draws + 1", "tournaments/", "score of entry"),
        ("UPDATE tournaments SET folded = folded - 1", "tournaments/", "up to the first gap"),
        ("UPDATE tournaments SET games_total = 200", "tournaments/", "finished: got 100 games, expected 200"),
    ],
)
def test_check_finds_each_wrong_row_of_a_tournament(copy: Path, statement: str, where: str, error: str) -> None:
    # Only rows of the first tournament change.
    conjunction = "AND" if "WHERE" in statement else "WHERE"
    key = "id" if "UPDATE tournaments" in statement else "tournament_id"
    execute(copy, f"{statement} {conjunction} {key} = 1")
    report = noughts("db", "check", "--db", str(copy), code=1)
    assert report["errors"] >= 1
    assert any(where in finding["where"] and error in finding["error"] for finding in report["findings"]), report


@pytest.mark.parametrize(
    "statement, error",
    [
        ("UPDATE entries SET bot_id = bot_id + 1 WHERE number = 1", "expected that of its version"),
        ("UPDATE bot_scores SET wins = wins + 1", "expected the sum of their tournaments"),
        ("DELETE FROM bot_scores", "expected the sum of their tournaments"),
        ("DELETE FROM meetings", "meeting: got none"),
    ],
)
def test_check_finds_totals_of_bots_that_differ_from_their_games(copy: Path, statement: str, error: str) -> None:
    execute(copy, statement)
    report = noughts("db", "check", "--db", str(copy), code=1)
    assert any(finding["where"] == "bots" and error in finding["error"] for finding in report["findings"]), report


@pytest.mark.parametrize(
    "statement, error",
    [
        ("UPDATE ratings SET rating = rating + 1 WHERE bot_id = 1", "as its games give"),
        ("DELETE FROM rating_history WHERE games = 2", "points are not those"),
        ("UPDATE rating_runs SET games = games - 1", "slots rated, expected"),
        ("UPDATE rating_runs SET first_seq = 1000 WHERE first_seq > 1", "log: got a run that begins at 1000"),
    ],
)
def test_check_finds_ratings_that_differ_from_those_of_the_games(copy: Path, statement: str, error: str) -> None:
    execute(copy, statement)
    report = noughts("db", "check", "--db", str(copy), code=1)
    assert any(error in finding["error"] for finding in report["findings"]), report


def test_a_damaged_page_is_found_and_other_tournaments_are_checked(copy: Path) -> None:
    damage_last_games(copy)
    report = noughts("db", "check", "--db", str(copy), code=1)
    assert report["tournaments"] == 2
    assert {"database", "tournaments"} <= {finding["where"].partition("/")[0] for finding in report["findings"]}
    result = invoke(["db", "check", "--db", str(copy)], code=1)
    assert "malformed" in result.stdout
    assert "Traceback" not in result.stderr


def test_pruning_drops_old_requests_and_notes_and_nothing_else(copy: Path) -> None:
    before = noughts("db", "check", "--db", str(copy))
    execute(
        copy,
        "INSERT INTO owners (id, name) VALUES (9, 'ada')",
        "INSERT INTO tokens (id, owner_id, label, hash, created_at) VALUES (9, 9, '', x'00', 0)",
        # 2,500 requests of 1970, and 100 of a distant future.
        *(f"INSERT INTO requests VALUES (9, 'old{number}', 'm', x'00', 'a', 0)" for number in range(2500)),
        *(f"INSERT INTO requests VALUES (9, 'new{number}', 'm', x'00', 'a', {1 << 52})" for number in range(100)),
        "INSERT INTO game_notes SELECT tournament_id, ordinal, 0, 'why' FROM games",
        f"UPDATE games SET ended_at = ended_at - {91 * DAY_MS} WHERE ordinal <= 60 AND tournament_id = 1",
    )
    words = ("db", "prune", "--db", str(copy))
    expected = [{"what": "answers to requests", "rows": 2500}, {"what": "notes on games", "rows": 60}]
    assert noughts(*words, "--dry-run") == {"dropped": expected, "dry_run": True}
    assert noughts(*words) == {"dropped": expected, "dry_run": False}
    assert [row["rows"] for row in noughts(*words)["dropped"]] == [0, 0]
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT count(*) FROM requests").fetchone() == (100,)
        assert connection.execute(
            "SELECT count(*), min(ordinal) FROM game_notes WHERE tournament_id = 1"
        ).fetchone() == (40, 61)
    assert noughts("db", "check", "--db", str(copy)) == before
    assert noughts(*words, "--notes", "1h", "--dry-run")["dropped"][1]["rows"] == 0


def test_a_rebuild_of_the_explorer_counts_all_games_again(copy: Path) -> None:
    def counts() -> list[tuple[int, ...]]:
        with closing(sqlite3.connect(copy)) as connection:
            return connection.execute(
                "SELECT position, move, result, games FROM explorer_moves ORDER BY 1, 2, 3"
            ).fetchall()

    with closing(sqlite3.connect(copy)) as connection:
        games = connection.execute("SELECT count(*) FROM games").fetchone()[0]
    words = ("db", "explorer", "rebuild", "--db", str(copy))
    assert noughts(*words) == {"games": games}
    rebuilt = counts()
    assert rebuilt
    execute(copy, "UPDATE explorer_moves SET games = games + 1 WHERE move = -1", "UPDATE tournaments SET explored = 1")
    assert noughts(*words) == {"games": games}
    assert counts() == rebuilt
    assert noughts("db", "check", "--db", str(copy))["errors"] == 0


def test_each_path_of_a_database_names_exactly_that_file(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("x?1.db", "x?2.db", "a%41b.db", "x#y.db", "a b.db", "50%20off/x.db")]
    (tmp_path / "50%20off").mkdir()
    for number, path in enumerate(paths):
        invoke(["token", "create", "--owner", f"owner{number}", "--db", str(path)])
        backup = noughts("db", "backup", str(path) + ".copy", "--db", str(path))
        assert backup["file"] == f"{path}.copy"
    assert sorted(path for path in tmp_path.rglob("*.db") if path.is_file()) == sorted(paths)
    for number, path in enumerate(paths):
        for file in (path, f"{path}.copy"):
            tokens = noughts("token", "list", "--db", str(file))["tokens"]
            assert [token["owner"] for token in tokens] == [f"owner{number}"]


@pytest.mark.parametrize("folder", ["50%20off", "x?y", "a#b"])
def test_temporary_databases_lie_in_the_folder_named_by_tmpdir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / folder).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / folder))
    result = invoke(["match", "random", "first-free", "--games", "2", "--db", str(tmp_path / folder / "kept?.db")])
    assert "random" in result.stdout
    assert invoke(["match", "random", "first-free", "--games", "2"]).exit_code == 0
    assert [path.name for path in tmp_path.iterdir() if path.name != "data"] == [folder]
    report = invoke(["report", str(tmp_path / folder / "kept?.db"), "-o", str(tmp_path / folder)])
    assert "2 games" in report.stdout


def test_an_archive_has_the_games_of_the_database(
    server_and_copy: tuple[ServerUnderTest, Path], tmp_path: Path
) -> None:
    folder, database = tmp_path / "archive", str(server_and_copy[0]._server.store.url)
    words = ("db", "export", "--parquet", str(folder), "--db", database)
    report = noughts(*words, "--license", "CC0-1.0")
    assert report["games"] == 104
    (month,) = report["months"]
    assert month == {"file": month["file"], "games": 104, "written": True}
    assert "licence | CC0-1.0 |" in (folder / "README.md").read_text()
    assert noughts(*words)["months"] == [{**month, "written": False}]
    file = str(folder / month["file"])
    assert noughts("records", "check", file) == {"games": 104, "errors": []}
    invoke(["records", "convert", file, str(tmp_path / "archive.jsonl")])
    archived = [json.loads(line) for line in (tmp_path / "archive.jsonl").read_text().splitlines()]
    stored = []
    for name in dict.fromkeys(game["game"].rpartition("/games/")[0] for game in archived):
        invoke(["records", "convert", name, str(tmp_path / "one.jsonl"), "--db", database])
        stored += [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    for game in stored:
        game.pop("tournament", None)  # an archive holds several tournaments
    assert archived == stored


def test_an_export_that_was_killed_continues(copy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    command = [*PROGRAM, "db", "export", "--parquet", str(folder), "--db", str(copy)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not list(tmp_path.glob("archive/.*.tmp")):
            pass
        process.kill()
    report = noughts("db", "export", "--parquet", str(folder), "--db", str(copy))
    assert report["games"] == 104
    files = [".noughts", *(month["file"] for month in report["months"]), "README.md"]
    assert sorted(file.name for file in folder.iterdir()) == files
