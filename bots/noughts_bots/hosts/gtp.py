"""Engines that use the Go Text Protocol, version 2, and play five in a row: `gtp:COMMAND`.

The commands are `boardsize N`, `clear_board`, `play black H8`, `time_left` and `genmove`. One process plays all games:
before each question it gets the moves that it has not seen, or all moves on a cleared board. Black moves first. Boards
are square, up to 25, because columns are letters (without I). Source: the protocol's specification, version 2, draft 2.

Commands have numbers, which the engine repeats in its answers, so that other output and second answers are ignored. For
an engine that does not repeat them, output before a command does not count as its answer.

With the option `analysis=on`, the command is `lz-genmove_analyze`, which Leela Zero and KataGo know. The engine writes
`info move H8 visits 812 winrate 5210 pv H8 I9` while it thinks, and then `play H8`.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from noughts_bots.gomocup.scores import score_of_chance
from noughts_bots.hosts.lines import Program, ended, excerpt, start_bot
from noughts_bots.sdk.bot import Bot, Move, Resign
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Position, Variant
from noughts_referee.rules.thoughts import LONGEST_PV

_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
_COLOURS = ("black", "white")
_LONGEST_LINE = 64 * 1024
"""Bytes of a line that are read at once. The rest of a longer line is read and ignored."""
_LONGEST_ROW = 10
"""Digits of a row. Python refuses to read thousands of them."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""Characters that the protocol ignores in lines, such as the CR before LF."""
_ANSWER = re.compile(r"([=?])(\d*)(?:\s+(.*)|(\D.*))?")
_DECIMAL = re.compile(r"[0-9]{1,16}(?:\.[0-9]{1,16})?")
_REPORT_HUNDREDTHS = 50
"""The time between two lines of analysis, in hundredths of a second."""
_FIRST_ANSWER_SECONDS = 2.0
"""The time for an answer to the first command; then it is sent without a number as well."""
_SILENCE_SECONDS = 0.2
"""The silence after the first command if it was sent twice: the engine can answer twice."""


def load(target: str, options: Mapping[str, str]) -> Bot:
    analysis = options.get("analysis", "off")
    if analysis not in ("on", "off"):
        advice = "as in gtp{analysis=on}:COMMAND"
        raise BotSpecError(f"bot 'gtp:{target}', option analysis", repr(analysis), "on or off", advice)
    return start_bot("gtp", target, partial(GtpBot, analyses=analysis == "on"))


class GtpRefused(Exception):
    """The engine refused a command: it answered `? ...`."""


class GtpBot(Bot):
    """A GTP engine. Raises OSError if it cannot start."""

    variants = ("gomoku", "gomoku:exact", "renju", "caro")

    def __init__(self, command: Sequence[str], *, analyses: bool = False) -> None:
        self._engine = Program(command)
        self._analyses = analyses
        self._variant: Variant | None = None
        self._moves: list[int] = []
        self._number = 0
        """The number of the last command."""
        self._repeats_numbers: bool | None = None
        """Whether the engine repeats the numbers of commands; None if not known yet."""

    def choose(self, position: Position) -> Move:
        variant = position.variant
        if variant.rows != variant.columns or variant.layers != 1 or variant.columns > len(_LETTERS) or variant.gravity:
            raise Resign(f"GTP supports only square flat boards up to {len(_LETTERS)}, not {variant.name}")
        try:
            self._catch_up(position)
            if position.own_clock_us:
                with suppress(GtpRefused):  # not every engine knows this command
                    seconds = max(1, position.limit_us // 1_000_000)
                    self._ask(f"time_left {_COLOURS[position.side]} {seconds} 0")
            answer, info = self._genmove(_COLOURS[position.side])
            cell = cell_of(answer, variant)
        except EOFError:
            raise ended("engine", self.close()) from None
        except GtpRefused as refusal:
            self._variant = None
            raise Resign(f"the engine refused {refusal}") from None
        except Resign:
            self._variant = None  # The engine has possibly placed a stone.
            raise
        self._moves.append(cell)
        return move_of(cell, info, variant)

    def _genmove(self, colour: str) -> tuple[str, str]:
        """Return the engine's point or `resign`, and the last line of its analysis."""
        if not self._analyses:
            return self._ask(f"genmove {colour}", wants_text=True), ""
        line = self._ask(f"lz-genmove_analyze {colour} {_REPORT_HUNDREDTHS}")
        info = ""
        while not line.startswith("play "):
            info = line if line.startswith("info ") else info
            line = self._line()
        return line.removeprefix("play "), info

    def close(self) -> int:
        """Ask the engine to quit, and stop it if it does not. Return its exit code; negative: the signal."""
        with suppress(ValueError):  # the engine was stopped before, and its pipe is closed
            self._engine.write("quit")
        return self._engine.stop()

    def _ask(self, command: str, *, wants_text: bool = False) -> str:
        """Return the answer without its `=`. Raises GtpRefused for a `?`, and EOFError if the engine has ended."""
        if self._repeats_numbers is None:
            sign, text = self._ask_first(command)
        else:
            if not self._repeats_numbers:
                self._drop_output()
            self._number += 1
            self._engine.write(f"{self._number} {command}" if self._repeats_numbers else command)
            sign, _, text = self._read_answer()
        if sign == "?":
            raise GtpRefused(f"{command!r}: {excerpt(text)}")
        return text if text or not wants_text else self._line()

    def _ask_first(self, command: str) -> tuple[str, str]:
        """Send the first command, and learn whether the engine repeats numbers. Return the sign and the text.

        If the engine refuses or ignores the command with its number, it is sent again without one.
        """
        self._number += 1
        self._engine.write(f"{self._number} {command}")
        try:
            sign, number, text = self._read_answer(_FIRST_ANSWER_SECONDS)
        except TimeoutError:
            return self._ask_again_after_silence(command)
        self._repeats_numbers = number == str(self._number)
        if self._repeats_numbers or sign == "=":
            return sign, text
        self._drop_output()
        self._engine.write(command)
        sign, _, text = self._read_answer()
        return sign, text

    def _ask_again_after_silence(self, command: str) -> tuple[str, str]:
        """Send the first command without its number, because the engine did not answer the one with a number."""
        self._engine.write(command)
        sign, number, text = self._read_answer()
        self._repeats_numbers = number == str(self._number)
        if not self._repeats_numbers:
            if sign == "?":
                # This late answer refuses the command with the number; the next one is for the command without it.
                sign, _, text = self._read_answer()
            self._drop_output(_SILENCE_SECONDS)
        return sign, text

    def _read_answer(self, seconds: float | None = None) -> tuple[str, str, str]:
        """Return the sign, the number and the text of the answer to the last command.

        Only the first line of an answer is used. Its other lines, and other output, go to stderr for the engine's
        author. Raises TimeoutError if the engine writes nothing for `seconds`.
        """
        while True:
            if seconds is not None and not self._engine.has_output(seconds):
                raise TimeoutError
            line = self._line()
            match = _ANSWER.fullmatch(line)
            if match is not None:
                sign, number, spaced_text, adjacent_text = match.groups()
                text = spaced_text or adjacent_text or ""
                # An engine that does not understand a command can refuse it without its number.
                if not self._repeats_numbers or number == str(self._number) or (sign == "?" and not number):
                    return sign, number, text
            if line:
                print(excerpt(line), file=sys.stderr, flush=True)  # noqa: T201  # the engine's author reads it

    def _line(self) -> str:
        """Return the next line. If it is too long, return its last part."""
        line = self._engine.read(_LONGEST_LINE)
        while not line.endswith(b"\n") and len(line) == _LONGEST_LINE:
            line = self._engine.read(_LONGEST_LINE)
        return _CONTROLS.sub("", line.decode(errors="replace")).strip()

    def _drop_output(self, seconds: float = 0.0) -> None:
        """Drop the engine's output until the engine is silent for `seconds`."""
        while self._engine.has_output(seconds):
            self._line()

    def _catch_up(self, position: Position) -> None:
        """Update the engine's board to the position of the question."""
        variant = position.variant
        moves = position.moves
        if self._variant is not variant or self._moves != moves[: len(self._moves)]:
            if self._variant is not variant:
                self._ask(f"boardsize {variant.columns}")
            self._ask("clear_board")
            self._variant = variant
            self._moves = []
        for ply in range(len(self._moves), len(moves)):
            self._ask(f"play {_COLOURS[ply % 2]} {vertex_of(moves[ply], variant)}")
            self._moves.append(moves[ply])


def vertex_of(cell: int, variant: Variant) -> str:
    """Return the cell as in `H8`: columns are letters from the left without I, rows are numbers from the bottom."""
    row, column = divmod(cell, variant.columns)
    return f"{_LETTERS[column]}{variant.rows - row}"


def move_of(cell: int, info: str, variant: Variant) -> Move:
    """Return the move with the values of its report, e.g. `info move H8 visits 812 winrate 5210 pv H8 I9`.

    These are its score, nodes and principal variation.
    """
    for report in info.split("info ")[1:]:
        before, _, line = report.partition(" pv ")
        words = before.split()
        values = dict(zip(words[::2], words[1::2], strict=False))
        if _point(values.get("move", ""), variant) != cell:
            continue
        pv: list[int] = []
        for word in line.split()[:LONGEST_PV]:
            point = _point(word, variant)
            if point is None:
                break
            pv.append(point)
        visits, win_rate = values.get("visits", ""), values.get("winrate", "")
        score = None
        if _DECIMAL.fullmatch(win_rate):
            # Some engines report a share of 1 with a decimal point, others a whole number of hundredths of a percent.
            score = score_of_chance(float(win_rate) / (10_000 if win_rate.isdecimal() else 1))
        return Move(
            cell,
            score,
            nodes=int(visits) if _DECIMAL.fullmatch(visits) and visits.isdecimal() else 0,
            pv=pv,
        )
    return Move(cell)


def _point(text: str, variant: Variant) -> int | None:
    """Return the cell of a point; None if the text is not one."""
    try:
        return cell_of(text, variant)
    except Resign:
        return None


def cell_of(answer: str, variant: Variant) -> int:
    """Return the cell that an answer's first word names. Raises Resign if it names none."""
    text = answer.upper().split(maxsplit=1)[0] if answer.strip() else ""
    if text == "RESIGN":
        raise Resign
    column = _LETTERS.find(text[:1])
    row = text[1:]
    is_row = row.isdecimal() and len(row) <= _LONGEST_ROW and 1 <= int(row) <= variant.rows
    if not text or column < 0 or not is_row or column >= variant.columns:
        raise Resign(f"the engine answered {excerpt(answer)!r}, expected a point such as H8, or resign")
    return (variant.rows - int(row)) * variant.columns + column
