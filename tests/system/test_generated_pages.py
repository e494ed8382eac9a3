"""The parts of the documentation that are generated from the code are complete, and in the pages that name them."""

import ast
import errno
import os
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import noughts_bots
from noughts_referee.rules import OWN_NAMES, Termination
from noughts_server.cli.config_file import COMMANDS
from noughts_server.core.limits import Limits
from tests.support.command_line import commands_and_groups, invoke
from tests.support.root import ROOT
from tools.generated_pages import PARTS, has_parts, with_pictures, with_texts
from tools.generated_pages.errors import KINDS
from tools.generated_pages.protocol import sources
from tools.regenerate import pages

REFERENCE = ROOT / "docs" / "reference"
FOREIGN_MESSAGES = f"No such command, No such option, Did you mean, ModuleNotFoundError, {os.strerror(errno.EPERM)}"
"""Messages of other libraries and of the system."""
_SEPARATORS = re.compile(
    r"\b[A-Z]{2,}\w*\b|\b[A-Z]\b|\d+|\.\.\.|: |\b(?:got|expected|is|unknown|setting|did not|within)\b|'"
)


def page(name: str) -> str:
    """Return a page of the reference as Sphinx reads it."""
    return with_texts((REFERENCE / name).read_text(encoding="utf-8"))


def first_cells(text: str) -> list[str]:
    """Return the text in backticks at the beginning of each table row."""
    return re.findall(r"(?m)^\| `([\w.:,-]+)", text)


def test_old_text_below_a_mark_is_replaced_and_other_text_stays() -> None:
    mark, text, end = "<!-- generated: limits -->", PARTS["limits"]("").strip(), "<!-- end of generated text -->"
    written = f"A\n\n{mark}\n\n{text}\n\n{end}\n\nB\n\n{mark}\n\n{text}\n\n{end}\n\nC\n"
    assert with_texts(f"A\n\n{mark}\n\nold\n\n{end}\n\nB\n\n{mark}\n\nC\n") == written
    assert with_texts(written) == written


def test_pictures_are_drawn_only_when_the_documentation_is_built() -> None:
    page = "<!-- generated: diagram move -->\n"
    assert with_texts(page) == page
    assert "<svg" in with_pictures(page)


def test_the_check_names_a_page_with_outdated_text(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    limits = (REFERENCE / "limits.md").read_text(encoding="utf-8")
    (docs / "good.md").write_text(limits)
    (docs / "bad.md").write_text(limits.replace("| 500 | Bots of one owner", "| 5 | Bots of one owner"))
    assert pages(docs) == {docs / "bad.md": limits}


def test_each_command_is_described_on_one_page_and_listed() -> None:
    commands = sorted(
        f"noughts {' '.join(path)}" for path, node in commands_and_groups() if not hasattr(node, "commands")
    )
    described = "".join(page(f"commands/{file.name}") for file in (REFERENCE / "commands").glob("*.md"))
    groups = {f"noughts {' '.join(path)}" for path, node in commands_and_groups() if path and hasattr(node, "commands")}
    assert sorted({*re.findall(r"(?m)^## (noughts .+)$", described)} - groups) == commands
    assert sorted(re.findall(r"\[`(noughts [^`]+)`\]", page("commands.md"))) == commands


def test_description_of_a_command_has_usage_panels_and_example() -> None:
    [match] = re.findall(r"(?s)## noughts match\n(.*?)\n## ", page("commands/start-here.md"))
    assert "noughts match [OPTIONS] A B" in match
    for panel in ("Game", "Openings", "Time control", "Players", "Output", "Statistics"):
        assert f"**{panel}**" in match
    assert "| `--games N` | Games per pair (A and B); A moves first in game 1. | `2` | 1 to 1,000,000 |" in match
    assert "$ noughts match pascal:level=1 nextstep:depth=3" in match
    assert "Elo difference: +147 ± 30 (95 %)" in match


@pytest.mark.parametrize("command", COMMANDS)
def test_configuration_lists_each_key_that_the_command_prints(command: str) -> None:
    printed = re.findall(r"(?m)^(?:# )?([\w-]+) = ", invoke([command, "--print-config"]).stdout)
    assert sorted(first_cells(PARTS["settings"](command))) == sorted(printed)


def test_limits_errors_terminations_and_variants_are_all_listed() -> None:
    assert first_cells(page("limits.md")) == [field.name for field in fields(Limits)]
    assert "| `bots` | 500 | Bots of one owner, including retired ones. |" in page("limits.md")
    assert set(first_cells(page("errors.md"))) == {kind.reason for kind in KINDS} | set(map(str, Termination))
    assert set(first_cells(page("variants.md"))) >= set(OWN_NAMES)


def test_metrics_are_those_of_a_running_server_with_their_labels() -> None:
    text = page("metrics.md")
    assert "| `noughts_games_total` | counter | Stored games; its rate() is games a second. |" in text
    assert "`noughts_errors_total{reason}`" in text
    assert len(first_cells(text.replace("{", "`"))) > 20


def test_each_method_is_listed_with_its_scopes() -> None:
    text = page("messages.md")
    for source in sources():
        for service in source.file.service:
            assert f"### {service.name}" in text
            for method in service.method:
                assert re.search(rf"(?m)^\| `{method.name}` \|.*\| (no token[^|]*|a token[^|]*) \|", text), method.name
    assert "| `SubmitBot` | stream of [`SubmitBotRequest`](#submitbotrequest) |" in text


def test_each_message_and_enum_for_clients_has_its_fields() -> None:
    text = page("messages.md")
    for source in sources():
        kinds = {
            message_type.name: [field.name for field in message_type.field] for message_type in source.file.message_type
        }
        kinds |= {enum_type.name: [value.name for value in enum_type.value] for enum_type in source.file.enum_type}
        for kind, names in kinds.items():
            [section] = re.findall(rf"(?ms)^#### {kind}\n(.*?)(?=^#|\Z)", text)
            assert first_cells(section) == names


def test_python_reference_has_every_public_name() -> None:
    text = (REFERENCE / "api.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(?m):: noughts_bots\.(\w+)$", text)) >= set(noughts_bots.__all__)
    assert ".. automodule:: noughts_server.testing" in text


def test_page_of_the_protocol_names_each_reason_that_ends_a_stream() -> None:
    reasons = {
        reason
        for file in (ROOT / "referee").rglob("*.py")
        for reason in re.findall(
            r'(?:StreamClosed|__init__)\(\s*grpc\.StatusCode\.\w+,\s*"(\w+)"', file.read_text(encoding="utf-8")
        )
    }
    assert {"HEARTBEAT_MISSED", "COLUMNS_UNEVEN"} <= reasons
    text = (REFERENCE / "protocol.md").read_text(encoding="utf-8")
    assert [reason for reason in sorted(reasons) if f"`{reason}`" not in text] == []


def test_every_part_is_in_a_page_and_every_page_names_known_parts() -> None:
    named = [
        found
        for file in (ROOT / "docs").rglob("*.md")
        if has_parts(text := file.read_text(encoding="utf-8"))
        for found in re.findall(r"(?m)^<!-- generated: ([\w-]+)", text)
    ]
    assert set(named) == set(PARTS)


def test_troubleshooting_names_each_reason_and_only_messages_that_exist() -> None:
    text = (ROOT / "docs" / "how-to" / "troubleshooting.md").read_text(encoding="utf-8")
    reasons = text.partition("## All reasons")[2]
    assert [kind.reason for kind in KINDS if f"`{kind.reason}`" not in reasons] == []
    known = "".join(texts_of_programs()) + (ROOT / "Makefile").read_text(encoding="utf-8") + FOREIGN_MESSAGES
    rows = re.findall(r"(?m)^\| (`.*?) \|", text.partition("## Commands")[2].partition("## All reasons")[0])
    messages = [message for row in rows for message in re.findall(r"`([^`]+ [^`]+)`", row)]
    assert len(messages) > 40
    # A message consists of texts of the code with values between them: capitals, numbers, dots and quotes.
    parts = {part.strip(" .,;:") for message in messages for part in _SEPARATORS.split(message)}
    missing = sorted(part for part in parts if len(part) > 8 and part not in known)
    assert not missing, missing


def texts_of_programs() -> Iterator[str]:
    """Yield the string literals of our packages, with \\0 for each value of an f-string."""
    for place in ("server", "referee", "bots", "proto"):
        for file in (ROOT / place).rglob("*.py"):
            if "_pb2" in file.name:
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    yield "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield f"{node.value}\n"
