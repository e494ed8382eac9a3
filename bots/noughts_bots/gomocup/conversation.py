"""A manager's commands to an engine, and the meaning of its lines. Lines in, lines out: no process and no clock."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from noughts_bots.gomocup.options import EngineOptions, Swap2
from noughts_bots.gomocup.protocol import (
    FREESTYLE,
    OFF_BOARD,
    UNLIMITED_MS,
    cells_by_point,
    read_points,
    word_and_rest,
    written_points,
)
from noughts_bots.gomocup.swap2 import Swap2Answer, is_for_empty_board, question, read_answer
from noughts_bots.sdk.bot import TimeLimits
from noughts_referee.rules import OpeningChoice

MOST_REPEATS = 3
"""Limit of the repetitions of a question if the engine answers ERROR or UNKNOWN."""
MOST_RESTARTS = 2
"""Limit of the RESTART commands to one process. A busy engine can miss the first one."""

REFUSALS = ("ERROR", "UNKNOWN")
"""First words of lines in which an engine refuses or complains."""
_MESSAGES = ("MESSAGE", "DEBUG")
_NUMBERS = re.compile(r"\d+")
_WORDS = re.compile(r"[\w,]+")
_ABOUT = re.compile(r"\bname\s*=", re.IGNORECASE)
_RULE = re.compile(r"\brules?\b", re.IGNORECASE)
_UNKNOWN_RULE = re.compile(
    r"\b(?:unknown|unsupported|invalid)\s+(?:game\s*)?rules?\b"
    r"|\brules?\b.*\b(?:unknown|unsupported|not\s+(?:supported|known|implemented)|reset)\b",
    re.IGNORECASE,
)
_COLOUR = re.compile(r"colou?r", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of a game that an engine gets before it. After a RESTART it can play another game with them."""

    columns: int
    rows: int
    rule: int
    time: TimeLimits

    @property
    def start(self) -> str:
        """The command that sets up the board. `RECTSTART` is for boards that are not square."""
        if self.columns == self.rows:
            return f"START {self.columns}"
        return f"RECTSTART {self.columns},{self.rows}"

    def infos(self, folder: str, options: EngineOptions) -> list[str]:
        """Return the INFO commands. The engine can keep files in `folder`."""
        # The protocol has no value of `timeout_turn` for no limit (0 means as fast as possible), so none is sent then.
        # The base time is also the limit of a turn.
        turn = self.time.move or self.time.bank
        infos = {
            **({"timeout_turn": max(1, milliseconds(turn))} if turn else {}),
            "timeout_match": milliseconds(self.time.bank),
            "max_memory": options.memory_bytes,
            "game_type": 2,
            "rule": self.rule,
            "folder": folder,
            "time_left": milliseconds(self.time.bank) or UNLIMITED_MS,
            **options.infos,
        }
        return [f"INFO {key} {value}" for key, value in infos.items()]

    def time_left(self, own_clock_us: int) -> str:
        """Return the command before every question. Engines are tested with managers that always send it."""
        return f"INFO time_left {own_clock_us // 1000 if self.time.bank else UNLIMITED_MS}"


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


class Phase(Enum):
    STARTING = auto()
    TOLD = auto()
    """The terms were sent, which no engine answers, and then ABOUT, whose answer shows that they were read."""
    READY = auto()
    """Its board is empty: a game can begin."""
    PLAYING = auto()
    """It knows some moves of a game, and no question is open."""
    THINKING = auto()
    CHOOSING = auto()
    RESTARTING = auto()
    REFUSED = auto()
    """It has refused START, or every RESTART."""


class Heard(Enum):
    NOTE = auto()
    """A message for people, without effect on the game."""
    STARTED = auto()
    """It has accepted START, and needs the terms."""
    READY = auto()
    REFUSAL = auto()
    """It refuses to set up the board."""
    AGAIN = auto()
    """It has refused RESTART, which must be sent again."""
    MOVE = auto()
    CHOICE = auto()
    MISSED = auto()
    """It has not understood the question, which must be repeated."""
    CUT = auto()
    """It has lost words before the question, but not the question."""
    DOUBLE = auto()
    """A second answer to a repeated question, which it had understood the first time."""
    SUGGESTION = auto()
    """A move that waits for our PLAY."""
    RULE = auto()
    """It does not know the rule of the game."""


# In Python 3.11 it takes longer to look these up than to read a line.
_PLAYING, _THINKING, MOVE = Phase.PLAYING, Phase.THINKING, Heard.MOVE


class Conversation:
    """The commands to one process of an engine, from START to END.

    A line that answers nothing is a note, unless it shows that the engine has missed a question. If the engine does not
    answer, its clock decides.
    """

    def __init__(
        self, terms: Terms, options: EngineOptions, *, answers_once: bool | None = None, colours: bool | None = None
    ) -> None:
        """`answers_once` and `colours` are observations from an earlier process."""
        self.phase = Phase.STARTING
        self.terms = terms
        self.cell = OFF_BOARD
        """The last move in a line of the engine."""
        self.choice: Swap2Answer | None = None
        """The last choice in a line of the engine."""
        self._options = options
        self._points = written_points(terms.columns, terms.rows)
        self._cells = cells_by_point(terms.columns, terms.rows)
        self.has_rows = False
        """Whether the last question had several lines. An engine can complain about each of them."""
        self.doubles = 0
        """The number of further answers to the last question that are possible because of repetitions."""
        self._asked: tuple[Sequence[int], int] = (), 0
        """The moves and the clock of the last question for a move."""
        self._opening: OpeningChoice | None = None
        """The last question for an opening choice."""
        self._repeats = 0
        self.answers_once = answers_once
        """Whether the engine answers a repeated question once; None if not known yet."""
        self.colours = options.swap2 is Swap2.COLOURS if colours is None else colours
        """Whether SWAP2BOARD gets the colours of stones: as the options say, or as the engine turned out to want it."""
        self._misread = 0
        """The number of answers to the open question for a choice that were for another position."""
        self._suspects_colours = False
        """Whether the engine seems to want SWAP2BOARD in the other form."""
        self._complaints: set[str] = set()
        """Complaints about its terms, without numbers."""
        self._known = 0
        """The number of moves of its game that the engine knows."""
        self._restarts = 0
        self._excused = 0
        """The number of further complaints that can be about infos."""

    def tell(self, folder: str) -> list[str]:
        """Return the terms, for an engine that has started. If no line shows that they were read, call `settle`."""
        infos = self.terms.infos(folder, self._options)
        self.phase = Phase.TOLD
        self._excused = len(infos)
        return [*infos, "ABOUT"]

    def settle(self) -> None:
        self.phase = Phase.READY
        self._known = self._restarts = self.doubles = 0

    def restart(self) -> str:
        self.phase = Phase.RESTARTING
        self._restarts += 1
        return "RESTART"

    def ask(self, moves: Sequence[int], own_clock_us: int) -> list[str]:
        """Return the commands that ask for a move after `moves`, in its current game or with its board ready."""
        terms = self.terms
        ply = len(moves)
        self._asked = moves, own_clock_us
        self._repeats = 0
        self.has_rows = False
        commands = [terms.time_left(own_clock_us)]
        if not ply:
            commands.append("BEGIN")
        elif self._known == ply - 1 and not self._options.board:
            commands.append(f"TURN {self._points[moves[-1]]}")
        else:
            rows = (f"{self._points[cell]},{1 if (ply - number) % 2 == 0 else 2}" for number, cell in enumerate(moves))
            commands += ["BOARD", *rows, "DONE"]
            self.has_rows = True
        self._known = ply + 1
        self.phase = _THINKING
        return commands

    def ask_choice(self, opening: OpeningChoice) -> list[str]:
        """Return the commands that ask for an opening choice. The next question sends the game as a board."""
        self._opening = opening
        self._asked = opening.stones, opening.clock_us
        self._repeats = self._misread = 0
        self.has_rows = True
        self.forget()
        self.phase = Phase.CHOOSING
        left = self.terms.time_left(opening.clock_us)
        return [left, *question(opening, colours=self.colours)]

    def ask_again(self, took_us: int) -> list[str]:
        """Return the commands that repeat the open question after `took_us`, with the whole position."""
        repeats = self._repeats + 1
        moves, own_clock_us = self._asked
        left_us = max(0, own_clock_us - took_us)
        self.forget()
        if self.phase is Phase.CHOOSING:
            assert self._opening is not None
            if self._opening.stones and (self._suspects_colours or repeats > 1):
                self.colours = not self.colours
            self._suspects_colours = False
            misread = self._misread
            commands = self.ask_choice(self._opening)
            commands[0] = self.terms.time_left(left_us)
            self._misread = misread
        else:
            commands = self.ask(moves, left_us)
        self._asked = moves, own_clock_us
        self._repeats = repeats
        return commands

    def forget(self) -> None:
        """Send the game from the beginning with the next question."""
        self._known = -1

    def hear(self, line: str) -> Heard:
        """Return what this line means now. After a move, `cell` has it."""
        phase = self.phase
        if phase is _THINKING:
            cell = self._cells.get(line)
            if cell is None and (cell := self._first_point(line)) is None:
                return Heard.SUGGESTION if word_and_rest(line)[0] == "SUGGEST" else self._complaint(line)
            if self.doubles and cell in self._asked[0]:
                return self._double()
            self.cell = cell if cell >= 0 else OFF_BOARD
            self._answered()
            return MOVE
        if phase is Phase.CHOOSING:
            assert self._opening is not None
            self.choice = read_answer(line, self._opening)
            if self.choice is None:
                self._suspects_colours = self._suspects_colours or _COLOUR.search(line) is not None
                return self._complaint(line)
            if is_for_empty_board(self.choice, self._opening) and not self._misread:
                # The engine did not understand the stones: it can want their colours, or want none.
                self._misread = 1
                self._suspects_colours = not self._repeats
                return Heard.NOTE if self._repeats else Heard.MISSED
            self._answered()
            return Heard.CHOICE
        if phase is Phase.PLAYING and self.doubles:
            return Heard.NOTE if self._first_point(line) is None else self._double()
        if phase is Phase.TOLD:
            return self._hear_who(line)
        if phase is not Phase.STARTING and phase is not Phase.RESTARTING:
            return Heard.NOTE
        word = word_and_rest(line)[0]
        if word == "OK":
            if phase is Phase.STARTING:
                return Heard.STARTED
            self.settle()
            return Heard.READY
        if word not in REFUSALS:
            return Heard.NOTE
        if phase is Phase.RESTARTING and self._restarts < MOST_RESTARTS:
            return Heard.AGAIN
        self.phase = Phase.REFUSED
        return Heard.REFUSAL

    def ignores(self, messages: Sequence[str]) -> bool:
        """Return whether lines that begin with MESSAGE or DEBUG mean nothing now, all of them."""
        if self.phase is not _THINKING and (self.phase is not _PLAYING or self.doubles):
            return False
        return self.terms.rule == FREESTYLE or _UNKNOWN_RULE.search("\n".join(messages)) is None

    def _first_point(self, line: str) -> int | None:
        """Return the cell with which a line begins; -1 if it is not on the board, None if there is none."""
        return next(iter(read_points(line, self.terms.columns, self.terms.rows)), None)

    def _answered(self) -> None:
        self.phase = _PLAYING
        if self.doubles:
            self.answers_once = self.answers_once is not False
        self.doubles = self._repeats - self._misread if self.answers_once is None else 0

    def _double(self) -> Heard:
        self.doubles -= 1
        self.answers_once = False
        return Heard.DOUBLE

    def _complaint(self, line: str) -> Heard:
        """Return what a line that is not an answer means for the open question.

        A line about the time, or one that also answered the terms, is about the info before the question.
        """
        if self._is_about_rule(line):
            return Heard.RULE
        if word_and_rest(line)[0] not in REFUSALS or _NUMBERS.sub("", line) in self._complaints:
            return Heard.NOTE
        if not {"TIME_LEFT", self.terms.time_left(self._asked[1]).split()[-1]}.isdisjoint(_WORDS.findall(line.upper())):
            return Heard.CUT
        return Heard.NOTE if self.answers_once is False or self._repeats == MOST_REPEATS else Heard.MISSED

    def _is_about_rule(self, line: str) -> bool:
        """Return whether the engine says that it does not know the rule of the game."""
        if self.terms.rule == FREESTYLE or "rule" not in line.lower():
            return False
        complains = word_and_rest(line)[0] in REFUSALS
        is_new = self.phase is Phase.TOLD
        if complains and is_new:
            return _RULE.search(line) is not None
        return (complains or is_new) and _UNKNOWN_RULE.search(line) is not None

    def _hear_who(self, line: str) -> Heard:
        """The terms were read when the engine names itself, or has complained more often than there were infos."""
        word = word_and_rest(line)[0]
        if not _ABOUT.search(line) and self._is_about_rule(line):
            return Heard.RULE
        if word in REFUSALS:
            self._complaints.add(_NUMBERS.sub("", line))
            if self._excused:
                self._excused -= 1
                return Heard.NOTE
        elif word in _MESSAGES or not _ABOUT.search(line):
            return Heard.NOTE
        self.settle()
        return Heard.READY


def as_bytes(commands: Iterable[str], line_end: str) -> bytes:
    """Return the commands as lines for an engine's standard input."""
    return (line_end.join(commands) + line_end).encode()
