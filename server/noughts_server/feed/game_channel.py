"""The channel of one game, which sends every ply at once."""

from functools import partial

from noughts_proto.v1 import feed_pb2 as pb
from noughts_referee.rules import VOID
from noughts_referee.work_units import FinishedGame
from noughts_server.core.errors import NotFound
from noughts_server.core.resource_names import game_name, tournament_name
from noughts_server.feed.channel import Channel, Numbering, SlotFollowers
from noughts_server.feed.observer import SlotKey
from noughts_server.feed.stored import end_message, missing_plies, read_game
from noughts_server.store.engine.database import Store


class GameChannel(Channel):
    """A game that is waiting, running or finished."""

    def __init__(self, slug: str, ordinal: int, store: Store, followers: SlotFollowers, numbering: Numbering) -> None:
        super().__init__(numbering, numbering.settings.buffered_events)
        self._name = game_name(tournament_name(slug), ordinal)
        self._read = partial(read_game, slug=slug, ordinal=ordinal)
        self._store = store
        self._followers = followers
        self._slot: SlotKey | None = None
        self._look_again = False

    async def load(self) -> None:
        game = await self._store.read(self._read)
        self._set(game.message)
        if self.over:
            return
        self._slot = game.slot
        running = self._followers.follow(game.slot, self)
        if running is not None:
            self._set(running)
            return
        # The game was possibly stored since the first read; from now on no event is missed.
        game = await self._store.read(self._read)
        if game.message.state == pb.GAME_STATE_ENDED and not self.over:
            self._set(game.message)

    async def tick(self) -> None:
        if self._look_again:
            self._look_again = False
            try:
                message = (await self._store.read(self._read)).message
            except NotFound:  # the test of its match was decided before this game
                result, termination = map(int, VOID)
                message = pb.WatchedGame(state=pb.GAME_STATE_ENDED, result=result, termination=termination)  # type: ignore[arg-type]  # equal values
            if message.state == pb.GAME_STATE_ENDED and not self.over:
                end = pb.WatchedEnd(game=self._name, result=message.result, termination=message.termination)
                end.winning_cells.extend(message.winning_cells)
                self.emit(pb.Increments(ends=[end]))
                self.finish()

    def played(self, slot: SlotKey, event: pb.WatchedGame | pb.WatchedPly) -> None:
        if self.over:
            return  # its commit ended it, which can arrive first in a cluster
        if isinstance(event, pb.WatchedPly):
            self.emit(pb.Increments(plies=[event]))
        elif self._known.state == pb.GAME_STATE_WAITING:
            self.emit(pb.Increments(games=[event]))
        else:
            self._set(event)
            self.start_again(pb.Resync.REASON_PLAYED_AGAIN)

    def stored(self, slot: SlotKey, game: FinishedGame) -> None:
        if not self.over:
            plies = missing_plies(self._known, game)
            self.emit(pb.Increments(plies=plies, ends=[end_message(self._name, self._known.variant, game)]))
            self.finish()

    def changed(self, tournament: int) -> None:
        # Another tournament can change before the next look.
        self._look_again |= self._slot is not None and self._slot.tournament == tournament

    def release(self) -> None:
        if self._slot is not None:
            self._followers.leave(self._slot, self)
            self._slot = None

    @property
    def _known(self) -> pb.WatchedGame:
        return self.view.games[self._name]

    def _set(self, game: pb.WatchedGame) -> None:
        self.view.games[self._name] = game
        self.over = game.state == pb.GAME_STATE_ENDED
