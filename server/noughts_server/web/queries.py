"""Converts the query of an address into fields of a request."""

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from noughts_server.web.api_routes import ApiRoute
from noughts_server.web.documents import enum_number, enum_words
from noughts_server.web.upstream import Failure

FORMAT = "format"
"""The parameter that chooses `json` or `csv` instead of the Accept header."""
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
INTEGER_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64),
}
"""The least value and the first value above the range, by type of a field."""


def query_fields(route: ApiRoute[Any, Any]) -> Iterable[Any]:
    """Yield the fields of the request that a query can set: all but messages and those that the path sets."""
    for field in route.request.DESCRIPTOR.fields:
        if field.name not in route.names and field.message_type is None:
            yield field


def request_for(route: ApiRoute[Any, Any], path: Mapping[str, Any], query: Iterable[tuple[str, str]]) -> Any:
    """Return the route's request. Raises Failure for a parameter that is unknown or cannot be read."""
    values: dict[str, Any] = {name: template.format_map(path) for name, template in route.names.items()}
    fields = {field.name: field for field in query_fields(route)}
    for name, text in query:
        if name == FORMAT and route.rows:
            continue
        if name not in fields:
            known_names = ", ".join(sorted([*fields, *([FORMAT] if route.rows else [])]))
            raise Failure(400, f"parameter {name!r}: unknown", f"Known: {known_names or 'none'}.")
        if fields[name].is_repeated:
            values.setdefault(name, []).extend(_read(fields[name], part) for part in text.split(",") if text)
        else:
            values[name] = _read(fields[name], text)
    return route.request(**values)


def _read(field: FieldDescriptor, text: str) -> Any:
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return text
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        expected = "true or false"
    elif field.enum_type is not None:
        if (number := enum_number(field.enum_type, text)) is not None:
            return number
        expected = " or ".join(enum_words(field.enum_type))
    else:
        least, end = INTEGER_RANGES[field.cpp_type]
        digits = text.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) <= 20 and least <= int(text) < end:
            return int(text)
        expected = f"a whole number from {least} to {end - 1}"
    raise Failure(400, f"parameter {field.name}: got {text[:100]!r}, expected {expected}")
