"""Read and write files of games, one game at a time, in the format of their name.

`.jsonl`, `.sgf`, `.parquet`, `.pgn` and `.csv` files have any number of games, a `.psq` file has one: many are a
folder, `games.psq/`, of numbered files.
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
from noughts_server.records.recorded_game import Placed, RecordError
from noughts_server.records.sgf import declared_encoding, read_sgf, sgf_text
from noughts_server.tables.recorded_game import RecordedGame

PARQUET = ".parquet"
FORMATS = (".jsonl", ".sgf", ".psq", PARQUET, ".pgn", ".csv")
WITHOUT_MOVES = (".pgn", ".csv")
"""Formats with results only."""
WITH_TOURNAMENTS = (".jsonl", ".sgf", PARQUET)
"""Formats whose last game can report byes, withdrawals and a bracket."""
_READERS = {".jsonl": read_json_lines, ".pgn": read_pgn, ".csv": read_csv}
GUESSED = "guessed"
"""The format of a file with another name: JSON lines if it begins with `{`, otherwise CSV."""
ENCODING_OPTION = "--encoding"
"""The option of commands that read files."""
_ENCODING = "utf-8"


class FormatError(ExplainedError):
    """A file that cannot have the format of its name."""

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
    """The encoding of text files without a byte order mark. By default that in the property CA of SGF, or UTF-8."""
    variant: str = ""
    """The variant of games in SGF and psq files that name no rule; by default free five in a row."""


DIALECT = Dialect()
"""For files that omit nothing."""


def read_games(file: str, *, form: str = "", dialect: Dialect = DIALECT) -> Iterator[Placed]:
    """Yield the games in a file or a folder of `.psq` files, in order, one at a time in memory.

    The format is `form`, by default that of the name; `GUESSED` for a file with another name. Invalid games are yielded
    as errors. Raises FormatError, UnknownEncoding, OSError.
    """
    suffix = form or format_of(file)
    path = Path(file)
    if suffix == ".psq":
        paths = sorted(each for each in path.iterdir() if each.suffix.lower() == ".psq") if path.is_dir() else [path]
        if not paths:
            raise FormatError(f"{file}: got a folder without .psq files, expected some")
        for each in paths:
            yield _psq(each, each.name if path.is_dir() else "", dialect)
        return
    if suffix == PARQUET:
        from noughts_server.records.parquet import read_parquet

        yield from read_parquet(file)
        return
    declares = {"declared": declared_encoding} if suffix == ".sgf" else {}
    with TextLines(path, dialect.encoding, option=ENCODING_OPTION, **declares) as lines:
        try:
            if suffix == ".sgf":
                declared = lines.encoding if lines.is_declared else ""
                yield from read_sgf(lines, assumed=dialect.variant, encoding=declared)
            elif suffix == GUESSED:
                yield from _read_guessed(iter(lines))
            else:
                yield from _READERS[suffix](lines)
        except WrongBytes as error:
            yield Placed(error.line, RecordError(error.got, error.expected, error.fix))


def _read_guessed(lines: Iterator[str]) -> Iterator[Placed]:
    """Yield the games of lines that are read once, because they can come from a pipe."""
    begin = []
    for line in lines:
        begin.append(line)
        if line.strip():
            break
    is_json = bool(begin) and begin[-1].lstrip().startswith("{")
    return _READERS[".jsonl" if is_json else ".csv"](chain(begin, lines))


def _psq(path: Path, name: str, dialect: Dialect) -> Placed:
    try:
        with TextLines(path, dialect.encoding, option=ENCODING_OPTION) as lines:
            return Placed(1, read_psq(lines, assumed=dialect.variant), name)
    except WrongBytes as error:
        return Placed(error.line, RecordError(error.got, error.expected, error.fix), name)
    except RecordError as error:
        return Placed(1, error, name)


@contextmanager
def writing_games(file: str, made: DataSet = DataSet()) -> Iterator[Callable[[RecordedGame], None]]:
    """Return a function that writes a game. The file or folder exists after the block ends without an error.

    It raises RecordError for a game that the format cannot have, FormatError for the second game of a `.psq` file. An
    ordinary Parquet file gets a card next to it.
    """
    suffix, path = format_of(file), Path(file)
    if suffix == PARQUET:
        from noughts_server.records.parquet import parquet_output

        with replacing(path) as out, parquet_output(out.buffer, made.rows) as output:
            yield output.write
        if path.is_file():
            made.write_card(path, output.rows, output.games)
        return
    if made.rows is not Rows.GAMES:
        raise FormatError(f"{file}: got a file of games, expected one that ends in {PARQUET}, for {made.rows}")
    if made.license:
        raise FormatError(f"{file}: got a licence, expected a file that ends in {PARQUET}, which has a card")
    if suffix == ".psq":
        with _writing_psq(file) as write:
            yield write
        return
    texts: dict[str, Callable[[RecordedGame, int], str]] = {
        ".jsonl": lambda record, number: json_line(record),
        ".sgf": sgf_text,
        ".pgn": lambda record, number: pgn_text(record),
        ".csv": lambda record, number: csv_text(record),
    }
    text = texts[suffix]
    count = 0
    with replacing(path) as out:
        if suffix == ".csv":
            out.write(CSV_HEAD)

        def write(record: RecordedGame) -> None:
            nonlocal count
            count += 1
            out.write(text(record, count))

        yield write


@contextmanager
def _writing_psq(file: str) -> Iterator[Callable[[RecordedGame], None]]:
    path = Path(file)
    if not (file.endswith(os.sep) or path.is_dir()):
        with replacing(path) as out:
            yield _one_game(file, out)
        return
    path.mkdir(exist_ok=True)
    if any(each.suffix.lower() == ".psq" for each in path.iterdir()):
        raise FormatError(f"{file}: got a folder with .psq files, expected a new one, or one without")
    count = 0

    def write(record: RecordedGame) -> None:
        nonlocal count
        count += 1
        with replacing(path / f"{count:06}.psq") as out:
            out.write(psq_text(record))

    yield write


def _one_game(file: str, out: TextIO) -> Callable[[RecordedGame], None]:
    def write(record: RecordedGame) -> None:
        if out.tell():
            hint = f"{file}{os.sep} makes a folder of numbered files"
            raise FormatError(f"{file}: got more than one game, expected one, as in each .psq file; {hint}")
        out.write(psq_text(record))

    return write


@contextmanager
def replacing(target: Path) -> Iterator[TextIO]:
    """Open a file next to the target that replaces it if the block ends without an error, and is deleted otherwise.

    A target that is not an ordinary file (a pipe, a device) is written directly.
    """
    if target.exists() and not target.is_file():
        with open(target, "w", encoding=_ENCODING, newline="\n") as out:
            yield out
        return
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(beside, "w", encoding=_ENCODING, newline="\n") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        beside.replace(target)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(beside)):
            error.filename = str(target)
        raise
