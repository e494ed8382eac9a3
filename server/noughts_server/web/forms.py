"""Reads the fields of forms."""

from collections.abc import Mapping

from noughts_proto.v1 import types_pb2
from noughts_server.web.upstream import Failure

_LONGEST_SECONDS = 86_400
_UINT32 = 2**32 - 1


def whole_number(field: str, text: str, least: int, most: int) -> int:
    """Return the whole number in a field of a form. Raises Failure."""
    if text.isascii() and text.isdigit() and len(text) <= 20 and least <= int(text) <= most:
        return int(text)
    raise Failure(400, f"{field}: got {text[:100]!r}, expected a whole number from {least:,} to {most:,}")


def number_of(form: Mapping[str, str], field: str) -> int:
    """Return the number in this field; 0 if it is empty. Raises Failure."""
    text = form.get(field, "").strip()
    return whole_number(field, text, 0, _UINT32) if text else 0


def time_of(form: Mapping[str, str]) -> types_pb2.TimeControl:
    """Return the time control in the fields `bank`, `increment` and `move`, in seconds. Raises Failure."""
    return types_pb2.TimeControl(
        bank_us=_microseconds(form, "bank"),
        increment_us=_microseconds(form, "increment"),
        move_us=_microseconds(form, "move"),
    )


def _microseconds(form: Mapping[str, str], field: str) -> int:
    text = form.get(field, "").strip()
    try:
        seconds = float(text or 0)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_SECONDS:
        raise Failure(400, f"{field}: got {text[:100]!r}, expected seconds, e.g. 0.5, at most {_LONGEST_SECONDS:,}")
    return round(seconds * 1e6)
