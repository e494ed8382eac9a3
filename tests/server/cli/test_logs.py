"""The forms of the server's log."""

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


def log(form: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, form], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == ""
    assert "too fine" not in done.stderr
    return done.stderr.splitlines()


def test_json_log_has_an_object_a_line_whoever_wrote_it() -> None:
    first, second, _, third = map(json.loads, log("json"))
    assert (first["event"], first["level"], first["game"]) == ("from structlog", "info", "tournaments/cup/games/7")
    assert (second["event"], second["level"]) == ("from logging", "warning")
    assert "ZeroDivisionError" in third["exception"]
    assert first.keys() & second.keys() >= {"timestamp", "level", "event"}


@pytest.mark.parametrize("form", ["auto", "logfmt"])
def test_log_for_files_has_a_line_a_record(form: str) -> None:
    first, second, *_ = log(form)
    assert 'event="from structlog"' in first
    assert "game=tournaments/cup/games/7" in first
    assert 'event="from logging"' in second


def test_console_log_has_no_colours_where_there_is_no_terminal() -> None:
    lines = log("console")
    assert not any("\x1b" in line for line in lines)
    assert "tournaments/cup/games/7" in lines[0]


@pytest.mark.parametrize("form", ["console", "logfmt", "json"])
def test_no_text_of_a_bot_in_a_log_steers_a_terminal(form: str) -> None:
    assert not [line for line in log(form) if not line.isprintable()]
