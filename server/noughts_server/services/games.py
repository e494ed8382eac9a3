"""GameService: the recorded games."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from noughts_proto.v1 import games_pb2 as pb
from noughts_proto.v1 import games_pb2_grpc
from noughts_referee.rules import Result, Termination
from noughts_server.convert.games import game_message
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.resource_names import bot_id, game_id, tournament_id
from noughts_server.services.access import VISITOR, Access, Context, open_to
from noughts_server.services.answers import answered, each, page_rows
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.engine.pages import Page
from noughts_server.store.games.bot_games import list_bot_games
from noughts_server.store.games.games import GameFilter, StoredGame, get_game, list_games
from noughts_server.store.games.notes import notes_of

Kind = TypeVar("Kind", Result, Termination)


class GameServicer(games_pb2_grpc.GameServiceServicer):
    """Reads games."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @open_to(Access.ANYONE)
    async def GetGame(self, request: pb.GetGameRequest, context: Context) -> pb.GetGameResponse:
        slug, number = game_id("name", request.name)
        # Only the bot's owner and the organiser may read what its process wrote to stderr.
        who = VISITOR.get().caller

        def read(connection: Connection) -> tuple[pb.Game, dict[int, str]]:
            notes = {} if who is None else notes_of(connection, slug, number, owner_id=who.only_owner)
            return game_message(get_game(connection, slug, number)), notes

        game, notes = await answered(self._store, read)
        # On the wire, sides are counted from 1.
        said = [pb.GameNote(side=side + 1, text=text) for side, text in notes.items()]  # type: ignore[arg-type]
        return pb.GetGameResponse(game=game, notes=said)

    @open_to(Access.ANYONE)
    async def ListGames(self, request: pb.ListGamesRequest, context: Context) -> pb.ListGamesResponse:
        listing = _listing(request)

        def read(connection: Connection) -> pb.ListGamesResponse:
            page = listing(connection)
            return pb.ListGamesResponse(games=each(game_message, page.items), next_page_token=page.next_page_token)

        return await answered(self._store, read)


def _listing(request: pb.ListGamesRequest) -> Callable[[Connection], Page[StoredGame]]:
    result = _value(Result, "result", request.result)
    termination = _value(Termination, "termination", request.termination)
    game_filter = GameFilter(
        faults=request.faults_only,
        result=result,
        termination=termination,
        won=request.won if request.HasField("won") else None,
    )
    size = page_rows(request.page_size)
    if request.parent.startswith("bots/"):
        of_tournaments = {"entry": request.entry, "after": request.after, "with_comments": request.with_comments}
        for field, value in of_tournaments.items():
            if value:
                raise InvalidArgument.of(field, value, "nothing: this filter applies only to games of `tournaments/ID`")
        return partial(
            list_bot_games,
            bot=bot_id("parent", request.parent),
            opponent=bot_id("opponent", request.opponent) if request.opponent else "",
            tournament=tournament_id("tournament", request.tournament) if request.tournament else "",
            game_filter=game_filter,
            size=size,
            page_token=request.page_token,
        )
    for field, value in {"opponent": request.opponent, "tournament": request.tournament}.items():
        if value:
            raise InvalidArgument.of(field, value, "nothing: this filter applies only to the games of `bots/NAME`")
    if game_filter.won is not None and not request.entry:
        raise InvalidArgument.of("won", game_filter.won, "nothing: without `entry` it is unclear who won or lost")
    return partial(
        list_games,
        slug=tournament_id("parent", request.parent),
        game_filter=game_filter,
        entry=request.entry,
        after=request.after,
        comments=request.with_comments,
        size=size,
        page_token=request.page_token,
    )


def _value(kind: type[Kind], field: str, number: int) -> Kind | None:
    """Return the value of an enum of the protocol; None for UNSPECIFIED. Raises InvalidArgument."""
    try:
        return kind(number) if number else None
    except ValueError:
        raise InvalidArgument.of(field, number, f"one of {', '.join(f'{each:d}' for each in kind)}") from None
