"""`gomocup:COMMAND`: a bot whose moves come from an engine that speaks the Gomocup protocol, started here."""

import os
import resource
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from noughts_bots.bot import Bot, GameEnd, GameInfo, Resign, TimeLimits
from noughts_bots.errors import BotSpecError
from noughts_bots.gomocup.conversation import RESTART_SECONDS, Conversation, Terms
from noughts_bots.gomocup.process import EngineEnded, EngineProcess
from noughts_bots.gomocup.protocol import FREESTYLE, VARIANTS, read_point, rule_of, word_and_rest, written_point
from noughts_bots.hosts import folder
from noughts_referee.rules import Position, Variant, members, parse_variant

CRASHED = 70
"""Exit code of this process when the engine has ended in the middle of a game."""

_RESTARTS = ("on", "off", "auto")
# What the engine finds in its environment, beside TMPDIR: what a program needs to run, and no secrets.
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "DISPLAY", "XDG_RUNTIME_DIR", "JAVA_HOME")
_KEPT_BEGINNINGS = ("LC_", "WINE", "PYTHON", "LD_LIBRARY_", "DYLD_")
# An engine that is so long overdue has lost: its referee allows for the way, but not for this.
_OVERDUE_SECONDS = 2.0
# Of what the engine says besides its moves: characters a game.
_MOST_NOTES = 32_768
_NO_CELL = -1
_USUAL_VARIANTS = ("gomoku", "gomoku20")


def load(target: str, options: Mapping[str, str]) -> "GomocupBot":
    """Starts the engine and waits until it answers. Raises BotSpecError."""
    subject = f"bot {'gomocup:' + target!r}"
    restart = options.get("restart", "auto")
    if unknown := set(options) - {"restart"}:
        raise BotSpecError(
            subject, f"option {min(unknown)}", "option restart", "write gomocup{restart=on|off|auto}:COMMAND"
        )
    if restart not in _RESTARTS:
        raise BotSpecError(
            f"{subject}, option restart", restart, "on, off or auto", "on: a new process for each game; off: RESTART"
        )
    try:
        words = shlex.split(target)
    except ValueError as error:
        raise BotSpecError(subject, str(error).lower(), "a command as in a shell", "look at its quotes") from None
    if not words:
        raise BotSpecError(subject, "no command", "an engine's program and its arguments", "write gomocup:COMMAND")
    bot = GomocupBot(_command(words), restart)
    try:
        bot.launch()
    except (OSError, EngineEnded) as error:
        bot.close()
        got = error.how if isinstance(error, EngineEnded) else f"{words[0]}: {error.strerror}"
        raise BotSpecError(
            subject, got, "a program that answers START 20", "start it by hand and type START 20"
        ) from None
    return bot


def _command(words: Sequence[str]) -> list[str]:
    """The command with whole paths, since the engine works in another folder: its program's, unless that is looked
    for in PATH, and those of files among the arguments."""
    here = folder()
    program, *arguments = words
    if "/" in program:
        program = os.path.abspath(here / program)
    return [program, *(os.path.abspath(here / word) if os.path.isfile(here / word) else word for word in arguments)]


class GomocupBot(Bot):
    """An engine. What it says besides its moves goes to stderr."""

    # One process plays one game at a time, and several of them would fight for the time that each measures.
    max_games = 1
    variants = VARIANTS

    def __init__(self, command: Sequence[str], restart: str) -> None:
        self._command = command
        self._restart = restart
        self._folder = Path(tempfile.mkdtemp(prefix="noughts-gomocup-"))
        self._engine: Conversation | None = None
        self._variant: Variant | None = None
        self._time = TimeLimits()
        self._known: list[int] = []
        """The moves of the game that the engine knows; none if its board is empty."""
        self._refusal: str | None = None
        """Why it does not play this game."""
        self._refused: dict[Terms, str] = {}
        self._complains = True
        """What is known of its processes: see `Conversation`."""
        self._notes_left = _MOST_NOTES

    def launch(self) -> None:
        """Starts a process and waits until it answers. Raises OSError and EngineEnded."""
        engine = self._start_process()
        # While it starts: these boards take 10 ms and more to make, which later would be on its clock.
        for name in _USUAL_VARIANTS:
            parse_variant(name)
        engine.wait_until_ready(self._infos(Terms(20, 20, FREESTYLE, TimeLimits(move=1.0))))

    def start(self, game: GameInfo) -> None:
        self._notes_left = _MOST_NOTES
        self._set_up(game.variant, game.time)

    def end(self, game: GameInfo, end: GameEnd) -> None:
        if self._restart == "on":
            self._stop_process()
        self._variant = None

    def close(self) -> None:
        """Ends the engine and removes its working folder."""
        self._stop_process()
        shutil.rmtree(self._folder, ignore_errors=True)

    def choose(self, position: Position) -> int:
        if position.variant is not self._variant:
            self._set_up(position.variant, TimeLimits())
        elif self._known and position.moves[:-1] != self._known:
            # Asked again, or about another line of play.
            self._set_up(position.variant, self._time)
        if self._refusal is not None:
            raise Resign(self._refusal)
        limit = position.own_clock_us / 1e6
        deadline = time.monotonic() + limit + _OVERDUE_SECONDS if limit else None
        commands = self._commands(position)
        engine, terms = self._playing()
        try:
            line = engine.move(terms.time_left(position.own_clock_us), commands, deadline)
        except EngineEnded as ended:
            self._crash(ended)
        if line is None:
            self._say(f"no answer to {commands[0]} within {limit + _OVERDUE_SECONDS:.1f} s; the engine is killed")
            engine.process.kill()
            self._engine = self._variant = None
            raise Resign
        return self._judged(line, commands[0], position)

    def _judged(self, line: str, command: str, position: Position) -> int:
        """The cell that the engine answers with; what is no cell of the board loses as an illegal move."""
        variant = position.variant
        if word_and_rest(line)[0] in ("ERROR", "UNKNOWN"):
            self._say(f"to {command} the engine says {line!r}, and resigns so")
            raise Resign
        cell = read_point(line, variant.columns, variant.rows)
        if cell is None:
            self._say(f"to {command} the engine says {line!r}, which is no move: expected X,Y")
            return _NO_CELL
        if cell not in position.free:
            self._say(f"to {command} the engine says {line!r}, which is no free cell of the board")
        self._known = [*position.moves, cell]
        return cell

    def _commands(self, position: Position) -> list[str]:
        """What asks the engine for its move: TURN if it knows everything but the opponent's last move."""
        moves, columns = position.moves, position.variant.columns
        played = len(moves) == position.ply
        if not position.ply:
            return ["BEGIN"]
        if self._known or (played and position.ply == 1):
            return [f"TURN {written_point(moves[-1], columns)}"]
        # In the order played, as far as that is known.
        stones = moves if played else [*members(position.own), *members(position.opponent)]
        rows = [f"{written_point(cell, columns)},{1 if position.own >> cell & 1 else 2}" for cell in stones]
        return ["BOARD", *rows, "DONE"]

    def _playing(self) -> tuple[Conversation, Terms]:
        engine = self._engine
        assert engine is not None
        assert engine.terms is not None
        return engine, engine.terms

    # Processes, and their setting up.

    def _set_up(self, variant: Variant, limits: TimeLimits) -> None:
        """Makes the engine ready for a game on an empty board, or knows why it does not play it."""
        self._variant, self._time, self._known = variant, limits, []
        try:
            self._refusal = self._why_not(variant, limits)
        except EngineEnded as ended:
            self._crash(ended)
        except OSError as error:
            self._crash(EngineEnded(f"the engine cannot be started again: {error.strerror}"))
        if self._refusal is not None:
            self._say(f"resigns: {self._refusal}")

    def _why_not(self, variant: Variant, limits: TimeLimits) -> str | None:
        rule = rule_of(variant)
        if rule is None:
            return f"{variant.name}: expected five in a row on a flat board, which is all that Gomocup engines play"
        terms = Terms(variant.columns, variant.rows, rule, limits)
        if terms not in self._refused:
            refusal = self._agree(terms)
            if refusal is None:
                return None
            self._stop_process()
            self._refused[terms] = refusal
        return self._refused[terms]

    def _agree(self, terms: Terms) -> str | None:
        """Has an engine set up on these terms; else says why it does not play on them."""
        engine = self._engine
        if engine is not None and engine.terms is not None:
            if engine.terms == terms and self._restart != "on" and self._restarts(engine):
                return None
            self._stop_process()
        fresh = self._engine is None
        refusal = self._start_anew(terms)
        if refusal is not None and not fresh:
            # It has been asked whether it is there by another START, which not every engine may take twice.
            self._stop_process()
            refusal = self._start_anew(terms)
        return refusal

    def _restarts(self, engine: Conversation) -> bool:
        """Whether the engine is ready for another game. One that is not, even once, is not asked again."""
        try:
            if engine.restart(self._patience()):
                return True
        except EngineEnded:
            # It has ended, or says nothing: to wait for it after END would take another second of its clock.
            self._stop_process(at_once=True)
        if self._restart == "off":
            raise EngineEnded("the engine does not answer RESTART with OK, and restart=off forbids a new process")
        self._restart = "on"
        return False

    def _patience(self) -> float:
        """How long RESTART may take, in seconds. What is on the clock must last for a new process, too."""
        limit = self._time.move or self._time.bank
        return min(RESTART_SECONDS, limit / 2) if limit and self._restart == "auto" else RESTART_SECONDS

    def _start_anew(self, terms: Terms) -> str | None:
        engine = self._engine or self._start_process()
        return engine.set_up(terms, self._infos(terms))

    def _infos(self, terms: Terms) -> list[str]:
        return terms.infos(str(self._folder), _memory_limit())

    def _start_process(self) -> Conversation:
        process = EngineProcess(self._command, self._folder, self._environment())
        self._engine = Conversation(process, self._note, complains=self._complains)
        return self._engine

    def _stop_process(self, *, at_once: bool = False) -> None:
        if self._engine is not None:
            self._complains = self._engine.complains
            process = self._engine.process
            process.kill() if at_once else process.close()
            self._engine = None

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)}
        return {**kept, "TMPDIR": str(self._folder)}

    # What people are told.

    def _crash(self, ended: EngineEnded) -> NoReturn:
        """This process ends with its engine, so that the referee sees a crash."""
        self._say(ended.how)
        raise SystemExit(CRASHED)

    def _note(self, line: str) -> None:
        """Keeps a line of the engine's, as long as there are not too many in this game."""
        if self._notes_left <= 0:
            return
        self._notes_left -= len(line) + 1
        self._say(line if self._notes_left > 0 else "(what the engine says from here on is left out)")

    def _say(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _memory_limit() -> int:
    """Bytes that the engine may use, as the system has been told; 0 for no limit."""
    limits = [resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=0)
