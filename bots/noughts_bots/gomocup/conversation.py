"""What a manager says to an engine, and what its lines mean. Lines in, lines out: no process and no clock."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from noughts_bots.bot import TimeLimits
from noughts_bots.gomocup.options import EngineOptions, Swap2
from noughts_bots.gomocup.protocol import OFF_BOARD, UNLIMITED_MS, read_point, word_and_rest, written_point
from noughts_bots.gomocup.swap2 import Swap2Answer, question, read_answer
from noughts_referee.rules import OpeningChoice

MOST_REPEATS = 3
"""A question is put so often again to an engine that answers ERROR or UNKNOWN."""
MOST_RESTARTS = 2
"""RESTART is asked so often of one process: an engine that was still busy may have missed the first."""

REFUSALS = ("ERROR", "UNKNOWN")
"""How lines begin by which an engine says no, or complains."""
_MESSAGES = ("MESSAGE", "DEBUG")
_NUMBERS = re.compile(r"\d+")
_WORDS = re.compile(r"[\w,]+")
_ABOUT = re.compile(r"\bname\s*=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Terms:
    """What an engine is told before a game; it can play another on the same terms after a RESTART."""

    columns: int
    rows: int
    rule: int
    time: TimeLimits

    @property
    def start(self) -> str:
        """The command that sets the board up: `RECTSTART` is for boards that are no squares."""
        if self.columns == self.rows:
            return f"START {self.columns}"
        return f"RECTSTART {self.columns},{self.rows}"

    def infos(self, folder: str, options: EngineOptions) -> list[str]:
        """The commands that tell the rest. `folder` is where the engine may keep files."""
        # No `timeout_turn` says that there is no limit (0 means as fast as possible), so none is sent then. What is
        # on the clock is the limit of a turn, too.
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
        """The command before every question, in all games: engines are tested with managers that send it."""
        return f"INFO time_left {own_clock_us // 1000 if self.time.bank else UNLIMITED_MS}"


def milliseconds(seconds: float) -> int:
    """As the protocol counts."""
    return round(seconds * 1000)


class Phase(Enum):
    """What a process of an engine is about."""

    STARTING = auto()
    """START was sent, and is not answered."""
    TOLD = auto()
    """It was told the terms, which nobody answers, and then asked who it is, to know when it has read them."""
    READY = auto()
    """Its board is empty: a game may begin."""
    PLAYING = auto()
    """It knows some moves of a game, and is not asked for one."""
    THINKING = auto()
    """It was asked for a move."""
    CHOOSING = auto()
    """It was asked for a choice for the opening."""
    RESTARTING = auto()
    """RESTART was sent, and is not answered."""
    REFUSED = auto()
    """It has said no to START, or to RESTART as often as it was asked."""


class Heard(Enum):
    """What a line means."""

    NOTE = auto()
    """Nothing for the game: it is for people."""
    STARTED = auto()
    """It has taken START, and is to be told the terms."""
    READY = auto()
    """The board is set up."""
    REFUSAL = auto()
    """It will not set the board up."""
    AGAIN = auto()
    """It has refused RESTART, and is to be asked once more."""
    MOVE = auto()
    """Its move."""
    CHOICE = auto()
    """Its choice for the opening."""
    MISSED = auto()
    """It has not understood the question, which is to be put again."""
    CUT = auto()
    """It has lost words before the question, but not the question."""
    DOUBLE = auto()
    """One more move for a question that was put again: it had understood it the first time."""
    SUGGESTION = auto()
    """A move that waits for our PLAY."""


class Conversation:
    """What is said to one process of an engine, from its START to its END.

    A line that answers nothing is a note, unless it says that the engine has missed a question. That the engine does
    not answer is for the clock to decide.
    """

    def __init__(self, terms: Terms, options: EngineOptions, *, answers_once: bool | None = None) -> None:
        """`answers_once` is what was seen of an earlier process."""
        self.phase = Phase.STARTING
        self.terms = terms
        self.cell = OFF_BOARD
        """The move that was heard last."""
        self.choice: Swap2Answer | None = None
        """The choice that was heard last."""
        self._options = options
        self.has_rows = False
        """Whether the last question had several lines: an engine can complain about each of them."""
        self.doubles = 0
        """So many more answers to the last question can come, for it was put again."""
        self._asked: tuple[Sequence[int], int] = (), 0
        """The moves and the clock of the last question for a move."""
        self._opening: OpeningChoice | None = None
        """What it is asked to agree on."""
        self._repeats = 0
        """How often the last question was put again."""
        self.answers_once = answers_once
        """Whether a question that is put again is answered once; None until that was seen."""
        self._complaints: set[str] = set()
        """What it said against its terms, numbers aside."""
        self._known = 0
        """So many moves of its game it knows."""
        self._restarts = 0
        self._excused = 0
        """So many complaints may be about infos."""

    def tell(self, folder: str) -> list[str]:
        """The terms, for an engine that has started; `settle` says that they have been read if no line does."""
        infos = self.terms.infos(folder, self._options)
        self.phase = Phase.TOLD
        self._excused = len(infos)
        return [*infos, "ABOUT"]

    def settle(self) -> None:
        """Its board is ready."""
        self.phase = Phase.READY
        self._known = self._restarts = self.doubles = 0

    def restart(self) -> str:
        """What makes it ready for another game."""
        self.phase = Phase.RESTARTING
        self._restarts += 1
        return "RESTART"

    def ask(self, moves: Sequence[int], own_clock_us: int) -> list[str]:
        """The commands that ask for a move after these of its game, with its board ready or in this game."""
        terms, ply = self.terms, len(moves)
        self._asked = moves, own_clock_us
        self._repeats = 0
        self.has_rows = False
        commands = [terms.time_left(own_clock_us)]
        if not ply:
            commands.append("BEGIN")
        elif self._known == ply - 1 and not self._options.board:
            row, column = divmod(moves[-1], terms.columns)
            commands.append(f"TURN {column},{row}")
        else:
            rows = (
                f"{written_point(cell, terms.columns)},{1 if (ply - number) % 2 == 0 else 2}"
                for number, cell in enumerate(moves)
            )
            commands += ["BOARD", *rows, "DONE"]
            self.has_rows = True
        self._known = ply + 1
        self.phase = Phase.THINKING
        return commands

    def ask_choice(self, opening: OpeningChoice) -> list[str]:
        """The commands that ask for a choice for an opening; the game is told as a board afterwards."""
        self._opening = opening
        self._asked = opening.stones, opening.clock_us
        self._repeats = 0
        self.has_rows = True
        self.forget()
        self.phase = Phase.CHOOSING
        left = self.terms.time_left(opening.clock_us)
        return [left, *question(opening, colours=self._options.swap2 is Swap2.COLOURS)]

    def ask_again(self, took_us: int) -> list[str]:
        """The commands that put the open question again, with the whole position, so long after it was put."""
        repeats = self._repeats + 1
        moves, own_clock_us = self._asked
        left_us = max(0, own_clock_us - took_us)
        self.forget()
        if self.phase is Phase.CHOOSING:
            assert self._opening is not None
            commands = self.ask_choice(self._opening)
            commands[0] = self.terms.time_left(left_us)
        else:
            commands = self.ask(moves, left_us)
        self._asked = moves, own_clock_us
        self._repeats = repeats
        return commands

    def forget(self) -> None:
        """Its game is told from the beginning with the next question."""
        self._known = -1

    def hear(self, line: str) -> Heard:
        """What this line means now; of a move, `cell` says which."""
        phase = self.phase
        if phase is Phase.THINKING:
            cell = read_point(line, self.terms.columns, self.terms.rows)
            if cell is None:
                return Heard.SUGGESTION if word_and_rest(line)[0] == "SUGGEST" else self._complaint(line)
            if self.doubles and cell in self._asked[0]:
                return self._double()
            self.cell = cell if cell >= 0 else OFF_BOARD
            self._answered()
            return Heard.MOVE
        if phase is Phase.CHOOSING:
            assert self._opening is not None
            self.choice = read_answer(line, self._opening)
            if self.choice is None:
                return self._complaint(line)
            self._answered()
            return Heard.CHOICE
        if phase is Phase.PLAYING and self.doubles:
            return Heard.NOTE if read_point(line, self.terms.columns, self.terms.rows) is None else self._double()
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

    def _answered(self) -> None:
        self.phase = Phase.PLAYING
        if self.doubles:
            self.answers_once = self.answers_once is not False
        self.doubles = self._repeats if self.answers_once is None else 0

    def _double(self) -> Heard:
        self.doubles -= 1
        self.answers_once = False
        return Heard.DOUBLE

    def _complaint(self, line: str) -> Heard:
        """What a line that is no answer means for the open question.

        What names the time, or was said against the terms, too, is about the info before the question.
        """
        if word_and_rest(line)[0] not in REFUSALS or _NUMBERS.sub("", line) in self._complaints:
            return Heard.NOTE
        if not {"TIME_LEFT", self.terms.time_left(self._asked[1]).split()[-1]}.isdisjoint(_WORDS.findall(line.upper())):
            return Heard.CUT
        return Heard.NOTE if self.answers_once is False or self._repeats == MOST_REPEATS else Heard.MISSED

    def _hear_who(self, line: str) -> Heard:
        """It has read the terms when it says who it is, or has complained about more than there were infos."""
        if word_and_rest(line)[0] in REFUSALS:
            self._complaints.add(_NUMBERS.sub("", line))
        if word_and_rest(line)[0] in REFUSALS and self._excused:
            self._excused -= 1
            return Heard.NOTE
        if word_and_rest(line)[0] in REFUSALS or (_ABOUT.search(line) and word_and_rest(line)[0] not in _MESSAGES):
            self.settle()
            return Heard.READY
        return Heard.NOTE


def as_bytes(commands: Iterable[str], line_end: str) -> bytes:
    """The commands as lines for an engine's standard input."""
    return (line_end.join(commands) + line_end).encode()
