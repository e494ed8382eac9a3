"""A manager's commands to an engine, and the meaning of the engine's lines. It has no process and no clock."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from noughts_bots.gomocup.options import EngineOptions, Swap2
from noughts_bots.gomocup.protocol import (
    FREESTYLE,
    UNLIMITED_MS,
    cells_by_point,
    read_points,
    word_and_rest,
    written_points,
)
from noughts_bots.gomocup.swap2 import Swap2Answer, is_for_empty_board, question, read_answer
from noughts_bots.sdk.bot import TimeLimits
from noughts_referee.rules import OFF_BOARD, OpeningChoice

MOST_REPEATS = 3
"""Limit of the repetitions of a question if the engine answers ERROR or UNKNOWN."""
MOST_RESTARTS = 2
"""Limit of the RESTART commands to one process. A busy engine can miss the first one."""

_TOURNAMENT = 2
"""The value of `INFO game_type` for a game between engines in a tournament."""

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
    """The settings of games that an engine gets before the first one: board, rule and time.

    After a RESTART it can play another game with the same settings.
    """

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
        # Without a limit of a turn, the base time is the limit. Without both, `timeout_turn` is not sent: it has no
        # value for no limit (0 means as fast as possible).
        turn = self.time.move or self.time.bank
        infos: dict[str, int | str] = {}
        if turn:
            infos["timeout_turn"] = max(1, milliseconds(turn))
        infos |= {
            "timeout_match": milliseconds(self.time.bank),
            "max_memory": options.memory_bytes,
            "game_type": _TOURNAMENT,
            "rule": self.rule,
            "folder": folder,
            "time_left": milliseconds(self.time.bank) or UNLIMITED_MS,
            **options.infos,
        }
        return [f"INFO {key} {value}" for key, value in infos.items()]

    def time_left(self, own_clock_us: int) -> str:
        """Return the command before every question. Managers always send it, so engines expect it."""
        return f"INFO time_left {own_clock_us // 1000 if self.time.bank else UNLIMITED_MS}"


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


class Phase(Enum):
    """The state of the conversation."""

    STARTING = auto()
    """START was sent."""
    TERMS_SENT = auto()
    """The terms and ABOUT were sent. Engines do not answer terms, but the answer to ABOUT shows that they read them."""
    READY = auto()
    """The engine's board is empty: a game can begin."""
    PLAYING = auto()
    """The engine knows some moves of a game, and no question is open."""
    THINKING = auto()
    """A question for a move is open."""
    CHOOSING = auto()
    """A question for an opening choice is open."""
    RESTARTING = auto()
    """RESTART was sent."""
    REFUSED = auto()
    """The engine has refused START, or every RESTART."""


class Meaning(Enum):
    """The meaning of an engine's line."""

    NOTE = auto()
    """A readable message, without effect on the game."""
    STARTED = auto()
    """The engine has accepted START, and needs the terms."""
    READY = auto()
    """The engine has read the terms or RESTART: a game can begin."""
    REFUSAL = auto()
    """The engine refuses to set up the board."""
    RESTART_REFUSED = auto()
    """The engine has refused RESTART, which must be sent again."""
    MOVE = auto()
    CHOICE = auto()
    MISSED = auto()
    """The engine has not understood the question, which must be repeated."""
    CUT = auto()
    """The engine has lost words before the question, but not the question."""
    DOUBLE = auto()
    """A second answer to a repeated question: the engine had understood it the first time."""
    SUGGESTION = auto()
    """A move that the engine would play only after the manager's PLAY."""
    RULE = auto()
    """The engine does not know the rule of the game."""


# These names exist because in Python 3.11 the lookup of a member takes longer than reading a line.
_PLAYING, _THINKING, MOVE = Phase.PLAYING, Phase.THINKING, Meaning.MOVE


class Conversation:
    """The commands to one process of an engine, from START to END.

    A line that is not an answer is a note, unless it shows that the engine has missed a question. If the engine does
    not answer, it loses on time.
    """

    def __init__(
        self, terms: Terms, options: EngineOptions, *, answers_once: bool | None = None, colours: bool | None = None
    ) -> None:
        """`answers_once` and `colours` are the attributes of the conversation with an earlier process, if known."""
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
        self._question: tuple[Sequence[int], int] = (), 0
        """The moves and the clock of the last question for a move."""
        self._opening: OpeningChoice | None = None
        """The last question for an opening choice."""
        self._repeats = 0
        self.answers_once = answers_once
        """Whether the engine answers a repeated question once; None if not known yet."""
        self.colours = options.swap2 is Swap2.COLOURS if colours is None else colours
        """Whether SWAP2BOARD has the colours of stones, as the options say or as earlier answers suggest."""
        self._misread = 0
        """The number of answers to the open question for a choice that were for another position."""
        self._suspects_colours = False
        """Whether the engine seems to want SWAP2BOARD in the other form."""
        self._complaints: set[str] = set()
        """Complaints about its terms, without numbers."""
        self._known_moves = 0
        """The number of moves of its game that the engine knows; -1 if the next question must send all of them."""
        self._restarts = 0
        """The number of RESTART commands since the engine was last ready."""
        self._ignored_complaints = 0
        """The number of further complaints that can be about infos."""

    def send_terms(self, folder: str) -> list[str]:
        """Return the commands with the terms, for an engine that has started.

        If no line of the engine shows that it has read them, call `settle`.
        """
        infos = self.terms.infos(folder, self._options)
        self.phase = Phase.TERMS_SENT
        self._ignored_complaints = len(infos)
        return [*infos, "ABOUT"]

    def settle(self) -> None:
        """Record that the engine is ready for a game."""
        self.phase = Phase.READY
        self._known_moves = 0
        self._restarts = 0
        self.doubles = 0

    def restart(self) -> str:
        """Return the command that empties the engine's board."""
        self.phase = Phase.RESTARTING
        self._restarts += 1
        return "RESTART"

    def ask(self, moves: Sequence[int], own_clock_us: int) -> list[str]:
        """Return the commands that ask for a move after `moves`, in the engine's current game or for a new one."""
        terms = self.terms
        ply = len(moves)
        self._question = moves, own_clock_us
        self._repeats = 0
        self.has_rows = False
        commands = [terms.time_left(own_clock_us)]
        if not ply:
            commands.append("BEGIN")
        elif self._known_moves == ply - 1 and not self._options.board:
            commands.append(f"TURN {self._points[moves[-1]]}")
        else:
            # The engine's own stones have the number 1. It is to move, so the last stone is the opponent's.
            rows = (
                f"{self._points[cell]},{1 if (ply - earlier_ply) % 2 == 0 else 2}"
                for earlier_ply, cell in enumerate(moves)
            )
            commands += ["BOARD", *rows, "DONE"]
            self.has_rows = True
        self._known_moves = ply + 1
        self.phase = _THINKING
        return commands

    def ask_choice(self, opening: OpeningChoice) -> list[str]:
        """Return the commands that ask for an opening choice. The next question sends the game as a board."""
        self._opening = opening
        self._question = opening.stones, opening.clock_us
        self._repeats = self._misread = 0
        self.has_rows = True
        self.forget()
        self.phase = Phase.CHOOSING
        time_left = self.terms.time_left(opening.clock_us)
        return [time_left, *question(opening, colours=self.colours)]

    def ask_again(self, took_us: int) -> list[str]:
        """Return the commands that repeat the open question after `took_us`, with the whole position."""
        repeats = self._repeats + 1
        moves, own_clock_us = self._question
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
        self._question = moves, own_clock_us
        self._repeats = repeats
        return commands

    def forget(self) -> None:
        """Make the next question send the whole game."""
        self._known_moves = -1

    def read_line(self, line: str) -> Meaning:
        """Return the meaning of a line of the engine in this phase. A move is then in `cell`, a choice in `choice`."""
        phase = self.phase
        if phase is _THINKING:
            cell = self._cells.get(line)
            if cell is None and (cell := self._first_point(line)) is None:
                return Meaning.SUGGESTION if word_and_rest(line)[0] == "SUGGEST" else self._complaint(line)
            if self.doubles and cell in self._question[0]:
                return self._double()
            self.cell = cell if cell >= 0 else OFF_BOARD
            self._record_answer()
            return MOVE
        if phase is Phase.CHOOSING:
            assert self._opening is not None
            self.choice = read_answer(line, self._opening)
            if self.choice is None:
                self._suspects_colours = self._suspects_colours or _COLOUR.search(line) is not None
                return self._complaint(line)
            if is_for_empty_board(self.choice, self._opening) and not self._misread:
                # The engine did not understand the stones: it can expect them with colours, or without.
                self._misread = 1
                self._suspects_colours = not self._repeats
                return Meaning.NOTE if self._repeats else Meaning.MISSED
            self._record_answer()
            return Meaning.CHOICE
        if phase is Phase.PLAYING and self.doubles:
            return Meaning.NOTE if self._first_point(line) is None else self._double()
        if phase is Phase.TERMS_SENT:
            return self._read_about(line)
        if phase is not Phase.STARTING and phase is not Phase.RESTARTING:
            return Meaning.NOTE
        word = word_and_rest(line)[0]
        if word == "OK":
            if phase is Phase.STARTING:
                return Meaning.STARTED
            self.settle()
            return Meaning.READY
        if word not in REFUSALS:
            return Meaning.NOTE
        if phase is Phase.RESTARTING and self._restarts < MOST_RESTARTS:
            return Meaning.RESTART_REFUSED
        self.phase = Phase.REFUSED
        return Meaning.REFUSAL

    def ignores(self, messages: Sequence[str]) -> bool:
        """Return whether all these lines, which begin with MESSAGE or DEBUG, can be ignored in this phase."""
        if self.phase is not _THINKING and (self.phase is not _PLAYING or self.doubles):
            return False
        return self.terms.rule == FREESTYLE or _UNKNOWN_RULE.search("\n".join(messages)) is None

    def _first_point(self, line: str) -> int | None:
        """Return the cell of the point with which a line begins; -1 if it is off the board, None without a point."""
        return next(iter(read_points(line, self.terms.columns, self.terms.rows)), None)

    def _record_answer(self) -> None:
        """Record that the open question is answered, and how many further answers are possible."""
        self.phase = _PLAYING
        if self.doubles:
            self.answers_once = self.answers_once is not False
        self.doubles = self._repeats - self._misread if self.answers_once is None else 0

    def _double(self) -> Meaning:
        self.doubles -= 1
        self.answers_once = False
        return Meaning.DOUBLE

    def _complaint(self, line: str) -> Meaning:
        """Return the meaning of a line that does not answer the open question.

        A complaint that the engine also made about the terms is a note. A complaint with words of `INFO time_left`
        shows that the engine lost part of that command, which comes before the question.
        """
        if self._is_about_rule(line):
            return Meaning.RULE
        if word_and_rest(line)[0] not in REFUSALS or _NUMBERS.sub("", line) in self._complaints:
            return Meaning.NOTE
        time_words = {"TIME_LEFT", self.terms.time_left(self._question[1]).split()[-1]}
        if not time_words.isdisjoint(_WORDS.findall(line.upper())):
            return Meaning.CUT
        return Meaning.NOTE if self.answers_once is False or self._repeats == MOST_REPEATS else Meaning.MISSED

    def _is_about_rule(self, line: str) -> bool:
        """Return whether the engine says that it does not know the rule of the game."""
        if self.terms.rule == FREESTYLE or "rule" not in line.lower():
            return False
        complains = word_and_rest(line)[0] in REFUSALS
        is_new = self.phase is Phase.TERMS_SENT
        if complains and is_new:
            return _RULE.search(line) is not None
        return (complains or is_new) and _UNKNOWN_RULE.search(line) is not None

    def _read_about(self, line: str) -> Meaning:
        """Return the meaning of a line after the terms.

        The engine has read the terms if it names itself, or if it has complained more often than there were infos.
        """
        word = word_and_rest(line)[0]
        if not _ABOUT.search(line) and self._is_about_rule(line):
            return Meaning.RULE
        if word in REFUSALS:
            self._complaints.add(_NUMBERS.sub("", line))
            if self._ignored_complaints:
                self._ignored_complaints -= 1
                return Meaning.NOTE
        elif word in _MESSAGES or not _ABOUT.search(line):
            return Meaning.NOTE
        self.settle()
        return Meaning.READY


def as_bytes(commands: Iterable[str], line_end: str) -> bytes:
    """Return the commands as lines for an engine's standard input."""
    return (line_end.join(commands) + line_end).encode()
