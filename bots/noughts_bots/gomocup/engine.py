"""A bot of Noughts as an engine for managers that use the Gomocup protocol. Lines in, lines out."""

from collections.abc import Callable

from noughts_bots.gomocup.protocol import FREESTYLE, UNLIMITED_MS, read_point, variant_of, word_and_rest, written_point
from noughts_bots.gomocup.swap2 import Swap2Answer, read_stones, written_answer
from noughts_bots.sdk.bot import Bot, GameInfo, Move, Resign, TimeLimits
from noughts_bots.sdk.built_in_bot import BuiltInBot
from noughts_bots.sdk.errors import BotError
from noughts_referee.rules import OpeningChoice, Position, Take, Variant, VariantError, game_seed, side_seed

# Owners of stones, as BOARD numbers them.
_OWN = 1
_OPPONENT = 2
_AT_ONCE_US = 1
"""The shortest limit of a move, for the protocol's limit 0, which means as fast as possible."""


class _CannotError(Exception):
    """A known command that the engine cannot execute: it answers ERROR with this text."""


class GomocupEngine:
    """A bot behind the protocol. It does no input or output, reads no clock, and does not call the bot's `end`."""

    def __init__(self, bot: Bot, *, name: str, version: str, seed: int = 0) -> None:
        """`name` and `version` are for ABOUT. `seed` is the source of randomness of all games."""
        self.ended = False
        self.games = 0
        """Boards set up so far."""
        self.moves = 0
        self._bot = bot
        self._about = f'name="{name}", version="{version}", author="Noughts"'
        self._seed = seed
        self._size: tuple[int, int] | None = None
        self._rule = FREESTYLE
        self._turn_ms: int | None = None
        self._match_ms = 0
        self._left_ms = UNLIMITED_MS
        self._stones: dict[int, int] = {}
        """The owner of the stone on each occupied cell, in the order of the moves."""
        self._rows: list[str] | None = None
        """Lines since BOARD or SWAP2BOARD, until DONE."""
        self._finish_rows: Callable[[list[str]], str] = self._set_board
        """The function that handles these lines."""
        self._known_game: GameInfo | None = None
        """The game with which the bot's `start` was called last."""
        self._commands: dict[str, Callable[[str], str | None]] = {
            "START": lambda rest: self._set_up(f"{rest},{rest}", "START SIZE, e.g. START 15"),
            "RECTSTART": lambda rest: self._set_up(rest, "RECTSTART WIDTH,HEIGHT, e.g. RECTSTART 30,20"),
            "RESTART": self._restart,
            "BEGIN": self._begin,
            "TURN": self._turn,
            "BOARD": lambda _: self._collect(self._set_board),
            "SWAP2BOARD": lambda _: self._collect(self._agree),
            "DONE": self._done,
            "TAKEBACK": self._takeback,
            "INFO": self._info,
            "ABOUT": lambda _: self._about,
            "END": self._end,
        }

    def answer(self, line: str) -> str | None:
        """Return the engine's answer to a line of the manager; None if the engine does not answer it."""
        word, rest = word_and_rest(line)
        if self._rows is not None and word not in ("DONE", "END"):
            self._rows.append(line)
            return None
        command = self._commands.get(word)
        if command is None:
            return f"UNKNOWN {word}" if word.isascii() and word.isprintable() else "UNKNOWN"
        try:
            return command(rest)
        except _CannotError as error:
            return f"ERROR {error}"

    def _set_up(self, written: str, expected: str) -> str:
        try:
            columns, rows = (int(number) for number in written.split(","))
        except ValueError:
            raise _CannotError(f"expected {expected}") from None
        self._variant((columns, rows))
        self._size = columns, rows
        return self._restart()

    def _restart(self, _: str = "") -> str:
        self._variant(self._size)
        self._stones = {}
        self._known_game = None
        self.games += 1
        return "OK"

    def _begin(self, _: str) -> str:
        if self._stones:
            raise _CannotError("BEGIN needs an empty board; send RESTART first")
        return self._move()

    def _turn(self, rest: str) -> str:
        self._place(rest, _OPPONENT)
        return self._move()

    def _collect(self, finish_rows: Callable[[list[str]], str]) -> None:
        self._rows = []
        self._finish_rows = finish_rows

    def _done(self, _: str) -> str:
        rows, self._rows = self._rows, None
        if rows is None:
            raise _CannotError("DONE without BOARD")
        return self._finish_rows(rows)

    def _agree(self, rows: list[str]) -> str:
        """Return the answer to SWAP2BOARD. The board stays empty, because the manager sends BOARD or BEGIN next."""
        variant = self._variant(self._size)
        stones = read_stones(rows, variant.columns, variant.rows)
        if stones is None or len(stones) not in (0, 3, 5) or len(set(stones)) < len(stones):
            raise _CannotError("expected zero, three or five different points X,Y after SWAP2BOARD")
        # The choices on the empty board and on a board with stones have different seeds.
        seed = side_seed(game_seed(self._seed, self.games), 1 if stones else 0)
        opening = OpeningChoice(variant, "swap2", stones, seed, self._clock_us())
        choice = self._bot.open(opening)
        # A bot that chooses O also places its first stone in this answer.
        answer = Swap2Answer(choice, self._choose(opening.position) if choice == Take(1) else None)
        return written_answer(answer, variant.columns)

    def _set_board(self, rows: list[str]) -> str:
        self._stones = {}
        for row in rows:
            point, _comma, owner = row.rpartition(",")
            if owner.strip() not in (str(_OWN), str(_OPPONENT)):
                raise _CannotError(f"expected X,Y,1 or X,Y,2 after BOARD, got {_shown(row)}")
            self._place(point, int(owner))
        return self._move()

    def _takeback(self, rest: str) -> str:
        cell = self._cell(rest)
        if cell not in self._stones:
            raise _CannotError(f"no stone at {_shown(rest)}")
        del self._stones[cell]
        return "OK"

    def _end(self, _: str) -> None:
        self.ended = True

    def _info(self, rest: str) -> None:
        """Use known infos and ignore others. INFO has no answer, so the next move reports an unknown rule."""
        key, _space, value = rest.lower().partition(" ")
        try:
            number = int(value)
        except ValueError:
            return
        if key == "rule":
            self._rule = number
        elif key == "timeout_turn":
            self._turn_ms = max(0, number)
        elif key == "timeout_match":
            self._match_ms = max(0, number)
            self._left_ms = self._match_ms or UNLIMITED_MS
        elif key == "time_left":
            self._left_ms = number
            if number != UNLIMITED_MS and not self._match_ms:
                self._match_ms = max(1, number)  # not every manager sends `timeout_match`

    def _variant(self, size: tuple[int, int] | None) -> Variant:
        """Return the variant on a board of this size. Raises _CannotError if the bot does not play it."""
        if size is None:
            raise _CannotError("no board yet; START SIZE makes one")
        columns, rows = size
        try:
            variant = variant_of(columns, rows, self._rule)
            if isinstance(self._bot, BuiltInBot):
                self._bot.require(variant)
        except VariantError as error:
            raise _CannotError(f"{error.got}: expected {error.expected}") from None
        except BotError as error:
            raise _CannotError(f"{error.subject} does not play {error.got}; it plays {error.expected}") from None
        return variant

    def _cell(self, written: str) -> int:
        if self._size is None:
            raise _CannotError("no board yet; START SIZE makes one")
        columns, rows = self._size
        cell = read_point(written, columns, rows)
        if cell is None or cell < 0:
            raise _CannotError(f"expected a point X,Y on the board, got {_shown(written)}")
        return cell

    def _place(self, written: str, owner: int) -> None:
        cell = self._cell(written)
        if cell in self._stones:
            raise _CannotError(f"{_shown(written)} is occupied")
        self._stones[cell] = owner

    def _move(self) -> str:
        position = self._position(self._variant(self._size))
        if not position.free:
            raise _CannotError("the board is full")
        self._start_game(position)
        cell = self._choose(position)
        self._stones[cell] = _OWN
        self.moves += 1
        return written_point(cell, position.variant.columns)

    def _choose(self, position: Position) -> int:
        try:
            answer = self._bot.choose(position)
        except Resign:
            raise _CannotError("the bot resigns") from None
        except BotError as error:
            raise _CannotError(str(error)) from None
        cell = answer.cell if isinstance(answer, Move) else answer
        if not isinstance(cell, int):
            raise TypeError(f"got {cell!r}, expected a bot whose `choose` is not a coroutine")
        return cell

    def _position(self, variant: Variant) -> Position:
        own = sum(1 << cell for cell, owner in self._stones.items() if owner == _OWN)
        opponent = sum(1 << cell for cell, owner in self._stones.items() if owner == _OPPONENT)
        # The side that moved first has as many stones as the other side or one more.
        side = 1 if opponent.bit_count() > own.bit_count() else 0
        position = Position(variant, own=own, opponent=opponent, side=side, seed=game_seed(self._seed, self.games))
        # BOARD can list the stones in any order. They are the moves only if the two sides alternate.
        alternating_owners = [_OWN if ply % 2 == side else _OPPONENT for ply in range(position.ply)]
        if list(self._stones.values()) == alternating_owners:
            position.moves = list(self._stones)
        position.own_clock_us, turn_us = self._clock_us(), self._turn_us()
        position.limit_us = min(position.own_clock_us, turn_us) if turn_us else position.own_clock_us
        return position

    def _clock_us(self) -> int:
        """Return the time that is left for the match if that is limited, else the limit of a turn; 0 without any."""
        return self._turn_us() if self._left_ms == UNLIMITED_MS else max(_AT_ONCE_US, self._left_ms * 1000)

    def _turn_us(self) -> int:
        """Return the limit of a turn; 0 without one."""
        return 0 if self._turn_ms is None else max(_AT_ONCE_US, self._turn_ms * 1000)

    def _start_game(self, position: Position) -> None:
        """Call the bot's `start` for a new game, and again if the limits have changed."""
        bank = 0.0 if self._left_ms == UNLIMITED_MS else self._match_ms / 1000
        time = TimeLimits(move=self._turn_us() / 1e6, bank=bank)
        name = f"tournaments/gomocup/games/{self.games}"
        game = GameInfo(name, position.variant, position.side, "opponent", time)
        if game != self._known_game:
            self._known_game = game
            self._bot.start(game)


def _shown(text: str) -> str:
    """Return the manager's text in a form that fits in an error line."""
    return repr(text[:40])
