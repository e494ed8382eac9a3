"""Reads and writes files of games, one game at a time, in the format that the file's name determines.

`.jsonl`, `.sgf`, `.parquet`, `.pgn` and `.csv` files have any number of games. A `.psq` file has one game; several
games are a folder of numbered files, such as `games.psq/`.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TextIO

from noughts_proto.errors import USAGE, ExplainedError
from noughts_server.core.text_files import TextLines, WrongBytes
from noughts_server.records.csv_rows import CSV_HEAD, csv_text, read_csv
from noughts_server.records.data_set import DataSet, Rows
from noughts_server.records.json_lines import json_line, read_json_lines
from noughts_server.records.pgn import pgn_text, read_pgn
from noughts_server.records.psq import psq_text, read_psq
from noughts_server.records.recorded_game import PlacedGame, RecordError
from noughts_server.records.sgf import declared_encoding, read_sgf, sgf_text
from noughts_server.tables.recorded_game import RecordedGame

PARQUET = ".parquet"
FORMATS = (".jsonl", ".sgf", ".psq", PARQUET, ".pgn", ".csv")
WITHOUT_MOVES = (".pgn", ".csv")
"""Formats with results only. Games in PGN files of ours have moves if bots reported scores."""
WITH_TOURNAMENTS = (".jsonl", ".sgf", PARQUET)
"""Formats whose last game can have the facts of the tournament: byes, withdrawals and a bracket."""
_READERS = {".jsonl": read_json_lines, ".pgn": read_pgn, ".csv": read_csv}
GUESSED = "guessed"
"""The format of a file with any other name: JSON lines if it begins with `{`, otherwise CSV."""
ENCODING_OPTION = "--encoding"
"""The option by which users name the encoding, for error messages."""
_OUTPUT_ENCODING = "utf-8"


class FormatError(ExplainedError):
    """A file whose name or content does not fit a format of games."""

    exit_code = USAGE


def format_of(file: str) -> str:
    """Return the format of a file's name: one of `FORMATS`. Raises FormatError."""
    suffix = Path(file).suffix.lower()
    if suffix not in FORMATS:
        raise FormatError(f"{file}: got the name {Path(file).name!r}, expected one that ends in {', '.join(FORMATS)}")
    return suffix


class Dialect(NamedTuple):
    """The facts that files of other programs omit."""

    encoding: str = ""
    """The encoding of text files without a byte order mark; by default the property CA of SGF files, or UTF-8."""
    variant: str = ""
    """The variant of games in SGF and psq files that name no rule; by default free five in a row."""


DIALECT = Dialect()
"""The dialect with the default encoding and variant."""


def read_games(file: str, *, form: str = "", dialect: Dialect = DIALECT) -> Iterator[PlacedGame]:
    """Yield the games in a file or a folder of `.psq` files, in order, with one game at a time in memory.

    `form` is a format or `GUESSED`; by default the file's name determines the format. For an invalid game, an error is
    yielded. Raises FormatError, UnknownEncoding, OSError.
    """
    suffix = form or format_of(file)
    path = Path(file)
    if suffix == ".psq":
        if not path.is_dir():
            yield _read_psq_file(path, "", dialect)
            return
        files = _psq_files(path)
        if not files:
            raise FormatError(f"{file}: got a folder without .psq files, expected some")
        for psq_file in files:
            yield _read_psq_file(psq_file, psq_file.name, dialect)
        return
    if suffix == PARQUET:
        from noughts_server.records.parquet import read_parquet

        yield from read_parquet(file)
        return
    options = {"declared": declared_encoding} if suffix == ".sgf" else {}
    with TextLines(path, dialect.encoding, option=ENCODING_OPTION, **options) as lines:
        try:
            if suffix == ".sgf":
                encoding = lines.encoding if lines.is_declared else ""
                yield from read_sgf(lines, assumed=dialect.variant, encoding=encoding)
            elif suffix == GUESSED:
                yield from _read_guessed(iter(lines))
            else:
                yield from _READERS[suffix](lines)
        except WrongBytes as error:
            yield PlacedGame(error.line, RecordError(error.got, error.expected, error.fix))


def _read_guessed(lines: Iterator[str]) -> Iterator[PlacedGame]:
    """Yield the games of lines in the format that the first line that is not blank shows.

    The lines can come from a pipe, so they are read only once.
    """
    first_lines = []
    for line in lines:
        first_lines.append(line)
        if line.strip():
            break
    is_json = bool(first_lines) and first_lines[-1].lstrip().startswith("{")
    return _READERS[".jsonl" if is_json else ".csv"](chain(first_lines, lines))


def _psq_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix.lower() == ".psq")


def _read_psq_file(path: Path, name: str, dialect: Dialect) -> PlacedGame:
    try:
        with TextLines(path, dialect.encoding, option=ENCODING_OPTION) as lines:
            return PlacedGame(1, read_psq(lines, assumed=dialect.variant), name)
    except WrongBytes as error:
        return PlacedGame(error.line, RecordError(error.got, error.expected, error.fix), name)
    except RecordError as error:
        return PlacedGame(1, error, name)


@contextmanager
def writing_games(file: str, data_set: DataSet = DataSet()) -> Iterator[Callable[[RecordedGame], None]]:
    """Yield a function that writes a game. The file or folder exists after the block ends without an error.

    The function raises RecordError for a game that the format cannot have, and FormatError for the second game of a
    `.psq` file. A Parquet file gets a card next to it, unless it is a pipe or a device.
    """
    suffix = format_of(file)
    path = Path(file)
    if suffix == PARQUET:
        from noughts_server.records.parquet import parquet_output

        with replacing(path) as out, parquet_output(out.buffer, data_set.rows) as output:
            yield output.write
        if path.is_file():
            data_set.write_card(path, output.rows, output.games)
        return
    if data_set.rows is not Rows.GAMES:
        raise FormatError(f"{file}: got a file of games, expected one that ends in {PARQUET}, for {data_set.rows}")
    if data_set.license:
        raise FormatError(f"{file}: got a licence, expected a file that ends in {PARQUET}, which has a card")
    if suffix == ".psq":
        with _writing_psq(file) as write:
            yield write
        return
    text_functions: dict[str, Callable[[RecordedGame, int], str]] = {
        ".jsonl": lambda record, number: json_line(record),
        ".sgf": sgf_text,
        ".pgn": lambda record, number: pgn_text(record),
        ".csv": lambda record, number: csv_text(record),
    }
    text_of = text_functions[suffix]
    count = 0
    with replacing(path) as out:
        if suffix == ".csv":
            out.write(CSV_HEAD)

        def write(record: RecordedGame) -> None:
            nonlocal count
            count += 1
            out.write(text_of(record, count))

        yield write


@contextmanager
def _writing_psq(file: str) -> Iterator[Callable[[RecordedGame], None]]:
    path = Path(file)
    if not (file.endswith(os.sep) or path.is_dir()):
        with replacing(path) as out:
            yield _writer_of_one_game(file, out)
        return
    path.mkdir(exist_ok=True)
    if _psq_files(path):
        raise FormatError(f"{file}: got a folder with .psq files, expected a new one, or one without")
    count = 0

    def write(record: RecordedGame) -> None:
        nonlocal count
        count += 1
        with replacing(path / f"{count:06}.psq") as out:
            out.write(psq_text(record))

    yield write


def _writer_of_one_game(file: str, out: TextIO) -> Callable[[RecordedGame], None]:
    def write(record: RecordedGame) -> None:
        if out.tell():
            hint = f"{file}{os.sep} makes a folder of numbered files"
            raise FormatError(f"{file}: got more than one game, expected one, as in each .psq file; {hint}")
        out.write(psq_text(record))

    return write


@contextmanager
def replacing(target: Path) -> Iterator[TextIO]:
    """Open a temporary file next to the target. If the block ends without an error, the file replaces the target.

    Otherwise it is deleted. A target that is not an ordinary file (a pipe, a device) is written directly.
    """
    if target.exists() and not target.is_file():
        with open(target, "w", encoding=_OUTPUT_ENCODING, newline="\n") as out:
            yield out
        return
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "w", encoding=_OUTPUT_ENCODING, newline="\n") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = str(target)
        raise
