"""An error that is raised again at the same place is not logged again within an hour."""

import logging

from noughts_server.core.repeated_errors import RepeatedErrors


def raised_error(number: int) -> ValueError:
    """Return an error that one line has raised for all odd numbers, and another line for all even ones."""
    try:
        if number % 2:
            raise ValueError(f"odd {number}")
        raise ValueError(f"even {number}")
    except ValueError as error:
        return error


def test_each_error_is_logged_once_an_hour() -> None:
    now = [0.0]
    errors = RepeatedErrors(lambda: now[0])
    assert [errors.is_new(raised_error(number)) for number in range(6)] == [True, True, False, False, False, False]
    now[0] = 3_600.0
    assert errors.is_new(raised_error(1))
    assert not errors.is_new(raised_error(1))


def test_log_filter_drops_only_errors_that_were_logged() -> None:
    errors = RepeatedErrors()

    def record(error: ValueError | None) -> logging.LogRecord:
        exc_info = (type(error), error, error.__traceback__) if error else None
        return logging.LogRecord("x", logging.ERROR, __file__, 1, "it failed", None, exc_info)

    assert [errors.filter(record(raised_error(number))) for number in (1, 3, 2)] == [True, False, True]
    # Records without an error always pass.
    assert errors.filter(record(None))
    assert errors.filter(record(None))
