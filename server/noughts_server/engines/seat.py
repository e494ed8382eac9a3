"""A seat for an engine: one game at a time, and a process that is prepared for it before any clock runs.

A process is started on the terms of its game. The seat sends START, the infos and RESTART, or replaces the process,
before it asks the question. Only then does the engine's clock start.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from noughts_bots.gomocup.conversation import MOVE, REFUSALS, Conversation, Meaning, Phase, Terms, as_bytes
from noughts_bots.gomocup.options import EngineOptions, Restart
from noughts_bots.gomocup.protocol import name_of, word_and_rest
from noughts_bots.gomocup.swap2 import Swap2Answer
from noughts_bots.gomocup.thoughts import ThoughtReader
from noughts_referee.children.child_player import MOST_STARTS
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.launcher import ChildCommand, Launcher, Started
from noughts_referee.children.running_child import Death
from noughts_referee.game import LostGame
from noughts_referee.rules import OFF_BOARD, OpeningChoice
from noughts_server.engines.engine_process import EngineProcess
from noughts_server.engines.settle_pause import SettlePause
from noughts_server.engines.transcript import Transcript

# The time to read the terms for an engine that does not answer ABOUT, and for later processes of such an engine.
_TERMS_SECONDS = 3.0
_LATER_TERMS_SECONDS = 1.0
_THOUGHT_SECONDS = 0.5
"""Seconds for which an engine can think about a finished game before another process replaces it."""
_DOUBLE_PAUSE_US = 20_000
"""The shortest wait for a second answer to a question that was repeated."""
_LONGEST_DOUBLE_PAUSE_US = 500_000
"""The longest such wait."""
_ASKABLE = (Phase.READY, Phase.PLAYING)
"""The phases in which an engine can get a question."""
_QUIET_SECONDS = 0.003
"""The wait after a complaint about a question of several lines, because the engine can complain about each line."""
_MOST_ENDING = 1
"""The limit of a seat's processes that are ending while another one starts."""
_LINES_OF_A_MOVE = 16
"""The lines before a move in which its score is searched: some engines print several other lines after the score."""
_MOST_FAILED_RESTARTS = 2
"""After this many consecutive failures to restart, an engine gets a new process for each game."""
_LF, _CRLF = "\n", "\r\n"
"""The line end that managers on Linux write, and the protocol's, for engines that refuse LF."""

# The engine's peculiarities, as phrases that follow "it".
_COMPLAINTS = {
    Phase.TERMS_SENT: "complains about infos, or about ABOUT",
    Phase.THINKING: "says ERROR or UNKNOWN before a move",
    Phase.CHOOSING: "says ERROR or UNKNOWN to SWAP2BOARD",
}
"""Complaints without another effect, by phase."""
_IGNORES_ABOUT = "does not answer ABOUT"
_LOSES_WORDS = "loses words of commands that directly follow its own line"
_WANTS_COLOURS = "seems to want the colours of stones in SWAP2BOARD: write swap2=colours"
_WANTS_NO_COLOURS = "seems to want no colours of stones in SWAP2BOARD: write swap2=on"
FORMS_OF_SWAP2 = (_WANTS_COLOURS, _WANTS_NO_COLOURS)
"""Peculiarities for which there is an option of the spec."""
_MISSES_QUESTIONS = "answers questions with ERROR or UNKNOWN until they are repeated"

Question = OpeningChoice | tuple[Sequence[int], int]
"""An opening, or the moves of a game with the engine's clock in microseconds."""


class EngineRefused(Exception):
    """The engine does not play on such a board or by such a rule; the text is a phrase that follows "it"."""


class RuleRefused(EngineRefused):
    """The engine does not know the rule."""


class Owner(Protocol):
    """The owner of a seat. An exception of these methods is an internal error and ends `EngineSeat.play`."""

    def process_ready(self) -> None:
        """Handle that a process can play now."""

    def receive_move(self, cell: int, took_us: int, lines: Sequence[str]) -> None:
        """Handle a move `took_us` after the question was written; `lines` are the engine's last lines before it."""

    def receive_choice(self, answer: Swap2Answer, took_us: int) -> None:
        """Handle the engine's choice for the opening, `took_us` after the question was written."""

    def lose_game(self) -> tuple[LostGame, ...]:
        """Let the engine lose its running game, because its process has ended. Return the game."""

    def process_ended(self, death: Death, lost: tuple[LostGame, ...], *, disabled: bool) -> None:
        """Handle that a process has ended by itself or for a fault; if `disabled`, there will be no other."""


@dataclass(eq=False)
class EngineSeat:
    """The seat of an engine: `play` keeps a process running, and the owner calls the other methods meanwhile."""

    command: ChildCommand
    options: EngineOptions
    launcher: Launcher
    settings: ChildSettings
    owner: Owner
    transcript: Transcript | None = None
    on_output: Callable[[bytes], None] | None = None
    """Receives stderr, and lines other than moves, as they come."""

    def __post_init__(self) -> None:
        self.line_end = _LF
        self.manners: dict[str, None] = {}
        """The engine's peculiarities, in the order in which they were seen."""
        self.death: Death | None = None
        self.in_game = False
        self.question: Question | None = None
        """The question to ask when the engine is ready."""
        self.thoughts = ThoughtReader()
        self.question_us = 0
        """The time at which the last question was written, so that the engine could read it."""
        self.repeats = 0
        """The number of questions that were repeated as they were because the engine answered ERROR or UNKNOWN."""
        self.pause = SettlePause(self.options.settle_us)
        """The pause between the engine's last line and the next question. No clock runs in it."""
        self.answers_once: bool | None = None
        """See `Conversation`."""
        self.colours: bool | None = None
        """See `Conversation`."""
        self.reuses_process = self.options.restart is not Restart.ON
        """Whether a process plays several games in turn."""
        self._cut_question_us = 0
        """The `question_us` of the last question of which the engine lost words."""
        self._loop = asyncio.get_running_loop()
        self._terms: Terms | None = None
        self._has_terms = asyncio.Event()
        """Set when `play` can start a process, or must raise a failure."""
        self._run: _Run | None = None
        """The running process."""
        self._failed_restarts = 0
        self._endings: set[asyncio.Task[None]] = set()
        self._failure: Exception | None = None

    # Requests of the owner.

    def expect(self, terms: Terms) -> None:
        """Let `play` prepare a process for games on these terms."""
        self._terms = terms
        self._has_terms.set()

    def begin(self, terms: Terms) -> None:
        self.expect(terms)
        self.in_game = True
        if self._run is not None:
            self._run.begin(terms)

    def ask(self, question: Question) -> None:
        """Ask for a move, or for a choice for the opening, as soon as the engine is ready."""
        self.question = question
        if self._run is not None:
            self._run.put_question()

    def finish(self) -> None:
        self.in_game = False
        self.question = None
        if self._run is not None:
            self._run.finish()

    def forget(self) -> None:
        """Make the next question send all moves, whatever the engine knows of the game."""
        if self._run is not None:
            self._run.conversation.forget()

    @property
    def is_ready(self) -> bool:
        """Return whether the engine can get a question now, or has an open one."""
        return self._run is not None and self._run.is_ready

    @property
    def pid(self) -> int | None:
        """Return the ID of the engine's process, if one runs."""
        return None if self._run is None else self._run.process.pid

    def last_write(self) -> int:
        """Return the time at which the process wrote last."""
        return self.settings.now() if self._run is None else self._run.process.last_write()

    def read_pending(self) -> None:
        """Read what the process has written so far."""
        if self._run is not None:
            self._run.process.read_pending()

    def give_up(self, reason: str) -> None:
        """End the process for a fault; `reason` is a phrase that follows "it"."""
        if self._run is not None:
            self._run.receive_end(reason)

    def guarded(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Return the callback for the event loop; `play` raises its exceptions."""

        def call() -> None:
            try:
                callback()
            except Exception as error:
                self.fail(error)

        return call

    @property
    def stderr(self) -> str:
        """Return the last stderr of the process, with lines other than moves."""
        return self._run.process.stderr if self._run is not None else ""

    def kill(self, signal: int) -> None:
        if self._run is not None:
            self._run.process.kill(signal)

    # Reports of the process.

    def record_lost_words(self) -> None:
        """Record that the engine lost words of the last question: the pause grows, unless the user has set it."""
        if self._cut_question_us == self.question_us:
            return
        self._cut_question_us = self.question_us
        self.manners[_LOSES_WORDS] = None
        self.pause.record_loss()

    def record_answer(self) -> None:
        """Record an answer to the last question: if the engine lost no words of it, the pause can become shorter."""
        if self._cut_question_us != self.question_us:
            self.pause.record_answer()

    def record_restart(self, *, succeeded: bool) -> None:
        """Record whether preparing a process for another game succeeded."""
        self._failed_restarts = 0 if succeeded else self._failed_restarts + 1
        if self._failed_restarts == _MOST_FAILED_RESTARTS:
            self.reuses_process = False

    def fail(self, error: Exception) -> None:
        """Make `play` raise an internal error of a callback, which the event loop would only log."""
        self._failure = self._failure or error
        self._has_terms.set()
        if self._run is not None:
            self._run.leave(None)

    # Processes, one after the other.

    async def play(self) -> None:
        """Keep a process running until it is cancelled, or until three consecutive processes did not start.

        Raises EngineRefused for an unsupported board, and the errors of the launcher and of `fail`.
        """
        failures = 0
        was_ready = False
        try:
            while failures < MOST_STARTS:
                await self._has_terms.wait()
                self._raise_failure()
                while len(self._endings) > _MOST_ENDING:
                    await asyncio.wait(self._endings, return_when=asyncio.FIRST_COMPLETED)
                assert self._terms is not None
                began = self.settings.now()
                run = self._run = _Run(self, await self.launcher.start(self.command), self._terms)
                run.start(self.settings.start - (self.settings.now() - began) / 1e6)
                reason = await run.end_reason
                self._raise_failure()
                self._run = None
                if run.refused_rule:
                    self._end_process(run, "", is_reported=False)
                    raise RuleRefused(reason or "")
                if run.refused_start and not was_ready:
                    self._end_process(run, "", is_reported=False)
                    if self.line_end == _CRLF:
                        raise EngineRefused(f"{reason}, expected OK")
                    self.line_end = _CRLF
                    continue
                was_ready = was_ready or run.was_ready
                failures = 0 if run.was_ready else failures + 1
                is_disabled = failures == MOST_STARTS
                self._end_process(run, reason or "", is_reported=reason is not None, disabled=is_disabled)
        finally:
            if self._run is not None:
                self._end_process(self._run, "", is_reported=False)
                self._run = None
            while self._endings:
                await asyncio.wait(self._endings)
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _end_process(self, run: "_Run", reason: str, *, is_reported: bool, disabled: bool = False) -> None:
        """Let the process end while other games continue. If `is_reported`, report its end to the owner."""
        self.answers_once = run.conversation.answers_once
        self.colours = run.conversation.colours

        async def end() -> None:
            death = self.death = await run.process.stop(reason, self.settings.stop)
            if death.code is None and not death.reason:
                self.manners["does not end after END"] = None
            if is_reported:
                self.owner.process_ended(death, run.lost_games, disabled=disabled)

        run.leave(None)
        ending = self._loop.create_task(end())
        self._endings.add(ending)
        ending.add_done_callback(self._record_ending)

    def _record_ending(self, ending: "asyncio.Task[None]") -> None:
        self._endings.discard(ending)
        error = None if ending.cancelled() else ending.exception()
        if isinstance(error, Exception):
            self.fail(error)


class _Run:
    """One process of an engine from its START on, with its conversation."""

    def __init__(self, seat: EngineSeat, started: Started, terms: Terms) -> None:
        self.process = EngineProcess(started, self, seat.settings.now, seat.on_output)
        self.conversation = Conversation(terms, seat.options, answers_once=seat.answers_once, colours=seat.colours)
        self.end_reason: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        """Set when the seat must end the process: to its fault, a phrase that follows "it", or to None without one."""
        self.was_ready = False
        self.refused_start = False
        self.refused_rule = False
        self.lost_games: tuple[LostGame, ...] = ()
        """The game that the engine lost because its process ended."""
        self._seat = seat
        self._timer: asyncio.TimerHandle | None = None
        self._lines: deque[str] = deque(maxlen=_LINES_OF_A_MOVE)
        """The last lines since the question."""
        self._earliest_question_us = 0
        """The earliest time of the next question; 0 if it does not have to wait."""
        self._is_stale = False
        """Whether the engine thinks about a finished game."""

    @property
    def is_ready(self) -> bool:
        """Return whether the engine can get a question now, or has an open one."""
        phase = self.conversation.phase
        return not self._is_stale and phase in (Phase.READY, Phase.PLAYING, Phase.THINKING, Phase.CHOOSING)

    # Requests of the seat.

    def start(self, seconds: float) -> None:
        """Send START, which the engine must answer within this time."""
        start = self.conversation.terms.start
        limit = f"{self._seat.settings.start:g} s of its start (see --start-timeout)"
        self._set_timer(seconds, lambda: self.leave(f"did not answer {start} within {limit}"))
        self._send([start])

    def begin(self, terms: Terms) -> None:
        """Prepare the process for a game on these terms. The seat must end it if other terms need a second START."""
        conversation = self.conversation
        if self.end_reason.done():
            return
        if terms != conversation.terms:
            if (terms.start, terms.rule) != (conversation.terms.start, conversation.terms.rule):
                self.leave(None)  # not every engine accepts a second START
                return
            conversation.terms = terms
            if conversation.phase is not Phase.STARTING:
                self._send(terms.infos(self.process.scratch, self._seat.options))
        if conversation.phase is Phase.PLAYING:
            self._restart()

    def finish(self) -> None:
        """End the game. An engine that still thinks about it gets some time to finish the thought."""
        if not self._seat.reuses_process:
            self.leave(None)
        elif self.conversation.phase in (Phase.THINKING, Phase.CHOOSING):
            self._is_stale = True
            if self._seat.pause.has_grown:
                self._seat.record_lost_words()  # it has lost words before, and now perhaps the whole question
            fault = f"thought for {_THOUGHT_SECONDS:g} s about a game that was over"
            self._set_timer(_THOUGHT_SECONDS, lambda: self.leave(fault))

    def put_question(self) -> None:
        """Ask the pending question, if the engine can get one now."""
        conversation = self.conversation
        seat = self._seat
        if seat.question is None or conversation.phase not in _ASKABLE or self.end_reason.done():
            return
        if self._earliest_question_us and (left_us := self._earliest_question_us - seat.settings.now()) > 0:
            self._set_timer(left_us / 1e6, self.put_question)
            return
        question = seat.question
        seat.question = None
        self._lines.clear()
        if isinstance(question, OpeningChoice):
            commands = conversation.ask_choice(question)
        else:
            commands = conversation.ask(*question)
        seat.question_us = self._send(commands)

    def leave(self, reason: str | None) -> None:
        """Let the seat end the process. See `end_reason`; only the first reason counts."""
        self._cancel_timer()
        if not self.end_reason.done():
            self.end_reason.set_result(reason)

    # The `Listener` of the process.

    def receive_line(self, line: str, now: int) -> None:
        seat = self._seat
        if seat.transcript is not None:
            seat.transcript.record_line(line)
        if seat.pause.us:
            self._earliest_question_us = now + seat.pause.us
        meaning = self.conversation.read_line(line)
        if self.end_reason.done():
            return
        if self._is_stale and (meaning is MOVE or meaning is Meaning.CHOICE):
            self._finish_stale_thought()
        elif meaning is MOVE:
            self._receive_move(line, now)
        elif meaning is Meaning.CHOICE:
            self._receive_choice(now)
        elif meaning is Meaning.DOUBLE:
            self._earliest_question_us = now
            self.put_question()
        elif meaning is Meaning.READY:
            self._become_ready()
        elif meaning is Meaning.SUGGESTION:
            seat.manners["suggests moves and waits for PLAY"] = None
            self._send([f"PLAY {word_and_rest(line)[1]}"])
        else:
            self._receive_other_line(line, meaning)

    def receive_messages(self, messages: Sequence[str], now: int) -> bool:
        seat = self._seat
        if self.end_reason.done() or not self.conversation.ignores(messages):
            return False
        if seat.transcript is not None:
            for line in messages:
                seat.transcript.record_line(line)
        if seat.pause.us:
            self._earliest_question_us = now + seat.pause.us
        self._lines.extend(messages)
        self.process.note("\n".join(messages))
        return True

    def receive_end(self, reason: str) -> None:
        """Handle the end of the process; also called to abandon it. The engine loses its running game."""
        if not self.end_reason.done():
            is_playing = self.conversation.phase in (Phase.PLAYING, Phase.THINKING, Phase.CHOOSING)
            self._give_up(reason, loses=is_playing and not self._is_stale)

    def receive_error(self, error: Exception) -> None:
        self._seat.fail(error)

    # Lines of the engine.

    def _finish_stale_thought(self) -> None:
        """Ignore the answer to a question of a finished game, and begin the next game, if there is one."""
        self._is_stale = False
        self._cancel_timer()
        if self._seat.in_game:
            self._restart()

    def _receive_move(self, line: str, now: int) -> None:
        seat = self._seat
        if self.conversation.cell == OFF_BOARD:
            self.process.note(f"({line} is not a point on the board)")
        # An engine that answered before we could run took no time.
        took_us = max(0, now - seat.question_us)
        if self._timer is not None or self.conversation.doubles:
            self._wait_for_double(now, took_us)
        if seat.pause.us:
            seat.record_answer()
        if not line[-1:].isdecimal():
            self._lines.append(line)  # a score can follow the move
        seat.owner.receive_move(self.conversation.cell, took_us, self._lines)

    def _receive_choice(self, now: int) -> None:
        assert self.conversation.choice is not None
        took_us = max(0, now - self._seat.question_us)
        self._wait_for_double(now, took_us)
        self._seat.owner.receive_choice(self.conversation.choice, took_us)

    def _receive_other_line(self, line: str, meaning: Meaning) -> None:
        """Handle a line that is not an answer: keep it as a note, and act if it has a meaning."""
        seat = self._seat
        conversation = self.conversation
        if meaning is Meaning.NOTE and word_and_rest(line)[0] in REFUSALS and conversation.phase in _COMPLAINTS:
            seat.manners[_COMPLAINTS[conversation.phase]] = None
        self._lines.append(line)
        if line != "OK":
            self.process.note(line)
        if meaning is Meaning.CUT:
            seat.record_lost_words()
        elif meaning is Meaning.MISSED and not self._is_stale:
            if conversation.has_rows:
                self._set_timer(_QUIET_SECONDS, self._ask_again)
            else:
                self._ask_again()
        elif meaning is Meaning.STARTED:
            if line != "OK":
                seat.manners["says more than OK"] = None
            seconds = _LATER_TERMS_SECONDS if _IGNORES_ABOUT in seat.manners else _TERMS_SECONDS
            self._set_timer(seconds, self._settle)
            self._send(conversation.send_terms(self.process.scratch))
        elif meaning is Meaning.RESTART_REFUSED:
            seat.manners["refuses RESTART, or misses it"] = None
            self._send([conversation.restart()])
        elif meaning is Meaning.REFUSAL:
            self._receive_refusal(line)
        elif meaning is Meaning.RULE:
            self.refused_rule = True
            rule = conversation.terms.rule
            self.leave(f"answers INFO rule {rule} with {line!r}, expected an engine that knows {name_of(rule)}")

    def _receive_refusal(self, line: str) -> None:
        if not self.was_ready:
            self.refused_start = True
            self.leave(f"answers {self.conversation.terms.start} with {line!r}")
        else:
            self._fail_restart("with OK")

    def _give_up(self, reason: str, *, loses: bool) -> None:
        """Let the seat end the process for a fault. If `loses`, the engine loses its running game."""
        self.leave(reason)
        if loses and self._seat.in_game:
            self.lost_games = self._seat.owner.lose_game()

    def _ask_again(self) -> None:
        """Repeat the open question while its clock runs."""
        seat = self._seat
        had_colours = self.conversation.colours
        commands = self.conversation.ask_again(seat.settings.now() - seat.question_us)
        if self.conversation.colours != had_colours:
            seat.manners[_WANTS_COLOURS if self.conversation.colours else _WANTS_NO_COLOURS] = None
        else:
            seat.repeats += 1
            seat.record_lost_words()
            seat.manners[_MISSES_QUESTIONS] = None
        if seat.transcript is not None:
            seat.transcript.note(f"asked again, after {seat.pause.us / 1000:g} ms from now on")
        self._send(commands)

    def _wait_for_double(self, now: int, took_us: int) -> None:
        """Delay the next question, so that a second answer to a repeated question does not count for it."""
        self._cancel_timer()
        if self.conversation.doubles:
            pause_us = max(_DOUBLE_PAUSE_US, min(_LONGEST_DOUBLE_PAUSE_US, 2 * took_us))
            self._earliest_question_us = now + pause_us

    def _settle(self) -> None:
        """Consider the terms as read, because the engine has not answered ABOUT."""
        self._seat.manners[_IGNORES_ABOUT] = None
        self.conversation.settle()
        self._become_ready()

    def _become_ready(self) -> None:
        self._cancel_timer()
        if self.was_ready:
            self._seat.record_restart(succeeded=True)
        self.was_ready = True
        if self._seat.line_end == _CRLF:
            self._seat.manners["takes commands only with CR LF"] = None
        self._seat.owner.process_ready()
        self.put_question()

    # Another game.

    def _restart(self) -> None:
        if not self._seat.reuses_process:
            self.leave(None)
            return
        seconds = self._seat.settings.restart
        self._set_timer(seconds, lambda: self._fail_restart(f"within {seconds:g} s"))
        self._send([self.conversation.restart()])

    def _fail_restart(self, requirement: str) -> None:
        """Replace the process, because the engine did not answer RESTART as required."""
        seat = self._seat
        seat.manners[f"did not answer RESTART {requirement}"] = None
        seat.record_restart(succeeded=False)
        if seat.options.restart is Restart.OFF:
            self._give_up(f"did not answer RESTART {requirement}, and restart=off forbids a new process", loses=True)
        else:
            self.process.note(f"(no OK to RESTART {requirement}: another process plays the next game)")
            self.leave(None)

    def _send(self, commands: Sequence[str]) -> int:
        """Write commands. Return the time at which the engine could read them."""
        transcript = self._seat.transcript
        if transcript is not None:
            transcript.record_commands(commands)
        return self.process.send(as_bytes(commands, self._seat.line_end))

    def _set_timer(self, seconds: float, on_timeout: Callable[[], None]) -> None:
        """Call a function after this time, in place of the timer that is set now."""
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(max(0.0, seconds), self._seat.guarded(on_timeout))

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
