"""The games, questions and answers of a bot that plays over HTTP, without input, output or clock.

Each question gets a number, its turn. A question that the server repeats after a lost connection keeps its number, so
that an answer that was sent twice, or got lost, does no harm.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from noughts_bots.boards.position_boards import PositionBoards
from noughts_bots.connection.thoughts import thought_message
from noughts_bots.sdk.bot import Bot
from noughts_proto.columns import append_row
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.rules import OFF_BOARD, Position, Thought, parse_variant
from noughts_server.core.resource_names import game_name
from noughts_server.web.documents import Document, document
from noughts_server.web.http_play.forms import SentMove
from noughts_server.web.play_contract import MOST_GAMES
from noughts_server.web.upstream import Failure

_MOST_EVENTS = 4 * MOST_GAMES
"""Starts and ends of games that are kept for the client, at most."""
_MOST_TURNS = 16 * MOST_GAMES
"""Turns that are kept, so that their answers can be sent again."""
_POINTS = {"1-0": (1.0, 0.0), "1/2-1/2": (0.5, 0.5), "0-1": (0.0, 1.0)}
"""The points of the side that moves first, and of the other one, by result."""
_SIDES = ("first", "second")

ACCEPTED, LATE, CONFLICT = "accepted", "late", "conflict"
"""The results of sending a move: the server gets it; its turn is over; the turn already has a different answer."""


@dataclass(eq=False, slots=True)
class _Game:
    """A running game of the bot."""

    name: str
    """`tournaments/ID/games/NUMBER`."""
    variant: str
    side: int
    opponent: str
    time: Document
    opponent_time: Document
    seed: str
    is_timed: bool
    turn: "_Turn | None" = None
    """The newest question."""


@dataclass(eq=False, slots=True)
class _Turn:
    """A question of the server."""

    number: int
    game: _Game
    handle: int
    """The handle of the game in the current stream; 0 if the server has not repeated the question there."""
    position: Position
    """The position on the boards of the current stream."""
    ply: int
    moves: tuple[int, ...]
    since: float
    """When the question arrived, in seconds."""
    delivered: bool = False
    """Whether an answer to a request has contained it."""
    answer: SentMove | None = None
    over: str = ""
    """Why it can no longer be answered."""

    @property
    def is_open(self) -> bool:
        return self.answer is None and not self.over and self.handle != 0


@dataclass(frozen=True, slots=True)
class _Event:
    """The start or the end of a game."""

    number: int
    kind: str
    """`started` or `ended`."""
    content: Document


@dataclass(eq=False)
class PlayBook:
    """All that a session knows of its bot's games."""

    last: int = field(default=0, init=False)
    """The number of the newest turn or event."""
    _games: dict[str, _Game] = field(default_factory=dict, init=False)
    _turns: dict[int, _Turn] = field(default_factory=dict, init=False)
    _events: deque[_Event] = field(default_factory=lambda: deque(maxlen=_MOST_EVENTS), init=False)
    _told: int = field(default=0, init=False)
    """The number of the newest event that an answer to a request has contained."""
    _boards: PositionBoards = field(default_factory=lambda: _boards(), init=False)
    _handles: dict[int, _Game] = field(default_factory=dict, init=False)
    """Running games by their handle in the current stream."""
    _unsent: list[_Turn] = field(default_factory=list, init=False)
    """Answered turns whose answer was not sent yet."""

    # From the server.

    def begin_stream(self) -> None:
        """Forget what belongs to the stream before: the server repeats the running games and open questions."""
        self._boards = _boards()
        self._handles.clear()
        self._unsent.clear()
        for turn in self._turns.values():
            turn.handle = 0

    def take(self, frame: pb.PlayResponse, now: float) -> None:
        """Read the starts, turns and ends of a frame."""
        for starts in frame.starts:
            self._start(starts)
        self._ask(frame.turns, now)
        if frame.ends.game:
            self._end(frame.ends)

    def games_of_stream(self) -> set[str]:
        """Return the names of the running games that the current stream knows."""
        return {game.name for game in self._handles.values()}

    def drop_games_except(self, names: Iterable[str]) -> None:
        """End the games that the server did not repeat: their ends arrived while the stream was lost."""
        kept_names = set(names)
        for game in [game for game in self._games.values() if game.name not in kept_names]:
            self._finish(game, result=None, termination=None, plies=None, fault=None)

    def _start(self, starts: pb.Starts) -> None:
        self._boards.start(parse_variant(starts.variant), starts)
        columns = document(starts)
        for row, handle in enumerate(starts.game):
            opponent = starts.opponent[row]
            name = game_name(starts.tournament, starts.number[row])
            game = self._games.get(name)
            if game is None or game.seed != columns["seed"][row]:
                opponent_times = columns["opponent_times"]
                game = self._games[name] = _Game(
                    name=name,
                    variant=starts.variant,
                    side=starts.side[row] - 1,
                    opponent=starts.opponents[opponent],
                    time=columns["time"],
                    opponent_time=opponent_times[opponent] if opponent_times else columns["time"],
                    seed=columns["seed"][row],
                    is_timed=bool(starts.time.move_us or starts.time.bank_us),
                )
                self._add_event("started", {**_head(game), "time": game.time, "opponent_time": game.opponent_time})
            self._handles[handle] = game

    def _ask(self, turns: pb.Turns, now: float) -> None:
        for handle, ply, position in self._boards.read_questions(turns):
            game = self._handles[handle]
            moves = tuple(position.moves)
            before = game.turn
            if before is not None and before.ply == ply and before.moves == moves:
                before.handle, before.position = handle, position
                if before.answer is not None:
                    self._send(before)
                continue
            if before is not None and not before.over:
                before.over = f"{game.name} has moved on to ply {ply}"
            turn = _Turn(
                number=self._next_number(),
                game=game,
                handle=handle,
                position=position,
                ply=ply,
                moves=moves,
                since=now,
            )
            game.turn = self._turns[turn.number] = turn
            self._forget_turns()

    def _end(self, ends: pb.Ends) -> None:
        columns = document(ends)
        faults = dict(zip(ends.faulted, ends.fault, strict=True))
        for row, handle in enumerate(ends.game):
            game = self._handles.pop(handle, None)
            if game is not None and self._games.get(game.name) is game:
                self._finish(
                    game,
                    result=columns["result"][row],
                    termination=columns["termination"][row],
                    plies=ends.plies[row],
                    fault=faults.get(row),
                )
        self._boards.forget(ends.game[:])

    def _finish(
        self, game: _Game, *, result: str | None, termination: str | None, plies: int | None, fault: str | None
    ) -> None:
        del self._games[game.name]
        ending = f": {result} by {termination}" if result else ""
        if game.turn is not None and not game.turn.over:
            game.turn.over = f"{game.name} is over{ending}"
        points = _POINTS.get(result or "")
        self._add_event(
            "ended",
            {
                **_head(game),
                "result": result,
                "points": None if points is None else points[game.side],
                "termination": termination,
                "plies": plies,
                "fault": fault,
            },
        )

    def _add_event(self, kind: str, content: Document) -> None:
        self._events.append(_Event(self._next_number(), kind, content))

    def _next_number(self) -> int:
        self.last += 1
        return self.last

    def _forget_turns(self) -> None:
        """Forget the oldest turns if there are too many, but never the newest turn of a running game.

        The server can repeat that one, even if its stream is lost at the moment.
        """
        while len(self._turns) > _MOST_TURNS:
            oldest = next((turn for turn in self._turns.values() if not self._is_newest(turn)), None)
            if oldest is None:
                return
            del self._turns[oldest.number]

    def _is_newest(self, turn: _Turn) -> bool:
        """Return whether this is the newest turn of a running game."""
        return turn.game.turn is turn and self._games.get(turn.game.name) is turn.game

    # From the client.

    @property
    def is_playing(self) -> bool:
        """Whether the bot has running games."""
        return bool(self._games)

    @property
    def owes_answers(self) -> bool:
        """Whether a delivered question is open."""
        return any(turn.delivered for turn in self._open_turns())

    @property
    def owes_timed_answers(self) -> bool:
        """Whether a delivered question of a game with a clock is open."""
        return any(turn.delivered and turn.game.is_timed for turn in self._open_turns())

    def has_news(self, after: int | None) -> bool:
        """Return whether a request should be answered now.

        With `after`, only turns and events with a higher number count.
        """
        if after is None:
            newest_event = self._events[-1].number if self._events else 0
            return newest_event > self._told or any(True for _ in self._open_turns())
        return self.last > after and (
            any(event.number > after for event in self._events)
            or any(turn.number > after for turn in self._open_turns())
        )

    def report(self, after: int | None, now: float, today: datetime, base: str) -> Document:
        """Return all open turns, and the events after this number or since the last report, as a document.

        `base` is the address of the website for links. `today` is the time of day at `now`.
        """
        since = self._told if after is None else after
        events = [event for event in self._events if event.number > since]
        if events:
            self._told = max(self._told, events[-1].number)
        turns = list(self._open_turns())
        for turn in turns:
            turn.delivered = True
        return {
            "next": self.last,
            "turns": [_turn_document(turn, now, today, base) for turn in turns],
            "started": [_with_page(event, base) for event in events if event.kind == "started"],
            "ended": [_with_page(event, base) for event in events if event.kind == "ended"],
        }

    def answer(self, moves: Sequence[SentMove]) -> list[Document]:
        """Take answers, and return what became of each. Raises Failure, without taking any, for an unknown turn."""
        events = {event.number for event in self._events}
        for index, move in enumerate(moves):
            if move.turn > self.last or move.turn in events:
                raise Failure(
                    400,
                    f"moves[{index}].turn: got {move.turn}, expected the number of a turn of this session",
                    "Send the `turn` of a question from `turns`.",
                )
        return [self._answer(move) for move in moves]

    def _answer(self, move: SentMove) -> Document:
        turn = self._turns.get(move.turn)
        if turn is None:
            return _row(move, LATE, f"turn {move.turn} was over long ago")
        if turn.answer is not None:
            if move.same_choice(turn.answer):
                return _row(move, ACCEPTED)
            earlier = "a resignation" if turn.answer.cell is None else f"move {turn.answer.cell}"
            got = "a resignation" if move.cell is None else f"move {move.cell}"
            return _row(move, CONFLICT, f"turn {move.turn}: got {got}, but {earlier} was accepted before")
        if turn.over:
            return _row(move, LATE, f"turn {move.turn}: {turn.over}")
        turn.answer = move
        if turn.handle:  # else the answer goes to the server when it repeats the question
            self._send(turn)
        return _row(move, ACCEPTED)

    def _send(self, turn: _Turn) -> None:
        assert turn.answer is not None
        if turn.answer.cell is not None and turn.answer.cell < turn.position.variant.cells:
            turn.position.moves.append(turn.answer.cell)
        self._unsent.append(turn)

    def take_answers(self) -> pb.Moves | None:
        """Return the answers that were not sent yet, and count them as sent; None if there are none."""
        if not self._unsent:
            return None
        moves = pb.Moves()
        for row, turn in enumerate(self._unsent):
            answer = turn.answer
            assert answer is not None
            append_row(moves, game=turn.handle, ply=turn.ply, cell=_cell(answer, turn.position))
            if answer.cell is None:
                append_row(moves, resigned=row, reason=answer.reason)
            if answer.score is not None:
                append_row(moves, scored=row, score=float(answer.score))
            if answer.comment:
                append_row(moves, commented=row, comment=answer.comment)
            if answer.depth or answer.nodes or answer.pv:
                thought = Thought(depth=answer.depth, nodes=answer.nodes, pv=answer.pv)
                append_row(moves, thinking=row, thought=thought_message(thought))
        self._unsent.clear()
        return moves

    def _open_turns(self) -> Iterable[_Turn]:
        return (game.turn for game in self._games.values() if game.turn is not None and game.turn.is_open)


def _boards() -> PositionBoards:
    """Return boards without games. Their bot is the program at the other end, which they never ask."""
    return PositionBoards(Bot())


def _cell(answer: SentMove, position: Position) -> int:
    """Return the cell of an answer, as the protocol writes it."""
    if answer.cell is None:
        return 0
    return answer.cell if answer.cell < position.variant.cells else OFF_BOARD


def _row(move: SentMove, status: str, message: str = "") -> Document:
    return {"turn": move.turn, "status": status, "message": message}


def _head(game: _Game) -> Document:
    """Return the fields that questions, starts and ends of a game share."""
    return {"game": game.name, "variant": game.variant, "side": _SIDES[game.side], "opponent": game.opponent}


def _with_page(event: _Event, base: str) -> Document:
    return {"page": f"{base}/{event.content['game']}", **event.content}


def _turn_document(turn: _Turn, now: float, today: datetime, base: str) -> Document:
    position, game = turn.position, turn.game
    clock_us: int | None = None
    clocks: dict[str, Any] = {"own_clock_us": None, "opponent_clock_us": None}
    if game.is_timed:
        clock_us = max(0, position.limit_us - round((now - turn.since) * 1e6))
        clocks = {"own_clock_us": position.own_clock_us, "opponent_clock_us": position.opponent_clock_us}
    return {
        "turn": turn.number,
        "page": f"{base}/{game.name}",
        **_head(game),
        "ply": turn.ply,
        "position": str(position),
        "legal": list(position.free),
        "moves": list(turn.moves),
        "seed": game.seed,
        **clocks,
        "left_us": clock_us,
        "deadline": None if clock_us is None else _deadline(today, clock_us),
    }


def _deadline(today: datetime, left_us: int) -> str:
    moment = datetime.fromtimestamp(today.timestamp() + left_us / 1e6, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
