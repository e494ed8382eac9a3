"""Parquet files of games, moves or positions, which data frames and databases read; needs the extra `parquet`.

The module `records.columns` lists the columns. Files are parsed only in a sandboxed process, because the decoder is a
large library in C++ and a few bytes can stand for gigabytes.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from noughts_proto.interpreter import environment, python
from noughts_referee.rules import Thought
from noughts_server.records.data_set import READER_BYTES, SCHEMA_VERSION, Rows
from noughts_server.records.json_lines import json_document, read_json_lines, winning_cells
from noughts_server.records.recorded_game import PlacedGame, RecordError
from noughts_server.records.sampling import MARKS, samples
from noughts_server.tables.recorded_game import RecordedGame

_EXPECTED = f"games as `noughts records convert` writes them, in version {SCHEMA_VERSION}"
_Row = tuple[Any, ...]
_GROUP_ROWS = 5_000
_GROUP_CHARACTERS = 1 << 25
"""Limits of the rows and characters of a group, which is written at once."""
_BATCH_ROWS = 1_000
_BATCH_BYTES = 1 << 25
"""Limits of the rows and bytes of a batch, which is read at once."""
_LONGEST_LINE = 50_000_000
"""Characters of a line. A longer one is replaced by text that is not a game, so it causes an error."""
_LARGEST_CELL = 0xFFFF
_LARGEST_SEED = (1 << 64) - 1
_LARGEST_EXACT = 1 << 53
"""The largest whole number up to which a double can hold every whole number."""
_END_BYTES = 1 << 16
"""Bytes at the end of a file that contain its metadata."""
_TYPES = {"list<uint16>": pa.list_(pa.uint16()), "list<double>": pa.list_(pa.float64())}
_TEXTS = ("game", "end_time", "event", "date")
"""Columns that contain the value of the JSON document if it is a text."""
_OWN = ("variant", "first", "second", "seed", "moves", "result", "termination", "first_time", "second_time", "times_ms")
"""Columns that always contain the value of the JSON document."""


def _schema(rows: Rows, content: str = "") -> Any:
    fields = [
        (column.name, _TYPES[column.type] if column.type in _TYPES else pa.type_for_alias(column.type))
        for column in rows.columns
    ]
    return pa.schema(fields, {"noughts": str(SCHEMA_VERSION), "content": content})


_GAMES = _schema(Rows.GAMES)


def _game_row(record: RecordedGame, number: int) -> Iterator[_Row]:
    """Yield the row of a game. A value that its column cannot contain exactly goes into the column `more`."""
    column_values = {
        "winning_cells": winning_cells(record),
        "opening": list(record.opening),
        "scores": _exact(record.scores),
    }
    column_values |= {name: record.more[name] for name in _TEXTS if isinstance(record.more.get(name), str)}
    row, others = dict[str, Any](), dict[str, Any]()
    for name, value in json_document(record).items():
        typed = name in _OWN or (value is not None and column_values.get(name) == value)
        (row if typed else others)[name] = value
    row |= {"number": number, "more": json.dumps(others) if others else None}
    yield tuple(map(row.get, _GAMES.names))


def _exact(scores: list[Any]) -> list[Any]:
    """Return the scores if doubles can hold them exactly, otherwise an empty list."""
    return [] if any(isinstance(score, int) and abs(score) > _LARGEST_EXACT for score in scores) else scores


def _move_rows(record: RecordedGame, number: int) -> Iterator[_Row]:
    won = None if record.score is None else round(2 * record.score - 1)
    numbers = (chain(each, repeat(None)) for each in (record.times_ms, _exact(record.scores)))
    thoughts, comments = record.thoughts, record.comments
    for ply, (cell, time, score) in enumerate(zip(record.moves, *numbers, strict=False)):
        side = ply & 1
        is_choice = ply >= record.first_chosen
        mover = ((record.first, record.second)[side], "XO"[side], cell, is_choice, time if is_choice else None, score)
        thought = thoughts.get(ply, Thought())
        search_ms = thought.time_us / 1000 or None
        search = (thought.depth or None, thought.nodes or None, search_ms, thought.pv or None, comments.get(ply))
        yield (number, ply, record.variant, *mover, *search, -won if won and side else won)


def _position_rows(record: RecordedGame, number: int) -> Iterator[_Row]:
    for ply, (board, side, move, result) in enumerate(samples(record), record.first_chosen):
        yield (number, ply, record.variant, board.translate(MARKS).decode(), "XO"[side], move, result)


_ROWS_OF = {Rows.GAMES: _game_row, Rows.MOVES: _move_rows, Rows.POSITIONS: _position_rows}


class ParquetOutput:
    """Writes the rows of games into a file. The rows are in groups of limited size, so that memory is bounded."""

    def __init__(self, writer: Any, rows: Rows) -> None:
        self.rows = 0
        self.games = Counter[str]()
        """The number of games by variant."""
        self._rows_of = _ROWS_OF[rows]
        self._writer = writer
        self._waiting: list[_Row] = []
        self._characters = 0

    def write(self, record: RecordedGame) -> None:
        """Add a game. Raises RecordError."""
        numbers = ((record.seed or 0, _LARGEST_SEED), *((cell, _LARGEST_CELL) for cell in record.moves))
        if wrong := next((number for number, most in numbers if not 0 <= number <= most), None):
            raise RecordError(f"the number {wrong}", f"cells up to {_LARGEST_CELL:,}, seeds of 64 bits, for Parquet")
        self.games[record.variant] += 1
        rows = list(self._rows_of(record, self.games.total()))
        self._waiting += rows
        # All rows of a game are of about the same size, except for the comments on moves.
        self._characters += len(rows) * sum(len(value) for row in rows[:1] for value in row if isinstance(value, str))
        if self._rows_of is _move_rows:
            self._characters += sum(map(len, record.comments.values()))
        if len(self._waiting) >= _GROUP_ROWS or self._characters >= _GROUP_CHARACTERS:
            self.write_group()

    def write_group(self) -> None:
        """Write the collected rows as a group."""
        if self._waiting:
            self.rows += len(self._waiting)
            schema = self._writer.schema
            arrays = map(pa.array, zip(*self._waiting, strict=True), schema.types)
            self._writer.write_table(pa.Table.from_arrays(list(arrays), schema=schema))
            self._waiting.clear()
            self._characters = 0


@contextmanager
def parquet_output(out: IO[bytes], rows: Rows, content: str = "") -> Iterator[ParquetOutput]:
    """Yield the output into a file. `content` is a mark that `has_content` finds in the file."""
    with pq.ParquetWriter(out, _schema(rows, content), compression="zstd", write_page_checksum=True) as writer:
        output = ParquetOutput(writer, rows)
        yield output
        output.write_group()


def has_content(file: Path, content: str) -> bool:
    """Return whether this is a complete file with the mark `content`. It does not use the decoder."""
    if not file.is_file():
        return False
    with file.open("rb") as source:
        source.seek(max(0, file.stat().st_size - _END_BYTES))
        end = source.read()
    return content.encode() in end and end.endswith(b"PAR1")


def read_parquet(file: str) -> Iterator[PlacedGame]:
    """Yield the games of a file. The line of a game is its number in the file. Raises OSError."""
    with open(file, "rb") as source, TemporaryDirectory(prefix="noughts-parquet-") as scratch:
        command = python("-m", "noughts_server.records.parquet_child", scratch)
        count = 0
        with subprocess.Popen(
            command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
        ) as child:
            try:
                for count, line in enumerate(child.stdout or (), start=1):
                    if line.startswith(b'"'):
                        yield PlacedGame(count, RecordError(json.loads(line), _EXPECTED))
                    else:
                        yield from (placed._replace(line=count) for placed in read_json_lines([line.decode()]))
                if code := child.wait():
                    memory = f"{READER_BYTES >> 30} GiB of memory"
                    got = f"a Parquet file that cannot be read: its reader, with {memory}, ended with code {code}"
                    yield PlacedGame(count + 1, RecordError(got, _EXPECTED))
            finally:
                child.kill()


def lines_of(file: IO[bytes]) -> Iterator[str]:
    """Yield each game of a file as a line of JSON, and each error as a line with a JSON text. Only for a sandbox."""
    try:
        parquet = pq.ParquetFile(file, page_checksum_verification=True, buffer_size=1 << 20, pre_buffer=False)
        names = parquet.schema_arrow.names
        version = int((parquet.schema_arrow.metadata or {}).get(b"noughts", SCHEMA_VERSION))
        if "moves" not in names:
            raise ValueError(f"no column 'moves', but {', '.join(names)}")
        if version > SCHEMA_VERSION:
            raise ValueError(f"its schema has version {version}")
        kinds = pa.schema([field for field in _GAMES if field.name in names and field.name != "number"])
        most = _rows_at_once(parquet.metadata)
        for batch in parquet.iter_batches(most, columns=kinds.names, use_threads=False):
            batch.validate(full=True)
            seeds: list[Any] = batch["seed"].to_pylist() if "seed" in kinds.names else []
            if any(isinstance(seed, float) and seed > _LARGEST_EXACT for seed in seeds):
                raise ValueError("its seeds are floating-point numbers, which have lost digits")
            yield from map(_line, batch.select(kinds.names).cast(kinds).to_pylist())
    except Exception as error:  # errors of many types, of pyarrow and of Python
        yield json.dumps(f"a Parquet file that cannot be read ({error})") + "\n"


def _rows_at_once(metadata: Any) -> int:
    """Return the number of rows to decode at once. It is smaller if games have long comments, so that they fit."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    largest: int = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=1)
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(1, largest)))


def _line(row: dict[str, Any]) -> str:
    document = {name: value for name, value in row.items() if value is not None}
    try:
        line = json.dumps(document | json.loads(document.pop("more", "{}")))
    except (RecursionError, ValueError, TypeError) as error:
        line = json.dumps(f"a value of 'more' that is not a JSON object ({error})")
    return (line if len(line) <= _LONGEST_LINE else json.dumps(f"a game of over {_LONGEST_LINE:,} characters")) + "\n"
