"""The channels of tournaments: they send a few games move by move, and numbers for the rest a few times a second."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_referee.rules import parse_variant
from noughts_referee.work_units import FinishedGame, bytes_of_a_move
from noughts_server.feed.channel import Channel, ChannelContext, GameFollowers
from noughts_server.feed.observer import RunningGame, ScheduledGameKey, WatchableGames
from noughts_server.feed.stored import end_message, read_featured, read_tournament
from noughts_server.store.engine.database import Store
from noughts_server.store.games.results import TournamentProgress

# In ticks, by default 0.25 s.
_TICKS_BETWEEN_READS = 4
_TICKS_BETWEEN_READS_WHILE_OPEN = 8
_TICKS_OF_ENDED_BOARD = 4
"""An ended game stays on its board for this long, then another game can replace it."""
_TICKS_OF_LOST_BOARD = 40
"""A game that is not running and has no result is removed after this."""
_TICKS_FEATURED_AFTER_END = 40
"""An ended tournament stays on the channel of running tournaments for this long."""
_MOST_LIVE_GAMES = 64


class _TournamentState:
    """The current state of a tournament, and the state that watchers have."""

    def __init__(self, message: pb.WatchedTournament) -> None:
        self.now = pb.WatchedTournament()
        """The current state without standings."""
        self.sent = pb.WatchedTournament()
        """The state that watchers have, without standings."""
        self.rows: dict[str, pb.WatchedStanding] = {}
        """The current standings by label."""
        self.sent_rows: dict[str, pb.WatchedStanding] = {}
        """The standings that watchers have, by label."""
        self.packed_moves = 0
        """The bytes of all committed moves."""
        self.move_bytes = bytes_of_a_move(parse_variant(message.variant).cells)
        self.ticks_after_end = 0
        self.set_state(message)

    @property
    def is_over(self) -> bool:
        return self.now.state in (tournaments_pb2.TOURNAMENT_STATE_FINISHED, tournaments_pb2.TOURNAMENT_STATE_CANCELLED)

    @property
    def is_open(self) -> bool:
        return self.now.state == tournaments_pb2.TOURNAMENT_STATE_OPEN

    def set_state(self, message: pb.WatchedTournament) -> None:
        """Set the current state to one from the store."""
        self.rows = {row.standing.label: row for row in message.standings}
        self.now = message
        del self.now.standings[:]

    def changes(self, running: int, live_games: Iterable[int]) -> pb.WatchedTournament | None:
        """Return the changes since the last call, with these running games; None without any."""
        self.now.games_running = running
        self.now.live_games[:] = live_games
        self.now.plies = self.packed_moves // self.move_bytes
        rows = [row for label, row in self.rows.items() if self.sent_rows.get(label) != row]
        if not rows and self.now == self.sent:
            return None
        self.sent.CopyFrom(self.now)
        self.sent_rows = dict(self.rows)
        message = pb.WatchedTournament(standings=rows)
        message.MergeFrom(self.now)
        return message


@dataclass(slots=True)
class _Board:
    """A game that is shown move by move."""

    name: str
    variant: str
    players: frozenset[str]
    """The labels of both players."""
    ended: bool = False
    idle: int = 0
    """Ticks since the game ended or was last seen running."""


class TournamentsChannel(Channel):
    """One tournament with its standings (`slug`), or the newest running tournaments without (None)."""

    def __init__(
        self,
        slug: str | None,
        store: Store,
        followers: GameFollowers,
        observer: WatchableGames,
        context: ChannelContext,
        *,
        most_boards: int,
    ) -> None:
        super().__init__(context, context.settings.buffered_frames)
        self._slug = slug
        self._store = store
        self._followers = followers
        self._observer = observer
        self._most_boards = most_boards
        self._tournaments: dict[int, _TournamentState] = {}
        self._boards: dict[ScheduledGameKey, _Board] = {}
        self._pending = pb.Increments()
        self._reading_time = context.reading_time
        self._must_read = True
        """Whether the stored state has changed. The next read can wait for its interval."""
        self._must_read_now = True
        """Whether the next tick must read the store, because a tournament changed or ended."""
        self._ticks = 0
        self._ticks_at_read = 0

    async def load(self) -> None:
        await self._read()
        self._send_changes()

    async def tick(self) -> None:
        self._ticks += 1
        if self._slug and self._ticks % _TICKS_BETWEEN_READS_WHILE_OPEN == 0:
            # Entries join an open tournament without an event.
            self._must_read |= any(state.is_open for state in self._tournaments.values())
        is_read_due = self._ticks - self._ticks_at_read >= _TICKS_BETWEEN_READS and self._reading_time.left > 0
        if self._must_read_now or (self._must_read and is_read_due):
            await self._read()
        self._send_changes()

    def handle_event(self, slot: ScheduledGameKey, event: pb.WatchedGame | pb.WatchedPly) -> None:
        if isinstance(event, pb.WatchedPly):
            self._pending.plies.append(event)
            return
        # The event has the whole game, which started again or whose events were lost: its pending events are outdated.
        self._forget_pending(event.name)
        self._pending.games.append(event)

    def handle_stored_game(self, slot: ScheduledGameKey, game: FinishedGame) -> None:
        board = self._boards.get(slot)
        if board is not None and not board.ended:
            board.ended = True
            board.idle = 0
            self._pending.ends.append(end_message(board.name, board.variant, game))

    def handle_progress(self, progress: TournamentProgress, packed_moves: int) -> None:
        state = self._tournaments.get(progress.tournament)
        if state is not None:
            state.now.games_done, state.now.games_total = progress.games_done, progress.games_total
            state.packed_moves += packed_moves
            self._must_read |= self._slug is not None
            self._must_read_now |= progress.finished

    def handle_change(self, tournament: int) -> None:
        self._must_read_now |= self._slug is None or tournament in self._tournaments

    def release(self) -> None:
        for slot in self._boards:
            self._followers.leave(slot, self)
        self._boards.clear()

    async def _read(self) -> None:
        self._must_read = False
        self._must_read_now = False
        self._ticks_at_read = self._ticks
        self.read_at = time.monotonic()
        slug = self._slug
        previous = tuple(self._tournaments)
        if slug is None:
            read = await self._store.read(lambda connection: read_featured(connection, previous))
        else:
            read = [await self._store.read(lambda connection: read_tournament(connection, slug))]
        for key, message in read:
            state = self._tournaments.get(key)
            if state is None:
                self._tournaments[key] = _TournamentState(message)
                # Read again: games that were committed during this read are missing.
                self._must_read = True
            else:
                state.set_state(message)
        self._reading_time.left -= time.monotonic() - self.read_at

    def _send_changes(self) -> None:
        """Send the accumulated changes."""
        self._choose_boards()
        increments, self._pending = self._pending, pb.Increments()
        for key, state in list(self._tournaments.items()):
            if state.sent_rows.keys() - state.rows.keys():
                # An entry was removed: send the whole table again.
                increments.gone.append(state.now.name)
                state.sent = pb.WatchedTournament()
                state.sent_rows = {}
            message = state.changes(self._observer.count_running(key), self._live_games(key))
            if message is not None:
                increments.tournaments.append(message)
            if self._slug is None and state.is_over:
                self._retire(key, state, increments)
        if increments.ByteSize():
            self.emit(increments)
        if self._slug is not None and all(state.is_over for state in self._tournaments.values()):
            self.finish()

    def _live_games(self, key: int) -> list[int]:
        """Return the numbers of running games; none of a featured tournament."""
        if self._slug is None:
            return []
        return sorted(game.slot.ordinal for game in islice(self._observer.running(key), _MOST_LIVE_GAMES))

    def _retire(self, key: int, state: _TournamentState, increments: pb.Increments) -> None:
        state.ticks_after_end += 1
        if state.ticks_after_end > _TICKS_FEATURED_AFTER_END:
            del self._tournaments[key]
            increments.gone.append(state.now.name)
            for slot in [slot for slot in self._boards if slot.tournament == key]:
                self._drop(slot, increments)

    def _choose_boards(self) -> None:
        for slot, board in list(self._boards.items()):
            running = not board.ended and self._observer.is_observed(slot)
            board.idle = 0 if running else board.idle + 1
            if not board.ended and board.idle > _TICKS_OF_LOST_BOARD:
                self._drop(slot, self._pending)
        free = self._most_boards - len(self._boards)
        replaceable = [
            slot for slot, board in self._boards.items() if board.ended and board.idle > _TICKS_OF_ENDED_BOARD
        ]
        if not free and not replaceable:
            return
        for slot in self._candidates():
            if not free:
                if not replaceable:
                    return
                self._drop(replaceable.pop(0), self._pending)
                free = 1
            game = self._followers.follow(slot, self)
            if game is None:
                self._followers.leave(slot, self)
                continue
            self._boards[slot] = _Board(game.name, game.variant, frozenset((game.first, game.second)))
            self._pending.games.append(game)
            free -= 1

    def _candidates(self) -> Iterator[ScheduledGameKey]:
        """Return running games without a board, each time the one that has least in common with the boards so far.

        First counts how many boards have its tournament, then its variant, then both of its players in this tournament,
        then its players anywhere. Among equals, the game of the newest tournament is first.
        """
        games = [
            game
            for key in reversed(self._tournaments)
            for game in islice(self._observer.running(key), _MOST_LIVE_GAMES)
            if game.slot not in self._boards
        ]
        shown: Counter[tuple[str, object]] = Counter()
        for slot, board in self._boards.items():
            if not board.ended:
                shown.update(self._traits(slot, board.players))

        def boards_in_common(game: RunningGame) -> tuple[int, int, int, int]:
            tournament, variant, pair, *players = (shown[trait] for trait in self._traits(game.slot, game.players))
            return tournament, variant, pair, sum(players)

        while games:
            game = min(games, key=boards_in_common)
            games.remove(game)
            shown.update(self._traits(game.slot, game.players))
            yield game.slot

    def _traits(self, slot: ScheduledGameKey, players: frozenset[str]) -> list[tuple[str, object]]:
        """Return what a game can have in common with others, the most striking first."""
        return [
            ("tournament", slot.tournament),
            ("variant", self._tournaments[slot.tournament].now.variant),
            ("pair", (slot.tournament, players)),
            *(("player", label) for label in players),
        ]

    def _forget_pending(self, name: str) -> None:
        """Remove the pending events of this game."""
        games, plies = self._pending.games, self._pending.plies
        for index in reversed(range(len(games))):
            if games[index].name == name:
                del games[index]
        for index in reversed(range(len(plies))):
            if plies[index].game == name:
                del plies[index]

    def _drop(self, slot: ScheduledGameKey, increments: pb.Increments) -> None:
        increments.gone.append(self._boards.pop(slot).name)
        self._followers.leave(slot, self)
