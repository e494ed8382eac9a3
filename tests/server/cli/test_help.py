"""The texts of `noughts --help` and of the commands' help, and their speed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from noughts_server.cli.command import hide_former_names
from noughts_server.core import version as noughts_version
from tests.server.cli.conftest import Refusal
from tests.support.command_line import commands_and_groups, invoke
from tests.support.examples import (
    CLUSTER_COMMANDS,
    WEBSITE_COMMANDS,
    examples_of_help,
    matches,
    needed_part,
    playground,
)
from tests.support.root import ROOT

HEAVY_MODULES = ("alembic", "grpc", "google.protobuf", "sqlalchemy", "structlog", "uvloop", "asyncio")
MODULES_UNUSED_BY_A_MATCH = (
    "alembic", "numpy", "prometheus_client", "psycopg", "pygments", "rich.traceback",
    "sqlalchemy.dialects.postgresql", "starlette",
)  # fmt: skip


def commands() -> list[str]:
    """All commands except groups, e.g. `tournament create`."""
    return [" ".join(path) for path, node in commands_and_groups() if not hasattr(node, "commands")]


def groups() -> list[str]:
    """All groups of commands, e.g. `tournament`; the first is "", for `noughts` itself."""
    return [" ".join(path) for path, node in commands_and_groups() if hasattr(node, "commands")]


@pytest.fixture(scope="module")
def help_texts() -> dict[str, str]:
    """The help of each command and group, which takes a while to draw."""
    return {line: invoke([*line.split(), "--help"], env={"COLUMNS": "200"}).stdout for line in (*commands(), *groups())}


def test_the_basic_commands_exist() -> None:
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


def test_help_of_each_command_and_group_shows_an_example(help_texts: dict[str, str]) -> None:
    for line, text in help_texts.items():
        _, _, example = text.partition("Example:")
        assert re.search(rf"(?m)^   \$ .*\bnoughts {line}", example), line
        assert all(len(row) <= 80 for row in example.splitlines()), line


def test_line_of_a_command_begins_its_help() -> None:
    for path, node in commands_and_groups():
        if not hasattr(node, "commands"):
            assert node.help.endswith("."), path
            assert node.loaded.help.startswith(node.help), path


FORMER_NAMES = {"gym": "estimate"}
"""Commands that are in the module of their new name."""


def test_a_command_is_in_the_module_of_its_name() -> None:
    for path, node in commands_and_groups():
        if not hasattr(node, "commands"):
            line = " ".join(path)
            name = FORMER_NAMES.get(line, line).replace(" ", ".").replace("-", "_")
            assert node.place.partition(":")[0] == f"noughts_server.cli.commands.{name}"


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.timeout(900)
def test_module_of_each_command_can_be_loaded_first() -> None:
    """Most tests fork `noughts` from a process that has loaded the modules of other commands, too."""
    for path, node in commands_and_groups():
        if not hasattr(node, "commands"):
            program = f"import {node.place.partition(':')[0]}"
            process = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
            assert (process.returncode, process.stderr) == (0, ""), path


def test_each_example_of_a_command_shows_its_output() -> None:
    examples = examples_of_help()
    lines = [f"noughts {' '.join(path)}".strip() for path, _ in commands_and_groups()]
    assert {example.section for example in examples} == set(lines)
    assert [
        example.command for example in examples if not example.output.strip() and "cc " not in example.command
    ] == []


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", ["bots", "files", "server"])
def test_examples_of_help_print_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.chdir(tmp_path)
    examples = [
        example
        for example in examples_of_help()
        if example.section not in (*CLUSTER_COMMANDS, *WEBSITE_COMMANDS) and needed_part(example) == part
    ]
    with playground(tmp_path) as ground:
        outputs = [(example, ground.output_of(example)) for example in examples]
    differences = [
        f"$ {example.command}\n{output}" for example, output in outputs if not matches(example.output, output)
    ]
    assert not differences, "\n\n".join(differences)


def test_each_option_has_one_kind_of_value_and_o_is_a_file() -> None:
    values: dict[str, set[str]] = {}
    for _, node in commands_and_groups():
        for option in node.loaded.params if hasattr(node, "loaded") else ():
            if option.param_type_name == "option" and option.name != "help":
                hide_former_names(option)
                for name in option.opts:
                    kind = "" if option.is_flag else option.metavar or "a choice"
                    values.setdefault(name, set()).add(kind.removesuffix("[,...]"))
    assert {name: kinds for name, kinds in values.items() if len(kinds) > 1} == {"--result": {"R", "a choice"}}
    assert values["-o"] == {"FILE"}


def test_games_are_counted_per_pair_or_iteration() -> None:
    for path, node in commands_and_groups():
        for option in node.loaded.params if hasattr(node, "loaded") else ():
            hide_former_names(option)
            if "--games" in option.opts:
                assert re.match("(Further g|G)ames per (pair|iteration)", option.help), path


@pytest.mark.parametrize(
    "line, name, former",
    [
        ("bot learn", "--output", "--file"),
        ("bot learn", "--training-games", "--games"),
        ("bot header", "--include-path", "--folder"),
        ("bot run", "--concurrency", "--max-games"),
        ("bot run", "--connect-timeout", "--wait"),
        ("bot check", "--move-timeout", "--patience"),
        ("challenge", "--run", "--with"),
        ("course init", "--students", "--class"),
        ("course init", "--public-url", "--site"),
        ("records list", "--opponent", "--against"),
        ("referee", "--concurrency", "--seats"),
        ("report", "--limit", "--games"),
        ("serve", "--set-limit", "--limit"),
        ("serve", "--reconnect-timeout", "--grace"),
        ("serve", "--inactivity-timeout", "--absence"),
        ("token create", "--note", "--label"),
        ("tournament list", "--only-challenges", "--challenges"),
        ("bot submit", "--class", "--entry"),
    ],
)
def test_former_names_of_options_work_but_are_not_shown(
    help_texts: dict[str, str], line: str, name: str, former: str
) -> None:
    [node] = (node for path, node in commands_and_groups() if " ".join(path) == line)
    assert any({name, former} <= set(option.opts) for option in node.loaded.params)
    options = help_texts[line].partition("Example:")[0]
    assert re.search(rf"│[ *]+{name}\b", options)
    assert not re.search(rf"[│,] *{former}\b", options)


@pytest.mark.parametrize("line", ["match", "tournament create", *groups()])
def test_h_is_short_for_help(noughts: Any, help_texts: dict[str, str], line: str) -> None:
    assert noughts(f"{line} -h").stdout == help_texts[line]


def test_help_has_a_short_option_and_no_type_next_to_a_flag(help_texts: dict[str, str]) -> None:
    for line, text in help_texts.items():
        assert "<bool>" not in text, line
        assert re.search(r"--help +-h +Show this message", text), line


def test_help_of_each_option_is_a_phrase_of_at_most_80_characters() -> None:
    for path, node in commands_and_groups():
        for option in node.loaded.params if hasattr(node, "loaded") else ():
            text = (option.help or "").removesuffix(".").replace("\\[", "[")
            assert len(text) <= 80, (path, option.name, text)
            assert not re.match(r"(Who|Whose|What|Where|How|Its?) ", text), (path, text)
            assert re.match(r"[A-Z]", text), (path, text)
            assert option.metavar not in ("SECONDS", "TIME", "MS"), (path, option.name)


def test_commands_are_in_six_groups_and_options_of_a_match_in_panels(noughts: Any) -> None:
    titles = re.findall(r"╭─ ([\w ]+?) ─", noughts("--help").stdout)
    groups = ["Start here", "Bots", "Local games", "Use a server", "Run a server", "Analysis"]
    assert [panel for panel in titles if panel != "Options"] == groups
    titles = re.findall(r"╭─ ([\w ]+?) ─", noughts("match --help").stdout)
    panels = ["Game", "Openings", "Time control", "Players", "Output", "Statistics"]
    assert [panel for panel in titles if panel in panels] == panels
    for line in ("match", "tournament run"):
        other_options = re.search(r"(?s)╭─ Options ─(.*?)╰", noughts(f"{line} --help").stdout)
        assert other_options
        assert re.findall(r"--\w+", other_options[1]) == ["--help"], line


def test_submit_takes_the_class_of_a_bot_under_both_names(noughts: Any) -> None:
    for option in ("--class", "--entry"):
        errors = noughts(f"bot submit gone.py {option} gone.py:Mine --server 127.0.0.1:1", code=1).stderr
        assert errors.startswith("Error: gone.py: No such file or directory")


def test_submit_takes_a_file_as_bot_check_does(refusal: Refusal, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("bot")
    for spec in ("bot.py", "bot.py:Mine"):
        refusal(f"bot submit py:{tmp_path}/{spec} --server 127.0.0.1:1", code=1, env={"NOUGHTS_TOKEN": "nou_any"})


def test_every_command_offers_json(help_texts: dict[str, str]) -> None:
    assert [line for line in commands() if "--format" not in help_texts[line]] == []


def test_reference_of_json_has_a_section_for_each_command() -> None:
    page = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^## noughts (.+)$", page, re.MULTILINE)) == sorted(commands())


def test_version_is_the_installed_one(noughts: Any) -> None:
    assert noughts("--version").stdout == f"noughts {version('noughts')}\n"


@pytest.mark.parametrize(
    "installed, built_from, expected",
    [("1.1.0.dev0", "0a1b2c3d4e5f\n", "1.1.0.dev0+0a1b2c3d4e5f"), ("1.1.0.dev0", None, "1.1.0.dev0"),
     ("1.1.0", "0a1b2c3d4e5f\n", "1.1.0")],
)  # fmt: skip
def test_version_between_releases_has_the_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: str, built_from: str | None, expected: str
) -> None:
    file = tmp_path / "commit.txt"
    if built_from is not None:
        file.write_text(built_from)
    monkeypatch.setattr(noughts_version, "_COMMIT_FILE", file)
    monkeypatch.setattr(noughts_version, "installed_version", lambda name: installed)
    assert noughts_version.software_version.__wrapped__() == expected


def test_list_of_commands_has_a_summary_of_each(help_texts: dict[str, str]) -> None:
    for path, node in commands_and_groups():
        if path:
            group_text, own_text = help_texts[" ".join(path[:-1])], help_texts[" ".join(path)]
            assert re.search(rf"│ {path[-1]} +[A-Z].*[.:;]", group_text), path
            assert node.help.replace(r"\[", "[") in " ".join(own_text.split()), path


def loaded_modules(arguments: list[str], names: tuple[str, ...]) -> str:
    """Run a command in a process of its own, and return the list of those modules that it has loaded, as text."""
    program = f"""
import sys
from noughts_server.cli.app import run
try:
    run({arguments!r})
except SystemExit:
    pass
print([name for name in {names!r} if name in sys.modules], file=sys.stderr)
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return process.stderr.splitlines()[-1]


def test_help_loads_nothing_heavy() -> None:
    assert loaded_modules(["--help"], HEAVY_MODULES) == "[]"


def test_local_match_loads_only_what_it_uses() -> None:
    match = ["match", "random", "first-free", "--variant", "tictactoe", "--games", "2"]
    assert loaded_modules(match, ("sqlalchemy", *MODULES_UNUSED_BY_A_MATCH)) == "['sqlalchemy']"


def test_unknown_command_is_a_usage_error(refusal: Refusal) -> None:
    refusal("mtach", code=2)
