"""The channels of tournaments: a few boards move by move, and numbers for the rest, sent a few times a second."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter

from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_referee.rules import parse_variant
from noughts_referee.work_units import FinishedGame
from noughts_server.feed.channel import Channel, Numbering, SlotFollowers
from noughts_server.feed.observer import Observed, SlotKey
from noughts_server.feed.stored import end_message, read_featured, read_tournament
from noughts_server.store.engine.database import Store
from noughts_server.store.games.results import TournamentProgress

# In ticks, by default 0.25 s.
_BETWEEN_READS = 4
_BETWEEN_LOOKS_WHILE_OPEN = 8
_ENDED_BOARD_STAYS = 4
_LOST_BOARD_STAYS = 40
_OVER_STAYS_FEATURED = 40


class _Member:
    """The current state of a tournament, and the state that watchers have."""

    def __init__(self, message: pb.WatchedTournament) -> None:
        self.now = pb.WatchedTournament()
        self.sent = pb.WatchedTournament()
        self.rows: dict[str, pb.WatchedStanding] = {}
        self.sent_rows: dict[str, pb.WatchedStanding] = {}
        self.packed_moves = 0
        self.bytes_per_move = 1 if parse_variant(message.variant).cells <= 256 else 2
        self.over_for = 0
        self.read(message)

    @property
    def over(self) -> bool:
        return self.now.state in (tournaments_pb2.TOURNAMENT_STATE_FINISHED, tournaments_pb2.TOURNAMENT_STATE_CANCELLED)

    @property
    def open(self) -> bool:
        return self.now.state == tournaments_pb2.TOURNAMENT_STATE_OPEN

    def read(self, message: pb.WatchedTournament) -> None:
        """Set the state from the store."""
        self.rows = {row.standing.label: row for row in message.standings}
        self.now = message
        del self.now.standings[:]

    def changes(self, running: int) -> pb.WatchedTournament | None:
        """Return what the watchers do not have yet."""
        self.now.games_running = running
        self.now.plies = self.packed_moves // self.bytes_per_move
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
    ended: bool = False
    idle: int = 0
    """Ticks since the game ended or was last seen running."""


class TournamentsChannel(Channel):
    """One tournament with its standings (`slug`), or the running ones, of many the newest (None)."""

    def __init__(
        self, slug: str | None, store: Store, followers: SlotFollowers, observer: Observed, numbering: Numbering
    ) -> None:
        super().__init__(numbering, numbering.settings.buffered_frames)
        self._slug = slug
        self._store = store
        self._followers = followers
        self._observer = observer
        self._most_boards = numbering.settings.boards
        self._members: dict[int, _Member] = {}
        self._boards: dict[SlotKey, _Board] = {}
        self._pending = pb.Increments()
        self._reading_time = numbering.reading_time
        self._dirty = self._urgent = True
        self._ticks = self._ticks_at_read = 0

    async def load(self) -> None:
        await self._read()
        self._show()

    async def tick(self) -> None:
        self._ticks += 1
        if self._slug and not self._ticks % _BETWEEN_LOOKS_WHILE_OPEN:
            self._dirty |= any(member.open for member in self._members.values())
        due = self._dirty and self._ticks - self._ticks_at_read >= _BETWEEN_READS and self._reading_time.left > 0
        if self._urgent or due:
            await self._read()
        self._show()

    def played(self, slot: SlotKey, event: pb.WatchedGame | pb.WatchedPly) -> None:
        if isinstance(event, pb.WatchedPly):
            self._pending.plies.append(event)
            return
        # The game is played again, or events were lost: what is pending must not be added to the new state.
        self._forget_pending(event.name)
        self._pending.games.append(event)

    def stored(self, slot: SlotKey, game: FinishedGame) -> None:
        board = self._boards.get(slot)
        if board is not None and not board.ended:
            board.ended = True
            board.idle = 0
            self._pending.ends.append(end_message(board.name, board.variant, game))

    def progressed(self, progress: TournamentProgress, packed_moves: int) -> None:
        member = self._members.get(progress.tournament)
        if member is not None:
            member.now.games_done, member.now.games_total = progress.games_done, progress.games_total
            member.packed_moves += packed_moves
            self._dirty |= self._slug is not None
            self._urgent |= progress.finished

    def changed(self, tournament: int) -> None:
        self._urgent |= self._slug is None or tournament in self._members

    def release(self) -> None:
        for slot in self._boards:
            self._followers.leave(slot, self)
        self._boards.clear()

    async def _read(self) -> None:
        self._dirty = self._urgent = False
        self._ticks_at_read, self.read_at = self._ticks, time.monotonic()
        slug = self._slug
        known = tuple(self._members)
        if slug is None:
            read = await self._store.read(lambda connection: read_featured(connection, known))
        else:
            read = [await self._store.read(lambda connection: read_tournament(connection, slug))]
        for key, message in read:
            member = self._members.get(key)
            if member is None:
                self._members[key] = _Member(message)
                # The next look counts what was committed during the read.
                self._dirty = True
            else:
                member.read(message)
        self._reading_time.left -= time.monotonic() - self.read_at

    def _show(self) -> None:
        """Send the accumulated changes."""
        self._choose_boards()
        increments, self._pending = self._pending, pb.Increments()
        for key, member in list(self._members.items()):
            if member.sent_rows.keys() - member.rows.keys():
                # An entry withdrew: send the table again.
                increments.gone.append(member.now.name)
                member.sent_rows = {}
            message = member.changes(self._observer.in_flight(key))
            if message is not None:
                increments.tournaments.append(message)
            if self._slug is None and member.over:
                self._retire(key, member, increments)
        if increments.ByteSize():
            self.emit(increments)
        if self._slug is not None and all(member.over for member in self._members.values()):
            self.finish()

    def _retire(self, key: int, member: _Member, increments: pb.Increments) -> None:
        member.over_for += 1
        if member.over_for > _OVER_STAYS_FEATURED:
            del self._members[key]
            increments.gone.append(member.now.name)
            for slot in [slot for slot in self._boards if slot.tournament == key]:
                self._drop(slot, increments)

    def _choose_boards(self) -> None:
        for slot, board in list(self._boards.items()):
            running = not board.ended and self._observer.follows(slot)
            board.idle = 0 if running else board.idle + 1
            if not board.ended and board.idle > _LOST_BOARD_STAYS:
                self._drop(slot, self._pending)
        free = self._most_boards - len(self._boards)
        replaceable = [slot for slot, board in self._boards.items() if board.ended and board.idle > _ENDED_BOARD_STAYS]
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
            self._boards[slot] = _Board(game.name, game.variant)
            self._pending.games.append(game)
            free -= 1

    def _candidates(self) -> Iterator[SlotKey]:
        """Return running games without a board: first those of tournaments with the fewest boards, newest first."""
        boards = Counter(slot.tournament for slot, board in self._boards.items() if not board.ended)
        candidates: list[tuple[int, SlotKey]] = []
        for key in reversed(self._members):
            without = (slot for slot in self._observer.running(key) if slot not in self._boards)
            candidates += enumerate(islice(without, self._most_boards), start=boards[key])
        return (slot for _, slot in sorted(candidates, key=itemgetter(0)))

    def _forget_pending(self, name: str) -> None:
        games, plies = self._pending.games, self._pending.plies
        for row in reversed(range(len(games))):
            if games[row].name == name:
                del games[row]
        for row in reversed(range(len(plies))):
            if plies[row].game == name:
                del plies[row]

    def _drop(self, slot: SlotKey, increments: pb.Increments) -> None:
        increments.gone.append(self._boards.pop(slot).name)
        self._followers.leave(slot, self)
