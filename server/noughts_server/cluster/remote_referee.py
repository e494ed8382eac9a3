"""The referees of a cluster, as a server sees them: their questions to its bots, and the answers.

For the connections it is a referee. It judges nothing: it keeps the part of each game that the bot needs, measures
times (as connections do) and forwards answers. After a loss of messages asks are repeated; each question is sent to a
bot once.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import NamedTuple

import structlog

from noughts_proto.columns import append_row
from noughts_proto.v1 import cluster_pb2 as pb
from noughts_proto.v1 import play_pb2
from noughts_referee.arbiter import MOST_COMPLAINTS, Answers, Complaint
from noughts_referee.comments import CommentLimits, shortened
from noughts_referee.frame_connection import FrameConnection
from noughts_referee.game import CHOICES, Game, Player, opening_ply
from noughts_referee.referee import ConnectedPlayer, PlayerConnection
from noughts_referee.rules import Choice, Put, Result, Termination
from noughts_referee.stalls import Stalls
from noughts_referee.work_units import GameConditions, Slot, Unit
from noughts_server.cluster.codecs import REFEREES, TO_REFEREE, TO_SERVER
from noughts_server.cluster.dropped_messages import DroppedMessages
from noughts_server.cluster.silence import Limit, Silence, usual_limit
from noughts_server.runtime.bus import Bus, listening
from noughts_server.store.engine.database import Store
from noughts_server.store.tournaments.tournaments import conditions as read_conditions

logger = structlog.get_logger("noughts.cluster")

_MOST_WAITING_BYTES = 64 << 20
_MESSAGE_BYTES = 1_000
"""Bytes of a message without its columns, roughly."""


class _Answer(NamedTuple):
    """A bot's answer to a question for a move."""

    ply: int
    cell: int
    took: int
    reason: str | None
    """The reason for a resignation; None if it does not resign."""
    score: float | None
    exhausted: bool
    comment: str

    def add_to(self, answers: pb.BotAnswers, far: int) -> None:
        """Add the answer to a message to the referee. `far` is the referee's handle of the game."""
        row = len(answers.game)
        append_row(answers, game=far, ply=self.ply, cell=self.cell, time_us=self.took)
        if self.reason is not None:
            append_row(answers, resigned=row, reason=self.reason)
            if self.exhausted:
                answers.exhausted.append(row)
        if self.score is not None:
            append_row(answers, scored=row, score=self.score)
        if self.comment:
            append_row(answers, commented=row, comment=self.comment)


class _Choice(NamedTuple):
    """A bot's answer to a question about an opening."""

    ply: int
    choice: Choice | None
    took: int
    why: str

    def add_to(self, answers: pb.BotAnswers, far: int) -> None:
        """Add the choice to a message to the referee. `far` is the referee's handle of the game."""
        message = play_pb2.Choice(game=far, step=self.ply + CHOICES)
        if self.choice is None:
            message.reason = self.why
        elif isinstance(self.choice, Put):
            message.put.cell.extend(self.choice.cells)
        else:
            message.take = self.choice.side + 1  # type: ignore[assignment]
        answers.choices.append(pb.ClusterChoice(choice=message, time_us=self.took))


@dataclass(slots=True, eq=False)
class RemoteGame(Game):
    """A game that is played elsewhere, as one of its players knows it."""

    judge: str
    """The name of its referee."""
    far: int
    """The referee's handle of the game."""
    answer: _Answer | _Choice | None = field(default=None, init=False)
    """The last answer, in case it must be sent again."""


class RemoteReferee:
    """The questions of all referees to the players of this server."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        name: str,
        *,
        margin_us: int,
        limit: Limit = usual_limit,
        comment_limits: CommentLimits = CommentLimits(),  # noqa: B008  # immutable
    ) -> None:
        """Create it; `name` is this server's. `limit` returns the silence after which others play a referee's games."""
        self.stalls = Stalls()
        self.plies = 0
        self.late_answers = 0
        self.comment_limits = comment_limits
        self._margin_us = margin_us
        self._store = store
        self._bus = bus
        self._name = name
        self._last = 0
        """The handle of the newest game."""
        self._elsewhere = Player(-1)
        """A player that stands for every opponent."""
        self._players: dict[int, ConnectedPlayer] = {}
        self._running: dict[int, RemoteGame] = {}
        """The running games, by handle."""
        self._games: dict[tuple[str, int], dict[int, RemoteGame]] = {}
        """The games, by referee and bot version, then by the referee's handle."""
        self._conditions: dict[int, GameConditions] = {}
        self._asked: asyncio.Queue[pb.ClusterAsks] = asyncio.Queue()
        """Asks that wait for tournaments that are read from the store."""
        self._asked_bytes = 0
        self._overflowed = False
        """Whether asks were dropped because too many waited."""
        self._dropped = DroppedMessages()
        self._reading = False
        self._touched: dict[ConnectedPlayer, None] = {}
        self._answers: dict[tuple[str, int], pb.BotAnswers] = {}
        self._silence = Silence(limit)
        self.referees: dict[str, pb.RefereePresence] = {}
        """The last presence of each referee, by name."""

    # Messages from the referees.

    async def run(self, connection: Callable[[int], FrameConnection]) -> None:
        """Receive messages until cancelled. `connection` returns that of a bot version whose stream is here."""
        self._connection = connection
        with (
            listening(self._bus, f"{TO_SERVER}:{self._name}", self._hear),
            listening(self._bus, REFEREES, self._present),
        ):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._take_waiting())
                tasks.create_task(self._silence.watch(self._silent))

    def resynchronise(self) -> None:
        """Request all games from the referees again, because messages were lost."""
        for referee, version in {*self._games, *product(self._silence, self._players)}:
            self._answer(referee, version).lost = True

    def _heard(self, referee: str) -> None:
        if self._silence.heard(referee):
            # Its games have ended here, so it waits for answers that will not come.
            for version in self._players:
                self._answer(referee, version).lost = True

    def _present(self, message: pb.RefereePresence) -> None:
        self._heard(message.referee)
        if message.leaving:
            self._gone(message.referee)
        else:
            self.referees[message.referee] = message

    def _silent(self, referee: str) -> None:
        logger.warning("referee_silent", referee=referee)
        self._gone(referee)

    def _gone(self, referee: str) -> None:
        """End the games of a dead referee for their players, whatever their results are."""
        self._silence.forget(referee)
        self.referees.pop(referee, None)
        for name, version in [key for key in self._games if key[0] == referee]:
            for game in list(self._games[name, version].values()):
                self._end(self.player(version), game)
        self._wake()

    def _hear(self, asks: pb.ClusterAsks) -> None:
        self._heard(asks.referee)
        if not (self._reading or not self._asked.empty() or self._unknown(asks)):
            self._take(asks)
        elif self._asked_bytes > _MOST_WAITING_BYTES:
            self._overflowed = True
            self._dropped.add(referee=asks.referee, error="too many requests are waiting for the database")
        else:
            self._asked_bytes += _MESSAGE_BYTES + asks.ByteSize()
            self._asked.put_nowait(asks)

    def _unknown(self, asks: pb.ClusterAsks) -> set[int]:
        """Return the tournaments whose conditions must be read before the asks can be forwarded."""
        unknown = set()
        for bot in asks.bots:
            for starts in (*bot.starts, *bot.openings):
                known = self._conditions.get(starts.tournament)
                if known is None or max(*starts.first, *starts.second) >= len(known.labels):
                    unknown.add(starts.tournament)
        return unknown

    async def _take_waiting(self) -> None:
        while True:
            if self._overflowed and self._asked.empty():
                self._overflowed = False
                self.resynchronise()
            asks = await self._asked.get()
            self._asked_bytes -= _MESSAGE_BYTES + asks.ByteSize()
            self._reading = True
            try:
                for key in self._unknown(asks):
                    read = partial(read_conditions, tournament_id=key)
                    self._conditions[key] = await self._store.read_patiently(read)
                self._take(asks)
            except Exception as error:
                self._dropped.add(referee=asks.referee, error=repr(error))
            finally:
                self._reading = False

    def _take(self, asks: pb.ClusterAsks) -> None:
        for bot in asks.bots:
            player = self.player(bot.version)
            away = player.wire is None or not player.wire.capacity_untimed
            # The bot is away or has moved to another server: its games continue here until the reconnect timeout.
            if away and (asks.referee, bot.version) not in self._games:
                continue
            self._tell(asks.referee, player, bot)
        self._wake()

    def _wake(self) -> None:
        touched, self._touched = self._touched, {}
        for player in touched:
            if player.wire is not None:
                player.wire.wake()

    # Messages to one bot.

    def _tell(self, referee: str, player: ConnectedPlayer, asks: pb.BotAsks) -> None:
        games = self._games.setdefault((referee, player.key), {})
        self._touched[player] = None
        if asks.complete:
            listed = {game for starts in (*asks.starts, *asks.openings) for game in starts.game}
            for far in games.keys() - listed:
                self._end(player, games[far])
        for starts in asks.starts:
            self._start(referee, player, starts)
        for openings in asks.openings:
            self._open(referee, player, openings)
        if asks.game:
            self._ask(referee, player, games, asks)
        ends = zip(
            asks.end_game, asks.end_result, asks.end_termination, asks.end_plies, asks.end_cell, asks.end_fault,
            strict=True,
        )  # fmt: skip
        for far, result, termination, plies, cell, fault in ends:
            game = games.get(far)
            if game is not None:
                if len(game.moves) == plies - 1:
                    game.moves.append(cell)
                game.ply, game.fault = plies, fault
                self._end(player, game, Result(result), Termination(termination))

    def _start(self, referee: str, player: ConnectedPlayer, starts: pb.ClusterStarts) -> None:
        for game, ply, moves, clocks in self._standing(referee, player, starts):
            if game.ply >= 0:
                # Either side can lack a move: the bot the one that comes with the question, or the referee the bot's.
                if abs(game.ply - ply) <= 1 and all(map(int.__eq__, game.moves, moves)):
                    continue
                self._end(player, game)  # the moves known here contradict those of the referee
                game = self._made(
                    player, unit=game.unit, slot=game.slot, players=game.players, judge=referee, far=game.far
                )
            game.moves, game.ply = moves, ply
            game.left_us = clocks
            game.mover = self._elsewhere
            player.outbox.starts.append(game)

    def _open(self, referee: str, player: ConnectedPlayer, openings: pb.ClusterStarts) -> None:
        for game, ply, moves, clocks in self._standing(referee, player, openings):
            if self._has_question(player, game, ply):
                continue
            game.moves, game.ply, game.left_us, game.mover = moves, ply, clocks, player
            player.outbox.openings.append(game)

    def _made(
        self, player: ConnectedPlayer, *, unit: Unit, slot: Slot, players: tuple[Player, Player], judge: str, far: int
    ) -> RemoteGame:
        self._last += 1
        game = RemoteGame(handle=self._last, unit=unit, slot=slot, players=players, judge=judge, far=far)
        player.games[game.handle] = self._running[game.handle] = self._games[judge, player.key][far] = game
        return game

    def _standing(
        self, referee: str, player: ConnectedPlayer, starts: pb.ClusterStarts
    ) -> Iterable[tuple[RemoteGame, int, list[int], list[int]]]:
        """Update each game to the state at its referee, and create those that are unknown here."""
        games = self._games[referee, player.key]
        conditions = self._conditions[starts.tournament]
        unit = Unit(conditions, 0, ())
        moves = starts.moves[:]
        begin = 0
        timed = bool(starts.first_clock_us)
        rows = zip(starts.game, starts.ordinal, starts.first, starts.second, starts.ply, starts.move_count, strict=True)
        for row, (far, ordinal, first, second, ply, moved) in enumerate(rows):
            slot = Slot(ordinal, first, second)
            is_first = conditions.players[first] == player.key
            players = (player, self._elsewhere) if is_first else (self._elsewhere, player)
            game = games.get(far)
            if game is None:
                game = self._made(player, unit=unit, slot=slot, players=players, judge=referee, far=far)
                game.mover = self._elsewhere
                game.ply = -CHOICES - 1
            elif game.slot != slot:
                game.slot, game.players = slot, players  # the opening that they agreed on
            clocks = [starts.first_clock_us[row], starts.second_clock_us[row]] if timed else [0, 0]
            yield game, ply, moves[begin : begin + moved], clocks
            begin += moved

    def _ask(self, referee: str, player: ConnectedPlayer, games: dict[int, RemoteGame], asks: pb.BotAsks) -> None:
        outbox = player.outbox
        timed = bool(asks.first_clock_us)
        spent = asks.spent_us[:]
        for row, (far, ply, cell) in enumerate(zip(asks.game, asks.ply, asks.cell, strict=True)):
            game = games.get(far)
            if game is None:
                self._answer(referee, player.key).lost = True
                continue
            known = len(game.moves)
            if self._has_question(player, game, ply):
                continue
            if known == ply - 1:
                game.moves.append(cell)
            elif known != ply:
                self._answer(referee, player.key).lost = True
                continue
            game.ply, game.mover = ply, player
            if timed and game.conditions.timed:
                game.left_us = [asks.first_clock_us[row], asks.second_clock_us[row]]
                outbox.turns_timed.append(game)
            outbox.turn_game.append(game.handle)
            outbox.turn_ply.append(ply)
            outbox.turn_cell.append(cell)
            if spent and spent[row] and player.wire is not None:
                self._connection(player.key).resume_clock(game, spent[row])

    def _end(
        self,
        player: ConnectedPlayer,
        game: RemoteGame,
        result: Result = Result.VOID,
        termination: Termination = Termination.VOID,
    ) -> None:
        game.result, game.termination = result, termination
        if game.ply < 0:
            game.ply = 0
        del player.games[game.handle], self._running[game.handle]
        games = self._games[game.judge, player.key]
        if games.get(game.far) is game:
            del games[game.far]
        player.outbox.ends.append(game)
        self._touched[player] = None

    # Calls of the connections.

    def player(self, key: int) -> ConnectedPlayer:
        """Return the player with this key; create it if it is new."""
        player = self._players.get(key)
        if player is None:
            player = self._players[key] = ConnectedPlayer(key, self._margin_us)
        return player

    def release(self, key: int) -> bool:
        """Forget a player unless it has a game. Return whether it is forgotten."""
        if key in self._players and self._players[key].games:
            return False
        self._players.pop(key, None)
        return True

    def joined(self, player: ConnectedPlayer, wire: PlayerConnection) -> None:
        """Send a bot that is online (again) its games, as far as this server knows them."""
        player.wire = wire
        player.resend()
        wire.wake()

    def judge_answers(self, player: ConnectedPlayer, answers: Answers) -> list[Complaint]:
        """Forward the bot's answers to the referees that asked."""
        complaints: list[Complaint] = []
        games, plies, cells, times_us, resigned, reasons, exhausted, scores, comments = answers
        self.plies += len(games)
        running = self._running.get
        elsewhere = self._elsewhere
        reason_of = dict(zip(resigned, (*reasons, *[""] * len(resigned)), strict=False)) if resigned else {}
        score_of, comment_of = dict(scores), dict(comments)
        judge = ""
        to_judge = pb.BotAnswers()
        for row, (handle, ply, cell, took) in enumerate(zip(games, plies, cells, times_us, strict=True)):
            game = running(handle)
            if game is None or game.ply != ply or game.mover is not player:
                self._out_of_turn(handle, ply, complaints)
                continue
            if game.judge != judge:
                judge = game.judge
                to_judge = self._answer(judge, player.key)
            reason, score = reason_of.get(row), score_of.get(row)
            comment = shortened(comment_of.get(row, ""), self.comment_limits.move)
            game.answer = _Answer(
                ply=ply, cell=cell, took=took, reason=reason, score=score, exhausted=row in exhausted, comment=comment
            )
            game.moves.append(cell)
            game.ply = ply + 1
            game.mover = elsewhere
            game.answer.add_to(to_judge, game.far)
        return complaints

    def judge_choices(
        self, player: ConnectedPlayer, choices: Iterable[tuple[int, int, Choice | None, str]], times_us: Sequence[int]
    ) -> list[Complaint]:
        """Forward the bot's choices for openings to the referees that asked."""
        complaints: list[Complaint] = []
        for (handle, step, choice, why), took in zip(choices, times_us, strict=True):
            game = self._running.get(handle)
            ply = opening_ply(step)
            if game is None or game.ply != ply or game.mover is not player:
                self._out_of_turn(handle, ply, complaints)
                continue
            game.answer = _Choice(ply, choice, took, why)
            game.mover = self._elsewhere
            game.answer.add_to(self._answer(game.judge, player.key), game.far)
        return complaints

    def end_overdue(self, player: ConnectedPlayer, questions: Iterable[tuple[int, int, int]]) -> None:
        """Report questions that were not answered within their limits; the referees judge them."""
        for handle, ply, took in questions:
            game = self._running.get(handle)
            if game is not None:
                answers = self._answer(game.judge, player.key)
                append_row(answers, silent_game=game.far, silent_ply=ply, silent_us=took)

    def forfeit(self, player: ConnectedPlayer, termination: Termination, fault: str = "") -> None:
        """Have the referees end the games of a bot that will not come back."""
        for referee in {game.judge for game in self._games_of(player)}:
            answers = self._answer(referee, player.key)
            answers.forfeit, answers.fault = termination, fault

    def moved(self, version: int, open_us: dict[int, int]) -> None:
        """End the games of a bot that logged in at another server, and report how long its questions were open."""
        player = self.player(version)
        for game in self._games_of(player):
            if game.mover is player and game.handle in open_us:
                answers = self._answer(game.judge, version)
                append_row(answers, left_game=game.far, left_us=open_us[game.handle])
            self._end(player, game)
        player.take_outbox()

    # Inside.

    def _games_of(self, player: ConnectedPlayer) -> list[RemoteGame]:
        return [self._running[handle] for handle in player.games]

    def _answer(self, referee: str, version: int) -> pb.BotAnswers:
        if not self._answers:
            asyncio.get_running_loop().call_soon(self._flush)
        return self._answers.setdefault((referee, version), pb.BotAnswers(version=version))

    def _flush(self) -> None:
        waiting, self._answers = self._answers, {}
        messages: dict[str, pb.ClusterAnswers] = {}
        for (referee, _), answers in waiting.items():
            messages.setdefault(referee, pb.ClusterAnswers(server=self._name)).bots.append(answers)
        for referee, message in messages.items():
            self._bus.publish(f"{TO_REFEREE}:{referee}", message)

    def _has_question(self, player: ConnectedPlayer, game: RemoteGame, ply: int) -> bool:
        """Whether the bot has this question, or has answered it. If it has answered, send the answer again."""
        if game.answer is None or game.answer.ply != ply:
            return game.mover is player and game.ply == ply
        game.answer.add_to(self._answer(game.judge, player.key), game.far)
        return True

    def _out_of_turn(self, handle: int, ply: int, complaints: list[Complaint]) -> None:
        if 0 < handle <= self._last:
            self.late_answers += 1
        elif len(complaints) < MOST_COMPLAINTS:
            complaints.append(Complaint(handle, ply, f"a game that was started (the last is {self._last})"))

    # State of the referees' games.

    def in_flight(self, tournament: int | None = None) -> int:
        """Return the number of running games of all referees: of one tournament, or of all."""
        if tournament is None:
            return sum(each.games_in_flight for each in self.referees.values())
        return sum(played.games_in_flight for played in self._played(tournament))

    def queued(self) -> int:
        """Return the number of games that wait at referees, of all tournaments."""
        return sum(each.slots_queued for each in self.referees.values())

    def slots(self, tournament: int) -> list[int]:
        """Return the slots of some running games of a tournament, each once.

        For a while, a referee that hangs is still listed with games that others play by now.
        """
        return list(dict.fromkeys(ordinal for played in self._played(tournament) for ordinal in played.ordinals))

    def _played(self, tournament: int) -> Iterable[pb.ClusterTournament]:
        every = (played for each in self.referees.values() for played in each.tournaments)
        return (played for played in every if played.tournament == tournament)
