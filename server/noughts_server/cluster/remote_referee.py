"""The referees of a cluster, from the point of view of a server: their questions to its bots, and the answers.

A `RemoteReferee` takes the place of a `Referee` for the connections of this server's bots. It judges nothing: it keeps
the part of each game that the bot needs, and forwards questions and answers. The connections measure the times. After
a loss of messages the referees repeat their questions; this server sends a bot each question only once. If it has
reported an answer or a fault already, it repeats the report.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product, zip_longest
from typing import NamedTuple

import structlog

from noughts_bots.connection.thoughts import thought_message
from noughts_proto.columns import append_row
from noughts_proto.v1 import cluster_pb2 as pb
from noughts_proto.v1 import play_pb2
from noughts_referee.arbiter import MOST_COMPLAINTS, Answers, Complaint
from noughts_referee.comments import CommentLimits, shortened
from noughts_referee.connected_player import ConnectedPlayer, PlayerConnection
from noughts_referee.frame_connection import FrameConnection
from noughts_referee.game import CHOICES, Game, Player, opening_ply
from noughts_referee.rules import Choice, Put, Result, Termination, Thought
from noughts_referee.stalls import Stalls
from noughts_referee.work_units import GameConditions, ScheduledGame, Unit
from noughts_server.cluster.codecs import REFEREES, TO_REFEREE, TO_SERVER
from noughts_server.cluster.dropped_messages import DroppedMessages
from noughts_server.cluster.silence import Limit, Silence, usual_limit
from noughts_server.runtime.bus import Bus, listening
from noughts_server.store.engine.database import Store
from noughts_server.store.tournaments.tournaments import conditions as read_conditions

logger = structlog.get_logger("noughts.cluster")

_MOST_WAITING_BYTES = 64 << 20
"""If more bytes wait, further asks are dropped, and the referees repeat them."""
_MOST_TOURNAMENTS = 1_000
"""Limit of the remembered tournaments. A forgotten one is read again when one of its games begins."""
_MESSAGE_BYTES = 1_000
"""The approximate bytes of a message without its columns."""


class _Answer(NamedTuple):
    """A bot's answer to a question for a move."""

    ply: int
    cell: int
    took_us: int
    reason: str | None
    """The reason for a resignation; None if it does not resign."""
    score: float | None
    exhausted: bool
    comment: str
    thought: Thought | None

    def add_to(self, answers: pb.BotAnswers, remote_handle: int) -> None:
        """Add the answer to a message to the referee. `remote_handle` is the referee's handle of the game."""
        row = len(answers.game)
        append_row(answers, game=remote_handle, ply=self.ply, cell=self.cell, time_us=self.took_us)
        if self.reason is not None:
            append_row(answers, resigned=row, reason=self.reason)
            if self.exhausted:
                answers.exhausted.append(row)
        if self.score is not None:
            append_row(answers, scored=row, score=self.score)
        if self.comment:
            append_row(answers, commented=row, comment=self.comment)
        if self.thought is not None:
            append_row(answers, thinking=row, thought=thought_message(self.thought))


class _Choice(NamedTuple):
    """A bot's answer to a question about an opening."""

    ply: int
    choice: Choice | None
    """None if the answer is not a choice; then `problem` is the reason."""
    took_us: int
    problem: str

    def add_to(self, answers: pb.BotAnswers, remote_handle: int) -> None:
        """Add the choice to a message to the referee. `remote_handle` is the referee's handle of the game."""
        message = play_pb2.Choice(game=remote_handle, step=self.ply + CHOICES)
        if self.choice is None:
            message.reason = self.problem
        elif isinstance(self.choice, Put):
            message.put.cell.extend(self.choice.cells)
        else:
            message.take = self.choice.side + 1  # type: ignore[assignment]
        answers.choices.append(pb.ClusterChoice(choice=message, time_us=self.took_us))


class _Overdue(NamedTuple):
    """A question that the bot did not answer within its limit."""

    ply: int
    took_us: int

    def add_to(self, answers: pb.BotAnswers, remote_handle: int) -> None:
        """Add the report to a message to the referee. `remote_handle` is the referee's handle of the game."""
        append_row(answers, silent_game=remote_handle, silent_ply=self.ply, silent_us=self.took_us)


@dataclass(slots=True, eq=False)
class RemoteGame(Game):
    """A game of a remote referee, with the facts that a bot of this server needs."""

    referee: str = field(kw_only=True)
    """The name of its referee."""
    remote_handle: int = field(kw_only=True)
    """The referee's handle of the game."""
    answer: _Answer | _Choice | _Overdue | None = field(default=None, init=False)
    """The last report to the referee, in case it must be sent again."""


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
        """`name` is this server's. `limit` returns the silence after which other referees play a referee's games."""
        self.stalls = Stalls()
        self.plies = 0
        self.late_answers = 0
        self.comment_limits = comment_limits
        self._margin_us = margin_us
        self._store = store
        self._bus = bus
        self._name = name
        self._last_handle = 0
        """The handle of the newest game."""
        self._opponent = Player(-1)
        """A player that stands for the opponent in every game: this server does not know opponents."""
        self._players: dict[int, ConnectedPlayer] = {}
        self._running: dict[int, RemoteGame] = {}
        """The running games, by handle."""
        self._games: dict[tuple[str, int], dict[int, RemoteGame]] = {}
        """The games, by referee and bot version, then by the referee's handle."""
        self._conditions: dict[int, GameConditions] = {}
        self._waiting: asyncio.Queue[pb.ClusterAsks] = asyncio.Queue()
        """Asks that wait until their tournaments have been read from the store."""
        self._waiting_bytes = 0
        """The approximate size of the waiting asks."""
        self._overflowed = False
        """Whether asks were dropped because too many waited."""
        self._dropped = DroppedMessages()
        self._reading = False
        """Whether a tournament is being read from the store."""
        self._players_to_wake: dict[ConnectedPlayer, None] = {}
        self._answers: dict[tuple[str, int], pb.BotAnswers] = {}
        """Answers that are sent at the end of this turn of the event loop, by referee and bot version."""
        self._forfeits: dict[int, tuple[Termination, str]] = {}
        """How bots have lost their games: termination and fault, by bot version, until they connect again."""
        self._silence = Silence(limit)
        self.referees: dict[str, pb.RefereePresence] = {}
        """The last presence of each referee, by name."""

    # Messages from the referees.

    async def run(self, connection: Callable[[int], FrameConnection]) -> None:
        """Receive messages until cancelled. `connection` returns the connection of a bot version of this server."""
        self._connection = connection
        with (
            listening(self._bus, f"{TO_SERVER}:{self._name}", self._receive),
            listening(self._bus, REFEREES, self._on_presence),
        ):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._take_waiting())
                tasks.create_task(self._silence.watch(self._referee_silent))

    def resynchronise(self) -> None:
        """Request all games from the referees again, because messages were lost."""
        for referee, version in {*self._games, *product(self._silence, self._players)}:
            self._answer(referee, version).lost = True

    def _count_as_live(self, referee: str) -> None:
        if self._silence.record_message(referee):
            # Its games have ended here, so the referee waits for answers in vain.
            for version in self._players:
                self._answer(referee, version).lost = True

    def _on_presence(self, message: pb.RefereePresence) -> None:
        self._count_as_live(message.referee)
        if message.leaving:
            self._referee_left(message.referee)
        else:
            self.referees[message.referee] = message

    def _referee_silent(self, referee: str) -> None:
        logger.warning("referee_silent", referee=referee)
        self._referee_left(referee)

    def _referee_left(self, referee: str) -> None:
        """End the games of a dead referee for their players, whatever their results are."""
        self._silence.forget(referee)
        self.referees.pop(referee, None)
        for name, version in [key for key in self._games if key[0] == referee]:
            for game in list(self._games[name, version].values()):
                self._end_game(self.player(version), game)
        self._wake()

    def _receive(self, asks: pb.ClusterAsks) -> None:
        """Forward the asks of a referee to the bots, or let them wait until their tournaments have been read."""
        self._count_as_live(asks.referee)
        must_wait = self._reading or not self._waiting.empty() or bool(self._unread_tournaments(asks))
        if not must_wait:
            self._take(asks)
        elif self._waiting_bytes > _MOST_WAITING_BYTES:
            self._overflowed = True
            self._dropped.add(referee=asks.referee, error="too many requests are waiting for the database")
        else:
            self._waiting_bytes += _MESSAGE_BYTES + asks.ByteSize()
            self._waiting.put_nowait(asks)

    def _unread_tournaments(self, asks: pb.ClusterAsks) -> set[int]:
        """Return the tournaments whose conditions must be read before the asks can be forwarded."""
        unknown = set()
        for bot in asks.bots:
            for starts in (*bot.starts, *bot.openings):
                conditions = self._conditions.get(starts.tournament)
                if conditions is None or max(*starts.first, *starts.second) >= len(conditions.labels):
                    unknown.add(starts.tournament)
        return unknown

    async def _take_waiting(self) -> None:
        while True:
            if self._overflowed and self._waiting.empty():
                self._overflowed = False
                self.resynchronise()
            asks = await self._waiting.get()
            self._waiting_bytes -= _MESSAGE_BYTES + asks.ByteSize()
            self._reading = True
            try:
                for key in self._unread_tournaments(asks):
                    read = partial(read_conditions, tournament_id=key)
                    self._conditions[key] = await self._store.read_with_retries(read)
                self._take(asks)
                for key in list(self._conditions)[:-_MOST_TOURNAMENTS]:
                    del self._conditions[key]
            except Exception as error:
                self._dropped.add(referee=asks.referee, error=repr(error))
            finally:
                self._reading = False

    def _take(self, asks: pb.ClusterAsks) -> None:
        for bot in asks.bots:
            player = self.player(bot.version)
            # The bot is offline or has moved to another server. Only its earlier games continue here, until the
            # reconnect timeout.
            if _is_away(player) and (asks.referee, bot.version) not in self._games:
                continue
            self._forward_asks(asks.referee, player, bot)
        self._wake()

    def _wake(self) -> None:
        players = self._players_to_wake
        self._players_to_wake = {}
        for player in players:
            if player.wire is not None:
                player.wire.wake()

    # Messages to one bot.

    def _forward_asks(self, referee: str, player: ConnectedPlayer, asks: pb.BotAsks) -> None:
        games = self._games.setdefault((referee, player.key), {})
        self._players_to_wake[player] = None
        if asks.complete:
            listed = {game for starts in (*asks.starts, *asks.openings) for game in starts.game}
            for remote_handle in games.keys() - listed:
                self._end_game(player, games[remote_handle])
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
        for remote_handle, result, termination, plies, cell, fault in ends:
            game = games.get(remote_handle)
            if game is not None:
                if len(game.moves) == plies - 1:
                    game.moves.append(cell)
                game.ply, game.fault = plies, fault
                self._end_game(player, game, Result(result), Termination(termination))
        if games and player.key in self._forfeits and _is_away(player):
            answers = self._answer(referee, player.key)
            answers.forfeit, answers.fault = self._forfeits[player.key]

    def _start(self, referee: str, player: ConnectedPlayer, starts: pb.ClusterStarts) -> None:
        for game, ply, moves, clocks in self._listed_games(referee, player, starts):
            if game.ply >= 0:
                # Each of the two can lack the newest move: the bot if its question follows, or the referee if the
                # bot's answer is on its way. `zip` compares the moves that both have.
                moves_agree = all(known == sent for known, sent in zip(game.moves, moves, strict=False))
                if abs(game.ply - ply) <= 1 and moves_agree:
                    continue
                self._end_game(player, game)  # the moves known here contradict those of the referee
                game = self._create_game(
                    player,
                    unit=game.unit,
                    slot=game.slot,
                    players=game.players,
                    referee=referee,
                    remote_handle=game.remote_handle,
                    time_factor=game.time_factor,
                )
            game.moves, game.ply = moves, ply
            game.left_us = clocks
            game.mover = self._opponent
            player.outbox.starts.append(game)

    def _open(self, referee: str, player: ConnectedPlayer, openings: pb.ClusterStarts) -> None:
        for game, ply, moves, clocks in self._listed_games(referee, player, openings):
            if self._has_question(player, game, ply):
                continue
            game.moves, game.ply, game.left_us, game.mover = moves, ply, clocks, player
            player.outbox.openings.append(game)

    def _create_game(
        self,
        player: ConnectedPlayer,
        *,
        unit: Unit,
        slot: ScheduledGame,
        players: tuple[Player, Player],
        referee: str,
        remote_handle: int,
        time_factor: float | None,
    ) -> RemoteGame:
        self._last_handle += 1
        game = RemoteGame(
            handle=self._last_handle,
            unit=unit,
            slot=slot,
            players=players,
            referee=referee,
            remote_handle=remote_handle,
            time_factor=time_factor,
        )
        player.games[game.handle] = self._running[game.handle] = self._games[referee, player.key][remote_handle] = game
        return game

    def _listed_games(
        self, referee: str, player: ConnectedPlayer, starts: pb.ClusterStarts
    ) -> Iterable[tuple[RemoteGame, int, list[int], list[int]]]:
        """Yield each listed game with its ply, its moves and its clocks (µs) at the referee.

        Create the games that are unknown here, with a ply below those of all questions.
        """
        games = self._games[referee, player.key]
        conditions = self._conditions[starts.tournament]
        unit = Unit(conditions, 0, ())
        moves = starts.moves[:]
        begin = 0
        timed = bool(starts.first_clock_us)
        rows = zip(starts.game, starts.ordinal, starts.first, starts.second, starts.ply, starts.move_count, strict=True)
        for row, (remote_handle, ordinal, first, second, ply, move_count) in enumerate(rows):
            slot = ScheduledGame(ordinal, first, second)
            is_first = conditions.players[first] == player.key
            players = (player, self._opponent) if is_first else (self._opponent, player)
            game = games.get(remote_handle)
            if game is None:
                game = self._create_game(
                    player,
                    unit=unit,
                    slot=slot,
                    players=players,
                    referee=referee,
                    remote_handle=remote_handle,
                    time_factor=starts.time_factor[row] if starts.time_factor else None,
                )
                game.mover = self._opponent
                game.ply = -CHOICES - 1
            elif game.slot != slot:
                game.change_sides()  # the players agreed who moves first
            clocks = [starts.first_clock_us[row], starts.second_clock_us[row]] if timed else [0, 0]
            yield game, ply, moves[begin : begin + move_count], clocks
            begin += move_count

    def _ask(self, referee: str, player: ConnectedPlayer, games: dict[int, RemoteGame], asks: pb.BotAsks) -> None:
        outbox = player.outbox
        timed = bool(asks.first_clock_us)
        spent = asks.spent_us[:]
        for row, (remote_handle, ply, cell) in enumerate(zip(asks.game, asks.ply, asks.cell, strict=True)):
            game = games.get(remote_handle)
            if game is None:
                self._answer(referee, player.key).lost = True
                continue
            plies = len(game.moves)
            if self._has_question(player, game, ply):
                continue
            if plies == ply - 1:
                game.moves.append(cell)
            elif plies != ply:
                self._answer(referee, player.key).lost = True
                continue
            game.ply, game.mover = ply, player
            if timed and game.conditions.timed:
                game.left_us = [asks.first_clock_us[row], asks.second_clock_us[row]]
                outbox.turns_timed.append(game)
            outbox.turn_game.append(game.handle)
            outbox.turn_ply.append(ply)
            outbox.turn_cell.append(cell)
            # The time for which the question was open at the bot's earlier server, in µs.
            if spent and spent[row] and player.wire is not None:
                self._connection(player.key).resume_clock(game, spent[row])

    def _end_game(
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
        games = self._games[game.referee, player.key]
        if games.get(game.remote_handle) is game:
            del games[game.remote_handle]
        player.outbox.ends.append(game)
        self._players_to_wake[player] = None

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
        self._forfeits.pop(key, None)
        return True

    def connect(self, player: ConnectedPlayer, wire: PlayerConnection) -> None:
        """Send the games that this server knows to a bot that has connected or reconnected."""
        self._forfeits.pop(player.key, None)
        player.wire = wire
        player.resend()
        wire.wake()

    def judge_answers(self, player: ConnectedPlayer, answers: Answers) -> list[Complaint]:
        """Forward the bot's answers to the referees that asked. Return complaints about answers to unknown games."""
        complaints: list[Complaint] = []
        games, plies, cells, times_us, resigned, reasons, exhausted, scores, comments, thoughts = answers
        self.plies += len(games)
        # Reasons can be missing at the end.
        reason_of = dict(zip_longest(resigned, reasons[: len(resigned)], fillvalue=""))
        score_of, comment_of, thought_of = dict(scores), dict(comments), dict(thoughts)
        referee = ""
        to_judge = pb.BotAnswers()
        for row, (handle, ply, cell, took_us) in enumerate(zip(games, plies, cells, times_us, strict=True)):
            game = self._running.get(handle)
            if game is None or game.ply != ply or game.mover is not player:
                self._count_or_complain(handle, ply, complaints)
                continue
            if game.referee != referee:
                referee = game.referee
                to_judge = self._answer(referee, player.key)
            reason, score = reason_of.get(row), score_of.get(row)
            comment = shortened(comment_of.get(row, ""), self.comment_limits.move)
            game.answer = _Answer(
                ply=ply,
                cell=cell,
                took_us=took_us,
                reason=reason,
                score=score,
                exhausted=row in exhausted,
                comment=comment,
                thought=thought_of.get(row),
            )
            game.moves.append(cell)
            game.ply = ply + 1
            game.mover = self._opponent
            game.answer.add_to(to_judge, game.remote_handle)
        return complaints

    def judge_choices(
        self, player: ConnectedPlayer, choices: Iterable[tuple[int, int, Choice | None, str]], times_us: Sequence[int]
    ) -> list[Complaint]:
        """Forward the bot's choices for openings to the referees that asked."""
        complaints: list[Complaint] = []
        for (handle, step, choice, problem), took_us in zip(choices, times_us, strict=True):
            game = self._running.get(handle)
            ply = opening_ply(step)
            if game is None or game.ply != ply or game.mover is not player:
                self._count_or_complain(handle, ply, complaints)
                continue
            game.answer = _Choice(ply, choice, took_us, problem)
            game.mover = self._opponent
            game.answer.add_to(self._answer(game.referee, player.key), game.remote_handle)
        return complaints

    def end_overdue(self, player: ConnectedPlayer, questions: Iterable[tuple[int, int, int]]) -> None:
        """Report questions that were not answered within their limits; the referees judge them."""
        for handle, ply, took_us in questions:
            game = self._running.get(handle)
            if game is not None and game.ply == ply and game.mover is player:
                game.answer = _Overdue(ply, took_us)
                game.answer.add_to(self._answer(game.referee, player.key), game.remote_handle)

    def forfeit(self, player: ConnectedPlayer, termination: Termination, fault: str = "") -> None:
        """Have the referees end the games of a bot that is at fault, or whose reconnect timeout has passed."""
        self._forfeits[player.key] = termination, fault
        for referee in {game.referee for game in self._games_of(player)}:
            answers = self._answer(referee, player.key)
            answers.forfeit, answers.fault = termination, fault

    def move_bot(self, version: int, open_us: dict[int, int]) -> None:
        """End the games of a bot that logged in at another server, and report how long its questions were open.

        `open_us` is that time in µs, by this server's handle of the game.
        """
        player = self.player(version)
        for game in self._games_of(player):
            if game.mover is player and game.handle in open_us:
                answers = self._answer(game.referee, version)
                append_row(answers, left_game=game.remote_handle, left_us=open_us[game.handle])
            self._end_game(player, game)
        # The bot's stream here is closed, so the ends of the games are not sent.
        player.take_outbox()

    # Messages to the referees.

    def _games_of(self, player: ConnectedPlayer) -> list[RemoteGame]:
        return [self._running[handle] for handle in player.games]

    def _answer(self, referee: str, version: int) -> pb.BotAnswers:
        """Return the message that the referee will get about this bot, to be filled in."""
        if not self._answers:
            asyncio.get_running_loop().call_soon(self._flush)
        return self._answers.setdefault((referee, version), pb.BotAnswers(version=version))

    def _flush(self) -> None:
        waiting = self._answers
        self._answers = {}
        messages: dict[str, pb.ClusterAnswers] = {}
        for (referee, _), answers in waiting.items():
            messages.setdefault(referee, pb.ClusterAnswers(server=self._name)).bots.append(answers)
        for referee, message in messages.items():
            self._bus.publish(f"{TO_REFEREE}:{referee}", message)

    def _has_question(self, player: ConnectedPlayer, game: RemoteGame, ply: int) -> bool:
        """Whether the bot has or had this question. If it has answered or was too slow, report this again."""
        if game.answer is None or game.answer.ply != ply:
            return game.mover is player and game.ply == ply
        game.answer.add_to(self._answer(game.referee, player.key), game.remote_handle)
        return True

    def _count_or_complain(self, handle: int, ply: int, complaints: list[Complaint]) -> None:
        if 0 < handle <= self._last_handle:
            self.late_answers += 1
        elif len(complaints) < MOST_COMPLAINTS:
            complaints.append(Complaint(handle, ply, f"a game that was started (the last is {self._last_handle})"))

    # State of the referees' games.

    def count_running(self, tournament: int | None = None) -> int:
        """Return the number of running games of all referees: of one tournament, or of all."""
        if tournament is None:
            return sum(referee.games_in_flight for referee in self.referees.values())
        return sum(report.games_in_flight for report in self._tournament_reports(tournament))

    def count_queued(self) -> int:
        """Return the number of games that wait at referees, of all tournaments."""
        return sum(referee.slots_queued for referee in self.referees.values())

    def slots(self, tournament: int) -> list[int]:
        """Return the slots of some running games of a tournament, each once.

        A frozen referee is listed for some time, with games that other referees have claimed meanwhile.
        """
        return list(
            dict.fromkeys(ordinal for report in self._tournament_reports(tournament) for ordinal in report.ordinals)
        )

    def _tournament_reports(self, tournament: int) -> Iterable[pb.ClusterTournament]:
        for referee in self.referees.values():
            yield from (report for report in referee.tournaments if report.tournament == tournament)


def _is_away(player: ConnectedPlayer) -> bool:
    return player.wire is None or not player.wire.capacity_untimed
