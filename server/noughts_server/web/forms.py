"""Reads the fields of forms; `forms.html.jinja` shows what is wrong next to them."""

from collections.abc import Collection, Mapping

from noughts_proto.v1 import types_pb2
from noughts_server.web.upstream import Failure

_LONGEST_SECONDS = 86_400
MOST = 2**32 - 1
"""The largest number that a field without a limit of its own accepts."""


def whole_number(field: str, text: str, least: int, most: int) -> int:
    """Return the whole number in a field of a form. Raises Failure."""
    if text.isascii() and text.isdigit() and len(text) <= 20 and least <= int(text) <= most:
        return int(text)
    expected = "a whole number" if most == MOST else f"a whole number from {least:,} to {most:,}"
    raise wrong(field, text, expected)


def number_of(form: Mapping[str, str], field: str, most: int = MOST) -> int:
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


def in_form(failure: Failure, fields: Collection[str], renamed: Mapping[str, str] | None = None) -> Failure:
    """Return the failure with the form's name of its field: `bank` for `tournament.time.bank_us`.

    `renamed` has the form's own names by path or last part. The name is empty if the form has no such field.
    """
    path, own = failure.field, renamed or {}
    last = path.rpartition(".")[2].removesuffix("_us")
    name = own.get(path) or own.get(last, last)
    failure.field = name if name in fields else ""
    if not failure.message.startswith(f"{path}: got "):
        failure.expected = ""  # the message says more
    return failure


def wrong(field: str, text: str, expected: str) -> Failure:
    """Return the failure of a field with this text, where something else is expected."""
    return Failure(400, f"{field}: got {text[:100]!r}, expected {expected}", field=field, expected=expected)
