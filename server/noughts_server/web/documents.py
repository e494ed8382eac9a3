"""The contract's messages as JSON and as CSV, and the schema of that JSON.

Every field is present under its name in the contract: numbers as numbers, seeds as text (many programs read whole
numbers exactly only up to 2^53), times as RFC 3339 in UTC, enumerations as the last part of their names in lower case,
results as `1-0`, `1/2-1/2`, `0-1` and `*`. Unset, unknown and non-finite values are null.
"""

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from noughts_server.core.plain_text import spreadsheet_cell

Document = dict[str, Any]
Value = TypeVar("Value", covariant=True)

_RESULTS = {"RESULT_FIRST_WINS": "1-0", "RESULT_DRAW": "1/2-1/2", "RESULT_SECOND_WINS": "0-1", "RESULT_VOID": "*"}
_TIMESTAMP = "google.protobuf.Timestamp"
_SEEDS = (FieldDescriptor.TYPE_FIXED64, FieldDescriptor.TYPE_SFIXED64)
_SCHEMAS: dict[int, Document] = {
    FieldDescriptor.CPPTYPE_INT32: {"type": "integer"},
    FieldDescriptor.CPPTYPE_INT64: {"type": "integer"},
    FieldDescriptor.CPPTYPE_UINT32: {"type": "integer", "minimum": 0},
    FieldDescriptor.CPPTYPE_UINT64: {"type": "integer", "minimum": 0},
    FieldDescriptor.CPPTYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.CPPTYPE_STRING: {"type": "string"},
}


def document(message: Message) -> Document:
    """Return the message as JSON."""
    return {name: read(message) for name, read in _readers(message.DESCRIPTOR)}


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a document, or a part of one, in which each text that is a key of `names` is replaced by its value."""
    if isinstance(value, dict):
        return {key: renamed(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [renamed(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


def schema(descriptor: Descriptor) -> Document:
    """Return the JSON schema of the documents of these messages. Nested messages are `#/components/schemas/NAME`."""
    fields = {field.name: _field_schema(field) for field in descriptor.fields}
    return {"type": "object", "properties": fields, "required": list(fields)}


def messages_in(descriptor: Descriptor) -> Iterable[Descriptor]:
    """Yield the messages that the fields of this one refer to directly."""
    for field in descriptor.fields:
        message_type = (_map_value(field) or field).message_type
        if message_type is not None and message_type.full_name != _TIMESTAMP:
            yield message_type


def enum_words(enum: EnumDescriptor) -> list[str]:
    """Return the words of an enumeration's values, without null."""
    return [word for word in (_word(value.name, enum) for value in enum.values) if word is not None]


def csv_text(rows: Iterable[Document], columns: Sequence[str] = (), *, head: bool = True) -> str:
    """Return the rows as CSV: nested fields as `outer_inner`, lists and scores by ply joined by spaces."""
    flat_rows = [dict(_flat_fields(row)) for row in rows]
    columns = columns or list(dict.fromkeys(name for row in flat_rows for name in row))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\r\n", extrasaction="ignore")
    if head:
        writer.writeheader()
    writer.writerows(flat_rows)
    return buffer.getvalue()


def _flat_fields(row: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the columns and cells of a row. Lists of documents, and documents by ply, are left out."""
    for name, value in row.items():
        if isinstance(value, dict) and any(isinstance(each, dict) for key, each in value.items() if type(key) is int):
            continue
        if isinstance(value, dict) and all(isinstance(key, int) for key in value):
            plies = range(max(value, default=-1) + 1)
            yield prefix + name, _cell([value.get(ply, "") for ply in plies])
        elif isinstance(value, dict):
            yield from _flat_fields(value, f"{prefix}{name}_")
        elif isinstance(value, list):
            if not any(isinstance(item, dict) for item in value):
                yield prefix + name, _cell(" ".join(value) if value and isinstance(value[0], str) else value)
        else:
            yield prefix + name, _cell(value)


def _cell(value: Any) -> Any:
    """Return the value as a cell. A spreadsheet must not read a text as a formula; a negative number is no text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        cell = " ".join(map(str, value))
        return spreadsheet_cell(cell) if any(isinstance(item, str) and item for item in value) else cell
    return spreadsheet_cell(value) if isinstance(value, str) else value


Reader = Callable[[Any], Any]


@cache
def _readers(descriptor: Descriptor) -> tuple[tuple[str, Reader], ...]:
    return tuple((field.name, _reader(field)) for field in descriptor.fields)


def _reader(field: FieldDescriptor) -> Reader:
    """Return the function that reads the field of a message as JSON."""
    name = field.name
    value_of, _ = _kind(field)
    if field.is_repeated:
        if _map_value(field) is not None:
            # Read only existing keys: reading a missing key of a map field creates it.
            return lambda message: {key: value_of(value) for key, value in sorted(getattr(message, name).items())}
        return lambda message: [value_of(value) for value in getattr(message, name)]
    if field.has_presence:
        return lambda message: value_of(getattr(message, name)) if message.HasField(name) else None
    return lambda message: value_of(getattr(message, name))


def enum_number(enum: EnumDescriptor, word: str) -> int | None:
    """Return the number of the value that this word stands for; None if there is none."""
    return next((value.number for value in enum.values if _word(value.name, enum) == word), None)


class EnumWrapper(Protocol[Value]):
    """An enumeration of the contract."""

    DESCRIPTOR: EnumDescriptor

    def Value(self, name: str) -> Value: ...


def enum_value(enum: EnumWrapper[Value], word: str | None) -> Value:
    """Return the value that this word stands for; None stands for the unspecified value."""
    names = {_word(value.name, enum.DESCRIPTOR): value.name for value in enum.DESCRIPTOR.values}
    return enum.Value(names[word])


def _kind(field: FieldDescriptor) -> tuple[Reader, Document]:
    """Return the function that converts one value of the field to JSON, and the schema of the result.

    For a map, both are those of its values.
    """
    field = _map_value(field) or field
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP:
            return lambda time: time.ToJsonString(), {"type": "string", "format": "date-time"}
        return document, {"$ref": f"#/components/schemas/{field.message_type.name}"}
    if field.enum_type is not None:
        words = {value.number: _word(value.name, field.enum_type) for value in field.enum_type.values}
        return words.get, {"enum": [*enum_words(field.enum_type), None]}
    if field.type in _SEEDS:
        return str, {"type": "string", "pattern": "^[0-9]+$"}
    if field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return lambda number: number if math.isfinite(number) else None, {"type": ["number", "null"]}
    return lambda value: value, _SCHEMAS[field.cpp_type]


def _word(name: str, enum: EnumDescriptor) -> str | None:
    """Return the JSON of an enumeration's value; None for the unspecified value."""
    if name.endswith("_UNSPECIFIED"):
        return None
    if name in _RESULTS:
        return _RESULTS[name]
    prefix = "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in enum.name).lstrip("_")
    return name.removeprefix(f"{prefix}_").lower()


def _field_schema(field: FieldDescriptor) -> Document:
    _, value = _kind(field)
    if _map_value(field) is not None:
        return {"type": "object", "additionalProperties": value}
    if field.is_repeated:
        return {"type": "array", "items": value}
    return {"anyOf": [value, {"type": "null"}]} if field.has_presence else value


def _map_value(field: FieldDescriptor) -> FieldDescriptor | None:
    """Return the value field of a map; None for other fields."""
    message = field.message_type
    return message.fields_by_name["value"] if message is not None and message.GetOptions().map_entry else None
