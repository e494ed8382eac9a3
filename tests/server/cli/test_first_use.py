"""First commands of new users: no files after a refused command, the same words in all commands, fixes of errors."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from noughts_server.cli import times
from tests.server.cli.conftest import Refusal
from tests.support.background import bots_online


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        "--owner 'not a name'",
        "--owner a --scope dance",
        "--owner a --expires 9999999d",
        f"--owner a --note {'x' * 300}",
    ],
)
def test_refused_token_leaves_no_database(refusal: Refusal, options: str) -> None:
    refusal(f"token create {options} --db x.db", code=2)
    assert list(Path().glob("x.db*")) == []


@pytest.mark.parametrize("line", ["token list", "token revoke 1", "db check", "ratings rebuild"])
def test_command_on_a_missing_database_creates_none(refusal: Refusal, line: str) -> None:
    refusal(f"{line} --db x.db", code=1)
    assert list(Path().glob("x.db*")) == []


def test_file_of_a_token_is_private_and_never_replaced(noughts: Any, refusal: Refusal) -> None:
    result = noughts("token create --owner ada --db x.db -o ada.token")
    assert (result.stdout, stat.S_IMODE(Path("ada.token").stat().st_mode)) == ("", 0o600)
    assert Path("ada.token").read_text().startswith("nou_")
    refusal("token create --owner ben --db x.db -o ada.token", code=2)
    rows = json.loads(noughts("token list --db x.db --format json").stdout)["tokens"]
    assert [row["owner"] for row in rows] == ["ada"]
    noughts("token create --owner 'not a name' --db x.db -o other.token", code=2)
    assert not Path("other.token").exists()


def test_words_for_results_are_the_same_in_files_and_at_a_server(
    noughts: Any, env: dict[str, str], server: str, token: str
) -> None:
    with bots_online(server, token, best="minimax", worst="random"):
        for line in ("create cup --games 6 --seed 1", "join cup --bot best --bot worst", "start cup", "wait cup"):
            noughts(f"tournament {line}", env=env)
    noughts("records convert tournaments/cup cup.jsonl", env=env)
    for one, other in (("win", "won"), ("draw", "drawn"), ("loss", "lost")):
        for listing in ("game list cup --bot worst --result", "records list cup.jsonl --bot worst --result"):
            outputs = [noughts(f"{listing} {word} --format json", env=env).stdout for word in (one, other)]
            assert outputs[0] == outputs[1]


def test_show_and_explain_take_a_game_in_the_same_forms(
    noughts: Any, refusal: Refusal, server: str, env: dict[str, str], token: str
) -> None:
    with bots_online(server, token, one="random", two="random"):
        for line in ("create pair --games 2 --seed 1", "join pair --bot one --bot two", "start pair", "wait pair"):
            noughts(f"tournament {line}", env=env)
    for command in ("show", "explain"):
        outputs = {noughts(f"game {command} {game}", env=env).stdout for game in ("pair/2", "pair 2")}
        assert len(outputs) == 1
        refusal(f"game {command} pair/2 1", code=2, env=env)
        refusal(f"game {command} nofile 1", code=1, env=env)


def test_show_of_a_file_names_the_command_for_files(refusal: Refusal, tmp_path: Path) -> None:
    (tmp_path / "cup.jsonl").touch()
    refusal(f"game show {tmp_path}/cup.jsonl 3 --server 127.0.0.1:1", code=2)


def test_missing_file_of_games_is_no_game_on_a_server(refusal: Refusal) -> None:
    for name in ("nofile", "nofile.jsonl", "folder/nofile.SGF"):
        refusal(f"game explain {name} --server 127.0.0.1:1", code=2)


def test_names_are_not_broken_on_a_narrow_terminal(noughts: Any, env: dict[str, str]) -> None:
    name = "a-name-of-sixty-characters-which-is-allowed-and-has-no-space"
    noughts(f"bot register {name}", env=env)
    assert name in noughts("bot list --retired", env={**env, "COLUMNS": "50"}).stdout


def test_show_names_the_limits_of_rounds_plies_and_faults(noughts: Any, env: dict[str, str]) -> None:
    noughts("tournament create cup --schedule swiss --rounds 5 --draw-after 60 --forfeit-after 3", env=env)
    assert (
        "5 rounds, a draw after 60 plies, a bot is withdrawn after 3 faults"
        in noughts("tournament show cup", env=env).stdout
    )


def test_start_in_ten_minutes_is_by_the_clock_of_the_server(
    noughts: Any, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class FastClock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(days=1)

    monkeypatch.setattr(times, "datetime", FastClock)
    created = json.loads(noughts("tournament create cup --start-at +10m --format json", env=env).stdout)
    start = datetime.fromisoformat(created["start_at"])
    assert timedelta(minutes=8) < start - datetime.now(UTC) < timedelta(minutes=11)


@pytest.mark.parametrize(
    "line, error, fix",
    [
        ("match py:raises.py random", "got ValueError: boom, expected a module", "Fix: Correct raises.py."),
        ("match py:bot.py:Missing random", "got name 'Missing', expected a class", "Fix: Write py:"),
        ("match py:none.py random", "which is not a file", "Fix: Check the path, which starts at this folder."),
        ("match py:/none.py random", "got /none.py, which is not a file", "Fix: Check the path.\n"),
        ("match exec:/none random", "got program '/none'", "and check the path.\n"),
        ("match random random -o /dev/full", "/dev/full: No space left on device", "Fix: Free some space on that disk"),
    ],
)  # fmt: skip
def test_fix_fits_the_error(noughts: Any, tmp_path: Path, line: str, error: str, fix: str) -> None:
    Path("raises.py").write_text('raise ValueError("boom")\n')
    Path("bot.py").write_text("from noughts_bots import Bot\n\n\nclass Mine(Bot):\n    pass\n")
    errors = noughts(line, code=None).stderr
    assert error in errors
    assert fix.format(tmp_path) in errors


def test_upload_without_a_token_reports_only_the_missing_token(noughts: Any, server: str) -> None:
    Path("bot.py").write_text("from noughts_bots import Bot\n")
    errors = noughts(f"bot submit bot.py --server {server}", code=2).stderr
    assert errors.startswith("Error: token: got none")


def test_estimate_takes_variant_as_other_commands_do(refusal: Refusal) -> None:
    refusal("estimate random --variant nosuch", code=2)
