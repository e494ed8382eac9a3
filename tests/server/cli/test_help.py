"""What `noughts --help` and its like say, and how soon."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest

from noughts_server.cli import plain_parser
from noughts_server.cli.commands import Command, Group, LoadedCommand
from noughts_server.cli.tree import TREE
from noughts_server.cli.typer_parser import typer_app

HEAVY = ("alembic", "grpc", "google.protobuf", "sqlalchemy", "structlog", "uvloop", "asyncio", "typer")


def commands() -> list[str]:
    """Every command that does something, e.g. `tournament create`."""
    return [" ".join(path) for path, _ in TREE.commands()]


def groups(group: Group = TREE, path: str = "") -> list[str]:
    """Every command that only has commands beneath it; the first is "", for `noughts` itself."""
    beneath = [child for child in group.children if isinstance(child, Group)]
    return [path, *(line for child in beneath for line in groups(child, f"{path} {child.name}".strip()))]


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


@pytest.mark.parametrize("line", commands())
def test_every_command_offers_json(noughts: Any, line: str) -> None:
    assert "--format" in noughts(f"{line} --help").stdout


def test_version_is_the_installed_one(noughts: Any) -> None:
    assert noughts("--version").stdout == f"noughts {version('noughts')}\n"


@pytest.mark.parametrize("colours", [{}, {"FORCE_COLOR": "1"}], ids=["plain", "coloured"])
def test_help_of_a_group_is_drawn_as_typer_draws_it(colours: dict[str, str]) -> None:
    program = f"""
import contextlib, io, os
from noughts_server.cli.app import _run_typer, run
def shown(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        function(*arguments)
    return said.getvalue()
for path in {[group.split() for group in groups()]!r}:
    for width in "60", "80", "200":
        os.environ["COLUMNS"] = width
        page = shown(run, [*path, "--help"])
        assert page and page == shown(_run_typer, [*path, "--help"], path), (path, width)
"""
    subprocess.run([sys.executable, "-c", program], env={**os.environ, **colours}, check=True)


@pytest.mark.parametrize("line", commands())
def test_list_of_commands_says_what_the_docstring_says(line: str) -> None:
    _, command, _ = TREE.find(line.split())
    assert isinstance(command, Command)
    assert command.summary == command.load(f"noughts {line}").paragraphs[0]


def test_help_loads_nothing_heavy() -> None:
    program = f"""
import sys
from noughts_server.cli.app import run
run(["--help"])
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stderr.strip() == "[]"


def test_unknown_command_is_a_usage_error(noughts: Any) -> None:
    assert "mtach" in noughts("mtach", code=2).stderr


LINES = [
    *(
        line.strip()
        for _, command in TREE.commands()
        for example in command.examples
        for line in re.findall(r"noughts ([^|<)]*)", example)
    ),
    "match a b --games=3 -oout.jsonl --no-lock --margin 5ms",
    "match --games 3 a --time 1/move b --seed 18446744073709551615",
    "tournament run a --games 3 b c --variant qubic d",
    "bot run random --no-challenges --tls --tls-ca ca.pem --start-timeout 1e1",
    "token create --scope play --scope organise --owner ada",
    "play --first me --mark O",
    "watch",
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_read_as_typer_reads_it(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(line)
    path, command, rest = TREE.find(words)
    assert isinstance(command, Command)
    read: list[Any] = []
    monkeypatch.setattr(LoadedCommand, "run", lambda self, **values: read.append(values))
    typer_app(TREE, path)(words, standalone_mode=False)
    assert plain_parser.read(command.load(line), rest) == read[0]


@pytest.mark.parametrize(
    "line",
    [
        "match a",
        "match a b c",
        "match a b --games 0",
        "match a b --games many",
        "match a b --game 3",
        "match a b --no-lock=3",
        "match a b --help",
        "variants --format xml",
        "bot learn --file x",
        "token create --scope",
    ],
)
def test_a_line_that_typer_refuses_is_not_read(line: str) -> None:
    _, command, rest = TREE.find(shlex.split(line))
    assert isinstance(command, Command)
    assert plain_parser.read(command.load(line), rest) is None
