"""Errors that happen again are not logged again."""

import logging

from noughts_server.core.repeated_errors import RepeatedErrors


def failed(number: int) -> ValueError:
    try:
        if number % 2:
            raise ValueError(f"odd {number}")
        raise ValueError(f"even {number}")
    except ValueError as error:
        return error


def test_each_error_is_logged_once_an_hour() -> None:
    now = [0.0]
    errors = RepeatedErrors(lambda: now[0])
    assert [errors.is_new(failed(number)) for number in range(6)] == [True, True, False, False, False, False]
    now[0] = 3_600.0
    assert errors.is_new(failed(1))
    assert not errors.is_new(failed(1))


def test_log_filter_drops_only_errors_that_were_logged() -> None:
    errors = RepeatedErrors()

    def record(error: ValueError | None) -> logging.LogRecord:
        told = (type(error), error, error.__traceback__) if error else None
        return logging.LogRecord("x", logging.ERROR, __file__, 1, "it failed", None, told)

    assert [errors.filter(record(failed(number))) for number in (1, 3, 2)] == [True, False, True]
    assert errors.filter(record(None))
    assert errors.filter(record(None))
