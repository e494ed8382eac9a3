"""A seat for an engine: one game at a time, and a process that is prepared for it before any clock runs.

A process is started on the terms of its game. START, the infos, RESTART, and replacing a process all come before the
question, and only then does the engine's clock start.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from noughts_bots.gomocup.conversation import MOVE, REFUSALS, Conversation, Meaning, Phase, Terms, as_bytes
from noughts_bots.gomocup.options import EngineOptions, Restart
from noughts_bots.gomocup.protocol import OFF_BOARD, name_of, word_and_rest
from noughts_bots.gomocup.swap2 import Swap2Answer
from noughts_bots.gomocup.thoughts import ThoughtReader
from noughts_referee.children.child_player import MOST_STARTS
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.launcher import ChildCommand, Launcher, Started
from noughts_referee.children.running_child import Death
from noughts_referee.game import LostGame
from noughts_referee.rules import OpeningChoice
from noughts_server.engines.engine_process import EngineProcess
from noughts_server.engines.settle_pause import SettlePause
from noughts_server.engines.transcript import Transcript

_TERMS_SECONDS, _AGAIN_SECONDS = 3.0, 1.0
"""The time to read the terms for an engine that does not answer ABOUT, and for later processes of such an engine."""
_NAMELESS = "does not answer ABOUT"
_THOUGHT_SECONDS = 0.5
"""Seconds for which an engine can think about a finished game before another process replaces it."""
_DOUBLE_PAUSE_US = 20_000
"""The shortest wait for a second answer to a question that was repeated."""
_QUIET_SECONDS = 0.003
"""The time for complaints about a question of several lines to end before the question is repeated."""
_LONGEST_TRIAL_US = 500_000
"""The longest wait for a second answer to the first question that was repeated."""
_MOST_ENDING = 1
"""The limit of a seat's processes that are ending while another one starts."""
_LINES_OF_A_MOVE = 16
"""The lines before a move in which its score is searched: some engines print several others after it."""
_MOST_RESTARTS_FAILED = 2
"""After this many consecutive failures to restart, an engine gets a new process for each game."""
# LF, as managers on Linux write it, and the protocol's CRLF for engines that refuse LF.
_LINE_ENDS = ("\n", "\r\n")

_ASKABLE = (Phase.READY, Phase.PLAYING)
_COMPLAINTS = {
    Phase.TERMS_SENT: "complains about infos, or about ABOUT",
    Phase.THINKING: "says ERROR or UNKNOWN before a move",
    Phase.CHOOSING: "says ERROR or UNKNOWN to SWAP2BOARD",
}
"""The meaning of a complaint that has no other effect."""
_LOSES_WORDS = "loses words of commands that directly follow its own line"
_WANTS_COLOURS = "seems to want the colours of stones in SWAP2BOARD: write swap2=colours"
_WANTS_NO_COLOURS = "seems to want no colours of stones in SWAP2BOARD: write swap2=on"
FORMS_OF_SWAP2 = (_WANTS_COLOURS, _WANTS_NO_COLOURS)
"""The manners that an option of the spec would avoid."""
_MISSES = "answers questions with ERROR or UNKNOWN until they are repeated"

Question = OpeningChoice | tuple[Sequence[int], int]
"""An opening, or the moves of a game with the engine's clock in microseconds."""


class EngineRefused(Exception):
    """The engine does not play on such a board or by such a rule; the text is a phrase that follows "it"."""


class RuleRefused(EngineRefused):
    """The engine does not know the rule."""


class Owner(Protocol):
    """The owner of a seat. An exception of these methods is an internal error and ends `EngineSeat.play`."""

    def ready(self) -> None:
        """A process can play now."""

    def moved(self, cell: int, took_us: int, lines: Sequence[str]) -> None:
        """The engine has moved, `took_us` after the question was written; `lines` are its last other lines before."""

    def chose(self, answer: Swap2Answer, took_us: int) -> None:
        """The engine has made its choice for the opening."""

    def lost(self) -> tuple[LostGame, ...]:
        """The engine has ended during its game. Return the game, which is lost."""

    def died(self, death: Death, lost: tuple[LostGame, ...], *, disabled: bool) -> None:
        """A process has ended by itself or for a fault; if `disabled`, there will be no other."""


@dataclass(eq=False)
class EngineSeat:
    """The seat of an engine: `play` keeps a process running; the other methods are requests of the owner."""

    command: ChildCommand
    options: EngineOptions
    launcher: Launcher
    settings: ChildSettings
    owner: Owner
    transcript: Transcript | None = None
    heard: Callable[[bytes], None] | None = None
    """Receives stderr, and lines other than moves, as they come."""

    def __post_init__(self) -> None:
        self.line_end = _LINE_ENDS[0]
        self.manners: dict[str, None] = {}
        """The engine's peculiarities, in the order in which they were seen."""
        self.death: Death | None = None
        self.in_game = False
        self.question: Question | None = None
        """The question to ask when the engine is ready."""
        self.thoughts = ThoughtReader()
        self.asked_us = 0
        """When the last question was written, so that the engine could read it."""
        self.repeats = 0
        """The number of questions that were repeated as they were because the engine answered ERROR or UNKNOWN."""
        self.pause = SettlePause(self.options.settle_us)
        """The pause between its last line and the next question; no clock runs."""
        self.answers_once: bool | None = None
        """See `Conversation`."""
        self.colours: bool | None = None
        """See `Conversation`."""
        self.restarts = self.options.restart is not Restart.ON
        """Whether a process plays several games in turn."""
        self._lost_us = 0
        """When the last question was written of which the engine lost words."""
        self._loop = asyncio.get_running_loop()
        self._terms: Terms | None = None
        self._wanted = asyncio.Event()
        self._life: _Life | None = None
        self._failed_restarts = 0
        self._endings: set[asyncio.Task[None]] = set()
        self._failure: Exception | None = None

    # Requests of the owner.

    def expect(self, terms: Terms) -> None:
        """Have a process prepared for games on these terms."""
        self._terms = terms
        self._wanted.set()

    def begin(self, terms: Terms) -> None:
        self.expect(terms)
        self.in_game = True
        if self._life is not None:
            self._life.begin(terms)

    def ask(self, question: Question) -> None:
        """Ask for a move, or for a choice for the opening, as soon as the engine is ready."""
        self.question = question
        if self._life is not None:
            self._life.put_question()

    def finish(self) -> None:
        self.in_game = False
        self.question = None
        if self._life is not None:
            self._life.finish()

    def forget(self) -> None:
        """Discard what the engine knows of the game: the next question has all moves."""
        if self._life is not None:
            self._life.talk.forget()

    def lost_words(self) -> None:
        """Record that the engine lost words of a command: the pause before its questions grows, unless it is set."""
        if self._lost_us == self.asked_us:
            return
        self._lost_us = self.asked_us
        self.manners[_LOSES_WORDS] = None
        self.pause.lost()

    def understood(self) -> None:
        """Record an answer to the last question."""
        if self._lost_us != self.asked_us:
            self.pause.answered()

    @property
    def is_ready(self) -> bool:
        """Return whether it can be asked now, or has been asked."""
        return self._life is not None and self._life.is_ready

    @property
    def process(self) -> int | None:
        """Return the process ID of its engine, if one runs."""
        return None if self._life is None else self._life.process.pid

    def last_write(self) -> int:
        """Return when its process wrote last."""
        return self.settings.now() if self._life is None else self._life.process.last_write()

    def read_pending(self) -> None:
        """Read what its process has written so far."""
        if self._life is not None:
            self._life.process.read_pending()

    def give_up(self, reason: str) -> None:
        """End the process for a fault; `reason` is a phrase that follows "it"."""
        if self._life is not None:
            self._life.ended(reason)

    def fail(self, error: Exception) -> None:
        """Make `play` raise an internal error of a callback, which the loop would only log."""
        self._failure = self._failure or error
        self._wanted.set()
        if self._life is not None:
            self._life.leave(None)

    def guarded(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Return the callback for the loop; `play` raises its exceptions."""

        def run() -> None:
            try:
                callback()
            except Exception as error:
                self.fail(error)

        return run

    @property
    def stderr(self) -> str:
        """Return the last stderr of its process, with lines other than moves."""
        return self._life.process.said if self._life is not None else ""

    # Processes, one after the other.

    def kill(self, signal: int) -> None:
        if self._life is not None:
            self._life.process.kill(signal)

    async def play(self) -> None:
        """Keep a process running until it is cancelled, or until three consecutive processes did not start.

        Raises EngineRefused for an unsupported board, and the errors of the launcher and of `fail`.
        """
        failures = 0
        was_ready = False
        try:
            while failures < MOST_STARTS:
                await self._wanted.wait()
                self._raise_failure()
                while len(self._endings) > _MOST_ENDING:
                    await asyncio.wait(self._endings, return_when=asyncio.FIRST_COMPLETED)
                assert self._terms is not None
                began = self.settings.now()
                life = self._life = _Life(self, await self.launcher.start(self.command), self._terms)
                life.start(self.settings.start - (self.settings.now() - began) / 1e6)
                reason = await life.over
                self._raise_failure()
                self._life = None
                if life.refused_rule:
                    self._see_off(life, "", tell=False)
                    raise RuleRefused(reason or "")
                if life.refused_start and not was_ready:
                    self._see_off(life, "", tell=False)
                    if self.line_end == _LINE_ENDS[-1]:
                        raise EngineRefused(f"{reason}, expected OK")
                    self.line_end = _LINE_ENDS[-1]
                    continue
                was_ready = was_ready or life.was_ready
                failures = 0 if life.was_ready else failures + 1
                self._see_off(life, reason or "", tell=reason is not None, disabled=failures == MOST_STARTS)
        finally:
            if self._life is not None:
                self._see_off(self._life, "", tell=False)
                self._life = None
            while self._endings:
                await asyncio.wait(self._endings)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _see_off(self, life: "_Life", reason: str, *, tell: bool, disabled: bool = False) -> None:
        """Let the process end while other games continue."""
        self.answers_once, self.colours = life.talk.answers_once, life.talk.colours

        async def end() -> None:
            death = self.death = await life.process.stop(reason, self.settings.stop)
            if death.code is None and not death.reason:
                self.manners["does not end after END"] = None
            if tell:
                self.owner.died(death, life.lost, disabled=disabled)

        life.leave(None)
        ending = self._loop.create_task(end())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    def restarted(self, well: bool) -> None:
        """Record whether preparing a process for another game succeeded."""
        self._failed_restarts = 0 if well else self._failed_restarts + 1
        if self._failed_restarts == _MOST_RESTARTS_FAILED:
            self.restarts = False


class _Life:
    """One process of an engine from its START on, with its conversation."""

    def __init__(self, seat: EngineSeat, started: Started, terms: Terms) -> None:
        self.process = EngineProcess(started, self, seat.settings.now, seat.heard)
        self.talk = Conversation(terms, seat.options, answers_once=seat.answers_once, colours=seat.colours)
        self.over: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        """Why it is abandoned: its fault, a phrase that follows "it"; None if another process is wanted."""
        self.was_ready = False
        self.refused_start = self.refused_rule = False
        self.lost: tuple[LostGame, ...] = ()
        """The game that it lost by ending."""
        self._seat = seat
        self._timer: asyncio.TimerHandle | None = None
        self._lines: deque[str] = deque(maxlen=_LINES_OF_A_MOVE)
        """The last lines since the question."""
        self._free_us = 0
        """The earliest time of the next question."""
        self._is_stale = False
        """Whether it thinks about a finished game."""

    @property
    def is_ready(self) -> bool:
        return not self._is_stale and self.talk.phase in (Phase.READY, Phase.PLAYING, Phase.THINKING, Phase.CHOOSING)

    # Requests of the seat.

    def start(self, seconds: float) -> None:
        """Send START, which must be answered within so many seconds."""
        start = self.talk.terms.start
        limit = f"{self._seat.settings.start:g} s of its start (see --start-timeout)"
        self._within(seconds, lambda: self.leave(f"did not answer {start} within {limit}"))
        self._send([start])

    def begin(self, terms: Terms) -> None:
        talk, seat = self.talk, self._seat
        if self.over.done():
            return
        if terms != talk.terms:
            if (terms.start, terms.rule) != (talk.terms.start, talk.terms.rule):
                self.leave(None)  # not every engine accepts a second START
                return
            talk.terms = terms
            if talk.phase is not Phase.STARTING:
                self._send(terms.infos(self.process.scratch, seat.options))
        if talk.phase is Phase.PLAYING:
            self._restart()

    def finish(self) -> None:
        """End the game. An engine that still thinks about it can finish."""
        if not self._seat.restarts:
            self.leave(None)
        elif self.talk.phase is Phase.THINKING or self.talk.phase is Phase.CHOOSING:
            self._is_stale = True
            if self._seat.pause.has_grown:
                self._seat.lost_words()  # as before, perhaps the whole question
            thought = f"thought for {_THOUGHT_SECONDS:g} s about a game that was over"
            self._within(_THOUGHT_SECONDS, lambda: self.leave(thought))

    def put_question(self) -> None:
        """Ask the pending question, if the engine can be asked now."""
        talk, seat = self.talk, self._seat
        if seat.question is not None and talk.phase in _ASKABLE and not self.over.done():
            if self._free_us and (left_us := self._free_us - seat.settings.now()) > 0:
                self._within(left_us / 1e6, self.put_question)
                return
            question, seat.question = seat.question, None
            self._lines.clear()
            commands = talk.ask_choice(question) if isinstance(question, OpeningChoice) else talk.ask(*question)
            seat.asked_us = self._send(commands)

    def leave(self, reason: str | None) -> None:
        self._cancel_timer()
        if not self.over.done():
            self.over.set_result(reason)

    # The `Listener` of the process.

    def said(self, line: str, now: int) -> None:
        seat = self._seat
        if seat.transcript is not None:
            seat.transcript.heard(line)
        if seat.pause.us:
            self._free_us = now + seat.pause.us
        heard = self.talk.hear(line)
        if self.over.done():
            return
        if heard is MOVE and not self._is_stale:
            if self.talk.cell == OFF_BOARD:
                self.process.note(f"({line} is not a point on the board)")
            # An engine that answered before we could run took no time.
            took_us = max(0, now - seat.asked_us)
            if self._timer is not None or self.talk.doubles:
                self._answered_late(now, took_us)
            if seat.pause.us:
                seat.understood()
            if not line[-1:].isdecimal():
                self._lines.append(line)  # a score can follow the move
            seat.owner.moved(self.talk.cell, took_us, self._lines)
            return
        if self._is_stale and (heard is MOVE or heard is Meaning.CHOICE):
            self._is_stale = False
            self._cancel_timer()
            if seat.in_game:
                self._restart()
            return
        if heard is Meaning.CHOICE:
            assert self.talk.choice is not None
            took_us = max(0, now - seat.asked_us)
            self._answered_late(now, took_us)
            seat.owner.chose(self.talk.choice, took_us)
            return
        if heard is Meaning.DOUBLE:
            self._free_us = now
            self.put_question()
            return
        if heard is Meaning.READY:
            self._ready()
            return
        if heard is Meaning.SUGGESTION:
            self._seat.manners["suggests moves and waits for PLAY"] = None
            self._send([f"PLAY {word_and_rest(line)[1]}"])
            return
        if (
            heard is Meaning.NOTE
            and word_and_rest(line)[0] in REFUSALS
            and (manner := _COMPLAINTS.get(self.talk.phase))
        ):
            self._seat.manners[manner] = None
        self._lines.append(line)
        if line != "OK":
            self.process.note(line)
        if heard is Meaning.CUT:
            seat.lost_words()
        elif heard is Meaning.MISSED and not self._is_stale:
            if self.talk.has_rows:
                self._within(_QUIET_SECONDS, self._ask_again)
            else:
                self._ask_again()
        if heard is Meaning.STARTED:
            if line != "OK":
                self._seat.manners["says more than OK"] = None
            self._within(_AGAIN_SECONDS if _NAMELESS in seat.manners else _TERMS_SECONDS, self._settled)
            self._send(self.talk.send_terms(self.process.scratch))
        elif heard is Meaning.RESTART_REFUSED:
            self._seat.manners["refuses RESTART, or misses it"] = None
            self._send([self.talk.restart()])
        elif heard is Meaning.REFUSAL:
            self._refused(line)
        elif heard is Meaning.RULE:
            self.refused_rule = True
            rule = self.talk.terms.rule
            self.leave(f"answers INFO rule {rule} with {line!r}, expected an engine that knows {name_of(rule)}")

    def chatted(self, messages: Sequence[str], now: int) -> bool:
        seat = self._seat
        if self.over.done() or not self.talk.ignores(messages):
            return False
        if seat.transcript is not None:
            for line in messages:
                seat.transcript.heard(line)
        if seat.pause.us:
            self._free_us = now + seat.pause.us
        self._lines.extend(messages)
        self.process.note("\n".join(messages))
        return True

    def ended(self, reason: str) -> None:
        """Handle the end; also called to abandon the process. It loses its running game."""
        if not self.over.done():
            playing = self.talk.phase in (Phase.PLAYING, Phase.THINKING, Phase.CHOOSING)
            self._give_up(reason, lost=playing and not self._is_stale)

    def failed(self, error: Exception) -> None:
        self._seat.fail(error)

    def _give_up(self, reason: str, *, lost: bool) -> None:
        self.leave(reason)
        if lost and self._seat.in_game:
            self.lost = self._seat.owner.lost()

    def _ask_again(self) -> None:
        """Repeat the open question while its clock runs."""
        seat = self._seat
        had_colours = self.talk.colours
        commands = self.talk.ask_again(seat.settings.now() - seat.asked_us)
        if self.talk.colours != had_colours:
            seat.manners[_WANTS_COLOURS if self.talk.colours else _WANTS_NO_COLOURS] = None
        else:
            seat.repeats += 1
            seat.lost_words()
            seat.manners[_MISSES] = None
        if seat.transcript is not None:
            seat.transcript.note(f"asked again, after {seat.pause.us / 1000:g} ms from now on")
        self._send(commands)

    def _answered_late(self, now: int, took_us: int) -> None:
        """Prevent a second answer to a repeated question from counting for the next one."""
        self._cancel_timer()
        if self.talk.doubles:
            self._free_us = now + max(_DOUBLE_PAUSE_US, min(_LONGEST_TRIAL_US, 2 * took_us))

    def _settled(self) -> None:
        self._seat.manners[_NAMELESS] = None
        self.talk.settle()
        self._ready()

    def _ready(self) -> None:
        self._cancel_timer()
        if self.was_ready:
            self._seat.restarted(True)
        self.was_ready = True
        if self._seat.line_end != _LINE_ENDS[0]:
            self._seat.manners["takes commands only with CR LF"] = None
        self._seat.owner.ready()
        self.put_question()

    # Another game.

    def _restart(self) -> None:
        if not self._seat.restarts:
            self.leave(None)
            return
        patience = self._seat.settings.restart
        self._within(patience, lambda: self._not_restarted(f"within {patience:g} s"))
        self._send([self.talk.restart()])

    def _refused(self, line: str) -> None:
        if not self.was_ready:
            self.refused_start = True
            self.leave(f"answers {self.talk.terms.start} with {line!r}")
        else:
            self._not_restarted("with OK")

    def _not_restarted(self, how: str) -> None:
        seat = self._seat
        seat.manners[f"did not answer RESTART {how}"] = None
        seat.restarted(False)
        if seat.options.restart is Restart.OFF:
            self._give_up(f"did not answer RESTART {how}, and restart=off forbids a new process", lost=True)
        else:
            self.process.note(f"(no OK to RESTART {how}: another process plays the next game)")
            self.leave(None)

    def _send(self, commands: Sequence[str]) -> int:
        """Write commands. Return when the engine could read them."""
        transcript = self._seat.transcript
        if transcript is not None:
            transcript.told(commands)
        return self.process.send(as_bytes(commands, self._seat.line_end))

    def _within(self, seconds: float, late: Callable[[], None]) -> None:
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(max(0.0, seconds), self._seat.guarded(late))

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
