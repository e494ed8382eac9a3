"""Reads the fields of forms. `forms.html.jinja` shows errors next to the fields."""

from collections.abc import Collection, Mapping

from noughts_proto.v1 import types_pb2
from noughts_server.web.upstream import Failure

_LONGEST_SECONDS = 86_400
LARGEST_NUMBER = 2**32 - 1
"""The largest number that a field without a limit of its own accepts."""


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


def time_of(form: Mapping[str, str]) -> types_pb2.TimeControl:
    """Return the time control in the fields `bank`, `increment` and `move`, in seconds. Raises Failure."""
    bank, increment, move = (_microseconds(form, field) for field in ("bank", "increment", "move"))
    if increment and not bank:
        raise wrong("increment", form["increment"], "a base time (On the clock), to which the increment is added")
    return types_pb2.TimeControl(bank_us=bank, increment_us=increment, move_us=move)


def _microseconds(form: Mapping[str, str], field: str) -> int:
    text = form.get(field, "").strip()
    try:
        seconds = float(text or 0)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_SECONDS:
        raise wrong(field, text, f"seconds, e.g. 0.5, at most {_LONGEST_SECONDS:,}")
    return round(seconds * 1e6)


def in_form(failure: Failure, fields: Collection[str], form_names: Mapping[str, str] | None = None) -> Failure:
    """Return the failure with the name that its field has in the form: `bank` for `tournament.time.bank_us`.

    `form_names` has names by the path of a field or by its last part. The name is empty if the form lacks the field.
    """
    path = failure.field
    names = form_names or {}
    last = path.rpartition(".")[2].removesuffix("_us")
    name = names.get(path) or names.get(last, last)
    failure.field = name if name in fields else ""
    if not failure.message.startswith(f"{path}: got "):
        failure.expected = ""  # the message says more
    return failure


def wrong(field: str, text: str, expected: str) -> Failure:
    """Return the failure of a field with this text, which is not the expected one."""
    return Failure(400, f"{field}: got {text[:100]!r}, expected {expected}", field=field, expected=expected)
