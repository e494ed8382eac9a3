"""The formats of the server's log."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import logging, structlog, sys
from noughts_server.cli.options.logs import configure_logs
from noughts_server.cli.options.logs import LogFormat
from noughts_server.cli.options.logs import LogLevel
configure_logs(LogLevel.INFO, LogFormat(sys.argv[1]))
structlog.get_logger("ours").info("from structlog", game="tournaments/cup/games/7")
logging.getLogger("theirs").warning("from %s", "logging")
structlog.get_logger("ours").info("said", said="\\x1b]0;title\\x07 \\x9b2J \\r level=error")
structlog.get_logger("ours").debug("too fine")
logging.getLogger("theirs").debug("too fine")
try:
    1 / 0
except ZeroDivisionError:
    structlog.get_logger("ours").exception("failed")
"""


def log_lines(form: str) -> list[str]:
    """Return the log that `PROGRAM` writes in this format."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, form], capture_output=True, text=True, check=True, timeout=60
    )
    assert process.stdout == ""
    assert "too fine" not in process.stderr
    return process.stderr.splitlines()


def test_json_log_has_one_object_per_line_of_every_logger() -> None:
    first, second, _, third = map(json.loads, log_lines("json"))
    assert (first["event"], first["level"], first["game"]) == ("from structlog", "info", "tournaments/cup/games/7")
    assert (second["event"], second["level"]) == ("from logging", "warning")
    assert "ZeroDivisionError" in third["exception"]
    assert first.keys() & second.keys() >= {"timestamp", "level", "event"}


@pytest.mark.parametrize("form", ["auto", "logfmt"])
def test_logfmt_log_has_one_line_per_record(form: str) -> None:
    first, second, *_ = log_lines(form)
    assert 'event="from structlog"' in first
    assert "game=tournaments/cup/games/7" in first
    assert 'event="from logging"' in second


def test_console_log_has_no_colours_without_a_terminal() -> None:
    lines = log_lines("console")
    assert not any("\x1b" in line for line in lines)
    assert "tournaments/cup/games/7" in lines[0]


@pytest.mark.parametrize("form", ["console", "logfmt", "json"])
def test_control_characters_in_values_are_escaped_in_every_log(form: str) -> None:
    assert not [line for line in log_lines(form) if not line.isprintable()]
