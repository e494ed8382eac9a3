"""Reads the fields of forms. `forms.html.jinja` shows errors next to the fields."""

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from google.protobuf.timestamp_pb2 import Timestamp

from noughts_proto.v1 import types_pb2
from noughts_server.web.upstream import Failure

_LONGEST_SECONDS = 86_400
LARGEST_NUMBER = 2**32 - 1
"""The largest number that a field without a limit of its own accepts."""
Value = TypeVar("Value")


class FormErrors:
    """The failures of the fields of a form, which its page shows together."""

    def __init__(self) -> None:
        self._failures: list[Failure] = []

    def read(self, read: Callable[[], Value], default: Value) -> Value:
        """Return the result of `read`. If it raises a Failure, record the failure and return the default."""
        try:
            return read()
        except Failure as failure:
            self._failures += (failure, *failure.others)
            return default

    def add(self, failure: Failure) -> None:
        """Add the failure of a field."""
        self._failures.append(failure)

    def check(self, fields: Collection[str] = ()) -> None:
        """Raise the recorded failures, if there are any: the first one in the order of `fields`, with the others."""
        order = {field: place for place, field in enumerate(fields)}
        failures = sorted(self._failures, key=lambda failure: order.get(failure.field, len(order)))
        if failures:
            failure, *others = failures
            failure.others = tuple(others)
            raise failure


def whole_number(field: str, text: str, least: int, most: int) -> int:
    """Return the whole number in a field of a form. Raises Failure."""
    if text.isascii() and text.isdigit() and len(text) <= 20 and least <= int(text) <= most:
        return int(text)
    expected = "a whole number" if most == LARGEST_NUMBER else f"a whole number from {least:,} to {most:,}"
    raise wrong(field, text, expected)


def number_of(form: Mapping[str, str], field: str, most: int = LARGEST_NUMBER) -> int:
    """Return the number in this field; 0 if it is empty. Raises Failure."""
    text = form.get(field, "").strip()
    return whole_number(field, text, 0, most) if text else 0


def time_control_of(form: Mapping[str, str]) -> types_pb2.TimeControl:
    """Return the time control in the fields `bank`, `increment` and `move`, in seconds. Raises Failure."""
    errors = FormErrors()
    bank, increment, move = (
        errors.read(partial(_microseconds, form, field), None) for field in ("bank", "increment", "move")
    )
    if increment and bank == 0:
        expected = "a base time (On the clock), to which the increment is added"
        errors.add(wrong("increment", form["increment"], expected))
    errors.check()
    return types_pb2.TimeControl(bank_us=bank or 0, increment_us=increment or 0, move_us=move or 0)


def timestamp_of(form: Mapping[str, str], field: str) -> Timestamp | None:
    """Return the time in this field, in UTC; None if it is empty. Raises Failure."""
    text = form.get(field, "").strip()
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError as error:
        raise wrong(field, text, "a date and a time, e.g. 2026-03-01T18:00") from error
    timestamp = Timestamp()
    timestamp.FromDatetime(moment)
    return timestamp


def _microseconds(form: Mapping[str, str], field: str) -> int:
    text = form.get(field, "").strip()
    expected = f"seconds, e.g. 0.5, at most {_LONGEST_SECONDS:,}"
    try:
        seconds = float(text or 0)
    except ValueError as error:
        raise wrong(field, text, expected) from error
    if not 0 <= seconds <= _LONGEST_SECONDS:
        raise wrong(field, text, expected)
    return round(seconds * 1e6)


def in_form(failure: Failure, fields: Collection[str], form_names: Mapping[str, str] | None = None) -> Failure:
    """Return the failure with the name that its field has in the form: `bank` for `tournament.time.bank_us`.

    `form_names` maps the path of a field, or its last part, to its name in the form. If the form has no such field, the
    failure gets an empty name.
    """
    path = failure.field
    names = form_names or {}
    last = path.rpartition(".")[2].removesuffix("_us")
    name = names.get(path) or names.get(last, last)
    failure.field = name if name in fields else ""
    if not failure.message.startswith(f"{path}: got "):
        failure.expected = ""  # the page shows the message, which says more than the expected value
    return failure


def wrong(field: str, text: str, expected: str) -> Failure:
    """Return the failure of a field that contains this invalid text."""
    return Failure(400, f"{field}: got {text[:100]!r}, expected {expected}", field=field, expected=expected)


def wrong_fields(failure: Failure) -> dict[str, Failure]:
    """Return the failures of single fields by the names of the fields."""
    return {each.field: each for each in (failure, *failure.others) if each.field}
