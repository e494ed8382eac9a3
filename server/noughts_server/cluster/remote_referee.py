"""A server's desk: what referees ask of the bots whose streams it holds, and what these answer.

To the wires it is a referee. It judges nothing: it keeps each game as far as its bot must be told of it, measures times
(as wires do) and hands answers on. Asks come again when messages were lost: each question is put to a bot once.
"""

import asyncio
from collections.abc import Container, Iterable, Sequence
from itertools import count

import structlog

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_proto.v1 import play_pb2
from noughts_referee.arbiter import MOST_COMPLAINTS, Complaint
from noughts_referee.frame_connection import FrameConnection
from noughts_referee.game import CHOICES, Game, Player
from noughts_referee.player_connection import PlayerConnection
from noughts_referee.referee import ConnectedPlayer, Referee
from noughts_referee.rules import Choice, Put, Result, Termination
from noughts_referee.work_units import FinishedGame, GameConditions, Slot, Unit
from noughts_server.cluster.codecs import REFEREES, TO_REFEREE, TO_SERVER
from noughts_server.runtime.bus import Bus, listening
from noughts_server.store.engine.database import Store
from noughts_server.store.tournaments.tournaments import conditions as read_conditions

logger = structlog.get_logger("noughts.cluster")

SILENT_SECONDS = 6.0
"""Games of a referee from which nothing was heard for so long are over: others play them again."""


class RemoteGame(Game):
    """A game that is played elsewhere, as one of its players knows it."""

    __slots__ = ("answer", "far", "judge")

    def __init__(
        self, handle: int, unit: Unit, slot: Slot, players: tuple[Player, Player], judge: str, far: int
    ) -> None:
        super().__init__(handle, unit, slot, *players)
        self.judge = judge
        """The name of its referee."""
        self.far = far
        """Its handle there."""
        self.answer: tuple[object, ...] = ()
        """The last answer, in case it has to be sent again."""

    def seat(self, slot: Slot, players: tuple[Player, Player]) -> None:
        """Who plays on which side, once that is agreed."""
        self.slot, self.players = slot, players


class RemoteReferee(Referee):
    """All asks of all referees. The players are those of this server."""

    def __init__(self, store: Store, bus: Bus, name: str, *, margin_us: int) -> None:
        """`name` is this server's."""
        super().__init__(_report_nothing, margin_us=margin_us)
        self._store = store
        self._bus = bus
        self._name = name
        self._handles = count(1)
        self._last = 0
        self._elsewhere = Player(-1)
        """Stands for every opponent."""
        self._games: dict[tuple[str, int], dict[int, RemoteGame]] = {}
        """By referee and bot version, and by the referee's handle."""
        self._conditions: dict[int, GameConditions] = {}
        self._asked: asyncio.Queue[pb.ClusterAsks] = asyncio.Queue()
        """Asks that wait for what is read in the store."""
        self._reading = False
        self._touched: dict[ConnectedPlayer, None] = {}
        self._answers: dict[tuple[str, int], pb.BotAnswers] = {}
        self._flushing = False
        self._heard: dict[str, float] = {}
        self.referees: dict[str, pb.RefereePresence] = {}
        """What each referee last said of itself."""

    # What the referees say.

    async def run(self) -> None:
        """Listens until it is cancelled."""
        with (
            listening(self._bus, f"{TO_SERVER}:{self._name}", self._hear),
            listening(self._bus, REFEREES, self._present),
        ):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._take_waiting())
                while True:
                    await asyncio.sleep(SILENT_SECONDS / 4)
                    now = asyncio.get_running_loop().time()
                    for referee, heard in list(self._heard.items()):
                        if now - heard > SILENT_SECONDS:
                            logger.warning("nothing is heard of a referee", referee=referee)
                            self._gone(referee)

    def begin_anew(self) -> None:
        """Messages were lost: the referees are asked for all games."""
        for referee, version in {(name, version) for name, version in self._games} | {
            (name, version) for name in self._heard for version in self._players
        }:
            self._answer(referee, version).lost = True

    def _present(self, message: pb.RefereePresence) -> None:
        self._heard[message.referee] = asyncio.get_running_loop().time()
        if message.leaving:
            self._gone(message.referee)
        else:
            self.referees[message.referee] = message

    def _gone(self, referee: str) -> None:
        """Its games are over for their players, whatever became of them."""
        self._heard.pop(referee, None)
        self.referees.pop(referee, None)
        for name, version in [key for key in self._games if key[0] == referee]:
            for game in list(self._games[name, version].values()):
                self._end(self.player(version), game)
        self._wake()

    def _hear(self, asks: pb.ClusterAsks) -> None:
        self._heard[asks.referee] = asyncio.get_running_loop().time()
        if self._reading or not self._asked.empty() or self._unknown(asks):
            self._asked.put_nowait(asks)
        else:
            self._take(asks)

    def _unknown(self, asks: pb.ClusterAsks) -> set[int]:
        """The tournaments of which too little is known to tell bots of their games."""
        unknown = set()
        for bot in asks.bots:
            for starts in (*bot.starts, *bot.openings):
                known = self._conditions.get(starts.tournament)
                if known is None or max(*starts.first, *starts.second) >= len(known.labels):
                    unknown.add(starts.tournament)
        return unknown

    async def _take_waiting(self) -> None:
        while True:
            asks = await self._asked.get()
            self._reading = True
            try:
                for key in self._unknown(asks):
                    self._conditions[key] = await self._read(key)
                self._take(asks)
            except Exception as error:
                logger.error("a message of a referee was dropped", referee=asks.referee, error=repr(error))
            finally:
                self._reading = False

    async def _read(self, tournament: int) -> GameConditions:
        return await self._store.read_patiently(lambda connection: read_conditions(connection, tournament))

    def _take(self, asks: pb.ClusterAsks) -> None:
        for bot in asks.bots:
            player = self.player(bot.version)
            away = player.wire is None or not player.wire.capacity_untimed
            # It is away, or has moved to another server: within its grace, games go on here.
            if away and (asks.referee, bot.version) not in self._games:
                continue
            self._tell(asks.referee, player, bot)
        self._wake()

    def _wake(self) -> None:
        touched, self._touched = self._touched, {}
        for player in touched:
            if player.wire is not None:
                player.wire.wake()

    # What one bot is told.

    def _tell(self, referee: str, player: ConnectedPlayer, asks: pb.BotAsks) -> None:
        games = self._games.setdefault((referee, player.key), {})
        self._touched[player] = None
        if asks.complete:
            listed = {game for starts in (*asks.starts, *asks.openings) for game in starts.game}
            for far in games.keys() - listed:
                self._end(player, games[far])
        for starts in asks.starts:
            self._start(referee, player, games, starts)
        for openings in asks.openings:
            self._open(referee, player, games, openings)
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

    def _start(
        self, referee: str, player: ConnectedPlayer, games: dict[int, RemoteGame], starts: pb.ClusterStarts
    ) -> None:
        for game, ply, moves, clocks in self._standing(referee, player, games, starts):
            if game.ply >= 0:
                # It may lack the opponent's last move, which comes with the question, or the referee the bot's.
                if abs(game.ply - ply) <= 1 and all(map(int.__eq__, game.moves, moves)):
                    continue
                game = self._again(referee, player, games, game)  # what is known of it is not what happened
            game.moves, game.ply = moves, ply
            game.left_us = clocks
            game.mover = self._elsewhere
            player.outbox.starts.append(game)

    def _again(
        self, referee: str, player: ConnectedPlayer, games: dict[int, RemoteGame], game: RemoteGame
    ) -> RemoteGame:
        self._end(player, game)
        fresh = RemoteGame(next(self._handles), game.unit, game.slot, game.players, referee, game.far)
        player.games[fresh.handle] = games[game.far] = fresh
        self._last = fresh.handle
        return fresh

    def _open(
        self, referee: str, player: ConnectedPlayer, games: dict[int, RemoteGame], openings: pb.ClusterStarts
    ) -> None:
        for game, ply, moves, clocks in self._standing(referee, player, games, openings):
            if game.answer and game.answer[0] == ply:
                self._send_again(player, game)
                continue
            if game.mover is player and game.ply == ply:
                continue
            game.moves, game.ply, game.left_us, game.mover = moves, ply, clocks, player
            player.outbox.openings.append(game)

    def _standing(
        self, referee: str, player: ConnectedPlayer, games: dict[int, RemoteGame], starts: pb.ClusterStarts
    ) -> Iterable[tuple[RemoteGame, int, list[int], list[int]]]:
        """Each game, made where it was unknown, with how it stands at its referee."""
        conditions = self._conditions[starts.tournament]
        unit = Unit(conditions, 0, ())
        moves, begin = starts.moves[:], 0
        timed = bool(starts.first_clock_us)
        rows = zip(starts.game, starts.ordinal, starts.first, starts.second, starts.ply, starts.move_count, strict=True)
        for row, (far, ordinal, first, second, ply, moved) in enumerate(rows):
            slot = Slot(ordinal, first, second)
            is_first = conditions.players[first] == player.key
            players = (player, self._elsewhere) if is_first else (self._elsewhere, player)
            game = games.get(far)
            if game is None:
                game = RemoteGame(next(self._handles), unit, slot, players, referee, far)
                game.mover = self._elsewhere
                game.ply = -CHOICES - 1
                games[far] = player.games[game.handle] = game
                self._last = game.handle
            elif game.slot != slot:
                game.seat(slot, players)
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
            if game.answer and game.answer[0] == ply:
                self._send_again(player, game)
                continue
            if game.mover is player and game.ply == ply:
                continue  # it is being thought about
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
                assert isinstance(player.wire, FrameConnection)
                player.wire.opened_earlier(game, spent[row])

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
        del player.games[game.handle]
        games = self._games[game.judge, player.key]
        if games.get(game.far) is game:
            del games[game.far]
        player.outbox.ends.append(game)
        self._touched[player] = None

    # What the wires say.

    def joined(self, player: ConnectedPlayer, wire: PlayerConnection) -> None:
        """The bot is there (again): it is told its games, as far as they are known here."""
        player.wire = wire
        self.arbiter.resend(player)
        self.arbiter.touched.clear()
        wire.wake()

    def answered(
        self,
        player: ConnectedPlayer,
        games: Sequence[int],
        plies: Sequence[int],
        cells: Sequence[int],
        times_us: Sequence[int],
        resigned: Sequence[int] = (),
        scores: Sequence[tuple[int, float]] = (),
        reasons: Sequence[str] = (),
        exhausted: Container[int] = (),
    ) -> list[Complaint]:
        """The bot's answers go to the referees that have asked."""
        complaints: list[Complaint] = []
        self.plies += len(games)
        running, elsewhere = player.games.get, self._elsewhere
        reason_of = dict(zip(resigned, (*reasons, *[""] * len(resigned)), strict=False)) if resigned else {}
        score_of = dict(scores)
        judge, answers = "", pb.BotAnswers()
        for row, (handle, ply, cell, took) in enumerate(zip(games, plies, cells, times_us, strict=True)):
            game = running(handle)
            if game is None or game.ply != ply or game.mover is not player:
                self._out_of_turn(game, handle, ply, complaints)
                continue
            assert isinstance(game, RemoteGame)
            if game.judge != judge:
                judge = game.judge
                answers = self._answer(judge, player.key)
            reason, score = reason_of.get(row), score_of.get(row)
            given_up = row in exhausted
            game.answer = (ply, cell, took, reason, score, given_up)
            game.moves.append(cell)
            game.ply = ply + 1
            game.mover = elsewhere
            _add_answer(answers, game.far, ply, cell, took, reason, score, given_up)
        return complaints

    def chosen(
        self, player: ConnectedPlayer, choices: Iterable[tuple[int, int, Choice | None, str]], times_us: Sequence[int]
    ) -> list[Complaint]:
        """The bot's choices for openings go to the referees that have asked."""
        complaints: list[Complaint] = []
        for (handle, step, choice, why), took in zip(choices, times_us, strict=True):
            game = player.games.get(handle)
            ply = step - CHOICES
            if not isinstance(game, RemoteGame) or game.ply != ply or game.mover is not player:
                self._out_of_turn(game, handle, ply, complaints)
                continue
            game.answer = (ply, choice, took, why)
            game.mover = self._elsewhere
            _add_choice(self._answer(game.judge, player.key), game.far, step, choice, why, took)
        return complaints

    def silent(self, player: ConnectedPlayer, questions: Iterable[tuple[int, int, int]]) -> None:
        """Limits have passed: their referees judge."""
        for handle, ply, took in questions:
            game = player.games.get(handle)
            if isinstance(game, RemoteGame):
                answers = self._answer(game.judge, player.key)
                answers.silent_game.append(game.far)
                answers.silent_ply.append(ply)
                answers.silent_us.append(took)

    def forfeit(self, player: ConnectedPlayer, termination: Termination, fault: str = "") -> None:
        """The bot will not come back: its referees end its games."""
        for referee in {game.judge for game in player.games.values() if isinstance(game, RemoteGame)}:
            answers = self._answer(referee, player.key)
            answers.forfeit, answers.fault = termination, fault

    def moved(self, version: int, open_us: dict[int, int]) -> None:
        """The bot has logged in at another server: its games are told there. So long its questions were open here."""
        player = self.player(version)
        for game in list(player.games.values()):
            assert isinstance(game, RemoteGame)
            if game.mover is player and game.handle in open_us:
                answers = self._answer(game.judge, version)
                answers.left_game.append(game.far)
                answers.left_us.append(open_us[game.handle])
            self._end(player, game)
        player.take_outbox()

    # Inside.

    def _answer(self, referee: str, version: int) -> pb.BotAnswers:
        answers = self._answers.get((referee, version))
        if answers is None:
            answers = self._answers[referee, version] = pb.BotAnswers(version=version)
            if not self._flushing:
                self._flushing = True
                asyncio.get_running_loop().call_soon(self._flush)
        return answers

    def _flush(self) -> None:
        self._flushing = False
        waiting, self._answers = self._answers, {}
        messages: dict[str, pb.ClusterAnswers] = {}
        for (referee, _), answers in waiting.items():
            message = messages.get(referee)
            if message is None:
                message = messages[referee] = pb.ClusterAnswers(server=self._name)
            message.bots.append(answers)
        for referee, message in messages.items():
            self._bus.publish(f"{TO_REFEREE}:{referee}", message)

    def _send_again(self, player: ConnectedPlayer, game: RemoteGame) -> None:
        answers = self._answer(game.judge, player.key)
        ply, what, took, *rest = game.answer
        assert isinstance(ply, int)
        assert isinstance(took, int)
        if ply < 0:
            _add_choice(answers, game.far, ply + CHOICES, what, rest[0], took)  # type: ignore[arg-type]
        else:
            _add_answer(answers, game.far, ply, what, took, *rest)  # type: ignore[arg-type]

    def _out_of_turn(self, game: Game | None, handle: int, ply: int, complaints: list[Complaint]) -> None:
        if game is None and not 0 < handle <= self._last:
            expected = f"a game that was started (the last is {self._last})"
        elif game is not None and ply >= game.ply and game.mover not in game.players:
            expected = f"a ply that was asked (the game is at {game.ply})"
        else:
            self.arbiter.late_answers += 1
            return
        if len(complaints) < MOST_COMPLAINTS:
            complaints.append(Complaint(handle, ply, expected))

    # What the organiser asks: the referees say.

    def abandon(self, tournament: int | None = None) -> None:
        """Games are ended where they are played."""

    def in_flight(self, tournament: int | None = None) -> int:
        """Running games of all referees: of one tournament, or all."""
        if tournament is None:
            return sum(each.games_in_flight for each in self.referees.values())
        return sum(
            played.games_in_flight
            for each in self.referees.values()
            for played in each.tournaments
            if played.tournament == tournament
        )

    def queued(self, tournament: int | None = None) -> int:
        """Slots that wait at referees, of all tournaments."""
        return 0 if tournament is not None else sum(each.slots_queued for each in self.referees.values())

    def slots(self, tournament: int) -> list[int]:
        """Slots of some games of a tournament that are running, each once.

        A referee that freezes is listed for a while with games that others play by now.
        """
        running = (
            ordinal
            for each in self.referees.values()
            for played in each.tournaments
            if played.tournament == tournament
            for ordinal in played.ordinals
        )
        return list(dict.fromkeys(running))


def _report_nothing(games: list[FinishedGame]) -> None:
    """No game ends here."""


def _add_answer(
    answers: pb.BotAnswers,
    far: int,
    ply: int,
    cell: int,
    took: int,
    reason: str | None,
    score: float | None,
    exhausted: bool,
) -> None:
    row = len(answers.game)
    answers.game.append(far)
    answers.ply.append(ply)
    answers.cell.append(cell)
    answers.time_us.append(took)
    if reason is not None:
        answers.resigned.append(row)
        answers.reason.append(reason)
        if exhausted:
            answers.exhausted.append(row)
    if score is not None:
        answers.scored.append(row)
        answers.score.append(score)


def _add_choice(answers: pb.BotAnswers, far: int, step: int, choice: Choice | None, why: str, took: int) -> None:
    message = play_pb2.Choice(game=far, step=step)
    if choice is None:
        message.reason = why
    elif isinstance(choice, Put):
        message.put.cell.extend(choice.cells)
    else:
        message.take = choice.side + 1  # type: ignore[assignment]
    answers.choices.append(pb.ClusterChoice(choice=message, time_us=took))
