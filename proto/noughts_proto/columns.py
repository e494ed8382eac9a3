"""Messages that have tables as columns: one repeated field for each column."""

from google.protobuf.message import Message


def append_row(table: Message, **values: object) -> None:
    """Append a row, given as one value for each column by name."""
    for name, value in values.items():
        getattr(table, name).append(value)
