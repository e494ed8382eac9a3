"""Read text files of other programs: find the encoding, and refuse bytes that this encoding does not have.

A byte order mark decides. Without one the encoding is the one that the user names, then the one that the file declares,
then UTF-8. No character is replaced, so that two names with different bytes never become one name.
"""

import codecs
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from noughts_proto.errors import USAGE, ExplainedError

UTF_8 = "utf-8"
_PIECE = 1 << 16
_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_SUPERSETS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "ascii": UTF_8,
}
"""Larger encodings by the names of smaller ones, because programs use the smaller name for both."""
_JIS_ESCAPES = (b"\x1b$", b"\x1b(J")
_EXAMPLES = "gb18030, big5, shift_jis, euc_kr or latin-1"


class UnknownEncoding(ExplainedError, ValueError):
    """The name of an encoding that does not exist."""

    exit_code = USAGE


class WrongBytes(ValueError):
    """A text file has bytes that its encoding does not have."""

    def __init__(self, line: int, got: str, expected: str, fix: str) -> None:
        super().__init__(f"line {line:,}: got {got}, expected {expected}")
        self.line = line
        self.got = got
        self.expected = expected
        self.fix = fix


def codec_of(name: str) -> str:
    """Return the codec for an encoding's name as users and files write it; empty if there is none."""
    try:
        codec = codecs.lookup(name.strip().replace(" ", "_"))
    except (LookupError, ValueError):
        return ""
    if not codec._is_text_encoding:
        return ""
    return _SUPERSETS.get(codec.name, codec.name)


class TextLines:
    """The lines of a text file, each with `\\n` at its end, a piece of the file at a time in memory."""

    def __init__(
        self, file: Path, encoding: str = "", *, declared: Callable[[bytes], str] = lambda begin: "", option: str = ""
    ) -> None:
        """Open the file. Raises UnknownEncoding and OSError.

        `declared` returns the encoding that the beginning of a file declares, or an empty text. `option` is the option
        that names the encoding, for errors.
        """
        self._option = option
        name = codec_of(encoding) if encoding else ""
        if encoding and not name:
            raise UnknownEncoding(f"{option} {encoding!r}: expected a known encoding, e.g. {_EXAMPLES}")
        self._file = file.open("rb")
        self._begin = self._file.read1(_PIECE)
        marks = ((mark, encoding) for mark, encoding in _MARKS if self._begin.startswith(mark))
        mark, mark_encoding = next(marks, (b"", ""))
        self._offset = len(mark)
        self._is_guessed = not (mark_encoding or name)
        self.encoding = mark_encoding or name or codec_of(declared(self._begin)) or UTF_8
        self.is_declared = self._is_guessed and bool(codec_of(declared(self._begin)))
        """Whether the file itself declares its encoding other than by a byte order mark."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[str]:
        """Yield the lines. Raises WrongBytes with the line and offset of the first wrong byte."""
        line_parts: list[str] = []
        for text in self._texts():
            first, *rest = text.split("\n")
            line_parts.append(first)
            for line in rest:
                yield "".join(line_parts) + "\n"
                line_parts = [line]
        if last := "".join(line_parts):
            yield last

    def _texts(self) -> Iterator[str]:
        """Yield the text in pieces, in which every line break is `\\n`."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        newlines = io.IncrementalNewlineDecoder(None, translate=True)
        piece = self._begin[self._offset :]
        line = 1
        offset = self._offset
        if self._is_guessed and piece.count(0) > len(piece) // 4:
            self._refuse(1, piece.index(0), "a NUL byte as in UTF-16 without a byte order mark", "utf-16-le")
        while True:
            if self._is_guessed and (escape := next(filter(piece.__contains__, _JIS_ESCAPES), b"")):
                before = piece[: piece.index(escape)]
                self._refuse(line + before.count(b"\n"), offset + len(before), "an escape of ISO-2022-JP", "iso2022_jp")
            try:
                text = newlines.decode(decoder.decode(piece, final=not piece), final=not piece)
            except UnicodeDecodeError as error:
                # The decoder's object can begin with bytes of the piece before.
                before = error.object[: error.start]
                start = offset - (len(error.object) - len(piece)) + error.start
                lines = newlines.decode(before.decode(self.encoding, "replace")).count("\n")
                byte = error.object[error.start : error.start + 1].hex().upper()
                self._refuse(line + lines, start, f"the byte 0x{byte}, which is not {self.encoding}")
            except UnicodeError as error:  # some encodings name no byte
                self._refuse(line, offset, f"bytes that are not {self.encoding} ({error})")
            yield text
            if not piece:
                return
            line = line + text.count("\n")
            offset = offset + len(piece)
            piece = self._file.read1(_PIECE)

    def _refuse(self, line: int, offset: int, got: str, encoding: str = "") -> None:
        alternative = f", or name its encoding: {self._option} {encoding or _EXAMPLES}" if self._option else ""
        fix = f"Save the file as UTF-8{alternative}."
        raise WrongBytes(line, f"{got}, at offset {offset:,}", f"text in {self.encoding}", fix)
