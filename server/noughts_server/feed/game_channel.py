"""The channel of one game, which sends every ply at once."""

from functools import partial

from noughts_proto.v1 import feed_pb2 as pb
from noughts_referee.rules import VOID
from noughts_referee.work_units import FinishedGame
from noughts_server.core.errors import NotFound
from noughts_server.core.resource_names import game_name, tournament_name
from noughts_server.feed.channel import Channel, ChannelContext, GameFollowers
from noughts_server.feed.observer import ScheduledGameKey
from noughts_server.feed.stored import end_message, missing_plies, read_game
from noughts_server.store.engine.database import Store


class GameChannel(Channel):
    """A game that is waiting, running or finished."""

    def __init__(
        self, slug: str, ordinal: int, store: Store, followers: GameFollowers, context: ChannelContext
    ) -> None:
        super().__init__(context, context.settings.buffered_events)
        self._name = game_name(tournament_name(slug), ordinal)
        self._read = partial(read_game, slug=slug, ordinal=ordinal)
        self._store = store
        self._followers = followers
        self._slot: ScheduledGameKey | None = None
        self._must_read = False
        """Whether the game has possibly ended without a commit, because its tournament changed."""

    async def load(self) -> None:
        game = await self._store.read(self._read)
        self._set_game(game.message)
        if self.is_over:
            return
        self._slot = game.slot
        running = self._followers.follow(game.slot, self)
        if running is not None:
            self._set_game(running)
            return
        # The game was possibly stored since the first read. From now on, the channel gets all events.
        game = await self._store.read(self._read)
        if game.message.state == pb.GAME_STATE_ENDED and not self.is_over:
            self._set_game(game.message)

    async def tick(self) -> None:
        if self._must_read:
            self._must_read = False
            try:
                message = (await self._store.read(self._read)).message
            except NotFound:  # The test of this match was decided without this game, and the slot was removed.
                result, termination = map(int, VOID)
                message = pb.WatchedGame(state=pb.GAME_STATE_ENDED, result=result, termination=termination)  # type: ignore[arg-type]  # equal values
            if message.state == pb.GAME_STATE_ENDED and not self.is_over:
                end = pb.WatchedEnd(game=self._name, result=message.result, termination=message.termination)
                end.winning_cells.extend(message.winning_cells)
                self.emit(pb.Increments(ends=[end]))
                self.finish()

    def handle_event(self, slot: ScheduledGameKey, event: pb.WatchedGame | pb.WatchedPly) -> None:
        if self.is_over:
            return  # In a cluster, the commit, which ends the channel, can arrive before the last plies.
        if isinstance(event, pb.WatchedPly):
            self.emit(pb.Increments(plies=[event]))
        elif self._game.state == pb.GAME_STATE_WAITING:
            self.emit(pb.Increments(games=[event]))
        else:
            self._set_game(event)
            self.resync_watchers(pb.Resync.REASON_PLAYED_AGAIN)

    def handle_stored_game(self, slot: ScheduledGameKey, game: FinishedGame) -> None:
        if not self.is_over:
            plies = missing_plies(self._game, game)
            self.emit(pb.Increments(plies=plies, ends=[end_message(self._name, self._game.variant, game)]))
            self.finish()

    def handle_change(self, tournament: int) -> None:
        if self._slot is not None and self._slot.tournament == tournament:
            self._must_read = True

    def release(self) -> None:
        if self._slot is not None:
            self._followers.leave(self._slot, self)
            self._slot = None

    @property
    def _game(self) -> pb.WatchedGame:
        return self.view.games[self._name]

    def _set_game(self, game: pb.WatchedGame) -> None:
        self.view.games[self._name] = game
        self.is_over = game.state == pb.GAME_STATE_ENDED
