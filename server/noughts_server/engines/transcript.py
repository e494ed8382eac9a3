"""Transcripts of engines with times: a file for each game, and one for lines other than moves."""

import errno
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self, TextIO

from noughts_bots.gomocup.protocol import word_and_rest
from noughts_referee.game import Game
from noughts_referee.monotonic import microseconds

_MESSAGES = ("MESSAGE", "DEBUG", "ERROR", "UNKNOWN")
LARGEST_BYTES = 8 << 20
"""Limit of the lines of one engine in one game. An engine that thinks for minutes writes less than 1 MB."""
_LINE_BYTES = 100
"""Bytes of a line besides its text."""
_Line = tuple[int, str, str, str]
"""The time in microseconds, the engine's label, the direction (< to it, > from it, # about it), and the text.

Lines are formatted after the game, because that takes longer than storing them and the opponent waits.
"""


class _Record:
    """The lines of a game in progress."""

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.seats = 0
        """The number of engines that still play it."""
        self.lines: list[_Line] = []


class Transcripts:
    """The transcripts of a run. A context manager that creates the file and the folder when entered."""

    def __init__(self, folder: Path | None = None, messages: Path | None = None, *, appends: bool = False) -> None:
        """Prepare the transcripts. `folder` gets a file for each game, `messages` a line (JSON) for each message.

        If the run resumes an earlier one, they are appended to its files.
        """
        self._appends = appends
        self._folder = folder
        self._path = messages
        self._messages: TextIO | None = None
        self._records: dict[int, _Record] = {}
        self._began_us = microseconds()
        # The next game does not wait for the disk.
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="transcripts")
        self.failure: OSError | None = None
        """The error after which nothing more is written; the games continue without their transcripts."""

    def __enter__(self) -> Self:
        """Create the files. Raises OSError, and FileExistsError for a folder with logs of an earlier run."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            earlier = None if self._appends else next(filter(Path.is_file, self._folder.glob("*.log")), None)
            if earlier is not None:
                message = f"got a folder with logs of an earlier run ({earlier.name}), expected one without"
                raise FileExistsError(errno.EEXIST, message, str(self._folder))
        if self._path is not None:
            self._messages = self._path.open("a" if self._appends else "w", encoding="utf-8")
        return self

    def __exit__(self, *exception: object) -> None:
        for record in list(self._records.values()):
            self._finish_record(record)
        self._writer.shutdown()
        if self._messages is not None:
            try:
                self._messages.close()
            except OSError as failure:
                self.failure = self.failure or failure

    def of(self, label: str) -> "Transcript | None":
        """Return the transcript of a seat of the bot with this label; None if transcripts are off."""
        return None if self._folder is None and self._path is None else Transcript(self, label)

    def begin(self, ordinal: int) -> _Record:
        """Record that an engine begins the game with this number."""
        record = self._records.setdefault(ordinal, _Record(ordinal))
        record.seats += 1
        return record

    def finish(self, record: _Record) -> None:
        """Record that an engine has finished the game of the record."""
        record.seats -= 1
        if not record.seats:
            self._finish_record(record)

    def message(self, ordinal: int, ply: int, label: str, line: str) -> None:
        """Record a line of an engine other than a move."""
        if self._messages is not None and self.failure is None:
            document = {"game": ordinal, "ply": ply, "bot": label, "line": line}
            try:
                self._messages.write(json.dumps(document, ensure_ascii=False) + "\n")
            except OSError as error:
                self.failure = error

    def _finish_record(self, record: _Record) -> None:
        self._records.pop(record.ordinal, None)
        if self._folder is not None and record.lines:
            self._writer.submit(self._write, self._folder / f"{record.ordinal:06d}.log", record.lines)

    def _write(self, path: Path, lines: Sequence[_Line]) -> None:
        if self.failure is None:
            try:
                with path.open("a", encoding="utf-8") as file:
                    for at_us, label, direction, text in lines:
                        file.write(f"{(at_us - self._began_us) / 1e6:12.6f} {label} {direction} {text}\n")
            except OSError as error:
                self.failure = error


class Transcript:
    """The transcript of one seat. Lines before its first game belong to that game."""

    def __init__(self, transcripts: Transcripts, label: str) -> None:
        self._transcripts = transcripts
        self._label = label
        self._early: list[_Line] = []
        self._record: _Record | None = None
        self._moves: Sequence[int] = ()
        self._bytes_left = LARGEST_BYTES
        """Bytes of further lines that are kept; negative if some were left out."""

    def begin(self, game: Game) -> None:
        self._record = self._transcripts.begin(game.slot[0])
        self._moves = game.moves
        self._record.lines += self._early
        self._early.clear()

    def finish(self) -> None:
        if self._record is not None:
            self._transcripts.finish(self._record)
            self._record = None
        self._bytes_left = LARGEST_BYTES

    def record_commands(self, commands: Sequence[str]) -> None:
        """Record commands to the engine."""
        self._keep("<", commands)

    def note(self, text: str) -> None:
        """Record a note of the server."""
        self._keep("#", (text,))

    def record_line(self, line: str) -> None:
        """Record a line of the engine, unless its lines in this game are too long together."""
        if self._bytes_left < 0:
            return
        self._bytes_left -= len(line) + _LINE_BYTES
        if self._bytes_left < 0:
            self.note(f"wrote more than {LARGEST_BYTES >> 20} MiB in this game: its further lines are left out")
            return
        self._keep(">", (line,))
        if self._record is not None and word_and_rest(line)[0] in _MESSAGES:
            self._transcripts.message(self._record.ordinal, len(self._moves), self._label, line)

    def _keep(self, direction: str, lines: Sequence[str]) -> None:
        record_lines = self._early if self._record is None else self._record.lines
        now = microseconds()
        for line in lines:
            record_lines.append((now, self._label, direction, line))
