"""The file of JSON lines that `-o` writes while games are played."""

import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

from noughts_server.records.json_lines import json_line
from noughts_server.records.replay import stored_record

if TYPE_CHECKING:
    from noughts_server.store.games.exports import ExportedGame


STDOUT = Path("-")
"""The target that is the standard output."""

_LINES_AT_ONCE = 1_000


class GamesFile:
    """A file to which games are appended while a tournament runs.

    Other processes that read it find whole lines, even if this process was killed. The file is created next to its
    target and replaces the target with the first games; until then an existing target stays. A target that is not an
    ordinary file (a pipe, a device) is written directly, and `-` is the standard output.
    """

    def __init__(self, target: Path, *, times: bool = False) -> None:
        """With `times`, the lines have the times of the moves."""
        self._target = Path(os.path.realpath(target))
        self._times = times
        self._file: TextIO
        self._is_stdout = target == STDOUT
        self._is_ordinary = not self._is_stdout and (self._target.is_file() or not self._target.exists())
        self._has_final_name = not self._is_ordinary
        """Whether the file has the name of the target; an ordinary one gets it with the first games."""
        if self._is_stdout:
            self._file = sys.stdout
            self._target = Path("standard output")  # the name in errors
            return
        self._path = self._target
        if self._is_ordinary:
            self._path = self._target.with_name(f".{self._target.name}.{secrets.token_hex(4)}.tmp")
        # Open the file now, so that the user sees an error before the games and not after them.
        with _errors_naming(target):
            self._file = open(self._path, "w", encoding="ascii", newline="\n")  # noqa: SIM115  # closed in __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._is_stdout:
            return
        # After a failed write, closing tries again and fails again; only the first failure should be reported.
        with suppress(OSError) if kind else _errors_naming(self._target):
            if self._is_ordinary:
                os.fsync(self._file.fileno())
            self._file.close()
        if not self._has_final_name:
            self._path.unlink(missing_ok=True)

    def write(self, games: "Iterable[ExportedGame]") -> None:
        """Append games. After the first call the target exists, even if there was no game."""
        lines = (json_line(stored_record(game, times=self._times)) for game in games)
        while batch := list(islice(lines, _LINES_AT_ONCE)):
            with _errors_naming(self._target):
                self._file.write("".join(batch))
                self._file.flush()
                self._replace_target()
        with _errors_naming(self._target):
            self._replace_target()

    def _replace_target(self) -> None:
        if not self._has_final_name:
            self._path.replace(self._target)
            self._has_final_name = True


@contextmanager
def _errors_naming(target: Path) -> Iterator[None]:
    """Set the name in errors of the file to the target that the user named."""
    try:
        yield
    except OSError as error:
        error.filename = str(target)
        raise
