"""The referee's connection to an engine, without frames.

One turn of the event loop reads and judges an engine's move, and writes the next question to the opponent's engine.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from noughts_bots.gomocup.conversation import Terms
from noughts_bots.gomocup.options import Swap2
from noughts_bots.gomocup.protocol import rule_of
from noughts_bots.gomocup.scores import score_in
from noughts_bots.gomocup.swap2 import Swap2Answer
from noughts_bots.sdk.bot import TimeLimits
from noughts_referee.arbiter import Answers
from noughts_referee.children.running_child import Death
from noughts_referee.clock import TimeControl
from noughts_referee.connected_player import ConnectedPlayer
from noughts_referee.game import Game, LostGame, Outbox, running_games
from noughts_referee.referee_protocols import PlayerReferee
from noughts_referee.rules import Termination, Thought, Variant
from noughts_referee.stalls import LEAST_US
from noughts_referee.stream_closed import StreamClosed
from noughts_referee.work_units import GameConditions
from noughts_server.engines.game_cores import GameCores
from noughts_server.engines.seat import EngineSeat, Owner

_PREPARATION_SECONDS = 0.05
"""The time between checks of the clock while the engine is being prepared for its question."""


def terms_of(variant: Variant, time: TimeControl | None) -> Terms | None:
    """Return the terms for an engine before such a game; None if the protocol does not have the game."""
    rule = rule_of(variant)
    if rule is None:
        return None
    limits = TimeLimits() if time is None else TimeLimits(time.move_us / 1e6, time.bank_us / 1e6)
    return Terms(variant.columns, variant.rows, rule, limits)


@dataclass(eq=False)
class EngineConnection:
    """The connection to an engine's process, for one game at a time."""

    player: ConnectedPlayer
    referee: PlayerReferee
    new_seat: Callable[[Owner], EngineSeat]
    on_ready: Callable[[], None]
    on_process_end: Callable[[Death, tuple[LostGame, ...], bool], None]
    """Receives the end of a process, the games that it lost, and whether there will be no other process."""
    cores: GameCores | None = None
    """Moves the process to a core at the start of each game."""

    def __post_init__(self) -> None:
        self.capacity_timed = self.capacity_untimed = 0
        self.seat = self.new_seat(self)
        self._settings = self.seat.settings
        self._loop = asyncio.get_running_loop()
        self._silence_us = round(self._settings.silence * 1e6)
        self._game: Game | None = None
        self._conditions: GameConditions | None = None
        self._terms: Terms | None = None
        """The terms of games under these conditions."""
        self._is_asked = False
        """Whether the engine has an open question."""
        self._chosen_cell: int | None = None
        """The stone that the engine has placed together with its choice for the opening."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def online(self) -> bool:
        """Return whether it accepts games."""
        return self.capacity_timed > 0

    async def play(self, terms: Terms, agreement: str = "") -> None:
        """Play games on these terms until it is cancelled or the engine cannot be started; see `EngineSeat.play`.

        `agreement` is the rule for agreeing on openings, if any: engines know swap2.
        """
        self.seat.expect(terms)
        self.player.opens = self.seat.options.swap2 is not Swap2.OFF and agreement == "swap2"
        try:
            await self.seat.play()
        finally:
            self.capacity_timed = self.capacity_untimed = 0
            self._stop_timer()

    def close(self, closed: StreamClosed) -> None:
        """Do nothing: an engine has no stream."""

    def dismiss(self) -> None:
        """Stop playing: the engine loses its running game."""
        self.capacity_timed = self.capacity_untimed = 0
        self.referee.forfeit(self.player, Termination.DISCONNECTED)

    def shut(self, closed: StreamClosed) -> None:
        """Stop all timers, because the server stops."""
        self._stop_timer()

    # Called by the referee.

    def wake(self) -> None:
        """Handle the messages in the player's outbox; see `PlayerConnection`."""
        outbox = self.player.outbox
        is_turn = bool(outbox.turn_game)
        chooses = bool(outbox.openings)
        if chooses or outbox.starts or outbox.ends:
            self._change_game(self.player.take_outbox())
        else:
            outbox.forget_turns()  # faster than a new outbox for each ply
        game = self._game
        if game is None:
            return
        # The first question sets the timer. One that fires between two questions is set again by the next.
        is_first = self._timer is None and (chooses or is_turn)
        if is_first and self.cores is not None and self.seat.pid is not None:
            self.cores.record_first_question(self.seat.pid)
        if chooses:
            self._is_asked = True
            self.seat.ask(game.opening)
        elif is_turn and self._chosen_cell is not None:
            # The engine sent this move with its choice, and the time counted for both.
            self._is_asked = True
            self._loop.call_soon(self.seat.guarded(partial(self.receive_move, self._chosen_cell, 0, ())))
            self._chosen_cell = None
        elif is_turn:
            self._is_asked = True
            self.seat.ask((game.moves, game.left_us[game.ply & 1]))
        if self._is_asked and self._timer is None:
            # Each question of a game is due later than earlier ones, so a timer that is already set is early enough.
            self._set_timer(self._limit_us(game) / 1e6)

    def _change_game(self, outbox: Outbox) -> None:
        """End the running game and begin the next one, if the outbox has an end or a start."""
        if outbox.ends:
            if self.cores is not None and (game := self._game) is not None:
                if self.seat.pid is not None:
                    self.cores.record_thoughts(self.seat.pid, game.times_us[game.side_of(self.player) :: 2])
                self.cores.end(game.handle, game.times_us)
            self._game = None
            self._is_asked = False
            self._chosen_cell = None
            self.seat.finish()
            if self.seat.transcript is not None:
                self.seat.transcript.finish()
        for game in (*outbox.openings, *outbox.starts):
            if game.handle in self.player.games and game is not self._game:
                self._begin(game)

    def _begin(self, game: Game) -> None:
        self._game = game
        self._stop_timer()
        if self.cores is not None and self.seat.pid is not None:
            self.cores.begin(game.handle, self.seat.pid)
        if self.seat.transcript is not None:
            self.seat.transcript.begin(game)
        if game.conditions is not self._conditions:
            self._conditions = game.conditions
            self._terms = terms_of(game.conditions.variant, game.time_of(game.side_of(self.player)))
        assert self._terms is not None
        self.seat.begin(self._terms)

    # The seat's `Owner`.

    def process_ready(self) -> None:
        if not self.capacity_timed:
            self.capacity_timed = self.capacity_untimed = 1
            self.referee.connect(self.player, self)
            self.on_ready()

    def receive_move(self, cell: int, took_us: int, lines: Sequence[str]) -> None:
        game = self._game
        if game is None or not self._is_asked:
            return
        self._is_asked = False
        took_us = self._charged_us(took_us)
        scores: tuple[tuple[int, float], ...] = ()
        thoughts: tuple[tuple[int, Thought], ...] = ()
        if lines:
            if (score := score_in(reversed(lines), self.seat.options.score)) is not None:
                scores = ((0, score),)
            if game.conditions.keep_scores and (thought := self._thought(game, cell, lines)) is not None:
                thoughts = ((0, thought),)
        answers = Answers((game.handle,), (game.ply,), (cell,), (took_us,), scores=scores, thoughts=thoughts)
        self.referee.judge_answers(self.player, answers)

    def _thought(self, game: Game, cell: int, lines: Sequence[str]) -> Thought | None:
        variant = game.conditions.variant
        return self.seat.thoughts.read(lines, cell, variant.columns, variant.rows)

    def receive_choice(self, answer: Swap2Answer, took_us: int) -> None:
        game = self._game
        if game is None or not self._is_asked:
            return
        self._is_asked = False
        took_us = self._charged_us(took_us)
        self._chosen_cell = answer.move
        choices = ((game.handle, game.opening.step, answer.choice, ""),)
        self.referee.judge_choices(self.player, choices, (took_us,))

    def lose_game(self) -> tuple[LostGame, ...]:
        lost = running_games(self.player)
        self.referee.forfeit(self.player, Termination.CRASHED)
        return lost

    def process_ended(self, death: Death, lost: tuple[LostGame, ...], *, disabled: bool) -> None:
        self.on_process_end(death, lost, disabled)

    # Timers.

    def _set_timer(self, seconds: float) -> None:
        """Check the clock after this time. A timer that fires too early costs less than one for each move."""
        self._timer = self._loop.call_later(seconds, self.seat.guarded(self._check_clock))

    def _charged_us(self, took_us: int) -> int:
        """Return the time that the engine's clock pays for an answer, which was read `took_us` after the question.

        A local engine also thinks while the server is stalled, so it only gets back the time that its answer has waited
        in the pipe.
        """
        if took_us <= LEAST_US:
            return took_us
        now = self._settings.now()
        return max(0, took_us - (now - self.referee.stalls.arrival_time(now, self.seat.last_write)))

    def _limit_us(self, game: Game) -> int:
        """Return the longest wait for this move."""
        return self._silence_us if game.time is None else game.limit_us() + game.margin_us(self.player)

    def _is_open(self, game: Game, question_us: int) -> bool:
        """Return whether the question written at that time still waits for its answer."""
        return self._game is game and self._is_asked and self.seat.question_us == question_us

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_clock(self) -> None:
        """End the game if the engine's move is overdue; otherwise set the timer again."""
        self._timer = None
        game = self._game
        if game is None or not self._is_asked:
            return
        seat = self.seat
        now = self._settings.now()
        if seat.question is not None:
            self._set_timer(_PREPARATION_SECONDS)  # the engine is still being prepared: no clock runs
            return
        took_us = now - seat.question_us
        limit_us = self._limit_us(game)
        if took_us <= limit_us:
            self._set_timer((limit_us - took_us) / 1e6 + 1e-6)
            return
        question_us = seat.question_us
        seat.read_pending()
        if not self._is_open(game, question_us):
            return  # the answer was in the pipe, and its arrival time has decided
        if game.time is None:
            seat.give_up(f"silent for {self._settings.silence:g} s during its turn in a game without a clock")
        else:
            self.referee.end_overdue(self.player, ((game.handle, game.ply, took_us),))
