"""Failures are logged once each, and then counted."""

from __future__ import annotations

import pytest

from noughts_bots.connection.failures import Failures, in_words


def error_with_traceback(text: str) -> Exception:
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


def test_a_repeated_failure_has_one_traceback_and_a_count(caplog: pytest.LogCaptureFixture) -> None:
    failures = Failures()
    for number in range(1, 251):
        failures.log_failure(f"game {number}", error_with_traceback("no"))
    assert caplog.text.count("Traceback (most recent call last)") == 1
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "game 1",
        "game 10, as before: ValueError: no (10 times so far)",
        "game 100, as before: ValueError: no (100 times so far)",
    ]


def test_up_to_a_hundred_different_failures_are_kept_apart(caplog: pytest.LogCaptureFixture) -> None:
    failures = Failures()
    for number in range(1_000):
        failures.log_failure("a game", error_with_traceback(f"no {number}"))
    assert caplog.text.count("Traceback (most recent call last)") == 101


def test_faults_of_a_bot_are_logged_once_for_each_kind(caplog: pytest.LogCaptureFixture) -> None:
    failures = Failures()
    for number in range(10):
        failures.log("timeout", f"too late in game {number}")
        failures.log("illegal_move", f"a wrong cell in game {number}")
    assert [record.getMessage() for record in caplog.records] == [
        "too late in game 0",
        "a wrong cell in game 0",
        "too late in game 9 (10 times so far)",
        "a wrong cell in game 9 (10 times so far)",
    ]


def test_in_words_is_the_last_line_of_the_traceback() -> None:
    assert in_words(error_with_traceback("two\nlines")) == "ValueError: two lines"
    assert in_words(KeyError("x")) == "KeyError: 'x'"
