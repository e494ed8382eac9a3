"""Messages that hold tables as columns: a repeated field for each."""

from google.protobuf.message import Message


def append_row(table: Message, **values: object) -> None:
    """Append a row: a value for each of the columns with these names."""
    for name, value in values.items():
        getattr(table, name).append(value)
