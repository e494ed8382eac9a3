"""What is said to an engine's process, and how its answers are read."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from noughts_bots.bot import TimeLimits
from noughts_bots.gomocup.process import EngineEnded, EngineProcess
from noughts_bots.gomocup.protocol import UNLIMITED_MS, word_and_rest

SET_UP_SECONDS = 30.0
"""How long START and RECTSTART may take once the engine has shown that it runs."""
RESTART_SECONDS = 5.0
"""How long RESTART may take. After that a new process is quicker."""
# Of an engine that complains about infos: after a complaint that may be about one, how long the answer to what was
# asked may take: to START, and to a move without a clock.
_VERDICT_SECONDS, _MOVE_SECONDS = 2.0, 60.0
_PROBE = "START 20"

_NOTES = ("MESSAGE", "DEBUG")
_COMPLAINTS = ("ERROR", "UNKNOWN")


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

    def infos(self, folder: str, memory: int) -> list[str]:
        """The commands that tell the rest. `memory` is in bytes, 0 for no limit."""
        # No `timeout_turn` says that there is no limit (0 means as fast as possible), so none is sent then. What is
        # on the clock is the limit of a turn, too.
        turn = self.time.move or self.time.bank
        infos = {
            **({"timeout_turn": max(1, milliseconds(turn))} if turn else {}),
            "timeout_match": milliseconds(self.time.bank),
            "max_memory": memory,
            "game_type": 2,
            "rule": self.rule,
            "folder": folder,
        }
        # Which of them it complains about should show before the first move: all of them are among these.
        return [*(f"INFO {key} {value}" for key, value in infos.items()), self.time_left(round(self.time.bank * 1e6))]

    def time_left(self, own_clock_us: int) -> str:
        """The command before every move."""
        return f"INFO time_left {own_clock_us // 1000 if self.time.bank else UNLIMITED_MS}"


def milliseconds(seconds: float) -> int:
    """As the protocol counts."""
    return round(seconds * 1000)


class Conversation:
    """The conversation with one process of an engine. All methods raise EngineEnded when it ends, or does not start."""

    def __init__(self, process: EngineProcess, note: Callable[[str], None], *, complains: bool = True) -> None:
        """`note` gets every line that is no answer: it is kept for people. `complains` is what is known so far."""
        self.process = process
        self.complains = complains
        """Whether it complains about infos, or may. That is no fault, but could be taken for an answer."""
        self.terms: Terms | None = None
        """What it has been set up for."""
        self._note = note

    def wait_until_ready(self, infos: Sequence[str]) -> None:
        """Returns when the engine answers at all, however long that takes: whoever started us sets a limit.

        Every engine plays on the board of the tournaments that gave the protocol its name. If it does, the same
        again with infos before it shows whether it complains about them.
        """
        if self._refusal(_PROBE, (), None) is None:
            self._refusal(_PROBE, infos, SET_UP_SECONDS)

    def set_up(self, terms: Terms, infos: Sequence[str]) -> str | None:
        """Makes the engine ready for a game; None when it is, else why it will not play."""
        refusal = self._refusal(terms.start, infos, SET_UP_SECONDS)
        self.terms = terms
        return refusal

    def restart(self, seconds: float) -> bool:
        """Makes the engine ready for another game on the same terms; whether it can. Silence for so long is an end."""
        return self._refusal("RESTART", (), seconds) is None

    def move(self, info: str, commands: Sequence[str], deadline: float | None) -> str | None:
        """The line that answers the commands, which ask for a move; None when the deadline has passed."""
        self._send(info, *commands)
        untimed, excused = deadline is None, None
        while (line := self._line(deadline)) is not None:
            word, rest = word_and_rest(line)
            if word == "SUGGEST":
                self.process.send(f"PLAY {rest}")
            elif word == "OK":
                self._note(line)  # to the info, perhaps; a move it is not
            elif word in _COMPLAINTS and self.complains and excused is None:
                self._note(line)
                excused = line
                if untimed:
                    deadline = time.monotonic() + _MOVE_SECONDS
            else:
                return line
        return excused if untimed else None

    def _refusal(self, command: str, infos: Sequence[str], seconds: float | None) -> str | None:
        """Sends the infos, then the command. None when the engine says OK to it, else what it says instead."""
        self._send(*infos, command)
        complaints: list[str] = []
        excused = len(infos) if self.complains else 0
        deadline = None if seconds is None else time.monotonic() + seconds
        while (line := self._line(deadline)) is not None:
            word, _ = word_and_rest(line)
            if word == "OK":
                self.complains = bool(complaints) if infos else self.complains
                return None
            self._note(line)
            if word in _COMPLAINTS:
                complaints.append(line)
                if len(complaints) > excused:
                    break
                deadline = time.monotonic() + _VERDICT_SECONDS
        if not complaints:
            raise EngineEnded(f"the engine does not answer {command} within {seconds:g} s")
        return f"to {command} the engine says {complaints[-1]!r}"

    def _send(self, *commands: str) -> None:
        for line in self.process.unasked():
            self._note(line)
        self.process.send(*commands)

    def _line(self, deadline: float | None) -> str | None:
        """The next line that is not meant for people."""
        while (line := self.process.line(deadline)) is not None and word_and_rest(line)[0] in _NOTES:
            self._note(line)
        return line
