"""What `noughts --help` and its like say, and how soon."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import commands_and_groups
from tests.support.root import ROOT

HEAVY = ("alembic", "grpc", "google.protobuf", "sqlalchemy", "structlog", "uvloop", "asyncio")


def commands() -> list[str]:
    """Every command that does something, e.g. `tournament create`."""
    return [" ".join(path) for path, node in commands_and_groups() if not hasattr(node, "commands")]


def groups() -> list[str]:
    """Every command that only has commands beneath it; the first is "", for `noughts` itself."""
    return [" ".join(path) for path, node in commands_and_groups() if hasattr(node, "commands")]


def test_every_command_of_this_step_is_there() -> None:
    verbs = "create join start pause cancel show list run withdraw"
    expected = {
        "serve",
        "status",
        "health",
        "demo",
        "match",
        "leaderboard",
        "ratings rebuild",
        "game show",
        "game list",
    }
    expected |= {f"tournament {verb}" for verb in verbs.split()}
    expected |= {f"bot {verb}" for verb in ("run", "ask", "list")}
    expected |= {f"token {verb}" for verb in ("create", "list", "revoke")}
    assert expected <= set(commands())


@pytest.mark.parametrize("line", commands())
def test_help_of_each_command_shows_an_example_of_itself(noughts: Any, line: str) -> None:
    shown = noughts(f"{line} --help").stdout
    _, _, examples = shown.partition("Example")
    assert f"noughts {line}" in examples


@pytest.mark.parametrize("line", [*commands(), *groups()])
def test_help_can_be_asked_for_by_a_letter_and_names_no_type_beside_a_flag(noughts: Any, line: str) -> None:
    shown = noughts(f"{line} --help").stdout
    assert noughts(f"{line} -h").stdout == shown
    assert "<bool>" not in shown
    assert re.search(r"--help +-h +Show this message", shown)


def test_help_of_each_option_is_a_phrase_of_at_most_80_characters() -> None:
    for path, node in commands_and_groups():
        for option in node.load().params if hasattr(node, "load") else ():
            text = (option.help or "").removesuffix(".").replace("\\[", "[")
            assert len(text) <= 80, (path, option.name, text)
            assert not re.match(r"(Who|Whose|What|Where|How|Its?) ", text), (path, text)


def test_commands_are_in_six_groups_and_options_of_a_match_in_panels(noughts: Any) -> None:
    shown = re.findall(r"╭─ ([\w ]+?) ─", noughts("--help").stdout)
    groups = ["Start here", "Bots", "Local games", "Use a server", "Run a server", "Analysis"]
    assert [panel for panel in shown if panel != "Options"] == groups
    shown = re.findall(r"╭─ ([\w ]+?) ─", noughts("match --help").stdout)
    panels = ["Game", "Openings", "Time control", "Players", "Output", "Statistics"]
    assert [panel for panel in shown if panel in panels] == panels


def test_submit_takes_the_class_of_a_bot_under_both_names(noughts: Any) -> None:
    for option in ("--class", "--entry"):
        said = noughts(f"bot submit gone.py {option} gone.py:Mine --server 127.0.0.1:1", code=1).stderr
        assert said.startswith("Error: gone.py: No such file or directory")


def test_submit_takes_a_file_as_bot_check_does(noughts: Any, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("bot")
    said = noughts(f"bot submit py:{tmp_path}/bot.py --server 127.0.0.1:1", code=1).stderr
    assert "server 127.0.0.1:1 cannot be reached" in said


@pytest.mark.parametrize("line", commands())
def test_every_command_offers_json(noughts: Any, line: str) -> None:
    assert "--format" in noughts(f"{line} --help").stdout


def test_reference_of_json_has_a_section_for_each_command() -> None:
    page = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^## noughts (.+)$", page, re.MULTILINE)) == sorted(commands())


def test_version_is_the_installed_one(noughts: Any) -> None:
    assert noughts("--version").stdout == f"noughts {version('noughts')}\n"


@pytest.mark.parametrize("line", groups())
def test_list_of_commands_has_a_summary_of_each(noughts: Any, line: str) -> None:
    shown = noughts(f"{line} --help").stdout
    for path, node in commands_and_groups():
        if path and " ".join(path[:-1]) == line:
            assert re.search(rf"│ {path[-1]} +[A-Z].*[.:;]", shown), path
            assert node.help.replace(r"\[", "[") in " ".join(noughts(f"{' '.join(path)} --help").stdout.split())


def test_help_loads_nothing_heavy() -> None:
    program = f"""
import sys
from noughts_server.cli.app import run
try:
    run(["--help"])
except SystemExit:
    pass
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stderr.strip() == "[]"


def test_unknown_command_is_a_usage_error(noughts: Any) -> None:
    assert "mtach" in noughts("mtach", code=2).stderr
