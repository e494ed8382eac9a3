"""The referee plays work units with the connected players.

It keeps the queue of slots and starts a game as soon as its tournament and both players have capacity. It passes
answers to the arbiter and finished games to the organiser. All methods are plain calls on the event loop's thread.
Nothing here waits, and connections supply the time.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import chain, count, repeat
from typing import Protocol, cast

from noughts_referee.arbiter import Answers, Arbiter, Complaint
from noughts_referee.clock import MARGIN_US
from noughts_referee.comments import CommentKeeper, CommentLimits
from noughts_referee.connected_player import ConnectedPlayer, PlayerConnection, SeatPool, Seats, WaitingGame
from noughts_referee.finished_games import finished_games, walkover, withdrawal_fault
from noughts_referee.game import JUDGE, Game
from noughts_referee.rules import Choice, Termination, within_limits
from noughts_referee.stalls import Stalls
from noughts_referee.work_units import FinishedGame, GameConditions, Unit, stored_score


class Observer(Protocol):
    """An observer of running games. It is called during play: it must be fast, raise nothing and change no game."""

    def note_start(self, game: Game) -> None:
        """Note that a game has begun."""

    def note_answers(self, games: Sequence[int], plies: Sequence[int], scores: Sequence[tuple[int, float]]) -> None:
        """Note that answers to these games were judged. Each game advanced by one ply at most.

        `games` are handles, `plies` the plies that the player named, `scores` its finite scores as (index, score).
        """

    def note_ends(self, games: Sequence[Game]) -> None:
        """Note that games are over. An earlier `note_answers` had their last plies."""


class AnswerTracer(Protocol):
    """Gets all answers with their thinking times, to trace slow ones. It must be fast and change no game."""

    def begin_answers(self, player: ConnectedPlayer, answers: Answers) -> None:
        """Note answers that are judged next."""

    def end_answers(self) -> None:
        """Note that they are judged."""


_Pair = tuple[ConnectedPlayer, ConnectedPlayer]
_GUESTS_LAST = 1 << 62
"""Added to the arrival numbers of guests, so that a tournament's slot gets a free seat first."""


@dataclass(slots=True, eq=False)
class _Tournament(SeatPool):
    """The capacity of a tournament, and the conditions of its games that do not change (see `GameConditions`)."""

    concurrency: int
    is_timed: bool
    guest: bool
    """Whether it is a challenge or a guest's test, whose games have separate capacity."""
    guest_test: bool
    entries: list[ConnectedPlayer]
    """The players of the entries, by number."""
    faults: dict[int, str] = field(default_factory=dict)
    """The faults by which entries lose all their games, by number of the entry."""


def _withdrawal_faults(reasons: Mapping[int, str]) -> dict[int, str]:
    """Return the faults of withdrawn entries, from the reasons of their withdrawals."""
    return {entry: withdrawal_fault(reason) for entry, reason in reasons.items()}


class Referee:
    """The referee plays units and passes finished games to `report` in batches."""

    def __init__(
        self,
        report: Callable[[list[FinishedGame]], None],
        *,
        margin_us: int = MARGIN_US,
        journal: Callable[[Iterable[Game]], None] = lambda games: None,
        comment_limits: CommentLimits = CommentLimits(),  # noqa: B008  # immutable
        time_factor: float = 1.0,
    ) -> None:
        """`margin_us` is the default of `Player.margin_us`. `journal` gets journaled games that have progressed.

        `time_factor` is that of this machine, for the games whose times are scaled.
        """
        self.arbiter = Arbiter(time_factor)
        self.stalls = Stalls()
        """Stalls of the server, which connections do not count as thinking time."""
        self.plies = 0
        """Answers received since the start."""
        self.comment_limits = comment_limits
        self._comments = CommentKeeper(comment_limits)
        self._report = report
        self._journal = journal
        self._margin_us = margin_us
        self._players: dict[int, ConnectedPlayer] = {}
        self._tournaments: dict[int, _Tournament] = {}
        self._queue: list[WaitingGame] = []
        """Slots to try; a heap in order of arrival."""
        self._queued: dict[int, int] = {}
        """Slots not yet started, by tournament."""
        self._arrivals = 0
        self._hold_reasons: set[str] = set()
        """The reasons why no game begins now; empty if games can begin."""
        self.on_progress: Callable[[], None] = lambda: None
        """Called after games have ended or begun."""
        self.on_displaced: Callable[[GameConditions], None] = lambda guest: None
        """Called with a challenge or a guest's test when one of its bots begins a tournament's timed game."""
        self.observer: Observer | None = None
        """Observes every game, unless it is None."""
        self.tracer: AnswerTracer | None = None
        """Traces slow answers, unless it is None."""
        self.prove: Callable[[Sequence[Game]], None] = self._prove_nothing
        """Called with games that wait for a proof. It must not wait: `conclude` gets the values, now or later."""

    # Calls by the organiser.

    def add(self, unit: Unit) -> None:
        """Queue the unit's slots behind the earlier ones."""
        key = unit.conditions.tournament
        tournament = self._tournaments.get(key)
        if tournament is None:
            tournament = _Tournament(
                concurrency=unit.conditions.concurrency,
                is_timed=unit.conditions.timed,
                guest=unit.conditions.guest,
                guest_test=unit.conditions.guest_test,
                entries=[],
            )
            self._tournaments[key] = tournament
        if len(tournament.entries) < len(unit.conditions.players):
            tournament.entries = [self.player(version) for version in unit.conditions.players]
        tournament.faults.update(_withdrawal_faults(unit.conditions.withdrawn))
        self._queued[key] = self._queued.get(key, 0) + len(unit.slots)
        arrivals = count(self._arrivals + 1 + (_GUESTS_LAST if tournament.guest else 0))
        self._arrivals += len(unit.slots)
        full = tournament.taken >= tournament.concurrency
        waiting = tournament.waiting(tournament.is_timed) if full else self._queue
        waiting.extend(zip(arrivals, unit.slots, repeat(unit)))
        if waiting is self._queue:
            heapify(self._queue)
        self._settle()

    def count_queued(self, tournament: int | None = None) -> int:
        """Return the number of slots that wait to start, of one tournament or all."""
        if tournament is None:
            return sum(self._queued.values())
        return self._queued.get(tournament, 0)

    def count_queued_for_offline(self, tournament: int) -> int:
        """Return the number of the tournament's slots that wait for a player that is offline."""
        pool = self._tournaments.get(tournament)
        if pool is None:
            return 0
        absent = [player for player in pool.entries if not player.seats(pool.is_timed)]
        return sum(
            unit.conditions.tournament == tournament
            for player in absent
            for _, _, unit in player.pool.waiting(pool.is_timed)
        )

    @property
    def late_answers(self) -> int:
        """Answers that came too late, since the start."""
        return self.arbiter.late_answers

    def count_running(self, tournament: int | None = None) -> int:
        """Return the number of running games, of one tournament or all."""
        if tournament is None:
            return sum(pool.taken for pool in self._tournaments.values())
        pool = self._tournaments.get(tournament)
        return pool.taken if pool else 0

    def can_advance(self) -> bool:
        """Return whether a running game waits for a proof, or for a player that is connected."""
        return any(
            game.mover in (connection, JUDGE)
            for player in self._players.values()
            for connection in player.connections
            if connection.wire is not None and connection.wire.online
            for game in connection.games.values()
        )

    def withdraw(self, tournament: int) -> None:
        """Forget the tournament's slots that are not running."""

        def other_slots(waiting: Iterable[WaitingGame]) -> list[WaitingGame]:
            # A sorted list is a heap. Arrival numbers are unique, so slots and units are never compared.
            return sorted(entry for entry in waiting if entry[2].conditions.tournament != tournament)

        self._queue = other_slots(self._queue)
        players = self._players.values()
        pools = chain.from_iterable((player.pool, player.guests) for player in players)
        for pool in chain(self._tournaments.values(), pools):
            pool.timed = deque(other_slots(pool.timed))
            pool.untimed = deque(other_slots(pool.untimed))
        self._queued.pop(tournament, None)
        for player in players:
            self._reconsider(player.guests)

    def withdraw_entries(self, tournament: int, entries: Mapping[int, str]) -> None:
        """Withdraw entries, by number, with the reasons. They lose their running and remaining games."""
        self._lose_games(tournament, _withdrawal_faults(entries))

    def forfeit_games(self, tournament: int, faults: Mapping[int, str]) -> None:
        """Let entries lose their running and waiting games by these faults, by number. They play later games."""
        for entry in self._lose_games(tournament, faults):
            del self._tournaments[tournament].faults[entry]

    def _lose_games(self, tournament: int, faults: Mapping[int, str]) -> list[int]:
        """Let entries lose their running, waiting and further games by these faults; return those that did not yet."""
        pool = self._tournaments.get(tournament)
        if pool is None:
            return []
        leaving = [entry for entry in faults if entry not in pool.faults]
        if not leaving:
            return []
        pool.faults.update((entry, faults[entry]) for entry in leaving)
        for entry in leaving:
            for connection in pool.entries[entry].connections:
                self.arbiter.forfeit(connection, Termination.ADJUDICATED, faults[entry], tournament)
        for entry in leaving:
            self._reconsider(pool.entries[entry].pool)
            self._reconsider(pool.entries[entry].guests)
        self._reconsider(pool)
        self._settle()
        return leaving

    def concede(self, tournament: int, entries: Mapping[int, str]) -> None:
        """Forget the tournament's waiting slots, and end the running games of these entries as lost.

        `entries` has the reasons by number of the entry.
        """
        self.withdraw(tournament)
        pool = self._tournaments.get(tournament)
        if pool is not None:
            for entry, why in entries.items():
                for connection in pool.entries[entry].connections:
                    self.arbiter.forfeit(connection, Termination.ADJUDICATED, why, tournament)
            self._settle()

    def kept_waiting(self, tournament: int) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the entries for which games wait: (entry, (game, ply)) for each open question without a clock.

        (entry, (0, 0)) means that the entry is offline and has running or waiting games in the tournament.
        """
        pool = self._tournaments.get(tournament)
        if pool is None:
            return
        for entry, player in enumerate(pool.entries):
            games = [game for each in player.connections for game in each.games.values()]
            for game in games:
                if game.conditions.tournament == tournament and game.mover in player.connections and game.time is None:
                    yield entry, (game.handle, game.ply)
            waiting = chain(player.pool.timed, player.pool.untimed)
            if not player.seats(pool.is_timed) and (
                any(game.conditions.tournament == tournament for game in games)
                or any(unit.conditions.tournament == tournament for _, _, unit in waiting)
            ):
                yield entry, (0, 0)

    def evict(self, tournament: int) -> None:
        """Forget a tournament, unless it has waiting slots or running games."""
        if not self.count_queued(tournament) and not self.count_running(tournament):
            self._tournaments.pop(tournament, None)
            self._queued.pop(tournament, None)

    def abandon(self, tournament: int | None = None) -> None:
        """End running games as void, of one tournament or all. Their slots stay unplayed."""
        games = {
            game
            for player in self._players.values()
            for connection in player.connections
            for game in connection.games.values()
            if tournament in (None, game.conditions.tournament)
        }
        self.arbiter.abandon(games)
        self._settle()

    def running(self, tournament: int) -> Iterator[Game]:
        """Yield the tournament's running games, grouped by the entry that moved first."""
        pool = self._tournaments.get(tournament)
        for player in pool.entries if pool else ():
            for connection in player.connections:
                for game in connection.games.values():
                    if game.players[0] is connection and game.conditions.tournament == tournament:
                        yield game

    def hold(self, why: str) -> None:
        """Begin no game until `release_hold` is called with the same reason. Running games continue."""
        self._hold_reasons.add(why)

    def release_hold(self, why: str) -> None:
        """Remove a hold. Games begin again unless there is another hold."""
        self._hold_reasons.discard(why)
        self._settle()

    def announce_stored(self, games: Iterable[FinishedGame], stored: Iterable[FinishedGame]) -> None:
        """Announce the ends of reported games to the players that wait for the commit (`Player.stored_ends`).

        These players see a game as void if the commit did not store it. Its slot is played again, or no longer counts.
        """
        self.arbiter.announce_stored(games, stored)
        self._settle()

    def stop_starting(self) -> None:
        """Begin no more games, permanently. Running games continue."""
        self.hold("the end")

    # Calls by connections.

    def player(self, key: int) -> ConnectedPlayer:
        """Return the player with this key, creating it if needed."""
        player = self._players.get(key)
        if player is None:
            player = self._players[key] = ConnectedPlayer(key, self._margin_us)
        return player

    def release(self, key: int) -> bool:
        """Forget a player, unless it has a game or an entry in a tournament. Return whether it was forgotten."""
        player = self._players.get(key)
        if player is not None and (player.games or any(player in each.entries for each in self._tournaments.values())):
            return False
        self._players.pop(key, None)
        return True

    def connect(self, player: ConnectedPlayer, wire: PlayerConnection) -> None:
        """Connect a player, also after a disconnection: send it its running games and start new ones."""
        player.wire = wire
        player.resend()
        self.arbiter.forget_waiting(player)
        self.arbiter.touched.add(player)
        self.update_seats(player)

    def update_seats(self, player: ConnectedPlayer) -> None:
        """Apply a change of the player's capacity."""
        self._reconsider(player.pool)
        self._reconsider(player.guests)
        self._settle()

    def forfeit(self, player: ConnectedPlayer, termination: Termination, fault: str = "") -> None:
        """End the running games of a player that does not return as lost; `fault` says why (see `Game.fault`)."""
        self.arbiter.forfeit(player, termination, fault)
        self._settle()

    def judge_answers(self, player: ConnectedPlayer, answers: Answers) -> list[Complaint]:
        """Judge a player's answers. Return complaints about answers to questions that were never asked."""
        games, plies = answers.games, answers.plies
        self.plies += len(games)
        for row, score in answers.scores:
            game = player.games.get(games[row])
            if game and game.scores is not None and game.ply == plies[row] and game.mover is player:
                by_scores = game.conditions.adjudication.by_scores
                game.scores.setdefault(game.ply, stored_score(score) if by_scores else score)
        for row, comment in answers.comments:
            game = player.games.get(games[row])
            if game and game.conditions.keep_scores and game.ply == plies[row] and game.mover is player:
                self._comments.keep(game.comments, game.ply, comment, player.key)
        for row, thought in answers.thoughts:
            game = player.games.get(games[row])
            if game and game.conditions.keep_scores and game.ply == plies[row] and game.mover is player:
                limited_thought = within_limits(thought, game.conditions.variant.cells, game.moves)
                if limited_thought is not None:
                    self._comments.keep_thought(game.thoughts, game.ply, limited_thought, player.key)
        if self.tracer is not None:
            self.tracer.begin_answers(player, answers)
        complaints = self.arbiter.judge_answers(player, answers)
        if self.tracer is not None:
            self.tracer.end_answers()
        if self.observer is not None:
            self.observer.note_answers(games, plies, answers.scores)
        self._settle()
        return complaints

    def conclude(self, proofs: Iterable[tuple[Game, int, int | None]]) -> None:
        """Apply proofs: a game, its ply, and the value for its side to move; see `Arbiter.conclude`."""
        for game, ply, value in proofs:
            self.arbiter.conclude(game, ply, value)
        self._settle()

    def _prove_nothing(self, games: Sequence[Game]) -> None:
        self.conclude([(game, game.ply, None) for game in games])

    def judge_choices(
        self, player: ConnectedPlayer, choices: Iterable[tuple[int, int, Choice | None, str]], times_us: Sequence[int]
    ) -> list[Complaint]:
        """Judge a player's choices for openings: (game, step, choice, reason to resign). See `Arbiter.judge_choice`."""
        complaints: list[Complaint] = []
        for (game, step, choice, why), took in zip(choices, times_us, strict=True):
            complaints += self.arbiter.judge_choice(player, game, step, choice, took, why)
        self._settle()
        return complaints

    def end_overdue(self, player: ConnectedPlayer, questions: Iterable[tuple[int, int, int]]) -> None:
        """Report questions (game, ply, microseconds since asked) past their limit. See `Arbiter.end_overdue`."""
        self.arbiter.end_overdue(player, questions)
        self._settle()

    def _settle(self) -> None:
        """Collect finished games, begin new ones in their place, and wake the connections concerned."""
        arbiter = self.arbiter
        if arbiter.unproven:
            unproven, arbiter.unproven = arbiter.unproven, []
            self.prove(unproven)  # These calls can call this method again.
        if arbiter.ended:
            ended = arbiter.take_ended()
            if self.observer is not None:
                self.observer.note_ends(ended)
            self._leave(ended)
            finished = finished_games(ended)
            for game in ended:
                if game.comments or game.thoughts:
                    self._comments.forget(game.comments, game.thoughts, _keys(game))
            if finished:
                self._report(finished)
            self._begin()
            self.on_progress()
        elif self._queue and self._begin():
            self.on_progress()
        if arbiter.agreed:
            agreed, arbiter.agreed = arbiter.agreed, []
            if self.observer is not None:
                for game in agreed:
                    self.observer.note_start(game)
        if arbiter.advanced:
            advanced, arbiter.advanced = arbiter.advanced, []
            self._journal(advanced)
        if arbiter.touched:
            # A connection can answer at once when it is woken, and so call this method again.
            touched, arbiter.touched = arbiter.touched, set()
            for player in cast("set[ConnectedPlayer]", touched):
                if player.wire is not None:
                    player.wire.wake()

    def _leave(self, ended: list[Game]) -> None:
        """Free the seats of ended games, and queue the slots that waited for them."""
        queue = self._queue
        ended_games = Counter([(game.conditions.tournament, game.players) for game in ended])
        for (tournament, players), games in ended_games.items():
            own = self._tournaments[tournament]
            pair = cast("_Pair", players)
            for pool in (own, *(player.guests if own.guest else player.pool for player in pair)):
                pool.take(-games, own.is_timed)
                for waiting in (pool.untimed, pool.timed):
                    for _ in range(min(games, len(waiting))):
                        heappush(queue, waiting.popleft())
            if not own.guest:
                for player in pair:
                    if own.is_timed or not player.pool.taken:
                        self._reconsider(player.guests)

    def _reconsider(self, pool: SeatPool) -> None:
        """Queue all slots that wait in the pool, because its capacity has changed."""
        for waiting in (pool.timed, pool.untimed):
            for slot in waiting:
                heappush(self._queue, slot)
            waiting.clear()

    def _begin(self) -> bool:
        """Start every queued slot that finds capacity; the others wait at a full pool. Return whether a game began."""
        queue = self._queue
        began = False
        walkovers: list[FinishedGame] = []
        conditions: GameConditions | None = None
        while queue and not self._hold_reasons:
            waiting = heappop(queue)
            _, slot, unit = waiting
            if unit.conditions is not conditions:
                # Most waiting slots belong to one tournament, so what they share is looked up once.
                conditions = unit.conditions
                key = conditions.tournament
                tournament = self._tournaments[key]
                timed, entries, concurrency = tournament.is_timed, tournament.entries, tournament.concurrency
                faults, guest, test = tournament.faults, tournament.guest, tournament.guest_test
                seats: dict[ConnectedPlayer, Seats] = {}
            _, place, opposite = slot
            first, second = entries[place], entries[opposite]
            first_pool, second_pool = (first.guests, second.guests) if guest else (first.pool, second.pool)
            if first not in seats or second not in seats:
                for player in (first, second):
                    seats[player] = player.guest_seats(test=test) if guest else player.tournament_seats()
            if faults and (place in faults or opposite in faults):
                walkovers.append(walkover(unit, slot, faults))
                self._queued[key] -= 1
            elif tournament.taken >= concurrency:
                tournament.wait(timed, waiting)
            elif first_pool.full(seats[first], timed):
                first_pool.wait(timed, waiting)
            elif second_pool.full(seats[second], timed):
                second_pool.wait(timed, waiting)
            else:
                for pool in (tournament, first_pool, second_pool):
                    pool.take(1, timed)
                self._queued[key] -= 1
                if timed and not guest and (first.guests.taken or second.guests.taken):
                    guests = chain(first.guest_games(), second.guest_games())
                    for displaced in {game.conditions.tournament: game.conditions for game in guests}.values():
                        self.on_displaced(displaced)
                if first.members:
                    first = first.freest(timed)
                if second.members:
                    second = second.freest(timed)
                game = self.arbiter.start(unit, slot, first, second)
                if game.comments or game.thoughts:
                    self._comments.resume(game.comments, game.thoughts, _keys(game))
                if self.observer is not None and not conditions.variant.agreement:
                    self.observer.note_start(game)
                began = True
                continue
            self._pass_on(tournament, Seats(concurrency, concurrency), timed)
            self._pass_on(first_pool, seats[first], timed)
            self._pass_on(second_pool, seats[second], timed)
        if walkovers:
            self._report(walkovers)
        return began or bool(walkovers)

    def _pass_on(self, pool: SeatPool, seats: Seats, timed: bool) -> None:
        """Offer a seat that a slot did not use to the next waiting slot."""
        waiting = pool.waiting(timed)
        if waiting and not pool.full(seats, timed):
            heappush(self._queue, waiting.popleft())


def _keys(game: Game) -> tuple[int, int]:
    """Return the keys of the players of both sides."""
    first, second = game.players
    return first.key, second.key
