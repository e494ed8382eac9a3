"""What `noughts --help` and its like say, and how soon."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest
import typer

from noughts_server.cli.app import app

HEAVY = ("alembic", "grpc", "google.protobuf", "sqlalchemy", "structlog", "uvloop", "asyncio")


def commands(command: Any = None, path: tuple[str, ...] = ()) -> list[str]:
    """Every command that does something, e.g. `tournament create`."""
    command = command or typer.main.get_command(app)
    beneath = getattr(command, "commands", None)
    if beneath is None:
        return [" ".join(path)]
    return [line for name, child in beneath.items() for line in commands(child, (*path, name))]


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


@pytest.mark.parametrize("line", commands())
def test_every_command_offers_json(noughts: Any, line: str) -> None:
    assert "--format" in noughts(f"{line} --help").stdout


def test_version_is_the_installed_one(noughts: Any) -> None:
    assert noughts("--version").stdout == f"noughts {version('noughts')}\n"


def test_help_loads_nothing_heavy() -> None:
    program = f"""
import sys
from noughts_server.cli.app import app
app(["--help"], standalone_mode=False)
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stderr.strip() == "[]"


def test_unknown_command_is_a_usage_error(noughts: Any) -> None:
    assert "mtach" in noughts("mtach", code=2).stderr
